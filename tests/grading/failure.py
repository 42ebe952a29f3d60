"""The four parts of a failing check, in at most 12 lines: sent, got, rule, look at."""

import ast
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kit.registry import Check, Exercise

WIDTH = 200
LINES = 12
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
    marked = difference(comparison.got, comparison.wanted)
    wanted = f"{comparison.operator} {text_of(comparison.wanted)}"
    return [f"{text_of(comparison.got)}    ← {marked}", f"wanted: {wanted}"]


def difference(got: Any, wanted: Any) -> str:
    """Say in a few words where two values part."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        for name in {**wanted, **got}:
            if name not in got:
                return f"{name} is missing"
            if name not in wanted:
                return f"{name} is not wanted"
            if got[name] != wanted[name]:
                return f"{name} differs"
    if isinstance(got, list) and isinstance(wanted, list):
        for place, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
            if mine != theirs:
                return f"item {place} differs"
        return f"{len(got)} items, not {len(wanted)}"
    if type(got) is not type(wanted):
        return f"{type(got).__name__}, not {type(wanted).__name__}"
    return "this differs"


def place_of(exercise: Exercise, part: Path, operation: str = "") -> str:
    """Return ``file:line`` of the function of the exercise that the check was about.

    operation: the last one that was asked for; a function of that name comes first.
    """
    try:
        tree = ast.parse(part.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return f"{part.name}:1"
    lines = {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name in (operation, *exercise.functions):
        if (short := name.rpartition(".")[2]) in lines:
            return f"{part.name}:{lines[short]} {short}"
    return f"{part.name}:1"


def compose(
    sent: str, got: list[str], check: Check, exercise: Exercise, place: str, requirements: Path
) -> str:
    """Return the text of a failing check."""
    lines = [f"sent     {sent}", f"got      {got[0]}", *(f"         {line}" for line in got[1:])]
    known = rules(requirements)
    for requirement in check.requirements[:2]:
        level, words = known.get(requirement, ("?", "This rule is not in requirements.md."))
        lines.append(f"rule     {words[: 2 * WIDTH]} ({level}, {requirement})")
    lines.append(f"look at  {place}")
    lines.append(f"         make hint EXERCISE={exercise.id}")
    return "\n".join(line for text in lines for line in text.splitlines()[:3])
