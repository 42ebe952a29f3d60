"""What the checks of step 10 can ask of a learner's part; runs in the worker, on real files.

A world is a folder ``root`` beside a folder ``outside`` that holds a secret. Bytes travel as text
when they are one, else as ``{"hex": …}``. What the part does to the system is seen by wrappers
around the functions of `os`: they can fail, stop the process, or park it, before the call is made.
"""

import contextlib
import errno
import json
import os
import resource
import select
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kit.randomness import SeededRandomness
from kit.refusals import NonceSpent, StateRefused, ToolRefusal

Hook = Callable[[str, Any], None]
SYNCS = ("fsync", "fdatasync")
MOVES = ("rename", "replace", "link")
WATCHED = (*SYNCS, *MOVES, "open", "write", "fchmod", "chmod", "unlink", "remove")
LONG_AGO = 1_000_000_000
hook: Hook | None = None
opened: list[str] | None = None
plain = {name: getattr(os, name) for name in WATCHED}


def _watch(name: str) -> None:
    """Put a wrapper in the place of one function of `os`, before any part is loaded."""

    def watched(*positional: Any, **named: Any) -> Any:
        if hook is not None:
            hook(name, positional)
        return plain[name](*positional, **named)

    setattr(os, name, watched)


def _audit(event: str, arguments: Any) -> None:
    if event == "open" and opened is not None:
        opened.append(str(arguments[0]))


for each in WATCHED:
    _watch(each)
sys.addaudithook(_audit)


@contextlib.contextmanager
def _watching(watcher: Hook) -> Iterator[None]:
    global hook
    hook = watcher
    try:
        yield
    finally:
        hook = None


# Bytes and JSON


def _raw(value: Any) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return value.encode() if isinstance(value, str) else value


def _told(content: bytes) -> Any:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"hex": content.hex()}


# The world


class Room:
    """A root with some files, a folder outside, and a book of spent nonces on the disk.

    files: by name: a text, ``{"hex": …}``, ``{"link": target}``, ``{"folder": true}``,
    ``{"fifo": true}``; with ``{"text": …, "mode": …}`` the permission bits are set.
    """

    def __init__(self, parts: Any, files: dict[str, Any], umask: int = 0o022) -> None:
        self.parts = parts
        self.place = Path(tempfile.mkdtemp(dir=parts.room))
        self.root, self.book = self.place / "root", self.place / "book"
        self.outside = self.place / "outside"
        for folder in (self.root, self.book, self.outside):
            folder.mkdir()
        (self.outside / "secret.txt").write_bytes(b"secret\n")
        self.claims = 0
        os.umask(umask)
        for name, value in files.items():
            self.put(name, value)

    def put(self, name: str, value: Any) -> None:
        """Make one entry, in the place of what was there."""
        path = self.root / name
        self.remove(name)
        if isinstance(value, dict) and "link" in value:
            path.symlink_to(self.place / value["link"])
        elif isinstance(value, dict) and "folder" in value:
            path.mkdir()
        elif isinstance(value, dict) and "fifo" in value:
            os.mkfifo(path)
        else:
            text = value.get("text", value) if isinstance(value, dict) else value
            with open(path, "wb") as file:
                file.write(_raw(text))
            if isinstance(value, dict) and "mode" in value:
                plain["chmod"](path, value["mode"])

    def remove(self, name: str) -> None:
        """Take one entry away, if it is there."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def open_parent(self, path: str) -> tuple[int, str]:
        """The collaborator: folders are walked one by one, links are refused."""
        names = path.split("/")
        if any(name in ("", ".", "..") or "\0" in name for name in names):
            raise ToolRefusal("This path is not below the root.")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = plain["open"](self.root, flags)
        for name in names[:-1]:
            before = folder
            try:
                folder = plain["open"](name, flags, dir_fd=before)
            except OSError:
                raise ToolRefusal("There is no such folder.") from None
            finally:
                os.close(before)
        return folder, names[-1]

    def claim(self, nonce: str) -> Callable[[], None]:
        """The collaborator that spends `nonce`: a file that can be created once."""

        def spend() -> None:
            if hook is not None:
                hook("claim", ())
            self.claims += 1
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                os.close(plain["open"](self.book / nonce, flags))
            except FileExistsError:
                raise NonceSpent from None

        return spend

    def spent(self) -> list[str]:
        """The nonces that are spent."""
        return sorted(os.listdir(self.book))

    def listing(self) -> dict[str, Any]:
        """What is there: a text for a file, its kind for everything else."""
        return {path.name: _entry(path) for path in sorted(self.root.iterdir())}

    def modes(self) -> dict[str, int]:
        """The permission bits of the files."""
        found = {path.name: path.lstat().st_mode for path in sorted(self.root.iterdir())}
        return {name: stat.S_IMODE(mode) for name, mode in found.items() if stat.S_ISREG(mode)}

    def request(self, fields: dict[str, Any]) -> Any:
        """A request of the part's own class."""
        whole = {"principal": "alice", "tool": "write_file", **fields}
        return self.parts.safe_write.WriteRequest(**{**whole, "content": _raw(whole["content"])})


