"""``make test``: grade the exercises that have been started."""

import sys
from pathlib import Path
from typing import Any

SUMMARY = "grade your exercises (all steps, or STEP=02)"
OPTIONS = {
    "STEP": "one step, for example 02",
    "EXERCISE": "one exercise, for example 2.3",
    "CHECK": "one check, by the name of its test function",
    "PARTS": "lessons (default), solutions, or a folder laid out like them",
    "SEED": "repeat the random cases of an earlier run",
    "DEBUG": "1 runs your code in this process, for breakpoints; nothing is confined then",
}


def run(options: dict[str, str]) -> int:
    """Grade; 0 when nothing that was started fails, 1 otherwise, 2 for a wrong option."""
    from grading.house import House
    from kit.registry import RegistryBroken, read_registry

    house = House()
    try:
        lab = read_registry(house.registry)
        folder = house.parts_folder(options.get("PARTS", "lessons"))
        chosen = _chosen(lab, options)
        seed = int(options["SEED"]) if "SEED" in options else None
    except (RegistryBroken, FileNotFoundError, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    if options.get("PARTS", "lessons") == "solutions":
        return _grade("solutions", chosen, seed, options, "the reference solutions")
    started = [pair for pair in chosen if _is_started(house, folder, pair)]
    if not started:
        return _fresh(chosen, seed, options)
    waiting = len(chosen) - len(started)
    status = _grade(str(folder), started, seed, options, "your exercises")
    if waiting:
        print(f"{waiting} more exercises are not started.")
    return status


def _chosen(lab: Any, options: dict[str, str]) -> list[Any]:
    if "EXERCISE" in options:
        return [lab.exercise(options["EXERCISE"])]
    steps = [lab.step(_number(options["STEP"]))] if "STEP" in options else lab.steps
    pairs = [(step, exercise) for step in steps for exercise in step.exercises]
    if "CHECK" in options:
        pairs = [p for p in pairs if options["CHECK"] in {check.test for check in p[1].checks}]
        if not pairs:
            raise ValueError(f"There is no check {options['CHECK']}.")
    return pairs


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"STEP is a number such as 02, not {text!r}.")
    return int(text)


def _is_started(house: Any, folder: Path, pair: Any) -> bool:
    from grading.started import is_started

    step, exercise = pair
    return is_started(exercise, house.part(folder, step, exercise.part))


def _fresh(chosen: list[Any], seed: int | None, options: dict[str, str]) -> int:
    if _solutions_are_here():
        status = _grade("solutions", chosen, seed, options, "the reference solutions")
    else:
        status = 0
        print("solutions/ is not here, so the lab is not tried out on this machine first.")
    if status == 0 and _solutions_are_here():
        print("So the lab works on this machine.\n")
    step, exercise = chosen[0]
    print(f"0 of {len(chosen)} exercises started.")
    print(f"Begin with lessons/{step.folder}/README.md; the first exercise is")
    print(f"  {exercise.id} {exercise.title}, in lessons/{step.folder}/{exercise.part}.py")
    print(f"and after each change: make test STEP={step.number:02d}")
    return status


def _solutions_are_here() -> bool:
    from grading.house import House

    return (House().root / "solutions" / "server.py").is_file()


def _grade(
    parts: str, pairs: list[Any], seed: int | None, options: dict[str, str], whose: str
) -> int:
    from grading.run import grade
    from grading.verdicts import FAIL, NOT_RUNNABLE, PASS, UNPROVEN

    tests = {check.test for _, exercise in pairs for check in exercise.checks}
    checks = {options["CHECK"]} if "CHECK" in options else tests
    report = grade(
        parts,
        steps={step.number for step, _ in pairs},
        checks=checks,
        seed=seed,
        debug=options.get("DEBUG") == "1",
    )
    for result in report.results:
        if result.verdict in (FAIL, UNPROVEN):
            print(
                f"✗ {result.exercise} {result.test.replace('_', ' ')}\n{_indented(result.text)}\n"
            )
        if result.verdict == NOT_RUNNABLE:
            print(f"– {result.exercise} {result.test.replace('_', ' ')}: {result.text}")
    _by_exercise(report, pairs)
    print(f"\n{report.count(PASS)} of {len(report.results)} checks pass on {whose}.", _rest(report))
    for line in report.missing:
        print(f"Not confined on this machine: {line}.")
    if report.count(FAIL):
        print(f"The random cases of this run come back with SEED={report.seed}.")
    return 1 if report.count(FAIL) or report.count(UNPROVEN) else 0


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _by_exercise(report: Any, pairs: list[Any]) -> None:
    for _, exercise in pairs:
        mine = [result for result in report.results if result.exercise == exercise.id]
        passed = sum(result.verdict == "pass" for result in mine)
        mark = "✓ passes    " if passed == len(mine) else "✗ not yet   "
        print(
            f"{mark} {exercise.id} {exercise.title}: "
            f"{passed} of {len(mine)} checks, {exercise.track}"
        )


def _rest(report: Any) -> str:
    counts = {
        verdict: report.count(verdict)
        for verdict in ("fail", "not started", "not runnable here", "unproven")
    }
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
