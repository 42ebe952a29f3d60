"""The file tools on the envelope, the forms, the state and the store; and the folder they use."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.one_folder import OneFolder
from kit.parts import ROOT, load, part_paths
from kit.refusals import ToolRefusal

sys.path.insert(0, str(ROOT / "solutions"))
attack: Any = load(ROOT / "lessons" / "step10_safe_write" / "attack.py")
OLD, NEW = "spring\n", "summer\n"
FORGED = {"code": -32602, "data": {"reason": "invalid_request_state"}}


@pytest.fixture
def stage() -> Iterator[Any]:
    made = importlib.import_module("server").Parts(part_paths("solutions"))
    opened = importlib.import_module("stage").Stage(made)
    yield opened
    opened.close()


@pytest.fixture
def files(stage: Any) -> Iterator[Any]:
    made = attack.FileStage(stage, two_tools=True)
    made.put("plan.md", OLD)
    yield made
    made.close()


def text(result: Any) -> str:
    return str(result["content"][0]["text"])


def refused(error: Any) -> bool:
    return {name: error.get(name) for name in FORGED} == FORGED


def test_a_yes_writes_and_writes_once(files: Any, stage: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    assert files.read("plan.md") == OLD
    assert files.write("plan.md", NEW, state, attack.yes())["isError"] is False
    assert files.read("plan.md") == NEW
    files.put("plan.md", OLD)
    assert refused(files.write("plan.md", NEW, state, attack.yes()))
    assert files.read("plan.md") == OLD
    assert stage.log == ["requestState refused: replayed"]


def test_a_decline_is_no_error_and_is_final(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    declined = files.write("plan.md", NEW, state, {"action": "decline"})
    assert declined["isError"] is False
    assert refused(files.write("plan.md", NEW, state, attack.yes()))
    assert files.read("plan.md") == OLD


def test_a_cancel_leaves_the_question_open(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    assert files.write("plan.md", NEW, state, {"action": "cancel"})["isError"] is False
    files.write("plan.md", NEW, state, attack.yes())
    assert files.read("plan.md") == NEW


def test_a_conflict_and_a_swap_are_errors_that_a_model_can_mend(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    assert files.write("plan.md", "other\n", state, attack.yes())["isError"] is True
    files.put("plan.md", "Bob's\n")
    assert files.write("plan.md", NEW, state, attack.yes())["isError"] is True
    assert files.read("plan.md") == "Bob's\n"


def test_a_missing_answer_is_asked_for_again(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    arguments = {"path": "plan.md", "content": NEW}
    again = files.call("write_file", arguments, requestState=state)
    assert again["resultType"] == "input_required"
    files.write("plan.md", NEW, again["requestState"], attack.yes())
    assert files.read("plan.md") == NEW


def test_a_malformed_answer_is_an_error_and_spends_nothing(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    assert files.write("plan.md", NEW, state, attack.yes("true"))["code"] == -32602
    files.write("plan.md", NEW, state, attack.yes())
    assert files.read("plan.md") == NEW


def test_a_client_that_cannot_ask_is_told_what_it_needs(files: Any) -> None:
    arguments = {"path": "plan.md", "content": NEW}
    told = files.call("write_file", arguments, capabilities={})
    assert told["code"] == -32021
    assert told["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_an_approval_ends_with_its_state(files: Any, stage: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    stage.clock.advance(121)
    assert refused(files.write("plan.md", NEW, state, attack.yes()))
    assert stage.log == ["requestState refused: expired"]


def test_the_state_of_one_tool_does_not_open_in_the_other(files: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    arguments = {"path": "plan.md", "content": NEW, "state": state}
    assert refused(files.call("apply_write", arguments))
    shown = files.call("preview_write", {"path": "plan.md", "content": NEW})
    state = shown["structuredContent"]["state"]
    assert refused(files.write("plan.md", NEW, state, attack.yes()))
    files.call("apply_write", {**arguments, "state": state}, capabilities={})
    assert files.read("plan.md") == NEW


def test_nothing_of_the_file_can_be_read_in_the_state(files: Any, stage: Any) -> None:
    state = files.write("plan.md", NEW)["requestState"]
    decode = stage.parts.state.decode
    assert b"sha256" not in decode(state.split(".")[2])


def test_a_disk_that_fails_is_told_without_a_path(
    files: Any, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "/srv/secret/place")

    state = files.write("plan.md", NEW)["requestState"]
    monkeypatch.setattr(os, "fsync", fail)
    told = files.write("plan.md", NEW, state, attack.yes())
    monkeypatch.undo()
    assert told["isError"] is True
    assert "secret" not in text(told) + "".join(stage.log)
    files.write("plan.md", NEW, state, attack.yes())
    assert files.read("plan.md") == NEW


def test_a_path_that_no_state_can_carry_is_refused(files: Any) -> None:
    told = files.write("a" * 8000, NEW)
    assert told["isError"] is True


def test_one_folder_opens_names_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    folder = OneFolder(tmp_path)
    for path in ("", ".", "..", "../a.md", "b/a.md", "/etc/passwd", "a\0", "a\nb"):
        with pytest.raises(ToolRefusal):
            folder.open_parent(path)
    descriptor, name = folder.open_parent("a.md")
    assert os.listdir(descriptor) == [name]
    os.close(descriptor)
    folder.close()


def test_a_folder_that_moves_stays_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    folder = OneFolder(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "old").mkdir()
    (tmp_path / "new" / "a.md").write_text("x")
    descriptor, _ = folder.open_parent("a.md")
    assert os.listdir(descriptor) == ["a.md"]
    os.close(descriptor)
    folder.close()
