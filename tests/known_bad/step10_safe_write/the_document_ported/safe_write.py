"""write_file as in the article: hash what is there, hash what is wanted, compare both again."""

import difflib
import hashlib
import os
import uuid
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel

from kit.refusals import RpcError, StateRefused, ToolRefusal


@dataclass
class WriteRequest:
    principal: str
    tool: str
    path: str
    content: bytes


@dataclass
class Found:
    kind: str
    content: bytes | None = None
    mode: int | None = None


@dataclass
class Diff:
    removed: int
    added: int
    size: int
    lines: tuple
    cut: int


class Receipt(BaseModel):
    principal: str
    tool: str
    path: str
    base: str
    new: str
    mode: int | None


@dataclass
class Preview:
    message: str
    receipt: Receipt


@dataclass
class Answer:
    action: str
    apply: object = None


class Decision(StrEnum):
    APPLY = "apply"
    SWAPPED = "swapped"
    NOT_CONFIRMED = "not confirmed"
    ALREADY = "already"
    CHANGED = "changed"


@dataclass
class Outcome:
    decision: Decision
    durable: bool = True


def encode(text):
    if not isinstance(text, str):
        raise ToolRefusal("content must be a string")
    if len(text) > 65536:
        raise ToolRefusal("too long")
    return text.encode("utf-8", "surrogatepass")


def mark(content):
    if content is None:
        return "absent"
    return "sha256:" + hashlib.sha256(content.decode("utf-8").encode()).hexdigest()


def visible(text):
    shown = "".join(c if c.isprintable() or c == "\t" else "?" for c in text)
    return shown[:117] + "..." if len(shown) > 120 else shown


def diff_preview(old, new):
    a, b = (old or b"").decode().splitlines(), new.decode().splitlines()
    lines = [visible(line) for line in difflib.unified_diff(a, b, lineterm="")][2:]
    removed = sum(line.startswith("-") for line in lines)
    added = sum(line.startswith("+") for line in lines)
    return Diff(removed, added, len(new.decode()), tuple(lines[:40]), max(0, len(lines) - 40))


def read_or_none(folder, name):
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        return os.read(descriptor, 70000)
    finally:
        os.close(descriptor)


def preview(request, open_parent):
    folder, name = open_parent(request.path)
    before = read_or_none(folder, name)
    os.close(folder)
    base, new = mark(before), mark(request.content)
    if base == new:
        return None
    diff = diff_preview(before, request.content)
    what = "Creates a new file" if before is None else f"Replaces {diff.removed} line(s)"
    counts = f"{diff.added} line(s) added, {diff.size} bytes after the write"
    message = "\n".join([f"Write {request.path}? {what}, {counts}.", *diff.lines])
    receipt = Receipt(
        principal=request.principal,
        tool=request.tool,
        path=request.path,
        base=base,
        new=new,
        mode=None if before is None else 0o644,
    )
    return Preview(message, receipt)


def decide(receipt, request, answer, found):
    if receipt.principal != request.principal:
        raise StateRefused("receipt")
    if mark(found.content) == mark(request.content):
        return Decision.ALREADY
    if answer.action != "accept" or not answer.apply:
        return Decision.NOT_CONFIRMED
    if receipt.path != request.path or receipt.new != mark(request.content):
        return Decision.SWAPPED
    if mark(found.content) != receipt.base:
        return Decision.CHANGED
    return Decision.APPLY


def stage_file(folder, content, mode, randomness):
    name = f".{uuid.uuid4()}.tmp"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(content.decode())
    return name


def replace_file(folder, name, content, mode, claim, randomness):
    temporary = stage_file(folder, content, mode, randomness)
    try:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(temporary, dir_fd=folder)
        raise
    return True


def apply(receipt, request, answer, open_parent, claim, randomness):
    folder, name = open_parent(request.path)
    try:
        found = Found("file", read_or_none(folder, name), receipt.mode)
        decision = decide(receipt, request, answer, found)
        if decision is Decision.APPLY:
            replace_file(folder, name, request.content, receipt.mode, claim, randomness)
        return Outcome(decision)
    finally:
        os.close(folder)


@dataclass
class Desk:
    open_parent: object
    randomness: object
    mint: object
    open: object
    two_tools: bool


def descriptors(two_tools):
    texts = {"path": {"type": "string"}, "content": {"type": "string"}}
    hints = {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    schema = {"type": "object", "properties": texts, "required": ["path", "content"]}
    names = ["write_file", "preview_write", "apply_write"] if two_tools else ["write_file"]
    return [{"name": n, "inputSchema": schema, "annotations": hints} for n in names]


def preview_write(arguments, principal, desk):
    if not desk.two_tools:
        raise RpcError(-32602, "no such tool")
    content = encode(arguments["content"])
    request = WriteRequest(principal, "apply_write", arguments["path"], content)
    shown = preview(request, desk.open_parent)
    if shown is None:
        return {"message": "already matches"}
    return {"message": shown.message, "state": desk.mint(shown.receipt)}


def apply_write(arguments, principal, desk):
    content = encode(arguments["content"])
    request = WriteRequest(principal, "apply_write", arguments["path"], content)
    receipt, claim = desk.open(arguments["state"], principal)
    yes = Answer("accept", True)
    return apply(receipt, request, yes, desk.open_parent, claim, desk.randomness)
