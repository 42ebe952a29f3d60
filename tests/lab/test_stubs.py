"""Stubs are the solutions minus the answers: nothing else changes, and no answer leaks."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from grading.started import started
from grading.stubs import NoStub, stub_source, stub_text, write_stubs
from kit.commands import stubs as command
from kit.registry import Exercise, Step

SOLUTION = '''"""What the module promises."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kit.refusals import RpcError, ToolRefusal

PUBLIC = 1

# How an id looks.
_ID = re.compile("[a-z]+")

# Two constants, of which one stays.
_GONE = 2
KEPT = 3


@dataclass(frozen=True)
class Place:
    """A public class."""

    names: tuple[str, ...]  # this comment stays


def plain(text: str, places: "Iterable[Place]" = ()) -> str:
    """Return `text`.

    >>> plain("a")
    'a'
    """
    # a thought of the author

    if not _ID.fullmatch(text):
        raise ToolRefusal(json.dumps(text))
    return _helper(text)
    # and an afterthought


# Why the helper is there.
def _helper(text: str) -> str:
    return _other(text)


def _other(text: str) -> str:
    return _helper(text) if text else text


def _default() -> int:
    return KEPT


def given(value: int = _default()) -> Mapping[str, int]:
    return {"value": value}


class Store:
    """Holds."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def claim(self, name: str) -> None:
        """Claim `name`."""
        self._prune()
        self._held.append(name)

    def _prune(self) -> None:
        self._held.clear()

    def held(self) -> list[str]:
        return self._copy()

    def _copy(self) -> list[str]:
        return list(self._held)
'''

STUB = '''"""What the module promises."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kit.refusals import RpcError, ToolRefusal
from kit.todo import todo

PUBLIC = 1

# Two constants, of which one stays.
KEPT = 3


@dataclass(frozen=True)
class Place:
    """A public class."""

    names: tuple[str, ...]  # this comment stays


def plain(text: str, places: "Iterable[Place]" = ()) -> str:
    """Return `text`.

    >>> plain("a")
    'a'
    """
    todo("2.1: Plain")


def _default() -> int:
    return KEPT


def given(value: int = _default()) -> Mapping[str, int]:
    return {"value": value}


