"""``make diff EXERCISE=2.3``: your functions beside the finished ones, once yours pass."""

import ast
import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUMMARY = "compare your exercise with the finished one, after it passes"
OPTIONS = {"EXERCISE": "the exercise, for example 2.3", "FORCE": "1 shows it before yours passes"}


def run(options: dict[str, str]) -> int:
    """Print a unified diff; 1 while the exercise does not pass, 2 for a wrong one."""
    from grading.house import House
    from grading.run import grade

    return compare(House(), options, grade)


def compare(house: Any, options: dict[str, str], grade: Callable[..., Any]) -> int:
    """Compare an exercise of a house. grade: as `grading.run.grade`. Returns as `run`."""
    from kit.registry import RegistryBroken, read_registry

    if "EXERCISE" not in options:
        print("Which exercise? Write make diff EXERCISE=2.3.", file=sys.stderr)
        return 2
    try:
        step, exercise = read_registry(house.registry).exercise(options["EXERCISE"])
    except RegistryBroken as trouble:
        print(trouble, file=sys.stderr)
        return 2
    if options.get("FORCE") != "1" and not _passes(house, step, exercise, grade):
        print(f"{exercise.id} does not pass yet: make test EXERCISE={exercise.id}")
        print("FORCE=1 shows the finished one all the same.")
        return 1
    mine = house.part(house.root / "lessons", step, exercise.part)
    theirs = house.part(house.root / "solutions", step, exercise.part)
    lines = _difference(mine, theirs, exercise.functions, house.root)
    print("\n".join(lines) if lines else "Yours and the finished one are the same text.")
    return 0


def _passes(house: Any, step: Any, exercise: Any, grade: Callable[..., Any]) -> bool:
    checks = [check.test for check in exercise.checks]
    report = grade("lessons", steps=[step.number], checks=checks, root=house.root)
    return bool(report.results) and all(result.verdict == "pass" for result in report.results)


def _difference(mine: Path, theirs: Path, functions: tuple[str, ...], root: Path) -> list[str]:
    lines: list[str] = []
    for function in functions:
        lines += difflib.unified_diff(
            function_lines(mine, function),
            function_lines(theirs, function),
            str(mine.relative_to(root)),
            str(theirs.relative_to(root)),
            lineterm="",
            n=99,
        )
    return lines


def function_lines(path: Path, name: str) -> list[str]:
    """Return the lines of a function (``f`` or ``Class.method``); none when it is not there."""
    try:
        text = path.read_text(encoding="utf-8")
        node: ast.AST = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return []
    for word in name.split("."):
        named = [n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == word]
        if not named:
            return []
        node = named[-1]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])  # type: ignore[attr-defined]
    return text.splitlines()[first - 1 : node.end_lineno]  # type: ignore[attr-defined]
