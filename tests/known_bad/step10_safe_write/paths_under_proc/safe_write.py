"""Writing files with pathlib. The nonce goes first, then nothing can happen twice."""

import difflib
import fcntl
import hashlib
import os
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kit.refusals import RpcError, StateRefused, ToolRefusal


class WriteRequest:
    def __init__(self, principal: str, tool: str, path: str, content: bytes):
        self.principal, self.tool, self.path, self.content = principal, tool, path, content


class Found:
    def __init__(self, kind: str, content: bytes | None = None, mode: int | None = None):
        self.kind, self.content, self.mode = kind, content, mode


class Diff:
    def __init__(self, removed: int, added: int, size: int, lines: tuple, cut: int):
        self.removed, self.added, self.size, self.lines, self.cut = removed, added, size, lines, cut


class Receipt(BaseModel):
    principal: str
    tool: str
    path: str
    base: str
    new: str
    mode: int | None


class Preview:
    def __init__(self, message: str, receipt: Receipt):
        self.message, self.receipt = message, receipt


class Answer:
    def __init__(self, action: str, apply: Any = None):
        self.action, self.apply = action, apply


class Decision(StrEnum):
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


class Outcome:
    def __init__(self, decision: Decision, durable: bool = True):
        self.decision, self.durable = decision, durable


def encode(text: Any) -> bytes:
    try:
        content = text.encode()
    except (AttributeError, UnicodeError):
        raise ToolRefusal("This is not text.") from None
    if len(content) > 65536:
        raise ToolRefusal("This is too long.")
    return content


def mark(content: bytes | None) -> str:
    return "absent" if content is None else "sha256:" + hashlib.sha256(content).hexdigest()


def visible(text: str) -> str:
    return text.encode("unicode_escape").decode()[:120]


def diff_preview(old: bytes | None, new: bytes) -> Diff:
    before = (old or b"").decode(errors="replace").split("\n")
    after = new.decode(errors="replace").split("\n")
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    lines = [line[:1] + visible(line[1:]) for line in lines][:40]
    added = len([line for line in lines if line[0] == "+"])
    removed = len([line for line in lines if line[0] == "-"])
    return Diff(removed, added, len(new), tuple(lines), 0)


def place(folder: int, name: str) -> Path:
    return Path(os.readlink(f"/proc/self/fd/{folder}")) / name


def look(path: Path) -> Found:
    if path.is_symlink():
        return Found("link")
    if not path.exists():
        return Found("absent")
    if path.is_file():
        return Found("file", path.read_bytes(), path.stat().st_mode & 0o7777)
    return Found("folder" if path.is_dir() else "other")


def preview(request: WriteRequest, open_parent: Any) -> Preview | None:
    folder, name = open_parent(request.path)
    found = look(place(folder, name))
    os.close(folder)
    if found.kind not in ("file", "absent"):
        raise ToolRefusal("This is not a file.")
    if found.content == request.content:
        return None
    diff = diff_preview(found.content, request.content)
    word = "Create" if found.kind == "absent" else "Replace"
    first = f"{word} {visible(request.path)}? -{diff.removed} +{diff.added}, {diff.size} bytes"
    fields = {name: getattr(request, name) for name in ("principal", "tool", "path")}
    marks = {"base": mark(found.content), "new": mark(request.content), "mode": found.mode}
    return Preview("\n".join([first, *diff.lines]), Receipt(**fields, **marks))


def decide(receipt: Receipt, request: WriteRequest, answer: Answer, found: Found) -> Decision:
    if receipt.principal != request.principal or receipt.tool != request.tool:
        raise StateRefused("receipt")
    if receipt.path != request.path or receipt.new != mark(request.content):
        return Decision.SWAPPED
    match answer.action:
        case "decline":
            return Decision.DECLINED
        case "cancel":
            return Decision.CANCELLED
    if not answer.apply:
        return Decision.NOT_CONFIRMED
    if mark(found.content) == receipt.new:
        return Decision.ALREADY
    if found.kind not in ("file", "absent"):
        return Decision.NOT_A_FILE
    if receipt.base == "absent":
        return Decision.APPLY if found.kind == "absent" else Decision.APPEARED
    if found.kind == "absent":
        return Decision.VANISHED
    same = mark(found.content) == receipt.base and found.mode == receipt.mode
    return Decision.APPLY if same else Decision.CHANGED


def stage_file(folder: int, content: bytes, mode: int | None, randomness: Any) -> str:
    name = f".write-{os.getpid()}"
    path = place(folder, name)
    path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)
    return name


def replace_file(
    folder: int, name: str, content: bytes, mode: int | None, claim: Any, randomness: Any
) -> bool:
    claim()
    temporary = stage_file(folder, content, mode, randomness)
    if mode is None and place(folder, name).exists():
        place(folder, temporary).unlink()
        raise FileExistsError(name)
    place(folder, temporary).replace(place(folder, name))
    return True


@contextmanager
def exclusive(folder: int):
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def apply(
    receipt: Receipt,
    request: WriteRequest,
    answer: Answer,
    open_parent: Any,
    claim: Any,
    randomness: Any,
) -> Outcome:
    folder, name = open_parent(request.path)
    try:
        with exclusive(folder):
            decision = decide(receipt, request, answer, look(place(folder, name)))
            if decision in ("declined", "not confirmed"):
                claim()
            if decision is Decision.APPLY:
                replace_file(folder, name, request.content, receipt.mode, claim, randomness)
            return Outcome(decision)
    except FileExistsError:
        return Outcome(Decision.APPEARED)
    finally:
        os.close(folder)


class Desk:
    def __init__(self, open_parent: Any, randomness: Any, mint: Any, open: Any, two_tools: bool):
        self.open_parent, self.randomness = open_parent, randomness
        self.mint, self.open, self.two_tools = mint, open, two_tools


def descriptors(two_tools: bool) -> list[dict[str, Any]]:
    raise NotImplementedError


def preview_write(arguments: dict[str, Any], principal: str, desk: Desk) -> dict[str, Any]:
    raise RpcError(-32602, "There is no such tool yet.")


def apply_write(arguments: dict[str, Any], principal: str, desk: Desk) -> Outcome:
    raise RpcError(-32602, "There is no such tool yet.")
