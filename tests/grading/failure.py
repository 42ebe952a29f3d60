"""The four parts of a failing check, in at most 12 lines: sent, got, rule, look at."""

import ast
import json
import re
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from grading.outcomes import ANY, Outcome, same_json
from grading.part_files import tree_of
from kit.registry import Check, Exercise

WIDTH = 200
COLUMNS = 90
Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROW = re.compile(r"- \*\*([A-Z]+-\d+)\*\* · ([A-Z ]+) · [a-z]+ · (.*) · \[[a-z]+\]\([^)]*\)$")


@dataclass(frozen=True)
class Comparison:
    """The comparison that failed. got, wanted: its two sides, `operator` between them."""

    operator: str
    got: Any
    wanted: Any


@lru_cache(maxsize=4)
def rules(requirements: Path) -> dict[str, tuple[str, str]]:
    """Return level and words of every rule, by id."""
    rows = map(_ROW.match, requirements.read_text(encoding="utf-8").splitlines())
    return {row[1]: (row[2], row[3]) for row in rows if row}


def text_of(value: Any) -> str:
    """Return a value on one line, its middle left out when it is long."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except TypeError:
        text = repr(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 60]} … {text[-55:]}"


def sent_line(operation: str, arguments: dict[str, Any]) -> str:
    """Return what was sent, as a call."""
    told = ", ".join(f"{name}={text_of(value)}" for name, value in arguments.items())
    return f"{operation}({told})"[: 2 * WIDTH]


def got_lines(answer: Any, comparison: Comparison | None) -> list[str]:
    """Return what came back, with the place marked where it differs from what was wanted."""
    if comparison is None:
        return [text_of(answer)]
    wanted = f"{comparison.operator} {text_of(comparison.wanted)}"
    if comparison.operator not in ("==", "is"):
        return [text_of(comparison.got), f"wanted: {wanted}"]
    marked = difference(comparison.got, comparison.wanted)
    return [f"{text_of(comparison.got)}    ← {marked}", f"wanted: {wanted}"]


def difference(got: Any, wanted: Any, at: str = "") -> str:
    """Say in a few words where two values part. at: the path walked so far."""
    if type(got) is not type(wanted):
        return f"{at} is {_kind(got)}, not {_kind(wanted)}".removeprefix(" is ")
    if isinstance(got, list):
        for place, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
            if not same_json(mine, theirs):
                return difference(mine, theirs, f"{at}[{place}]" if at else f"item {place}")
        return f"{at} has {len(got)} items, not {len(wanted)}".removeprefix(" has ")
    if isinstance(got, dict | Outcome):
        return _in_fields(got, wanted, f"{at}." if at else "")
    return f"{at} is {text_of(got)[:40]}, not {text_of(wanted)[:40]}" if at else "this differs"


def _in_fields(got: Any, wanted: Any, before: str) -> str:
    mine, theirs = (side if isinstance(side, dict) else vars(side) for side in (got, wanted))
    for name in {**theirs, **mine}:
        if name not in mine:
            return f"{before}{name} is missing"
        if name not in theirs:
            return f"{before}{name} is not wanted"
        if ANY not in (mine[name], theirs[name]) and not same_json(mine[name], theirs[name]):
            return difference(mine[name], theirs[name], before + str(name))
    return "this differs"


def _kind(value: Any) -> str:
    if isinstance(value, Outcome):
        return value.name()
    return text_of(value) if value is None or isinstance(value, bool) else type(value).__name__


def place_of(exercise: Exercise, part: Path, operation: str = "", root: Path | None = None) -> str:
    """Return ``file:line`` of the function of the exercise that the check was about.

    operation: the last one that was asked for. A function of that name comes first, then that one
    of the exercise with which the name begins: ``verify_as_told`` is about ``verify``. root: what
    the file's path is told from.
    """
    inside = root is not None and part.is_relative_to(root)
    name = str(part.relative_to(root)) if inside and root else part.name
    tree = tree_of(part)
    functions = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, Function)]
    lines = {function.name: function.lineno for function in functions}
    begun = [name for name in exercise.functions if operation.startswith(f"{name}_")]
    for wanted in (operation, *begun, *exercise.functions):
        if (short := wanted.rpartition(".")[2]) in lines:
            return f"{name}:{lines[short]} {short}"
    return f"{name}:1"


def compose(
    sent: str, got: list[str], check: Check, exercise: Exercise, place: str, requirements: Path
) -> str:
    """Return the text of a failing check."""
    known = rules(requirements)
    cited = check.requirements[:2]
    lines = [f"sent     {sent}", f"got      {got[0]}", *(f"         {line}" for line in got[1:4])]
    for requirement in cited:
        level, words = known.get(requirement, ("?", "This rule is not in requirements.md."))
        lines += _rule(f"{level}, {requirement}: {words}", 3 if len(cited) == 1 else 2)
    lines = [" ".join(line.splitlines()) for line in lines]
    return "\n".join([*lines, f"look at  {place}", f"         make hint EXERCISE={exercise.id}"])


def _rule(text: str, most: int) -> list[str]:
    wrapped = textwrap.wrap(text, COLUMNS, max_lines=most, placeholder=" …")
    return (
        textwrap.indent("\n".join(wrapped), " " * 9).replace(" " * 9, "rule     ", 1).splitlines()
    )