def _entry(path: Path) -> Any:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return {"link": True}
    if stat.S_ISDIR(mode):
        return {"folder": True}
    return _told(path.read_bytes()) if stat.S_ISREG(mode) else {"other": True}


def _receipt(parts: Any, fields: dict[str, Any]) -> Any:
    return parts.safe_write.Receipt(**fields)


def _open_descriptors() -> int:
    count = 0
    for descriptor in range(64):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            count += 1
    return count


# 10.1 and 10.2


def encode(parts: Any, *, text: Any) -> Any:
    """The bytes of a text, in hexadecimal."""
    return bytes(parts.safe_write.encode(text)).hex()


def encoded_size(parts: Any, *, text: str, times: int) -> int:
    """How many bytes a text has that is repeated so many times."""
    return len(parts.safe_write.encode(text * times))


def mark(parts: Any, *, content: Any) -> Any:
    """The mark of a content; null is no file."""
    return parts.safe_write.mark(_raw(content))


def visible(parts: Any, *, text: str) -> Any:
    """One line as a person sees it."""
    return parts.safe_write.visible(text)


def visible_repeated(parts: Any, *, text: str, times: int) -> Any:
    """A line of so many repetitions, as a person sees it."""
    return parts.safe_write.visible(text * times)


def diff(parts: Any, *, old: Any, new: Any) -> Any:
    """The diff of two contents."""
    made = parts.safe_write.diff_preview(_raw(old), _raw(new))
    return {**vars(made), "lines": list(made.lines)}


# 10.3


def preview(parts: Any, *, files: dict[str, Any], **fields: Any) -> Any:
    """The first round: the question and its receipt, or null."""
    room = Room(parts, files)
    return _preview(room, fields)


def _preview(room: Room, fields: dict[str, Any]) -> Any:
    before = _open_descriptors()
    try:
        made = room.parts.safe_write.preview(room.request(fields), room.open_parent)
    finally:
        if left := _open_descriptors() - before:
            raise RuntimeError(f"{left} descriptors were left open.")
    return made and {"message": made.message, "receipt": made.receipt.model_dump()}


def preview_outside(parts: Any, *, content: str) -> Any:
    """A first round with the path of the secret; what was opened of it on the way."""
    global opened
    room = Room(parts, {})
    opened = []
    try:
        told = []
        for path in (str(room.outside / "secret.txt"), "../outside/secret.txt"):
            try:
                told.append(str(_preview(room, {"path": path, "content": content})))
            except ToolRefusal:
                told.append("refused")
        return {"told": told, "opened": [path for path in opened if "secret" in path]}
    finally:
        opened = None


# 10.4


def decide(
    parts: Any,
    *,
    receipt: dict[str, Any],
    request: dict[str, Any],
    answer: dict[str, Any],
    found: dict[str, Any],
) -> str:
    """How a second round ends."""
    part = parts.safe_write
    asked = part.WriteRequest(**{**request, "content": _raw(request["content"])})
    there = part.Found(**{**found, "content": _raw(found.get("content"))})
    decision = part.decide(_receipt(parts, receipt), asked, part.Answer(**answer), there)
    return str(part.Decision(decision).value)


# 10.5


def stage(
    parts: Any, *, content: str, mode: int | None, umask: int = 0o022, seed: str = "one"
) -> Any:
    """Stage one file; what is there when it is done, and the modes it had on the way."""
    room = Room(parts, {}, umask)
    folder, _ = room.open_parent("a.md")
    seen: list[str] = []
    loose = 0

    def watcher(call: str, arguments: Any) -> None:
        nonlocal loose
        seen.append(_seen(call, arguments))
        for found in room.modes().values():
            loose |= found & 0o077

    try:
        with _watching(watcher):
            name = parts.safe_write.stage_file(folder, _raw(content), mode, SeededRandomness(seed))
    finally:
        os.close(folder)
    told = {"name": name, "listing": room.listing(), "modes": room.modes(), "loose": loose}
    return {**told, "synced": "sync file" in seen}


