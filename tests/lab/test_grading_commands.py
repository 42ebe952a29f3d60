"""The learner's commands: status, hint, reset and diff, each on a lab of its own."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_lab import SOLUTION, STUB, tiny_lab

from grading.house import House
from kit.commands import diff, hint, reset, status

HINTS = """# Hints

## 1.1 Double

### 1

What is twice a number?

### 2

Multiply.

### 3

`return number * 2`

## 2.1 Double

### 1

Another step.
"""


@pytest.fixture
def house(tmp_path: Path) -> House:
    root = tiny_lab(tmp_path, {"mine": SOLUTION.replace("* 2", "+ number"), "stub": STUB})
    (root / "lessons" / "step01_mine" / "hints.md").write_text(HINTS)
    return House(root)


def graded(verdict: str) -> Any:
    """A stand-in for `grade` that gives every check this verdict."""
    return lambda *_, **__: SimpleNamespace(results=[SimpleNamespace(verdict=verdict)])


def test_status_tells_what_is_started_and_what_is_next(house: House, capsys: Any) -> None:
    assert status.show(house, {}) == 0
    told = capsys.readouterr().out
    assert "started      1.1" in told and "not started  2.1" in told
    assert "1 of 2 exercises started" in told
    assert "Next: 2.1 Double, in lessons/step02_stub/double.py" in told


def test_each_call_climbs_one_rung_and_stays_on_the_last(house: House, capsys: Any) -> None:
    for rung in ("hint 1 of 3", "hint 2 of 3", "hint 3 of 3", "hint 3 of 3"):
        assert hint.show(house, {"EXERCISE": "1.1"}) == 0
        assert rung in capsys.readouterr().out


def test_a_rung_can_be_read_again_without_going_back(house: House, capsys: Any) -> None:
    hint.show(house, {"EXERCISE": "1.1", "RUNG": "2"})
    hint.show(house, {"EXERCISE": "1.1", "RUNG": "1"})
    assert "What is twice" in capsys.readouterr().out
    assert json.loads((house.root / ".lab" / "hints.json").read_text()) == {"1.1": 2}


def test_a_broken_memory_of_hints_begins_anew(house: House, capsys: Any) -> None:
    (house.root / ".lab").mkdir()
    (house.root / ".lab" / "hints.json").write_text("{")
    assert hint.show(house, {"EXERCISE": "1.1"}) == 0
    assert "hint 1 of 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [{}, {"EXERCISE": "9.9"}, {"EXERCISE": "2.1"}, {"EXERCISE": "1.1", "RUNG": "4"}],
    ids=["no exercise", "unknown", "without hints", "no such rung"],
)
def test_a_hint_that_is_not_there_is_refused(house: House, options: dict[str, str]) -> None:
    assert hint.show(house, options) == 2


def mine(house: House) -> Path:
    """The learner's part of the first step."""
    return house.root / "lessons" / "step01_mine" / "double.py"


@pytest.mark.parametrize("answer", ["", "n", "maybe"])
def test_reset_changes_nothing_without_a_yes(house: House, answer: str) -> None:
    before = mine(house).read_text()
    assert reset.put_back(house, {"STEP": "01"}, lambda _: answer) == 1
    assert mine(house).read_text() == before


def test_reset_puts_the_stub_back_and_keeps_the_work(house: House) -> None:
    before = mine(house).read_text()
    assert reset.put_back(house, {"STEP": "01"}, lambda _: "y") == 0
    assert 'todo("1.1: Double")' in mine(house).read_text()
    (kept,) = (house.root / ".lab" / "kept").rglob("double.py")
    assert kept.read_text() == before


def test_reset_does_not_ask_with_yes_nor_when_nothing_changed(house: House) -> None:
    def never(question: str) -> str:
        raise AssertionError(question)

    assert reset.put_back(house, {"STEP": "1", "YES": "1"}, never) == 0
    assert reset.put_back(house, {"STEP": "1"}, never) == 0
    assert reset.put_back(house, {"STEP": "9"}, never) == 2


def test_diff_waits_until_the_exercise_passes(house: House, capsys: Any) -> None:
    assert diff.compare(house, {"EXERCISE": "1.1"}, graded("fail")) == 1
    assert "number * 2" not in capsys.readouterr().out
    assert diff.compare(house, {"EXERCISE": "1.1"}, graded("pass")) == 0
    told = capsys.readouterr().out
    assert "-    return number + number" in told and "+    return number * 2" in told


def test_diff_can_be_forced(house: House, capsys: Any) -> None:
    assert diff.compare(house, {"EXERCISE": "1.1", "FORCE": "1"}, graded("fail")) == 0
    assert "+    return number * 2" in capsys.readouterr().out
