"""What the checks of step 11 can ask of a learner's parts; runs in the worker.

Two kernels: `Played` notes what it is asked for and is as strict as the real one; the real one is
used in forked processes, inside the sandbox that the worker is in already.
"""

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from grading import parked
from kit.landlock import (
    OF_A_FILE,
    SINCE,
    LandlockMissing,
    Network,
    Right,
    Scope,
    names,
    open_descriptors,
)
from kit.todo import NotStarted
from kit.ways_out import GOT_THROUGH, NOT_CONFINED, Scene, try_all

KINDS: dict[str, Any] = {"Right": Right, "Network": Network, "Scope": Scope}
PYTHON = [Path(p) for p in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]


class Played:
    """A kernel of any ABI that notes its calls. fails: the name of a call that raises OSError."""

    def __init__(self, abi: int, threads: int = 1, fails: str = "") -> None:
        self._abi, self._threads, self._fails = abi, threads, fails
        self._handled = Right(0)
        self.calls: list[list[Any]] = []
        self.ruleset = -1

    def abi(self) -> int:
        return self._abi

    def threads(self) -> int:
        return self._threads

    def create_ruleset(self, handled: Right, network: Network, scopes: Scope) -> int:
        flags: list[Any] = [*handled, *network, *scopes]
        self._note("create_ruleset", names(handled), names(network), names(scopes))
        if not handled or any(SINCE.get(flag, 1) > self._abi for flag in flags):
            raise OSError(errno.EINVAL, "a flag that this ABI does not know")
        self._handled = handled
        self.ruleset = os.open("/dev/null", os.O_RDONLY)
        return self.ruleset

    def allow(self, ruleset: int, folder: int, rights: Right) -> None:
        is_folder = stat.S_ISDIR(os.fstat(folder).st_mode)
        self._note("allow", os.fstat(folder).st_ino, names(rights))
        wrong = rights & ~self._handled or (not is_folder and rights & ~OF_A_FILE)
        if ruleset != self.ruleset or wrong or not rights:
            raise OSError(errno.EINVAL if rights else errno.ENOMSG, "a rule that says too much")

    def no_new_privs(self) -> None:
        self._note("no_new_privs")

    def restrict_self(self, ruleset: int) -> None:
        self._note("restrict_self")
        if ["no_new_privs"] not in self.calls:
            raise OSError(errno.EPERM, "without no_new_privs")

    def _note(self, *call: Any) -> None:
        self.calls.append(list(call))
        if self._fails == call[0]:
            raise OSError(errno.E2BIG, "injected")


def _places() -> dict[str, Path]:
    """A folder, a file, a link to the file, and a path where nothing is."""
    root = Path("places")
    root.mkdir(exist_ok=True)
    (root / "folder").mkdir(exist_ok=True)
    (root / "file").touch()
    if not (root / "link").is_symlink():
        (root / "link").symlink_to((root / "file").resolve())
    return {name: root / name for name in ("folder", "file", "link", "missing")}


def _named(calls: list[list[Any]], places: dict[str, Path]) -> list[list[Any]]:
    """The calls with the names of places for their inodes."""
    inodes = {p.stat().st_ino: n for n, p in places.items() if p.exists() and n != "link"}
    return [
        [call[0], inodes.get(call[1], "elsewhere"), *call[2:]] if call[0] == "allow" else call
        for call in calls
    ]


# 11.1


def known(parts: Any, *, kind: str, abi: int) -> list[str]:
    """The names of the flags that an ABI knows."""
    flags = parts.sandbox.known(KINDS[kind], abi)
    return names(flags) if isinstance(flags, KINDS[kind]) else [type(flags).__name__]


# 11.2


def allow(
    parts: Any, *, place: str, rights: list[str], abi: int = 7, fails: str = ""
) -> dict[str, Any]:
    """Allow rights at a place; the rules that the kernel was given, and what is left open."""
    places, kernel = _places(), Played(abi, fails=fails)
    handled = _of(Right, [r.name for r in Right if SINCE.get(r, 1) <= abi])
    ruleset, told = kernel.create_ruleset(handled, Network(0), Scope(0)), "allowed"
    before = len(open_descriptors())
    try:
        parts.sandbox.allow(kernel, ruleset, places[place], _of(Right, rights))
    except OSError as error:
        told = errno.errorcode.get(error.errno or 0, "OSError")
    left = len(open_descriptors()) - before
    os.close(ruleset)
    return {"told": told, "rules": _named(kernel.calls[1:], places), "left_open": left}