def _seen(call: str, arguments: Any) -> str:
    if call in SYNCS:
        descriptor = getattr(arguments[0], "fileno", lambda: arguments[0])()
        return "sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file"
    return {"fchmod": "chmod"}.get(call, "move" if call in MOVES else call)


def stage_on_a_planted_link(parts: Any, *, content: str) -> Any:
    """Stage one file where a link lies under the very name that it had the first time."""
    first = stage(parts, content=content, mode=0o644)
    room = Room(parts, {first["name"]: {"link": "outside/secret.txt"}})
    folder, _ = room.open_parent("a.md")
    try:
        with contextlib.suppress(OSError):
            parts.safe_write.stage_file(folder, _raw(content), 0o644, SeededRandomness("one"))
    finally:
        os.close(folder)
    return {"secret": (room.outside / "secret.txt").read_text(), "planted": room.listing()}


def stage_with_fault(parts: Any, *, content: str, fault: str) -> Any:
    """Stage one file on a system that fails; what it raised and what it left."""
    room = Room(parts, {})
    folder, _ = room.open_parent("a.md")
    before = _open_descriptors()
    try:
        with _fault(fault):
            told = _raised(
                lambda: parts.safe_write.stage_file(
                    folder, _raw(content), 0o644, SeededRandomness("one")
                )
            )
        return {"told": told, "left": room.listing(), "open": _open_descriptors() - before}
    finally:
        os.close(folder)


def _raised(act: Callable[[], Any]) -> str:
    try:
        act()
    except OSError as trouble:
        return errno.errorcode.get(trouble.errno or 0, "OSError")
    return "done"


@contextlib.contextmanager
def _fault(fault: str) -> Iterator[None]:
    """Let the system fail: ``full`` after 1000 bytes, or one call: ``EIO at sync file``."""
    if fault == "full":
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return
    code, _, where = fault.partition(" at ")

    def watcher(call: str, arguments: Any) -> None:
        if where and _seen(call, arguments) == where:
            number = getattr(errno, code)
            raise OSError(number, os.strerror(number))

    with _watching(watcher):
        yield


# 10.6: whole rounds


def play(
    parts: Any, *, files: dict[str, Any], steps: list[dict[str, Any]], umask: int = 0o022
) -> Any:
    """A script of previews, answers and what others do meanwhile; what was told and what is left.

    Steps: ``preview`` (fields of a request), ``apply`` (with ``answer``, ``nonce``, ``fault``),
    ``put`` and ``as``, ``remove``, ``mode`` and ``of``, ``old`` (a file whose time is set back).
    """
    room = Room(parts, files, umask)
    told: list[Any] = []
    receipt: Any = None
    before = _open_descriptors()
    for step in steps:
        if "preview" in step:
            made = _preview(room, step["preview"])
            receipt = made and _receipt(parts, made["receipt"])
            told.append("asked" if made else "nothing to do")
        elif "apply" in step:
            told.append(_apply(room, receipt, step))
        else:
            _meanwhile(room, step)
    return {
        "told": told,
        "listing": room.listing(),
        "modes": room.modes(),
        "spent": room.spent(),
        "claims": room.claims,
        "secret": (room.outside / "secret.txt").read_text(),
        "open": _open_descriptors() - before,
    }


def _meanwhile(room: Room, step: dict[str, Any]) -> None:
    if "put" in step:
        room.put(step["put"], step["as"])
    elif "remove" in step:
        room.remove(step["remove"])
    elif "mode" in step:
        plain["chmod"](room.root / step["of"], step["mode"])
    else:
        os.utime(room.root / step["old"], (LONG_AGO, LONG_AGO))


def _apply(room: Room, receipt: Any, step: dict[str, Any], seed: str = "apply") -> str:
    part = room.parts.safe_write
    answer = part.Answer(**step.get("answer", {"action": "accept", "apply": True}))
    claim = room.claim(step.get("nonce", "n1"))
    request = room.request(step["apply"])
    with _fault(step["fault"]) if "fault" in step else contextlib.nullcontext():
        try:
            outcome = part.apply(
                receipt, request, answer, room.open_parent, claim, SeededRandomness(seed)
            )
        except NonceSpent:
            return "spent"
        except ToolRefusal:
            return "refused"
        except StateRefused:
            return "state refused"
        except OSError as trouble:
            return errno.errorcode.get(trouble.errno or 0, "OSError")
    said = str(part.Decision(outcome.decision).value)
    return said if outcome.durable else f"{said}, not durable"


