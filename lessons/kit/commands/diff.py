"""``make diff EXERCISE=2.3``: your functions beside the finished ones, once yours pass.

``STEP=02`` shows all exercises of a step that pass.
"""

import ast
import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUMMARY = "compare your exercise with the finished one, after it passes"
OPTIONS = {
    "EXERCISE": "the exercise, for example 2.3",
    "STEP": "all exercises of a step, for example 02",
    "FORCE": "1 shows it before yours passes",
}


def run(options: dict[str, str]) -> int:
    """Print a unified diff; 1 while the exercise does not pass, 2 for a wrong one."""
    from grading.house import House
    from grading.run import grade

    return compare(House(), options, grade)


def compare(house: Any, options: dict[str, str], grade: Callable[..., Any]) -> int:
    """Compare exercises of a house. grade: as `grading.run.grade`. Returns as `run`."""
    from kit.registry import RegistryBroken, read_registry

    if len(options.keys() & {"STEP", "EXERCISE"}) != 1:
        print("Which? Write make diff EXERCISE=2.3, or make diff STEP=02.", file=sys.stderr)
        return 2
    try:
        lab = read_registry(house.registry)
        step, exercises = _chosen(lab, options)
    except (RegistryBroken, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    forced = options.get("FORCE") == "1"
    passing = exercises if forced else _passing(house, step, exercises, grade)
    for exercise in exercises:
        if len(exercises) > 1:
            print(f"{exercise.id} {exercise.title}")
        if exercise in passing:
            _show(house, step, exercise)
        else:
            print(f"{exercise.id} does not pass yet: make test EXERCISE={exercise.id}")
    if len(passing) < len(exercises):
        print("FORCE=1 shows the finished one all the same.")
    return 0 if len(passing) == len(exercises) else 1


def _chosen(lab: Any, options: dict[str, str]) -> tuple[Any, list[Any]]:
    if "EXERCISE" in options:
        step, exercise = lab.exercise(options["EXERCISE"])
        return step, [exercise]
    if not options["STEP"].isdecimal():
        raise ValueError(f"STEP is a number such as 02, not {options['STEP']!r}.")
    step = lab.step(int(options["STEP"]))
    return step, list(step.exercises)


def _passing(house: Any, step: Any, exercises: list[Any], grade: Callable[..., Any]) -> list[Any]:
    checks = [check.test for exercise in exercises for check in exercise.checks]
    report = grade("lessons", steps=[step.number], checks=checks, root=house.root)
    verdicts: dict[str, set[str]] = {}
    for result in report.results:
        verdicts.setdefault(result.exercise, set()).add(result.verdict)
    return [exercise for exercise in exercises if verdicts.get(exercise.id) == {"pass"}]


def _show(house: Any, step: Any, exercise: Any) -> None:
    mine = house.part(house.root / "lessons", step, exercise.part)
    theirs = house.part(house.root / "solutions", step, exercise.part)
    lines = _difference(mine, theirs, exercise.functions, house.root)
    print("\n".join(lines) if lines else "Yours and the finished one are the same text.")


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