class Store:
    """Holds."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def claim(self, name: str) -> None:
        """Claim `name`."""
        todo("2.2: Claim")

    def held(self) -> list[str]:
        return self._copy()

    def _copy(self) -> list[str]:
        return list(self._held)
'''

EXERCISES = {"plain": "2.1: Plain", "Store.claim": "2.2: Claim"}


def test_a_stub_is_the_solution_without_the_answers() -> None:
    assert stub_text(SOLUTION, EXERCISES) == STUB


def test_a_stub_of_a_stub_is_itself() -> None:
    assert stub_text(STUB, EXERCISES) == STUB


def test_without_exercises_only_unused_private_names_go() -> None:
    text = '"""Doc."""\n\nVALUE = 1\n\n\n\ndef f() -> int:\n    return VALUE\n'
    assert stub_text(text, {}) == text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n    return 1\n", 'def f():\n    todo("t")\n'),
        (
            "def f(a={1: 2}, *, b=lambda: 0) -> dict[str, int]: return a\n",
            'def f(a={1: 2}, *, b=lambda: 0) -> dict[str, int]:\n    todo("t")\n',
        ),
        ('def f():\n    """Doc."""\n', 'def f():\n    """Doc."""\n    todo("t")\n'),
        ("async def f():\n    await g()\n", 'async def f():\n    todo("t")\n'),
        ("def f():\n    yield 1\n\n\nX = 1\n", 'def f():\n    todo("t")\n\n\nX = 1\n'),
        ('def f():\n    """Doc."""\n\n    return 1\n', 'def f():\n    """Doc."""\n    todo("t")\n'),
        ("def f():  # kept no longer\n    return 1\n", 'def f():\n    todo("t")\n'),
    ],
)
def test_every_shape_of_body_becomes_one_todo(source: str, expected: str) -> None:
    assert stub_text(source, {"f": "t"}) == f"from kit.todo import todo\n\n\n{expected}"


def test_a_module_with_a_docstring_and_no_import_gets_one_below_it() -> None:
    source = '"""Doc."""\n\ndef f():\n    return 1\n'
    assert stub_text(source, {"f": "t"}).startswith(
        '"""Doc."""\n\nfrom kit.todo import todo\n\n\ndef f():\n'
    )


def test_decorators_annotations_and_defaults_count_as_references() -> None:
    source = (
        "from a import b, c, d, e\n\n\n"
        "def _mark(g):\n    return g\n\n\n"
        '@_mark\ndef f(x: "b" = c) -> d:\n    return e\n'
    )
    stub = stub_text(source, {"f": "t"})
    assert "from a import b, c, d\n" in stub
    assert "def _mark" in stub


def test_an_import_that_shrinks_is_written_as_the_formatter_would() -> None:
    names = ", ".join(f"NAME_NUMBER_{n}" for n in range(9))
    lines = "".join(f"    NAME_NUMBER_{n},\n" for n in range(9))
    source = f"from a import (\n{lines})  # why\n\n\ndef f():\n    return NAME_NUMBER_0\n\n\n"
    short = stub_text(source + "X = NAME_NUMBER_1\n", {"f": "t"})
    long = stub_text(source + f"X = {names.replace('NAME_NUMBER_0, ', '')}\n", {"f": "t"})
    assert "from a import NAME_NUMBER_1  # why\n" in short
    assert "from a import (\n    NAME_NUMBER_1,\n" in long
    assert "NAME_NUMBER_0" not in long


def test_future_imports_and_star_imports_stay() -> None:
    source = "from __future__ import annotations\n\nfrom a import *\nfrom b import c as d\n"
    stub = stub_text(source + "\n\ndef f():\n    return d\n", {"f": "t"})
    assert "from __future__ import annotations" in stub
    assert "from a import *" in stub
    assert "from b" not in stub


def test_todo_is_imported_in_its_place_among_the_kits() -> None:
    source = (
        "from kit.notes import Note\nfrom kit.zoo import Bear\n\n\ndef f() -> Note:\n    Bear()\n"
    )
    assert stub_text(source, {"f": "t"}).startswith(
        "from kit.notes import Note\nfrom kit.todo import todo\nfrom kit.zoo import Bear\n\n\n"
    )


def test_a_title_with_quotes_or_too_long_a_line_is_still_formatted() -> None:
    source = "def f():\n    return 1\n"
    assert "todo('1.1: Say \"yes\"')" in stub_text(source, {"f": '1.1: Say "yes"'})
    assert '    todo(\n        "1.1: ' in stub_text(source, {"f": "1.1: " + "x" * 90})


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(NoStub, match="names the function g, which is not there"):
        stub_text("def f():\n    return 1\n", {"g": "t"})


@pytest.mark.parametrize("source", ["def f(:\n", "a = 1; b = 2\n"])
def test_a_text_that_cannot_be_cut_by_lines_is_refused(source: str) -> None:
    with pytest.raises(NoStub, match="line 1"):
        stub_text(source, {})


def test_only_a_body_of_one_todo_was_not_started() -> None:
    exercises = {"plain": "2.1: Plain", "Store.claim": "2.2: Claim"}
    half = STUB.replace('todo("2.1: Plain")', "return text")
    assert started(STUB, exercises) == []
    assert started(half, exercises) == ["plain"]
    assert started("def plain(:", exercises) == ["plain", "Store.claim"]
    assert started("", exercises) == ["plain", "Store.claim"]


def test_stubs_are_written_below_lessons_for_every_part(tmp_path: Path) -> None:
    exercise = Exercise("2.1", "Plain", "shop", ("plain",), "core", 5, 2, ())
    step = Step(2, "shop", "Shop", ("shop",), 60, (exercise,))
    solutions = tmp_path / "solutions"
    (solutions / "step02_shop").mkdir(parents=True)
    (solutions / "step02_shop" / "shop.py").write_text("def plain():\n    return 1\n")
    [written] = write_stubs(tmp_path, [step])
    assert written == tmp_path / "lessons" / "step02_shop" / "shop.py"
    assert written.read_text() == stub_source(step, "shop", tmp_path)


@pytest.mark.parametrize("step", ["99", "two"])
def test_the_command_writes_nothing_for_an_unknown_step(
    step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run({"STEP": step}) == 2
    assert "STEP is the number of a step" in capsys.readouterr().out


@pytest.mark.skipif(not importlib.util.find_spec("ruff"), reason="ruff is in the dev group")
@pytest.mark.parametrize("source", [SOLUTION, "def f():\n    return 1\n"])
def test_the_formatter_has_nothing_to_say_about_a_stub(source: str) -> None:
    exercises = EXERCISES if source == SOLUTION else {"f": "1.1: " + "x" * 99}
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "100", "-"]
    stub = stub_text(source, exercises)
    formatted = subprocess.run(command, input=stub, capture_output=True, text=True, check=True)
    assert formatted.stdout == stub