def order(parts: Any, *, files: dict[str, Any], **fields: Any) -> list[str]:
    """What an approved write does, in order: syncs, the claim and the move."""
    room, told = Room(parts, files), []
    receipt = _receipt(parts, _preview(room, fields)["receipt"])

    def watcher(call: str, arguments: Any) -> None:
        told.append(_seen(call, arguments))

    with _watching(watcher):
        _apply(room, receipt, {"apply": fields})
    return [each for each in told if each in ("sync file", "claim", "move", "sync folder")]


def reader(parts: Any, *, old: str, **fields: Any) -> Any:
    """What somebody reads who had the file open before it was replaced."""
    room = Room(parts, {fields["path"]: old})
    receipt = _receipt(parts, _preview(room, fields)["receipt"])
    with open(room.root / fields["path"], "rb") as file:
        told = _apply(room, receipt, {"apply": fields})
        return {"told": told, "read": _told(file.read()), "listing": room.listing()}


def newcomer(parts: Any, *, theirs: str, **fields: Any) -> Any:
    """Somebody creates the file before each call that a create makes, where he still can.

    For each point: whether he could, what was told, and the folder.
    """
    endings: list[Any] = []
    for point in range(40):
        room = Room(parts, {})
        receipt = _receipt(parts, _preview(room, fields)["receipt"])
        person = Newcomer(point, room.root / fields["path"], _raw(theirs))
        with _watching(person.watch):
            told = _apply(room, receipt, {"apply": fields})
        endings.append([person.came, told, room.listing()])
        if person.calls <= point:
            break
    return endings


class Newcomer:
    """Creates a file before call number `point`, unless it is there."""

    def __init__(self, point: int, path: Path, content: bytes) -> None:
        self._point, self._path, self._content = point, path, content
        self.calls, self.came = 0, False

    def watch(self, call: str, arguments: Any) -> None:
        """Count the call, and come when it is time."""
        self.calls += 1
        if self.calls != self._point + 1:
            return
        with contextlib.suppress(FileExistsError), open(self._path, "xb") as file:
            file.write(self._content)
            self.came = True


def crashes(parts: Any, *, old: str, **fields: Any) -> Any:
    """The process ends before each of its calls; then the old content returns, and a retry.

    For each point: the file after the crash, what the retry was told, the file after it.
    """
    _rehearse(parts, old, **fields)
    endings: list[Any] = []
    for point in range(40):
        room = Room(parts, {fields["path"]: old})
        receipt = _receipt(parts, _preview(room, fields)["receipt"])
        status = _stopped_at(point, partial(_apply, room, receipt, {"apply": fields}))
        after = room.listing()[fields["path"]]
        room.put(fields["path"], old)
        retry = _apply(room, receipt, {"apply": fields}, seed="retry")
        endings.append([after, retry, room.listing()[fields["path"]]])
        if status == 0:
            break
    return endings