def _of(kind: Any, flags: Iterable[Any]) -> Any:
    made = kind(0)
    for name in flags:
        made |= kind[name]
    return made


# 11.3


def confine(
    parts: Any,
    *,
    abi: int,
    threads: int = 1,
    workspace: str = "folder",
    readable: list[str] | None = None,
    runnable: list[str] | None = None,
    writable: list[str] | None = None,
    fails: str = "",
) -> dict[str, Any]:
    """Confine on a played kernel: its calls, how it ended, and what is left open."""
    places, kernel = _places(), Played(abi, threads, fails)
    before = open_descriptors()
    try:
        told = parts.sandbox.confine(
            places[workspace],
            [places[name] for name in readable or []],
            [places[name] for name in runnable or []],
            [places[name] for name in writable or []],
            keep=before,
            kernel=kernel,
        )
    except LandlockMissing as missing:
        told = f"LandlockMissing: {missing}"
    except RuntimeError:
        told = "RuntimeError"
    except OSError as error:
        told = errno.errorcode.get(error.errno or 0, type(error).__name__)
    left = len(open_descriptors()) - len(before)
    return {"told": told, "calls": _named(kernel.calls, places), "left_open": left}


def tries(parts: Any, *, ways: list[str]) -> dict[str, dict[str, str]]:
    """Ways out of `kit.ways_out`, free and confined by the real kernel."""

    def confine(scene: Scene) -> None:
        parts.sandbox.confine(scene.workspace, PYTHON, keep=[0, 1, 2, scene.tells])

    free, confined = (Path(tempfile.mkdtemp(dir=Path.cwd())) for _ in range(2))
    return {
        "free": _started(try_all(free, None, ways)),
        "confined": _started(try_all(confined, confine, ways)),
    }


def _started(told: dict[str, str]) -> dict[str, str]:
    for ending in told.values():
        if ending.startswith(NOT_CONFINED):
            what, _, why = ending.partition(": ")[2].partition(": ")
            raise NotStarted(why) if what == "NotStarted" else RuntimeError(ending)
    return told


def inside(parts: Any, *, text: str) -> Any:
    """What a confined process can do in its workspace, step by step."""

    def act(root: Path) -> dict[str, str]:
        root = root / "workspace"
        parts.sandbox.confine(root, PYTHON, keep=open_descriptors())
        steps: dict[str, Callable[[], Any]] = {
            "write": lambda: (root / "new.txt").write_text(text),
            "read": lambda: (root / "new.txt").read_text(),
            "append": lambda: (root / "new.txt").open("a").write(text),
            "create a folder": lambda: (root / "sub").mkdir(),
            "move": lambda: (root / "new.txt").rename(root / "sub" / "moved.txt"),
            "link": lambda: os.link(root / "sub" / "moved.txt", root / "hard.txt"),
            "make a symbolic link": lambda: (root / "soft").symlink_to("hard.txt"),
            "empty": lambda: os.truncate(root / "hard.txt", 0),
            "list": lambda: os.listdir(root),
            "remove": lambda: [(root / "hard.txt").unlink(), (root / "soft").unlink()],
            "remove a folder": lambda: [
                (root / "sub" / "moved.txt").unlink(),
                (root / "sub").rmdir(),
            ],
        }
        return {name: _outcome(step) for name, step in steps.items()}

    return _apart(act)


