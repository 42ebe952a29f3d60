"""Safe write with patterns: what acts is matched, what was decided is matched, too."""

import contextlib
import difflib
import errno
import fcntl
import hashlib
import itertools
import os
import re
import stat
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError, StateRefused, ToolRefusal

Json = dict[str, Any]

LARGEST = 65_536  # bytes of a file that this tool reads or writes
MOST_LINES = 40  # of the diff, in one question
MOST_COLUMNS = 120  # of one line of it
MOST_WORK = 10_000_000  # steps of a comparison, at worst; a third of a second
CONTEXT = 3
PATIENCE = 5.0  # seconds that a writer waits for another one
ABSENT = "absent"
NO_NEWLINE = "\\ No newline at end of file"

# Printable for Python, and yet not to be seen, or to be taken for something else: fillers, blanks,
# variation selectors, and the sign that this module puts where it cut something off.
HIDDEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2026\u2800\u3164\uffa0"
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))

ESCAPES = {"\t": "\\t", "\r": "\\r", "\\": "\\\\"}

# Opens the folder that holds a path, below the root and through no link; returns a descriptor of
# its own, which the caller closes, and the name in it. ToolRefusal for what lies outside.
OpenParent = Callable[[str], tuple[int, str]]
# Spends the approval, for good, before it returns. NonceSpent when it was spent before.
Claim = Callable[[], Any]


@dataclass(frozen=True)
class WriteRequest:
    """What one call asks for.

    principal: its subject. tool: its name. path: as the client wrote it. content: the whole file.
    """

    principal: str
    tool: str
    path: str
    content: bytes


@dataclass(frozen=True)
class Found:
    """What is there under a name.

    kind: ``absent``, ``file``, ``folder``, ``link`` or ``other``. content and mode: of a file, all
    of its bytes and its permission bits; None for everything else.
    """

    kind: str
    content: bytes | None = None
    mode: int | None = None


@dataclass(frozen=True)
class Diff:
    """What a person is shown.

    removed, added: how many lines, of the whole change. size: bytes of the file afterwards.
    lines: of the unified diff, at most MOST_LINES. cut: how many more there would be.
    """

    removed: int
    added: int
    size: int
    lines: tuple[str, ...]
    cut: int


class Receipt(BaseModel):
    """The one change that an approval is good for (WRITE-1); it travels in the signed state.

    principal, tool, path: of the request. base, new: marks of the content before and after.
    mode: permission bits before, which stay; None when a new file is created.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    principal: str
    tool: str
    path: str
    base: str
    new: str
    mode: int | None


@dataclass(frozen=True)
class Preview:
    """The question to a user. message: its text. receipt: what a yes to it means."""

    message: str
    receipt: Receipt


@dataclass(frozen=True)
class Answer:
    """What the user did. action: ``accept``, ``decline`` or ``cancel``. apply: the form's field."""

    action: str
    apply: Any = None


class Decision(StrEnum):
    """How a second round ends; each end has its own sentence (WRITE-23)."""

    APPLY = "apply"
    SWAPPED = "swapped"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    NOT_CONFIRMED = "not confirmed"
    ALREADY = "already"
    APPEARED = "appeared"
    VANISHED = "vanished"
    NOT_A_FILE = "not a file"
    CHANGED = "changed"


SENTENCES = {
    Decision.APPLY: "Written.",
    Decision.SWAPPED: "These are not the arguments that were shown; nothing was written.",
    Decision.DECLINED: "The user declined; nothing was written.",
    Decision.CANCELLED: "The user decided nothing, and nothing was written.",
    Decision.NOT_CONFIRMED: "The user did not confirm; nothing was written.",
    Decision.ALREADY: "The file has this content already; nothing was written.",
    Decision.APPEARED: "A file of this name has appeared since; nothing was written.",
    Decision.VANISHED: "The file is gone since it was shown; nothing was written.",
    Decision.NOT_A_FILE: "This is not a plain file; nothing was written.",
    Decision.CHANGED: "The file has changed since it was shown; nothing was written.",
}
SPENDS = {Decision.DECLINED, Decision.NOT_CONFIRMED}


@dataclass(frozen=True)
class Outcome:
    """How it ended. durable: False when the disk did not confirm what was written."""

    decision: Decision
    durable: bool = True


# 1. Bytes


def encode(text: Any) -> bytes:
    """The bytes of a text."""
    match text:
        case str() if not re.search("[\ud800-\udfff]", text):
            content = text.encode()
        case _:
            raise ToolRefusal("Only a text that has UTF-8 can be written.")
    if len(content) > LARGEST:
        raise ToolRefusal("Too many bytes.")
    return content