def _stopped_at(point: int, act: Callable[[], Any]) -> int:
    """Act in a process that ends before its call number `point`; 0 when it had fewer."""
    child = os.fork()
    if child == 0:
        calls = 0

        def watcher(call: str, arguments: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == point + 1:
                os._exit(9)

        status = 1
        try:
            with _watching(watcher):
                act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# Two writers


def rivals(parts: Any, *, old: str | None, path: str, contents: list[str]) -> Any:
    """Two processes with one base; the first is parked before each of its calls in turn.

    For each way in which it ended: what the two were told, and the file.
    """
    _rehearse(parts, old, path, contents[0])
    endings: list[Any] = []
    for point in range(40):
        room = Room(parts, {} if old is None else {path: old})
        acts = _acts(room, path, contents)
        first = Rival(acts[0], point)
        parked = first.wait_until_parked()
        second = Rival(acts[1])
        second.ends_within(0.1)
        first.go_on()
        ending = [first.told(), second.told(), room.listing()]
        endings += [] if ending in endings else [ending]
        if not parked:
            break
    return endings


def _acts(room: Room, path: str, contents: list[str]) -> list[Callable[[], str]]:
    """One approved write for each content; the base of all is what is there now."""
    fields = [{"path": path, "content": content} for content in contents]
    receipts = [_receipt(room.parts, _preview(room, each)["receipt"]) for each in fields]
    return [
        partial(_apply, room, receipt, {"apply": each, "nonce": f"n{number}"}, f"s{number}")
        for number, (each, receipt) in enumerate(zip(fields, receipts, strict=True))
    ]


def _rehearse(parts: Any, old: str | None, path: str, content: str) -> None:
    """Write once in this process, where it is heard when an exercise is not started."""
    room = Room(parts, {} if old is None else {path: old})
    _acts(room, path, [content])[0]()


class Rival:
    """A process that acts, and is parked before its call number `park` until `go_on`."""

    def __init__(self, act: Callable[[], str], park: int | None = None) -> None:
        self._answer, answer = os.pipe()
        gate, self._gate = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            try:
                with _watching(_parking(park, gate, answer)):
                    told = act()
                plain["write"](answer, json.dumps(told).encode())
            finally:
                os._exit(0)
        os.close(answer)
        os.close(gate)

    def wait_until_parked(self) -> bool:
        """Whether it was parked; it has ended otherwise."""
        self._first = os.read(self._answer, 1)
        return self._first == b"p"

    def ends_within(self, seconds: float) -> None:
        """Wait for it, but no longer than that."""
        select.select([self._answer], [], [], seconds)

    def go_on(self) -> None:
        """Open the gate."""
        with contextlib.suppress(BrokenPipeError):
            plain["write"](self._gate, b"g")

    def told(self) -> Any:
        """What it was told; null when it crashed."""
        text = getattr(self, "_first", b"").strip(b"p")
        while piece := os.read(self._answer, 4096):
            text += piece
        os.close(self._answer)
        os.close(self._gate)
        os.waitpid(self._child, 0)
        return json.loads(text or b"null")


def _parking(park: int | None, gate: int, answer: int) -> Hook:
    calls = 0

    def watcher(call: str, arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if park is not None and calls == park + 1:
            plain["write"](answer, b"p")
            os.read(gate, 1)

    return watcher


def crowd(parts: Any, *, old: str, path: str, contents: list[str]) -> Any:
    """As many processes as contents, all with one base, nobody parked."""
    _rehearse(parts, old, path, contents[0])
    room = Room(parts, {path: old})
    crew = [Rival(act) for act in _acts(room, path, contents)]
    return {"told": [each.told() for each in crew], "listing": room.listing()}


# 10.7


def descriptors(parts: Any, *, two_tools: bool) -> Any:
    """What the list of tools says."""
    return parts.safe_write.descriptors(two_tools)


def two_tools(
    parts: Any, *, files: dict[str, Any], steps: list[dict[str, Any]], switched_on: bool = True
) -> Any:
    """A script of ``preview_write`` and ``apply_write``; the states are known by their numbers."""
    room = Room(parts, files)
    states: list[Any] = []
    told: list[Any] = []
    part = parts.safe_write

    def mint(receipt: Any) -> str:
        states.append(receipt)
        return f"state {len(states) - 1}"

    def find(state: Any, principal: str) -> tuple[Any, Any]:
        known = {f"state {number}": each for number, each in enumerate(states)}
        if not isinstance(state, str) or state not in known:
            raise StateRefused("signature")
        if known[state].principal != principal:
            raise StateRefused("principal")
        return known[state], room.claim(state.replace(" ", ""))

    desk = part.Desk(room.open_parent, SeededRandomness("two"), mint, find, switched_on)
    for step in steps:
        who = step.get("who", "alice")
        if "preview" in step:
            told.append(_or_refusal(partial(part.preview_write, step["preview"], who, desk)))
        elif "mint" in step:
            mint(_receipt(parts, _preview(room, step["mint"])["receipt"]))
        elif "apply" in step:
            told.append(_or_refusal(partial(part.apply_write, step["apply"], who, desk)))
        else:
            _meanwhile(room, step)
    return {"told": told, "listing": room.listing(), "spent": room.spent()}


def _or_refusal(act: Callable[[], Any]) -> Any:
    try:
        told = act()
        return told if isinstance(told, dict) else str(told.decision.value)
    except ToolRefusal:
        return "refused"
    except StateRefused:
        return "state refused"
    except NonceSpent:
        return "spent"