def named(parts: Any, *, text: str) -> Any:
    """What a confined process can do with what was named to it, and with what was not."""

    def act(root: Path) -> dict[str, str]:
        (root / "named").mkdir()
        (root / "named" / "told.txt").write_text(text)
        (root / "single.txt").write_text(text)
        (root / "scratch.txt").write_text(text)
        parts.sandbox.confine(
            root / "workspace",
            [root / "named", root / "single.txt", root / "not there"],
            PYTHON,
            [root / "scratch.txt"],
            keep=open_descriptors(),
        )
        steps: dict[str, Callable[[], Any]] = {
            "read in a named folder": lambda: (root / "named" / "told.txt").read_text(),
            "read a named file": lambda: (root / "single.txt").read_text(),
            "write in a named folder": lambda: (root / "named" / "told.txt").write_text("x"),
            "write a named file": lambda: (root / "single.txt").write_text("x"),
            "write what may be written": lambda: (root / "scratch.txt").write_text(text),
            "run what may be run": lambda: _run(sys.executable),
            "write where things may be run": lambda: Path(sys.prefix, "x").write_text("x"),
            "read what was not named": lambda: (root / "secret.txt").read_text(),
        }
        return {name: _outcome(step) for name, step in steps.items()}

    return _apart(act)


def twice(parts: Any) -> Any:
    """Confine to a folder, and then to a folder in it; what is left of the first."""

    def act(root: Path) -> dict[str, str]:
        outer, inner = root / "workspace", root / "workspace" / "inner"
        inner.mkdir()
        told = {}
        for where in (outer, inner, outer):
            parts.sandbox.confine(where, PYTHON, keep=open_descriptors())
            told = {
                "outer": _outcome(lambda: (outer / "note.txt").read_text()),
                "inner": _outcome(lambda: (inner / "new.txt").write_text("x")),
                "elsewhere": _outcome(lambda: (root / "secret.txt").read_text()),
            }
        return told

    return _apart(act)


def children(parts: Any) -> Any:
    """What a process may do that a confined one started."""

    def act(root: Path) -> dict[str, str]:
        parts.sandbox.confine(root / "workspace", [], PYTHON, keep=open_descriptors())
        return {
            "secret": _outcome(lambda: _run(sys.executable, f"open({str(root / 'secret.txt')!r})")),
            "note": _outcome(
                lambda: _run(sys.executable, f"open({str(root / 'workspace/note.txt')!r})")
            ),
        }

    return _apart(act)


def _run(program: str, code: str = "") -> None:
    ran = subprocess.run([program, "-I", "-S", "-c", code], capture_output=True, check=False)
    if ran.returncode:
        raise PermissionError(errno.EACCES, "refused to the child")


def _outcome(step: Callable[[], Any]) -> str:
    try:
        step()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "OSError")
    return GOT_THROUGH


def _apart(act: Callable[[Path], Any]) -> Any:
    """Run it in a process of its own, in a folder with a workspace and a secret beside it."""
    root = Path(f"apart{len(os.listdir())}").resolve()
    (root / "workspace").mkdir(parents=True)
    (root / "workspace" / "note.txt").write_text("a note")
    (root / "secret.txt").write_text("a secret")

    def step(arm: Callable[[], None]) -> Any:
        return act(root)

    process = parked.start(step, 0)
    told = process.wait(4.0)
    process.end(kill=told is None)
    if told is not None and str(told.get("raised", "")).startswith("NotStarted"):
        raise NotStarted(told["raised"].partition(": ")[2])
    return "no answer" if told is None else told.get("did", told.get("raised", "died"))


# 11.4


def close_inherited(parts: Any, *, opened: int, kept: list[int]) -> Any:
    """Open descriptors, close all but some; which are open still, and how many were closed."""

    def act(root: Path) -> dict[str, Any]:
        before = open_descriptors()
        mine = [os.open(root / "secret.txt", os.O_RDONLY) for _ in range(opened)]
        keep = [*before, *(mine[number] for number in kept), 9999]
        closed = parts.sandbox.close_inherited(keep)
        after = open_descriptors()
        lost = len(set(before) - set(after))
        return {
            "closed": closed,
            "open": [number for number, each in enumerate(mine) if each in after],
            "lost": lost,
        }

    return _apart(act)


# 11.5


def stopped(parts: Any, *, abi: int) -> list[str]:
    """The ways that the part says are stopped."""
    return sorted(parts.sandbox.stopped(abi))


# 11.6


def prove(parts: Any, *, claimed: list[str], free: dict[str, str], confined: dict[str, str]) -> str:
    """What the learner's proof says."""
    try:
        parts.prove_it.holds(frozenset(claimed), free, confined)
    except AssertionError as rejected:
        return "rejected" if str(rejected) else "rejected without a sentence"
    return "holds"
