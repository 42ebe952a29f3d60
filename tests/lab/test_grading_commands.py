"""The learner's commands: status, hint, reset and diff, each on a lab of its own."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_lab import SOLUTION, STUB, tiny_lab

from grading.house import House
from grading.verdicts import Report, Result
from kit.commands import diff, hint, reset, status, test
from kit.progress import Found, digest_of, recall, remember
from kit.registry import read_registry

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


def graded(**verdicts: str) -> Any:
    """A stand-in for `grade` that gives the checks of exercise 1.1 these verdicts."""
    results = [SimpleNamespace(verdict=verdict, exercise="1.1") for verdict in verdicts.values()]
    return lambda *_, **__: SimpleNamespace(results=results)


def test_status_tells_what_is_started_and_what_is_next(house: House, capsys: Any) -> None:
    assert status.show(house, {}) == 0
    told = capsys.readouterr().out
    assert "started      1.1" in told and "not started  2.1" in told
    assert "0 of 2 exercises passed, 1 more started; core 0 of 10 min done" in told
    assert "Next: 1.1 Double, in lessons/step01_mine/double.py" in told


def test_status_knows_what_passed_in_the_last_run(house: House, capsys: Any) -> None:
    remember(house.root, {"1.1": Found(True, digest_of(mine(house)))})
    status.show(house, {})
    told = capsys.readouterr().out
    assert "passed       1.1" in told and "1 of 2 exercises passed" in told
    assert "01 Doubling (core 5 of 5 min done)" in told and "Next: 2.1" in told
    mine(house).write_text(SOLUTION + "\n# a thought\n")
    status.show(house, {})
    assert "passed*      1.1" in capsys.readouterr().out


def test_a_broken_memory_of_progress_begins_anew(house: House) -> None:
    remember(house.root, {"1.1": Found(True, "")})
    (house.root / ".lab" / "progress.json").write_text('{"1.1": 7}')
    assert recall(house.root) == {}


def test_core_comes_before_stretch_and_a_begun_step_before_others() -> None:
    def row(number: int, track: str, state: str) -> Any:
        return SimpleNamespace(number=number), SimpleNamespace(track=track), state

    first, extra = row(1, "core", status.NOT_STARTED), row(2, "stretch", status.NOT_STARTED)
    done, begun, later = (
        row(2, "core", status.PASSED),
        row(2, "core", status.STARTED),
        row(3, "core", status.NOT_STARTED),
    )
    assert status.next_of([first, done, extra, begun, later]) is begun
    assert status.next_of([first, done, extra, later]) is later
    assert status.next_of([first, done, extra]) is first
    assert status.next_of([done, extra]) is extra
    assert status.next_of([done]) is None


def result(verdict: str, exercise: str = "1.1", text: str = "", unreadable: str = "") -> Result:
    """A result of a check."""
    return Result("", "test_x", 1, exercise, verdict, text, (), 0.0, unreadable)


def test_what_makes_a_part_unreadable_is_said_once(capsys: Any) -> None:
    broken = [result("fail", text="four parts", unreadable="Line 3 is no Python.")] * 5
    test._tell(Report((*broken, result("fail", text="another failure"))))
    told = capsys.readouterr().out
    assert told.count("Line 3 is no Python.") == 1 and "5 checks fail for this alone" in told
    assert "four parts" not in told and "another failure" in told


def test_what_is_not_started_is_named_with_its_exercise(house: House, capsys: Any) -> None:
    steps = read_registry(house.registry).steps
    pairs = [(step, step.exercises[0]) for step in steps]
    waits = result("not started", text="not started: 9.1: Triple")
    test._by_exercise(Report((result("pass"), waits)), pairs[:1], pairs[1:])
    told = capsys.readouterr().out
    assert "✗ not yet    1.1 Double: 1 of 2 checks, core; 1 check needs 9.1" in told
    assert "1 more exercise, in another step, is not started." in told
    test._by_exercise(Report(()), pairs[1:], pairs[1:])
    assert "· not started 2.1 Double: 2 checks, core" in capsys.readouterr().out


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


KEPT_AND_WRITTEN = '''"""Mine."""

LIMIT = 9


class Store:
    def keep(self, note):
        """Keep it."""
        return note

    @property
    def size(self):
        return 1


def twice(number):
    return number + number  # my own
'''


def test_reset_of_an_exercise_leaves_the_rest_alone(house: House) -> None:
    mine(house).write_text(SOLUTION + "\n\ndef helper():\n    return 1\n")
    assert reset.put_back(house, {"EXERCISE": "1.1"}, lambda _: "n") == 1
    assert reset.put_back(house, {"EXERCISE": "1.1"}, lambda _: "yes") == 0
    text = mine(house).read_text()
    assert 'todo("1.1: Double")' in text and "def helper():" in text
    assert "from kit.todo import todo" in text and "number * 2" not in text
    (kept,) = (house.root / ".lab" / "kept").rglob("double.py")
    assert "number * 2" in kept.read_text()
    assert status.show(house, {}) == 0


def test_reset_of_a_method_changes_that_method_only() -> None:
    stub = "class Store:\n    def keep(self, note):\n        todo('1.2')\n"
    text = reset.with_stubs(KEPT_AND_WRITTEN, stub, ["Store.keep"])
    assert text == KEPT_AND_WRITTEN.replace("LIMIT", "from kit.todo import todo\n\nLIMIT").replace(
        '"""Keep it."""\n        return note', "todo('1.2')"
    )


@pytest.mark.parametrize("text", ["def double(:", "def other():\n    pass\n"])
def test_reset_of_an_exercise_that_cannot_be_found_changes_nothing(house: House, text: str) -> None:
    mine(house).write_text(text)
    assert reset.put_back(house, {"EXERCISE": "1.1", "YES": "1"}, input) == 2
    assert mine(house).read_text() == text


def test_diff_waits_until_the_exercise_passes(house: House, capsys: Any) -> None:
    assert diff.compare(house, {"EXERCISE": "1.1"}, graded(one="pass", two="fail")) == 1
    assert "number * 2" not in capsys.readouterr().out
    assert diff.compare(house, {"EXERCISE": "1.1"}, graded(one="pass", two="pass")) == 0
    told = capsys.readouterr().out
    assert "-    return number + number" in told and "+    return number * 2" in told


def test_diff_shows_of_a_step_what_passes(house: House, capsys: Any) -> None:
    assert diff.compare(house, {"STEP": "01"}, graded(one="pass")) == 0
    assert "+    return number * 2" in capsys.readouterr().out
    assert diff.compare(house, {"STEP": "02"}, graded(one="pass")) == 1
    for wrong in ({}, {"STEP": "x"}, {"STEP": "7"}, {"STEP": "01", "EXERCISE": "1.1"}):
        assert diff.compare(house, wrong, graded(one="pass")) == 2


def test_diff_can_be_forced(house: House, capsys: Any) -> None:
    assert (
        diff.compare(house, {"EXERCISE": "1.1", "FORCE": "1"}, graded(one="pass", two="fail")) == 0
    )
    assert "+    return number * 2" in capsys.readouterr().out
