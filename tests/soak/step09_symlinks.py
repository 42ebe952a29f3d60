"""A free process swaps files and folders for links, as fast as it can, while others are at work.

What comes back may be the file inside or a refusal. What lies outside may neither be told nor
changed, by the kernel's way or by the walk, under either policy. A reader that checks before it
opens is run beside them: if the swapper cannot lead *it* outside, the run has shown nothing.
"""

import contextlib
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from kit.openat2 import BENEATH, openat2
from kit.refusals import ToolRefusal
from soak.ledger import Ledger

PART = "beneath"
PROMISE = "nothing from outside, whatever is swapped meanwhile"
INSIDE, SECRET = "inside", "secret"
NEW = b"written"
PATIENCE = 60.0  # seconds more that the swapper gets on a busy machine, to lead the reader outside


def soak(part: ModuleType, seconds: float, seed: int, say: Callable[[str], None]) -> Ledger:
    """Run all ways for their share of the time beside a swapper; return the books.

    part: of step 09. seconds: in all. seed: of the order of verbs and swaps. say: receives a line
    of progress now and then.
    """
    ways = _ways(part)
    told: dict[str, Counter[str]] = {}
    for number, (name, verbs) in enumerate(ways.items()):
        say(f"{name}, {number + 1} of {len(ways)}")
        told[name] = _run(part, verbs, seconds / len(ways), seed + number)
    return _balance(told)


Verb = Callable[[int, Path], str]


def _ways(part: ModuleType) -> dict[str, dict[str, Verb]]:
    """What is run: the part by each way and policy, and the reader that checks first."""
    calls: dict[str, Any] = {"walk": None} | ({"kernel": openat2} if _has_openat2() else {})
    ways = {
        f"{way}, {policy}": _verbs(part, policy, call)
        for way, call in calls.items()
        for policy in (part.NO_LINKS, part.LINKS_INSIDE)
    }
    return {**ways, "checks first": {"read": _check_then_open}}


def _verbs(part: ModuleType, policy: str, call: Any) -> dict[str, Verb]:
    def read(root_fd: int, root: Path) -> str:
        with open(part.open_beneath(root_fd, "d/a.md", policy, call), encoding="utf-8") as file:
            return file.read()

    def follow(root_fd: int, root: Path) -> str:
        with open(part.open_beneath(root_fd, "d/up.md", policy, call), encoding="utf-8") as file:
            return file.read()

    def replace(root_fd: int, root: Path) -> str:
        part.replace_beneath(root_fd, "d/w.md", NEW, policy, call)
        return "done"

    def create(root_fd: int, root: Path) -> str:
        with contextlib.suppress(ToolRefusal):
            part.delete_beneath(root_fd, "d/new.md", policy, call)
        part.create_beneath(root_fd, "d/new.md", NEW, policy, call)
        return "done"

    def delete(root_fd: int, root: Path) -> str:
        part.delete_beneath(root_fd, "d/kept.md", policy, call)
        return "done"

    def listing(root_fd: int, root: Path) -> str:
        names = part.list_beneath(root_fd, "d", policy, call).names
        return SECRET if "only outside.md" in names else "listed"

    return {
        "read": read,
        "follow": follow,
        "replace": replace,
        "create": create,
        "delete": delete,
        "list": listing,
    }


def _check_then_open(root_fd: int, root: Path) -> str:
    path = root / "d" / "a.md"
    if not os.path.realpath(path).startswith(os.path.realpath(root) + os.sep):
        raise ToolRefusal("outside")
    return path.read_text(encoding="utf-8")


def _run(part: ModuleType, verbs: dict[str, Verb], seconds: float, seed: int) -> Counter[str]:
    """Let the verbs run in turn beside the swapper; count what was told, and what has changed."""
    told: Counter[str] = Counter()
    names, until, rng = list(verbs), time.monotonic() + seconds, Random(seed)
    with tempfile.TemporaryDirectory() as base:
        root, outside = _world(Path(base))
        root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        before = _state(outside)
        with _swapper(root, seed):
            while time.monotonic() < until or _is_worth_waiting(told, verbs, until):
                told[_attempt(verbs[rng.choice(names)], root_fd, root)] += 1
        told["changed outside"] = len(before ^ _state(outside))
        os.close(root_fd)
    return told


