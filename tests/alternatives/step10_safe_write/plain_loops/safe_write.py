"""Safe write, written out: one thing after the other, with loops and early returns."""

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
    if type(text) is not str:
        raise ToolRefusal("This tool writes texts only.")
    for character in text:
        if "\ud800" <= character <= "\udfff":
            raise ToolRefusal("This text cannot be written as UTF-8.")
    content = bytes(text, "utf-8")
    if len(content) <= LARGEST:
        return content
    raise ToolRefusal("This text is too long.")


def mark(content: bytes | None) -> str:
    """A name for a content."""
    if content is None:
        return ABSENT
    hasher = hashlib.sha256()
    hasher.update(content)
    return "sha256:" + hasher.hexdigest()


# 2. The question


def shown_as(character: str, at: int) -> str:
    """How one character is shown."""
    number = ord(character)
    if character == "\\":
        return "\\\\"
    if character == "\t":
        return "\\t"
    if character == "\r":
        return "\\r"
    if number >= 0xDC80 and number <= 0xDCFF:
        return "\\x" + format(number - 0xDC00, "02x")
    harmless = character.isprintable()
    if character in HIDDEN:
        harmless = False
    if at == 0 and unicodedata.category(character) in ("Mn", "Mc", "Me"):
        harmless = False
    if harmless:
        return character
    if number > 0xFFFF:
        return "\\U" + format(number, "08x")
    return "\\u" + format(number, "04x")


def visible(text: str) -> str:
    """One line for a person."""
    whole = ""
    for at in range(len(text)):
        whole += shown_as(text[at], at)
        if len(whole) > MOST_COLUMNS:
            break
    else:
        return whole
    room = MOST_COLUMNS - 1 - len(str(len(text)))
    kept, taken = "", 0
    while True:
        piece = shown_as(text[taken], taken)
        if len(kept) + len(piece) > room:
            break
        kept += piece
        taken += 1
    return kept + "\u2026" + str(len(text) - taken)


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
    removed = added = cut = 0
    lines: list[str] = []

    def show(line: str) -> None:
        nonlocal cut
        if len(lines) < MOST_LINES:
            lines.append(line)
        else:
            cut += 1

    for sign, line in compare(text_lines(old), text_lines(new)):
        if sign == "@":
            show(line)
            continue
        if sign == "-":
            removed += 1
        if sign == "+":
            added += 1
        if line.endswith("\n"):
            show(sign + visible(line[:-1]))
        else:
            show(sign + visible(line))
            show(NO_NEWLINE)
    return Diff(removed, added, len(new), tuple(lines), cut)


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
    if found.kind == "folder" or found.kind == "link" or found.kind == "other":
        raise ToolRefusal("Only plain files can be written.")
    if found.kind == "file" and found.content == request.content:
        return None
    receipt = Receipt(
        principal=request.principal,
        tool=request.tool,
        path=request.path,
        base=mark(found.content),
        new=mark(request.content),
        mode=found.mode,
    )
    diff = diff_preview(found.content, request.content)
    return Preview(question(request.path, found, diff), receipt)


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
    if receipt.principal != request.principal:
        raise StateRefused("receipt")
    if receipt.tool != request.tool:
        raise StateRefused("receipt")
    if receipt.path != request.path:
        return Decision.SWAPPED
    if receipt.new != mark(request.content):
        return Decision.SWAPPED
    if answer.action == "decline":
        return Decision.DECLINED
    if answer.action != "accept":
        return Decision.CANCELLED
    if not (isinstance(answer.apply, bool) and answer.apply):
        return Decision.NOT_CONFIRMED
    if found.kind == "absent":
        if receipt.base == ABSENT:
            return Decision.APPLY
        return Decision.VANISHED
    if found.kind != "file":
        return Decision.NOT_A_FILE
    if mark(found.content) == receipt.new:
        return Decision.ALREADY
    if receipt.base == ABSENT:
        return Decision.APPEARED
    if mark(found.content) != receipt.base:
        return Decision.CHANGED
    if found.mode != receipt.mode:
        return Decision.CHANGED
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


def stage_file(folder: int, content: bytes, mode: int | None, randomness: Randomness) -> str:
    """A temporary file with everything in it."""
    name = ".write-" + randomness.token_bytes(16).hex()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    if mode is None:
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
    else:
        descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    finished = False
    try:
        at = 0
        while at < len(content):
            at += os.write(descriptor, content[at:])
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        finished = True
    finally:
        os.close(descriptor)
        if not finished:
            remove_quietly(folder, name)
    return name


def remove_quietly(folder: int, name: str) -> None:
    """Remove a file that may be gone."""
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
    temporary = stage_file(folder, content, mode, randomness)
    try:
        claim()
        if mode is not None:
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_quietly(folder, temporary)
        raise
    if mode is None:
        remove_quietly(folder, temporary)
    try:
        os.fsync(folder)
    except OSError:
        return False
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


def descriptors(two_tools: bool) -> list[Json]:
    """What the list of tools says."""
    tools = []
    for name in ("write_file", "preview_write", "apply_write"):
        if name != "write_file" and not two_tools:
            continue
        names = ["path", "content"]
        if name == "apply_write":
            names.append("state")
        properties = {}
        for each in names:
            properties[each] = {"type": "string"}
        annotations = {"readOnlyHint": name == "preview_write", "openWorldHint": False}
        if name != "preview_write":
            annotations["destructiveHint"] = True
            annotations["idempotentHint"] = True
        description = "Writes a file after the user has seen the change."
        if name == "preview_write":
            description = "Shows a change and gives the state for apply_write."
        if name == "apply_write":
            description = "Writes what was previewed. No human is asked."
        schema = {
            "type": "object",
            "properties": properties,
            "required": names,
            "additionalProperties": False,
        }
        tools.append(
            {
                "name": name,
                "description": description,
                "inputSchema": schema,
                "annotations": annotations,
            }
        )
    return tools


def preview_write(arguments: Json, principal: str, desk: Desk) -> Json:
    """The first of the two tools."""
    if not desk.two_tools:
        raise RpcError(INVALID_PARAMS, "There is no such tool.")
    request = read_arguments(arguments, principal, "apply_write")
    shown = preview(request, desk.open_parent)
    if shown is None:
        return {"message": "Nothing would change."}
    return {"message": shown.message, "state": desk.mint(shown.receipt)}


def apply_write(arguments: Json, principal: str, desk: Desk) -> Outcome:
    """The second of the two tools."""
    if not desk.two_tools:
        raise RpcError(INVALID_PARAMS, "There is no such tool.")
    request = read_arguments(arguments, principal, "apply_write", ("state",))
    receipt, claim = desk.open(arguments["state"], principal)
    return apply(receipt, request, Answer("accept", True), desk.open_parent, claim, desk.randomness)
