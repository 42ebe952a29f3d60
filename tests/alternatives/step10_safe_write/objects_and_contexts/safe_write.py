"""Safe write with objects: each of them owns one thing and gives it back."""

import contextlib
import difflib
import errno
import fcntl
import hashlib
import os
import re
import stat
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, ClassVar, Self

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


class Column:
    """One character and how it is shown."""

    NAMED: ClassVar = {"\t": r"\t", "\r": r"\r", "\\": r"\\"}

    def __init__(self, character: str, opens: bool) -> None:
        self.character, self.opens = character, opens

    def acts(self) -> bool:
        """Whether it must not be shown as it is."""
        over_the_sign = self.opens and unicodedata.category(self.character)[0] == "M"
        return over_the_sign or self.character in HIDDEN or not self.character.isprintable()

    def __str__(self) -> str:
        number = ord(self.character)
        if self.character in self.NAMED:
            return self.NAMED[self.character]
        if number in range(0xDC80, 0xDD00):
            return rf"\x{number & 0xFF:02x}"
        if not self.acts():
            return self.character
        return rf"\u{number:04x}" if number < 0x10000 else rf"\U{number:08x}"


class Line:
    """A line with a limited number of columns."""

    def __init__(self, text: str) -> None:
        self.columns = [str(Column(c, at == 0)) for at, c in enumerate(text)]

    def fitting(self, room: int) -> int:
        """How many characters fit into the room."""
        for count, column in enumerate(self.columns):
            room -= len(column)
            if room < 0:
                return count
        return len(self.columns)

    def __str__(self) -> str:
        count = len(self.columns)
        if self.fitting(MOST_COLUMNS) == count:
            return "".join(self.columns)
        kept = self.fitting(MOST_COLUMNS - len(str(count)) - 1)
        return "".join(self.columns[:kept]) + f"\N{HORIZONTAL ELLIPSIS}{count - kept}"


def encode(text: Any) -> bytes:
    """The bytes of a text."""
    try:
        content = str.encode(text)
    except TypeError as wrong:
        raise ToolRefusal("This is not a text.") from wrong
    except UnicodeEncodeError as wrong:
        raise ToolRefusal("This text is not whole.") from wrong
    if content[LARGEST:]:
        raise ToolRefusal("This text is too large.")
    return content


def mark(content: bytes | None) -> str:
    """A name for a content."""
    return next(
        (f"sha256:{hashlib.sha256(each).hexdigest()}" for each in [content] if each is not None),
        ABSENT,
    )


# 2. The question


def visible(text: str) -> str:
    """One line for a person."""
    return str(Line(text))


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


class DiffBuilder:
    """Gathers a diff line by line."""

    def __init__(self) -> None:
        self.counts = {"+": 0, "-": 0, " ": 0, "@": 0}
        self.lines: list[str] = []

    def add(self, sign: str, line: str) -> None:
        """Take one entry of `compare`."""
        self.counts[sign] += 1
        if sign == "@":
            self.lines.append(line)
            return
        text, ended, _ = line.partition("\n")
        self.lines.append(sign + visible(text))
        if not ended:
            self.lines.append(NO_NEWLINE)

    def finish(self, size: int) -> Diff:
        """The diff, cut to its length."""
        shown = tuple(self.lines[:MOST_LINES])
        return Diff(self.counts["-"], self.counts["+"], size, shown, len(self.lines) - len(shown))


def diff_preview(old: bytes | None, new: bytes) -> Diff:
    """What a person sees of a change."""
    builder = DiffBuilder()
    for sign, line in compare(text_lines(old), text_lines(new)):
        builder.add(sign, line)
    return builder.finish(len(new))


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


@contextlib.contextmanager
def parent_of(path: str, open_parent: OpenParent) -> Iterator[tuple[int, str]]:
    """The folder of a path, closed afterwards."""
    folder, name = open_parent(path)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, folder)
        yield folder, name


def preview(request: WriteRequest, open_parent: OpenParent) -> Preview | None:
    """The first round."""
    with parent_of(request.path, open_parent) as (folder, name):
        found = look(folder, name)
    if found.kind not in {"absent", "file"}:
        raise ToolRefusal(SENTENCES[Decision.NOT_A_FILE])
    wanted = {"base": mark(found.content), "new": mark(request.content), "mode": found.mode}
    if wanted["base"] == wanted["new"]:
        return None
    named = {key: value for key, value in vars(request).items() if key != "content"}
    receipt = Receipt.model_validate(named | wanted)
    diff = diff_preview(found.content, request.content)
    return Preview(message=question(request.path, found, diff), receipt=receipt)


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