def mark(content: bytes | None) -> str:
    """A name for a content."""
    match content:
        case None:
            return ABSENT
        case bytes():
            return "sha256:" + hashlib.new("sha256", content).digest().hex()


# 2. The question


HIDING = re.compile("[" + re.escape("".join(sorted(HIDDEN))) + "]")


def pieces(text: str) -> Iterator[str]:
    """Each character as it is shown."""
    for at, character in enumerate(text):
        match ord(character):
            case 9:
                yield r"\t"
            case 13:
                yield r"\r"
            case 92:
                yield "\\" * 2
            case byte if 0xDC80 <= byte <= 0xDCFF:
                yield f"\\x{byte - 0xDC00:02x}"
            case _ if at == 0 and unicodedata.category(character).startswith("M"):
                yield escape(character)
            case _ if HIDING.match(character) or not character.isprintable():
                yield escape(character)
            case _:
                yield character


def escape(character: str) -> str:
    """A character by its number."""
    number = f"{ord(character):x}"
    return "\\U" + number.zfill(8) if len(number) > 4 else "\\u" + number.zfill(4)


def visible(text: str) -> str:
    """One line for a person."""
    start = list(itertools.islice(pieces(text), MOST_COLUMNS + 1))
    if len(start) == len(text) and len("".join(start)) <= MOST_COLUMNS:
        return "".join(start)
    for kept in range(len(start), -1, -1):
        line = "".join(start[:kept]) + f"\u2026{len(text) - kept}"
        if len(line) <= MOST_COLUMNS and kept < len(text):
            return line
    raise AssertionError("an empty line always fits")


