"""Safe write: what the user says yes to is one change of one file, and it happens once or never.

Promise: the file gets the bytes that were shown, if it is still as it was when they were shown,
and the same approval never writes twice, not even after a crash. Attacks it stops: arguments
swapped behind a genuine state, a diff that hides what it does, a write over somebody else's, a
link planted under the temporary name, an approval that is sent again after an undo.

All files are reached through the descriptor of their folder; none is reached by a path.
"""

import contextlib
import difflib
import errno
import fcntl
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError, StateRefused, ToolRefusal
from kit.todo import todo

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
    """Return the bytes that `text` stands for: UTF-8, with nothing added or translated (WRITE-13).

    text: the argument ``content``, any JSON value.
    Errors: ToolRefusal for what is no text, for half a surrogate pair, which has no UTF-8, and for
    more than LARGEST bytes; bytes, not characters (WRITE-2).

    >>> len(encode("h\\u00e9"))
    3
    """
    todo("10.1: Bytes, and a mark of them")


def mark(content: bytes | None) -> str:
    """Return what tells one content from all others: ``sha256:`` and the hash in hex.

    content: bytes, in any encoding or none. None means that there is no file: its mark is ABSENT,
    and that is not the mark of an empty file (WRITE-12). No time and no size takes part (WRITE-15).

    >>> mark(None)
    'absent'
    """
    todo("10.1: Bytes, and a mark of them")


# 2. The question


def visible(text: str) -> str:
    r"""Return one line of `text` as a person may see it: nothing in it acts, nothing hides.

    Escaped are what `str.isprintable` says no to (controls, marks of direction, odd spaces, line
    separators), what is HIDDEN, and a combining mark (category M) that opens the text and would sit
    on the sign in front of it: as ``\uXXXX``, or ``\UXXXXXXXX`` beyond that. Tab, carriage return
    and backslash are ``\t``, ``\r`` and ``\\``. A byte that is not UTF-8 comes here as U+DC80 to
    U+DCFF and is ``\xNN``. So two texts never look alike (WRITE-6), but for letters that do so by
    themselves.
    The result has at most MOST_COLUMNS characters: where it would be longer, it ends with ``…`` and
    the number of characters of `text` that are not shown. An escape is shown whole or not at all.

    >>> print(visible("pay\u202e\t\\"))
    pay\u202e\t\\
    """
    todo("10.2: A question that cannot be forged")


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
    """Return what a person is shown of this change (WRITE-5, WRITE-6).

    old: what is there, None when nothing is. new: what will be there.
    Each line of the file is one line of the diff: its sign, then `visible` of it without its line
    feed. Behind a line that has no line feed comes NO_NEWLINE. What `compare` gives with ``@`` goes
    in as it is. Counts are of the whole change, lines of the first MOST_LINES.

    >>> diff_preview(b"one", b"two").removed
    1
    """
    todo("10.2: A question that cannot be forged")


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
    """Return the question that has to be asked, or None when the content is there already.

    The path is judged before anything is read (WRITE-19); `look` tells what is there, and
    `question` words it. The receipt binds the request to what was found (WRITE-1): for a new file
    the base is ABSENT and the mode None (WRITE-12). The descriptor is closed in any case.
    Errors: ToolRefusal of `open_parent` and `look`, and for what is neither a file nor absent
    (WRITE-21).
    """
    todo("10.3: The first round: look, ask, write the receipt")


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
    """Return how the second round ends: the first that applies.

    receipt: out of the state, which was verified. request: the call that brings it back. found:
    what is there now, under the path of the request.

    SWAPPED for another path or content than the receipt's (WRITE-4). Then what the user said:
    DECLINED; CANCELLED for any other action than ``accept``; NOT_CONFIRMED unless `apply` is the
    boolean True (WRITE-23). Then what is there (WRITE-3): ALREADY for a file with the new content;
    NOT_A_FILE for a folder, a link or anything else; APPEARED for a file where there was none;
    VANISHED for none where there was one; CHANGED for other content or another mode than the
    receipt's (WRITE-15). APPLY otherwise.
    Errors: StateRefused("receipt") for another principal or another tool (WRITE-1).
    """
    todo("10.4: The second round: decide")


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
    """Write `content` to a new temporary file beside the target and return its name.

    folder: descriptor of the target's folder (WRITE-7). The name is ``.write-`` and 16 random bytes
    in hex; it is created exclusively (WRITE-8). mode: permission bits that it gets, all of them; up
    to then only its owner can open it. None for a new file, which follows the umask from 0o666
    (WRITE-10). All bytes are on the disk (fsync) when this returns (WRITE-9).
    Errors: OSError, the first one; then the file is removed again (WRITE-16).
    """
    todo("10.5: A temporary file beside its target")


def replace_file(
    folder: int,
    name: str,
    content: bytes,
    mode: int | None,
    claim: Claim,
    randomness: Randomness,
) -> bool:
    """Put `content` in place as one step; return whether the disk has confirmed it.

    folder: descriptor; the caller holds its lock and has compared what is there. mode: as for
    `stage_file`; None creates, everything else replaces.
    The file is staged, then the approval is claimed, then the file changes: in this order a crash
    can lose an approved write and never double one (WRITE-18). A new file is linked to its name,
    because a rename would overwrite a newcomer (WRITE-12); an old one is replaced by a rename
    (WRITE-7). Then the folder is synced (WRITE-9): False when that fails, since the file has
    changed by then. However this ends, no temporary file is left (WRITE-16).
    Errors: OSError and whatever `claim` raises, with nothing written; FileExistsError for a
    newcomer.
    """
    todo("10.6: In place as one step, once or never")


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
    """Return what ``tools/list`` says of these tools, always in this order (WRITE-20).

    ``write_file``, and with `two_tools` also ``preview_write`` and ``apply_write``: both or none,
    whatever has been previewed. All take the texts ``path`` and ``content``, ``apply_write`` also
    ``state``; all required, nothing else.
    annotations: ``preview_write`` only reads; the others destroy, and a second identical call
    changes nothing; none reaches anything outside (WRITE-22). The description of ``apply_write``
    says that no human is asked.
    """
    todo("10.7: Two tools for clients that cannot ask")


def preview_write(arguments: Json, principal: str, desk: Desk) -> Json:
    """Return ``message``, and ``state`` unless the content is there already (WRITE-20).

    The state is good for ``apply_write`` and for no other tool: the one of ``write_file``, where a
    human is asked, is none of these.
    Errors: RpcError(INVALID_PARAMS) when the operator has switched the tools off, as for any tool
    that does not exist; otherwise as `read_arguments` and `preview`.
    """
    todo("10.7: Two tools for clients that cannot ask")


def apply_write(arguments: Json, principal: str, desk: Desk) -> Outcome:
    """Do what a preview showed, with the same checks as if a user had said yes (WRITE-20).

    arguments: those of the preview and its ``state``.
    Errors: as `preview_write`, of `desk.open`, and as `apply`.
    """
    todo("10.7: Two tools for clients that cannot ask")