def _is_worth_waiting(told: Counter[str], verbs: dict[str, Verb], until: float) -> bool:
    """Whether the reader that checks first has not been led outside yet, and has time to be."""
    waiting = time.monotonic() < until + PATIENCE
    return waiting and _check_then_open in verbs.values() and not told[SECRET]


def _attempt(verb: Verb, root_fd: int, root: Path) -> str:
    try:
        return verb(root_fd, root)
    except ToolRefusal:
        return "refused"
    except Exception as error:
        return "refused" if verb is _check_then_open else f"crashed: {type(error).__name__}"


def _world(base: Path) -> tuple[Path, Path]:
    """Make a root with two folders to swap, one of them a link, and the same names outside."""
    root, outside = base / "root", base / "outside"
    for folder, text in ((root / "real", INSIDE), (outside, SECRET)):
        folder.mkdir(parents=True)
        for name in ("a.md", "w.md", "kept.md", "source.md"):
            (folder / name).write_text(text)
    (root / "a.md").write_text(INSIDE)
    (outside / "only outside.md").write_text(SECRET)
    (base / "a.md").write_text(SECRET)
    (root / "real" / "up.md").symlink_to("../a.md")
    (outside / "up.md").symlink_to("a.md")
    (root / "real").rename(root / "d")
    return root, outside


def _state(outside: Path) -> set[tuple[str, str]]:
    return {
        (str(path), os.readlink(path) if path.is_symlink() else path.read_text())
        for path in outside.iterdir()
    }


@contextlib.contextmanager
def _swapper(root: Path, seed: int) -> Iterator[None]:
    """Fork a process that swaps until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            rng = Random(seed)
            while True:
                rng.choice((_swap_folder, _swap_folder, _swap_file))(root)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _swap_folder(root: Path) -> None:
    """Move the folder away, put a link to the one outside in its place, and back again."""
    (root / "d").rename(root / "away")
    (root / "d").symlink_to("../outside")
    time.sleep(0.0005)  # on a busy machine, somebody else has to get his turn right here
    (root / "d").unlink()
    (root / "away").rename(root / "d")
    time.sleep(0.0001)


def _swap_file(root: Path) -> None:
    """The same with the files in it: links appear under their names, and files again."""
    for name in ("a.md", "w.md", "new.md"):
        link, file = root / "d" / f"{name}.link", root / "d" / f"{name}.file"
        link.symlink_to(f"../../outside/{name}")
        link.rename(root / "d" / name)
        time.sleep(0.0001)
        file.write_text(INSIDE)
        file.rename(root / "d" / name)
    time.sleep(0.0001)


def _has_openat2() -> bool:
    try:
        here = os.open(".", os.O_RDONLY)
        os.close(openat2(here, ".", os.O_RDONLY | os.O_CLOEXEC, BENEATH))
        os.close(here)
    except OSError:
        return False
    return True


def _balance(told: dict[str, Counter[str]]) -> Ledger:
    ledger = Ledger()
    for name, words in told.items():
        fine = words[INSIDE] + words["done"] + words["listed"]
        ledger.numbers[f"{name}: done"] = fine
        ledger.numbers[f"{name}: refused"] = words["refused"]
        ledger.numbers[f"{name}: led outside"] = words[SECRET] + words["changed outside"]
        if name == "checks first":
            ledger.expect(words[SECRET] > 0, "The swapper led not even the reader outside.")
            continue
        ledger.expect(words[SECRET] == 0, f"{name}: something from outside was told.")
        ledger.expect(words["changed outside"] == 0, f"{name}: something outside has changed.")
        ledger.expect(fine > 0, f"{name}: nothing was ever done.")
        crashes = sorted(word for word in words if word.startswith("crashed"))
        ledger.expect(not crashes, f"{name}: {', '.join(crashes)}.")
    if not any(name.startswith("kernel") for name in told):
        ledger.numbers["runs by the kernel's way, not runnable here"] = 0
    return ledger