class SecondRound:
    """The questions of a second round; each method answers one of them, or None."""

    def __init__(
        self, receipt: Receipt, request: WriteRequest, answer: Answer, found: Found
    ) -> None:
        self.receipt, self.request, self.answer, self.found = receipt, request, answer, found
        self.now = mark(found.content)

    def same_call(self) -> Decision | None:
        """Is this what was shown?"""
        if any(getattr(self.receipt, n) != getattr(self.request, n) for n in ("principal", "tool")):
            raise StateRefused("receipt")
        same = self.receipt.path == self.request.path and self.receipt.new == mark(
            self.request.content
        )
        return None if same else Decision.SWAPPED

    def consent(self) -> Decision | None:
        """Did the user say yes?"""
        if self.answer.action == "accept":
            return None if self.answer.apply is True else Decision.NOT_CONFIRMED
        return Decision.DECLINED if self.answer.action == "decline" else Decision.CANCELLED

    def same_file(self) -> Decision | None:
        """Is the file as it was?"""
        expected = "absent" if self.receipt.base == ABSENT else "file"
        if self.now == self.receipt.new:
            return Decision.ALREADY
        if self.found.kind in ("folder", "link", "other"):
            return Decision.NOT_A_FILE
        if self.found.kind != expected:
            return Decision.APPEARED if expected == "absent" else Decision.VANISHED
        same = self.now == self.receipt.base and self.found.mode == self.receipt.mode
        return None if same else Decision.CHANGED


def decide(receipt: Receipt, request: WriteRequest, answer: Answer, found: Found) -> Decision:
    """How the second round ends."""
    asked = SecondRound(receipt, request, answer, found)
    for question_of in (asked.same_call, asked.consent, asked.same_file):
        if (end := question_of()) is not None:
            return end
    return Decision.APPLY


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


class Staged:
    """A temporary file that exists for the length of a `with`, unless it is kept."""

    def __init__(self, folder: int, name: str) -> None:
        self.folder, self.name, self.kept = folder, name, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, trace: TracebackType | None
    ) -> None:
        if not self.kept:
            with contextlib.suppress(OSError):
                os.remove(self.name, dir_fd=self.folder)


def stage_file(folder: int, content: bytes, mode: int | None, randomness: Randomness) -> str:
    """A temporary file with everything in it."""
    name = f".write-{randomness.token_bytes(16).hex()}"

    def opener(path: str, flags: int) -> int:
        born = 0o666 if mode is None else 0o600
        return os.open(path, flags | os.O_NOFOLLOW, born, dir_fd=folder)

    file = open(name, "xb", buffering=0, opener=opener)  # noqa: SIM115
    with Staged(folder, name) as staged, file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]
        if mode is not None:
            os.chmod(file.fileno(), mode)
        os.fsync(file.fileno())
        staged.kept = True
    return name


def replace_file(
    folder: int,
    name: str,
    content: bytes,
    mode: int | None,
    claim: Claim,
    randomness: Randomness,
) -> bool:
    """Stage, claim, move, sync."""
    with Staged(folder, stage_file(folder, content, mode, randomness)) as staged:
        claim()
        move = os.link if mode is None else os.rename
        move(staged.name, name, src_dir_fd=folder, dst_dir_fd=folder)
        staged.kept = mode is not None
    with contextlib.suppress(OSError):
        os.fsync(folder)
        return True
    return False


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


class Tool:
    """What the list says of one tool."""

    def __init__(self, name: str, says: str, *more: str, reads: bool = False) -> None:
        self.name, self.says, self.texts, self.reads = name, says, ("path", "content", *more), reads

    def descriptor(self) -> Json:
        """As JSON."""
        schema: Json = {"type": "object", "additionalProperties": False}
        schema |= {"required": list(self.texts)}
        schema |= {"properties": {text: {"type": "string"} for text in self.texts}}
        hints = {"readOnlyHint": self.reads, "destructiveHint": not self.reads}
        hints |= {"idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name,
            "description": self.says,
            "inputSchema": schema,
            "annotations": hints,
        }


def descriptors(two_tools: bool) -> list[Json]:
    """What the list of tools says."""
    tools = [
        Tool("write_file", "Writes a file; the user is asked."),
        Tool("preview_write", "Shows what a write would change.", reads=True),
        Tool("apply_write", "Writes what was shown; no human is asked.", "state"),
    ]
    return [tool.descriptor() for tool in tools[: 3 if two_tools else 1]]


class Counterpart:
    """Where the two tools are handed over, if they are."""

    def __init__(self, desk: Desk) -> None:
        if not desk.two_tools:
            raise RpcError(INVALID_PARAMS, "This tool does not exist here.")
        self.desk = desk


def preview_write(arguments: Json, principal: str, desk: Desk) -> Json:
    """The first of the two tools."""
    desk = Counterpart(desk).desk
    shown = preview(read_arguments(arguments, principal, "apply_write"), desk.open_parent)
    told = {"message": shown.message if shown else SENTENCES[Decision.ALREADY]}
    return told | ({"state": desk.mint(shown.receipt)} if shown else {})


def apply_write(arguments: Json, principal: str, desk: Desk) -> Outcome:
    """The second of the two tools."""
    desk = Counterpart(desk).desk
    request = read_arguments(arguments, principal, "apply_write", ("state",))
    receipt, claim = desk.open(arguments["state"], principal)
    return apply(receipt, request, Answer("accept", True), desk.open_parent, claim, desk.randomness)
