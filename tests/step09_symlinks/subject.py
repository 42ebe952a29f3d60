"""What the checks of step 09 can ask of a learner's parts; runs in the worker, on real files."""

import contextlib
import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.interleave import at, everywhere
from kit.openat2 import BENEATH, NO_MAGICLINKS, NO_SYMLINKS, openat2
from kit.refusals import ToolRefusal

REFUSED = "refused"
NOT_HERE = "not there"


# Worlds: a folder `root` to work in and whatever the layout puts beside it.


@contextlib.contextmanager
def _world(parts: Any, layout: dict[str, Any]) -> Iterator[Path]:
    """Make `layout` in a new folder and hand out its `root`."""
    base = Path(tempfile.mkdtemp(dir=parts.room))
    root = base / "root"
    root.mkdir()
    (base / "outside").mkdir()
    try:
        for name, what in layout.items():
            _make(root, name, what)
        yield root
    finally:
        for folder in _every_folder(base):
            os.chmod(folder, 0o700)  # before it is entered itself
        shutil.rmtree(base, ignore_errors=True)


def _every_folder(base: Path) -> Iterator[str]:
    for folder, names, _ in os.walk(base):
        yield from (os.path.join(folder, n) for n in names if not os.path.islink(f"{folder}/{n}"))


def _make(root: Path, name: str, what: Any) -> None:
    """Make one entry: text is a file, null a folder, a list a kind and what belongs to it."""
    path = Path(os.path.normpath(root / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    if what is None:
        path.mkdir(exist_ok=True)
    elif isinstance(what, str):
        path.write_text(what)
    else:
        _make_kind(path, *what)


def _make_kind(path: Path, kind: str, of: str = "") -> None:
    if kind == "link":
        path.symlink_to(of)
    elif kind == "second name":
        os.link(path.parent / of, path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        _make_socket(path)
    elif kind == "mode":
        path.chmod(int(of, 8))


def _make_socket(path: Path) -> None:
    """Bind in the folder itself, for the address of a socket is short."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def _snapshot(base: Path) -> dict[str, str]:
    """What is there, by path: contents of files, targets of links, kinds of the rest."""
    found = {}
    for path in sorted(base.rglob("*")):
        name = str(path.relative_to(base)).removeprefix("root/")
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = path.read_text() if path.is_file() else "special"
    return found


def _changed(before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    names = sorted({*before, *after})
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}


def _descriptors() -> int:
    """How many are open."""
    number = 0
    for descriptor in range(256):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            number += 1
    return number


# What a part is asked to do in a world.


@dataclass(frozen=True)
class _Task:
    """One operation. way: walk, kernel, or a kernel that answers with an error for a while."""

    verb: str
    path: Any
    policy: str = "no links"
    way: str = "walk"
    content: str = "new"


def _run(parts: Any, root_fd: int, task: _Task) -> Any:
    """Do it; the word for a refusal is `refused`, everything else that is raised goes through."""
    part, more = parts.beneath, {"policy": task.policy, "openat2": _way(task.way)}
    try:
        if task.verb in ("read", "write"):
            return _open(part, root_fd, task, more)
        if task.verb == "list":
            listing = part.list_beneath(root_fd, task.path, **more)
            return {"names": list(listing.names), "left_out": listing.left_out}
        if task.verb == "delete":
            part.delete_beneath(root_fd, task.path, **more)
            return "done"
        change = {"create": part.create_beneath, "replace": part.replace_beneath}[task.verb]
        change(root_fd, task.path, task.content.encode(), **more)
        return "done"
    except ToolRefusal:
        return REFUSED


def _open(part: Any, root_fd: int, task: _Task, more: dict[str, Any]) -> str:
    access = os.O_RDONLY if task.verb == "read" else os.O_WRONLY
    descriptor = part.open_beneath(root_fd, task.path, access=access, **more)
    with open(descriptor, "rb" if task.verb == "read" else "wb") as file:
        if task.verb == "read":
            return str(file.read().decode())
        file.write(task.content.encode())
        return "done"


def _way(way: str) -> Any:
    """The call that a part is given in the place of openat2."""
    kind, _, times = way.partition(" ")
    if kind == "walk":
        return None
    if kind == "kernel":
        return openat2
    return _kernel_that_says(int(getattr(errno, kind)), int(times or 10**6))


def _kernel_that_says(number: int, times: int) -> Callable[[int, str, int, int], int]:
    left = times

    def call(dir_fd: int, path: str, flags: int, resolve: int) -> int:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(number, os.strerror(number))
        return os.open(path, flags, dir_fd=dir_fd)

    return call


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[int]:
    descriptor = os.open(root, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def components(parts: Any, *, path: Any, folder: bool = False) -> list[str]:
    """The names that a path is made of."""
    return list(parts.beneath.components(path, folder=folder))


def walk(parts: Any, *, names: list[str], layout: dict[str, Any]) -> Any:
    """Walk to a file and read it, or refuse."""
    with _world(parts, layout) as root, _opened(root) as root_fd:
        return _walked(parts, root_fd, names)


def _walked(parts: Any, root_fd: int, names: list[str]) -> Any:
    try:
        descriptor = parts.beneath.walk(root_fd, tuple(names), os.O_RDONLY)
    except (OSError, ToolRefusal):
        return REFUSED
    with open(descriptor, "rb") as file:
        return file.read().decode()


def walk_from_a_moved_root(
    parts: Any, *, names: list[str], layout: dict[str, Any], other: str
) -> Any:
    """The root is opened through a link, then moved; another folder takes its name."""
    with _world(parts, layout) as root:
        (root.parent / "link").symlink_to("root")
        with _opened(root.parent / "link") as root_fd:
            root.rename(root.parent / "moved")
            root.mkdir()
            _make(root, "/".join(names), other)
            return _walked(parts, root_fd, names)


def act(
    parts: Any,
    *,
    verb: str,
    path: Any,
    layout: dict[str, Any],
    policy: str = "no links",
    way: str = "walk",
    content: str = "new",
) -> dict[str, Any]:
    """Read, write, create, replace, delete or list; what was told, and what has changed."""
    with _world(parts, layout) as root, _opened(root) as root_fd:
        before = _snapshot(root.parent)
        told = _run(parts, root_fd, _Task(verb, path, policy, way, content))
        return {"told": told, "changed": _changed(before, _snapshot(root.parent))}


def messages(parts: Any, *, cases: list[list[Any]], layout: dict[str, Any]) -> list[str]:
    """What is said to each verb on each path, all refused."""
    told = []
    with _world(parts, layout) as root, _opened(root) as root_fd:
        for verb, path in cases:
            try:
                _open(parts.beneath, root_fd, _Task(verb, path), {})
                told.append("granted")
            except ToolRefusal as refusal:
                told.append(refusal.message)
    return told


def device(parts: Any, *, name: str) -> Any:
    """Read a device; the root is /dev."""
    with _opened(Path("/dev")) as root_fd:
        return _run(parts, root_fd, _Task("read", name))


def magic(parts: Any, *, name: str, content: str, policy: str, way: str = "walk") -> Any:
    """Read a file of the current folder by the link /proc/self/cwd; the root is /proc/self."""
    Path(name).write_text(content)
    try:
        with _opened(Path("/proc/self")) as root_fd:
            with open(os.open(f"cwd/{name}", os.O_RDONLY, dir_fd=root_fd)) as file:
                reachable = file.read() == content
            told = _run(parts, root_fd, _Task("read", f"cwd/{name}", policy, way))
    finally:
        os.unlink(name)
    return {"reachable": reachable, "told": told}


def deep(
    parts: Any, *, depth: int, content: str, policy: str = "no links", way: str = "walk"
) -> Any:
    """Read a file below so many folders."""
    names = [f"f{number}" for number in range(depth)]
    with _world(parts, {"/".join([*names, "a.md"]): content}) as root, _opened(root) as root_fd:
        return _run(parts, root_fd, _Task("read", "/".join([*names, "a.md"]), policy, way))


def odd_names(parts: Any, *, layout: dict[str, Any], odd: list[list[int]], way: str) -> Any:
    """List the root, in which lie names of such bytes beside the layout."""
    with _world(parts, layout) as root, _opened(root) as root_fd:
        for name in odd:
            with open(os.fsencode(root) + b"/" + bytes(name), "wb"):
                pass
        return _run(parts, root_fd, _Task("list", ".", way=way))


def left_open(
    parts: Any, *, tasks: list[list[Any]], layout: dict[str, Any], way: str = "walk"
) -> list[int]:
    """How many descriptors each task, verb and path and perhaps a policy, has left open."""
    left = []
    with _world(parts, layout) as root, _opened(root) as root_fd:
        _ = parts.beneath  # loaded before anything is counted
        for verb, path, *more in tasks:
            before = _descriptors()
            if verb == "walk":
                _walked(parts, root_fd, path)
            else:
                _run(parts, root_fd, _Task(verb, path, *(more or ["no links"]), way))
            left.append(_descriptors() - before)
    return left


def asked(parts: Any, *, path: str, policy: str, layout: dict[str, Any]) -> dict[str, Any]:
    """What a part asks of the kernel: the path, what may be resolved, whether it is inherited."""
    heard: list[tuple[str, int, int]] = []

    def call(dir_fd: int, path: str, flags: int, resolve: int) -> int:
        heard.append((path, flags, resolve))
        return os.open(path, flags, dir_fd=dir_fd)

    with _world(parts, layout) as root, _opened(root) as root_fd:
        os.close(parts.beneath.open_beneath(root_fd, path, policy=policy, openat2=call))
    names = {"beneath": BENEATH, "no magic links": NO_MAGICLINKS, "no links": NO_SYMLINKS}
    resolve = heard[-1][2]
    return {
        "path": heard[-1][0],
        "resolve": sorted(name for name, bit in names.items() if resolve & bit),
        "inherited": not heard[-1][1] & os.O_CLOEXEC,
    }


def tries(parts: Any, *, layout: dict[str, Any], path: str) -> dict[str, Any]:
    """How often a kernel that always says EAGAIN is asked, and what is told then."""
    asked_so_often = 0

    def call(dir_fd: int, path: str, flags: int, resolve: int) -> int:
        nonlocal asked_so_often
        asked_so_often += 1
        if asked_so_often > 1000:
            raise RuntimeError("asked more than a thousand times")
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with _world(parts, layout) as root, _opened(root) as root_fd:
        try:
            os.close(parts.beneath.open_beneath(root_fd, path, openat2=call))
            told = "granted"
        except ToolRefusal:
            told = REFUSED
        return {"told": told, "bounded": 2 <= asked_so_often <= 1000}


# Races: something is swapped before each call that the part makes, in turn.


def swapped(
    parts: Any,
    *,
    verb: str,
    path: str,
    swap: str,
    inside: str,
    secret: str,
    policy: str = "no links",
    way: str = "walk",
) -> dict[str, Any]:
    """What is told, and what has changed outside, over all moments of the swap and without one."""
    layout = {"d/a.md": inside, "d/up.md": ["link", "../a.md"], "a.md": inside}
    layout |= {"../outside/a.md": secret, "../outside/d/a.md": secret, "../outside/only.md": ""}
    task, file = _Task(verb, path, policy, way), Path(parts.beneath.__file__)

    def run(moment: int, swapping: str = swap) -> tuple[list[Any], bool]:
        with _world(parts, layout) as root, _opened(root) as root_fd:
            outside = root.parent / "outside"
            before = _snapshot(outside)
            told, reached = at(
                moment,
                lambda: SWAPS[swapping](root, path),
                lambda: (
                    _walked(parts, root_fd, path.split("/"))
                    if verb == "walk"
                    else _run(parts, root_fd, task)
                ),
                file,
            )
            after = {n: v for n, v in _snapshot(outside).items() if not n.startswith("moved")}
            return [told, _changed(before, after)], reached

    endings: list[list[Any]] = []
    for ending in everywhere(run):
        endings += [] if ending in endings else [ending]
    return {
        "left alone": _word(run(0, "nothing")[0][0]),
        "told": sorted({_word(told) for told, _ in endings}),
        "outside": [changed for _, changed in endings if changed],
    }


def _word(told: Any) -> str:
    return told if isinstance(told, str) else " ".join(told["names"])


def _swap_file(root: Path, path: str) -> None:
    """Put a link to the file outside in the place of the file, or of the one that will be made."""
    if (root / path).is_dir():
        return
    (root / path).unlink(missing_ok=True)
    (root / path).symlink_to(root.parent / "outside" / Path(path).name)


def _swap_folder(root: Path, path: str) -> None:
    (root / "d").rename(root / "gone")
    (root / "d").symlink_to("../outside")


def _swap_root(root: Path, path: str) -> None:
    root.rename(root.parent / "gone")
    root.symlink_to("outside")


def _move_folder(root: Path, path: str) -> None:
    (root / "d").rename(root.parent / "outside" / "moved")


def _leave_alone(root: Path, path: str) -> None:
    """Swap nothing."""


SWAPS: dict[str, Callable[[Path, str], None]] = {
    "file": _swap_file,
    "folder": _swap_folder,
    "root": _swap_root,
    "moved": _move_folder,
    "nothing": _leave_alone,
}


# A volume on which case does not count, as it is on macOS and Windows.

FOLDING = ("open", "stat", "lstat", "readlink", "unlink", "remove", "access")


def folded(parts: Any, *, tasks: list[list[str]], layout: dict[str, Any]) -> list[Any]:
    """Do tasks, verb and path each, where the name of an entry is found whatever its case."""
    with _world(parts, layout) as root, _opened(root) as root_fd, _folding():
        return [_run(parts, root_fd, _Task(verb, path)) for verb, path in tasks]


@contextlib.contextmanager
def _folding() -> Iterator[None]:
    real = {name: getattr(os, name) for name in FOLDING}
    for name, call in real.items():
        setattr(os, name, _folding_call(call, real["open"]))
    try:
        yield
    finally:
        for name, call in real.items():
            setattr(os, name, call)


def _folding_call(call: Any, really_open: Any) -> Any:
    def folding(path: Any, *arguments: Any, **more: Any) -> Any:
        if isinstance(path, str | os.PathLike):
            path = _found(os.fspath(path), more.get("dir_fd"), really_open)
        return call(path, *arguments, **more)

    return folding


def _found(path: Any, dir_fd: int | None, really_open: Any) -> Any:
    if not isinstance(path, str):
        return path
    found: list[str] = []
    for name in path.split("/"):
        before = "/".join(found) or ("/" if found else ".")
        try:
            here = really_open(before, os.O_RDONLY | os.O_DIRECTORY, dir_fd=dir_fd)
        except OSError:
            return path
        entries = os.listdir(here)
        os.close(here)
        same = [each for each in entries if each.casefold() == name.casefold()]
        found.append(name if name in entries or not same else same[0])
    return "/".join(found)


# What this machine can do.


def machine(parts: Any) -> dict[str, bool]:
    """Whether there are openat2, O_PATH, magic links and names that are not UTF-8."""
    return {
        "openat2": _has_openat2(),
        "O_PATH": hasattr(os, "O_PATH"),
        "magic links": os.path.exists("/proc/self/cwd/."),
        "odd names": _has_odd_names(),
        "device": os.path.exists("/dev/null"),
    }


def _has_openat2() -> bool:
    here = os.open(".", os.O_RDONLY)
    try:
        os.close(openat2(here, ".", os.O_RDONLY | os.O_CLOEXEC, BENEATH))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


def _has_odd_names() -> bool:
    try:
        os.close(os.open(b"\xff", os.O_WRONLY | os.O_CREAT))
        os.unlink(b"\xff")
    except OSError:
        return False
    return True


# Break it yourself: readers to judge, and what the learner's swaps leave behind.


@dataclass(frozen=True)
class _Stage:
    """A new world for one try. pause: called by a reader before each of its steps.

    idle: steps in which it does nothing, so that nobody can count on where it opens something.
    """

    root: Path
    root_fd: int
    pause: Callable[[], None]
    idle: int

    def rest(self) -> None:
        """Do nothing for some steps."""
        for _ in range(self.idle + 1):
            self.pause()


def stays_inside(parts: Any, *, reader: str, inside: str, secret: str, idle: int) -> str:
    """What the learner's proof says of a reader, which idles for so many steps first."""
    part, read = parts.swap_it, READERS[reader]

    def trial(swap: Any, moment: int) -> Any:
        layout = {"old/draft.md": inside, "../outside/draft.md": secret}
        with _world(parts, layout) as root, _opened(root) as root_fd:
            left, world = moment, part.World(root, root.parent / "outside")

            def pause() -> None:
                nonlocal left
                if left == 0:
                    swap(world)
                left -= 1

            try:
                told = read(_Stage(root, root_fd, pause, idle))
            except (OSError, ToolRefusal):
                told = None
            return part.Seen(told, inside, secret, left < 0)

    try:
        part.stays_inside(trial)
    except AssertionError:
        return "rejected"
    return "accepted"


def after_swap(parts: Any, *, swap: str, inside: str, secret: str) -> dict[str, str]:
    """What a swap of the learner's leaves: what is read by the path, and what the entries are."""
    part = parts.swap_it
    layout = {"old/draft.md": inside, "../outside/draft.md": secret}
    with _world(parts, layout) as root:
        getattr(part, swap)(part.World(root, root.parent / "outside"))
        return {
            "read": (root / "old" / "draft.md").read_text(),
            "outside": (root.parent / "outside" / "draft.md").read_text(),
            "old": "link" if (root / "old").is_symlink() else "folder",
            "draft.md": "link" if (root / "old" / "draft.md").is_symlink() else "file",
        }


def _resolve_then_open(stage: _Stage) -> str:
    stage.rest()
    found = os.path.realpath(stage.root / "old" / "draft.md")
    stage.pause()
    if not Path(found).is_relative_to(os.path.realpath(stage.root)):
        raise ToolRefusal("outside")
    stage.pause()
    return Path(found).read_text()


def _look_then_open(stage: _Stage) -> str:
    stage.rest()
    path = stage.root / "old" / "draft.md"
    if path.is_symlink() or path.parent.is_symlink():
        raise ToolRefusal("a link")
    stage.pause()
    return path.read_text()


def _last_name_only(stage: _Stage) -> str:
    stage.rest()
    path = stage.root / "old" / "draft.md"
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW)) as file:
        stage.pause()
        return file.read()


def _folder_first(stage: _Stage) -> str:
    stage.rest()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open("old", flags, dir_fd=stage.root_fd)
    try:
        stage.pause()
        with open(os.open("draft.md", os.O_RDONLY, dir_fd=folder)) as file:
            return file.read()
    finally:
        os.close(folder)


def _step_by_step(stage: _Stage) -> str:
    stage.rest()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open("old", flags, dir_fd=stage.root_fd)
    try:
        stage.pause()
        with open(os.open("draft.md", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)) as file:
            stage.pause()
            return file.read()
    finally:
        os.close(folder)


def _opened_before(stage: _Stage) -> str:
    with open(stage.root / "old" / "draft.md") as file:
        stage.rest()
        return file.read()


def _gives_up_when_it_moved(stage: _Stage) -> str:
    told = _step_by_step(stage)
    if (stage.root / "old").is_symlink() or (stage.root / "old" / "draft.md").is_symlink():
        raise ToolRefusal("something moved")
    return told


def _never(stage: _Stage) -> str:
    stage.rest()
    raise ToolRefusal("no")


READERS: dict[str, Callable[[_Stage], str]] = {
    "resolves, then opens": _resolve_then_open,
    "looks for links, then opens": _look_then_open,
    "guards the last name": _last_name_only,
    "guards the folder": _folder_first,
    "goes step by step": _step_by_step,
    "opened it before": _opened_before,
    "gives up when something moved": _gives_up_when_it_moved,
    "refuses everything": _never,
}