def text_lines(content: bytes | None) -> list[str]:
    """Return the lines of a file, each with its line feed; only that ends a line.

    A byte that is not UTF-8 becomes U+DC80 to U+DCFF. No file has no lines.
    """
    text = (content or b"").decode("utf-8", "surrogateescape")
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def compare(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the unified diff as pairs of a sign and a line: ``-``, ``+``, a space, or ``@``.

    With ``@`` comes the place, such as ``@@ -1,3 +1,4 @@``; with the others a line as it is. Equal
    lines at both ends are set aside first; when comparing the rest could take minutes, it counts
    as replaced altogether.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    first, spare = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    old, new = old[first : len(old) - spare], new[first : len(new) - spare]
    for group in _groups(old, new, head - first, tail - spare):
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        yield "@", f"@@ -{_range(first + i1, i2 - i1)} +{_range(first + j1, j2 - j1)} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((" ", line) for line in old[i1:i2])
                continue
            yield from (("-", line) for line in old[i1:i2])
            yield from (("+", line) for line in new[j1:j2])


def _common(old: list[str], new: list[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(old), len(new)))


def _range(start: int, count: int) -> str:
    return f"{start + bool(count)},{count}"


def _groups(old: list[str], new: list[str], head: int, tail: int) -> list[list[Any]]:
    often = Counter(old)
    if sum(often[line] for line in new) * min(len(old), len(new)) <= MOST_WORK:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return list(matcher.get_grouped_opcodes(CONTEXT))
    i, j = len(old) - tail, len(new) - tail
    before, after = ("equal", 0, head, 0, head), ("equal", i, len(old), j, len(new))
    return [[before, ("replace", head, i, head, j), after]]


def diff_preview(old: bytes | None, new: bytes) -> Diff:
    """What a person sees of a change."""

    def shown(sign: str, line: str) -> list[str]:
        match sign, line[-1:]:
            case "@", _:
                return [line]
            case _, "\n":
                return [sign + visible(line[:-1])]
            case _:
                return [sign + visible(line), NO_NEWLINE]

    changes = list(compare(text_lines(old), text_lines(new)))
    lines = list(itertools.chain.from_iterable(itertools.starmap(shown, changes)))
    often = Counter(sign for sign, _ in changes)
    return Diff(
        often["-"], often["+"], len(new), tuple(lines[:MOST_LINES]), len(lines[MOST_LINES:])
    )


def question(path: str, found: Found, diff: Diff) -> str:
    """Return the text of the question: what happens to which file, in numbers and as a diff."""
    what = "Create the new file" if found.kind == "absent" else "Replace the file"
    counts = f"{diff.removed} lines removed, {diff.added} added, {diff.size} bytes afterwards."
    cut = [f"{diff.cut} more lines of the diff are not shown."] if diff.cut else []
    return "\n".join([f"{what} {visible(path)}? {counts}", *diff.lines, *cut])


# 3. The first round


def look(folder: int, name: str) -> Found:
    """Return what is there under `name` now, without following a link and without waiting.

    folder: descriptor of the folder. Errors: ToolRefusal for a file of more than LARGEST bytes and
    for one that may not be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError as trouble:
        kinds = {errno.ENOENT: "absent", errno.ELOOP: "link", errno.ENXIO: "other"}
        if trouble.errno not in kinds:
            raise ToolRefusal("This file cannot be read.") from None
        return Found(kinds[trouble.errno])
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return Found("folder" if stat.S_ISDIR(mode) else "other")
        return Found("file", _read(descriptor), stat.S_IMODE(mode))
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    content = b""
    while piece := os.read(descriptor, LARGEST + 1 - len(content)):
        content += piece
    if len(content) > LARGEST:
        raise ToolRefusal("This file is too large for this tool.")
    return content


def preview(request: WriteRequest, open_parent: OpenParent) -> Preview | None:
    """The first round."""
    folder, name = open_parent(request.path)
    try:
        found = look(folder, name)
    finally:
        os.close(folder)
    match found:
        case Found(kind="file", content=content) if content == request.content:
            return None
        case Found(kind="file" | "absent"):
            pass
        case _:
            raise ToolRefusal("This is something else than a file.")
    receipt = Receipt(
        base=mark(found.content),
        mode=found.mode,
        new=mark(request.content),
        path=request.path,
        principal=request.principal,
        tool=request.tool,
    )
    text = question(request.path, found, diff_preview(found.content, request.content))
    return Preview(text, receipt)


def write_down(receipt: Receipt) -> str:
    """Return the receipt as a text that can travel in a state.

    The state has to be encrypted or at least signed (step 05). Signed only, the receipt can be
    read, and whoever reads the hash of a file can try guesses of its content.
    """
    return receipt.model_dump_json()


def read_receipt(text: str) -> Receipt:
    """Return the receipt in a text of `write_down`. Errors: StateRefused("receipt")."""
    try:
        return Receipt.model_validate_json(text)
    except ValidationError:
        raise StateRefused("receipt") from None


# 4. The second round


def decide(receipt: Receipt, request: WriteRequest, answer: Answer, found: Found) -> Decision:
    """How the second round ends."""
    if (request.principal, request.tool) != (receipt.principal, receipt.tool):
        raise StateRefused("receipt")
    same = (request.path, mark(request.content)) == (receipt.path, receipt.new)
    match same, answer:
        case False, _:
            return Decision.SWAPPED
        case _, Answer(action="decline"):
            return Decision.DECLINED
        case _, Answer(action="accept", apply=True) if answer.apply is True:
            return conflict(receipt, found)
        case _, Answer(action="accept"):
            return Decision.NOT_CONFIRMED
        case _:
            return Decision.CANCELLED


def apply(
    receipt: Receipt,
    request: WriteRequest,
    answer: Answer,
    open_parent: OpenParent,
    claim: Claim,
    randomness: Randomness,
) -> Outcome:
    """Do what the answer says, under the folder's lock; return how it ended.

    claim: is called once at most: for APPLY just before the file changes, and for what the user
    decided against. Conflicts spend nothing, because nothing was done.
    Errors: ToolRefusal, StateRefused and NonceSpent with nothing written; OSError when the system
    does not write, with nothing written and no temporary file left (WRITE-16).
    """
    folder, name = open_parent(request.path)
    try:
        with exclusive(folder):
            decision = decide(receipt, request, answer, look(folder, name))
            if decision in SPENDS:
                claim()
            if decision is not Decision.APPLY:
                return Outcome(decision)
            content, mode = request.content, receipt.mode
            return Outcome(decision, replace_file(folder, name, content, mode, claim, randomness))
    except FileExistsError:
        return Outcome(Decision.APPEARED)
    finally:
        os.close(folder)


# 5. The write


@contextlib.contextmanager
def exclusive(folder: int, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a folder; of all who take it, one at a time is inside (WRITE-17).

    folder: a descriptor that was opened for this call; copies of one share its lock. patience:
    seconds. It binds those who take it: an editor does not. It ends with the process.
    Errors: ToolRefusal when another one holds it for longer.
    """
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                raise ToolRefusal("Another write is under way; try again later.") from None
            time.sleep(0.005)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def conflict(receipt: Receipt, found: Found) -> Decision:
    """What stands in the way of a yes, or APPLY."""
    match receipt.base, found:
        case _, Found(kind="folder" | "link" | "other"):
            return Decision.NOT_A_FILE
        case "absent", Found(kind="absent"):
            return Decision.APPLY
        case _, Found(kind="absent"):
            return Decision.VANISHED
        case _, Found(content=content) if mark(content) == receipt.new:
            return Decision.ALREADY
        case "absent", _:
            return Decision.APPEARED
        case base, Found(content=content, mode=receipt.mode) if mark(content) == base:
            return Decision.APPLY
        case _:
            return Decision.CHANGED


def stage_file(folder: int, content: bytes, mode: int | None, randomness: Randomness) -> str:
    """A temporary file with everything in it."""
    name = ".write-" + "".join(f"{byte:02x}" for byte in randomness.token_bytes(16))
    with contextlib.ExitStack() as undo:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(name, flags, {None: 0o666}.get(mode, 0o600), dir_fd=folder)
        undo.callback(discard, folder, name)
        try:
            for start in itertools.count(0, 4096):
                if not (piece := content[start : start + 4096]):
                    break
                while piece := piece[os.write(descriptor, piece) :]:
                    pass
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        undo.pop_all()
    return name


def discard(folder: int, name: str) -> None:
    """Remove what may be gone."""
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def replace_file(
    folder: int,
    name: str,
    content: bytes,
    mode: int | None,
    claim: Claim,
    randomness: Randomness,
) -> bool:
    """Stage, claim, move, sync."""
    here = {"src_dir_fd": folder, "dst_dir_fd": folder}
    with contextlib.ExitStack() as afterwards:
        temporary = stage_file(folder, content, mode, randomness)
        afterwards.callback(discard, folder, temporary)
        claim()
        match mode:
            case None:
                os.link(temporary, name, **here)
            case _:
                os.replace(temporary, name, **here)
    try:
        os.fsync(folder)
    except OSError:
        return False
    else:
        return True


# 6. Two tools, for clients that cannot ask


@dataclass(frozen=True)
class Desk:
    """What the two tools need besides their arguments.

    open_parent, randomness: as for `apply`. mint: returns the state that carries a receipt. open:
    takes a state and a principal; returns its receipt and the claim that spends it, or raises
    StateRefused. two_tools: the operator's switch.
    """

    open_parent: OpenParent
    randomness: Randomness
    mint: Callable[[Receipt], str]
    open: Callable[[Any, str], tuple[Receipt, Claim]]
    two_tools: bool


def read_arguments(
    arguments: Json, principal: str, tool: str, more: tuple[str, ...] = ()
) -> WriteRequest:
    """Return the request in the arguments of a call: ``path``, ``content`` and those in `more`.

    tool: the one that will write. Errors: ToolRefusal for a missing or another argument, and as
    `encode`.
    """
    if set(arguments) != {"path", "content", *more} or not isinstance(arguments["path"], str):
        raise ToolRefusal(f"This tool takes {', '.join(('path', 'content', *more))}, all required.")
    return WriteRequest(principal, tool, arguments["path"], encode(arguments["content"]))


TEMPLATE: Json = {
    "write_file": ("Writes a file; the user sees the change first.", "path content", False),
    "preview_write": ("Shows a change, for apply_write.", "path content", True),
    "apply_write": ("Makes the change. No human is asked.", "path content state", False),
}


def descriptors(two_tools: bool) -> list[Json]:
    """What the list of tools says."""
    return [
        {
            "name": name,
            "description": says,
            "inputSchema": {
                "type": "object",
                "properties": {text: {"type": "string"} for text in names.split()},
                "required": names.split(),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": reads,
                "destructiveHint": not reads,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for name, (says, names, reads) in TEMPLATE.items()
        if two_tools or name == "write_file"
    ]


def exists(desk: Desk) -> Desk:
    """The desk, if the operator lets it be one."""
    match desk:
        case Desk(two_tools=True):
            return desk
    raise RpcError(INVALID_PARAMS, "There is no such tool.")


def preview_write(arguments: Json, principal: str, desk: Desk) -> Json:
    """The first of the two tools."""
    request = read_arguments(arguments, principal, "apply_write") if exists(desk) else None
    match request and preview(request, desk.open_parent):
        case Preview(message, receipt):
            return {"message": message, "state": desk.mint(receipt)}
        case _:
            return {"message": "The file has this content already."}


def apply_write(arguments: Json, principal: str, desk: Desk) -> Outcome:
    """The second of the two tools."""
    unseal, more = exists(desk).open, ("state",)
    wanted = read_arguments(arguments, principal, "apply_write", more)
    receipt, claim = unseal(arguments["state"], principal)
    return apply(receipt, wanted, Answer("accept", True), desk.open_parent, claim, desk.randomness)
