"""``make test``: grade the exercises that have been started."""

import sys
from collections import Counter
from collections.abc import Iterable
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
        return _grade("solutions", chosen, seed, options, "the reference solutions")[0]
    started = [pair for pair in chosen if _is_started(house, folder, pair)]
    if not started:
        return _fresh(chosen, seed, options)
    waiting = [pair for pair in chosen if pair not in started]
    status, report = _grade(str(folder), started, seed, options, "your exercises", waiting)
    if folder == house.parts_folder("lessons") and "CHECK" not in options:
        _remember(house, report, started)
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
        status, _ = _grade("solutions", chosen, seed, options, "the reference solutions")
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


def _remember(house: Any, report: Any, graded: list[Any]) -> None:
    from kit.progress import Found, digest_of, remember

    lessons = house.parts_folder("lessons")
    found = {
        exercise.id: Found(
            all(each.verdict == "pass" for each in report.results if each.exercise == exercise.id),
            digest_of(house.part(lessons, step, exercise.part)),
        )
        for step, exercise in graded
    }
    remember(house.root, found)


def _grade(
    parts: str,
    pairs: list[Any],
    seed: int | None,
    options: dict[str, str],
    whose: str,
    waiting: Iterable[Any] = (),
) -> tuple[int, Any]:
    """Grade and tell; return status and report. waiting: exercises that are not started."""
    from grading.run import grade
    from grading.verdicts import FAIL, PASS, UNPROVEN

    tests = {check.test for _, exercise in pairs for check in exercise.checks}
    checks = {options["CHECK"]} if "CHECK" in options else tests
    report = grade(
        parts,
        steps={step.number for step, _ in pairs},
        checks=checks,
        seed=seed,
        debug=options.get("DEBUG") == "1",
    )
    _tell(report)
    _by_exercise(report, pairs, list(waiting))
    print(f"\n{report.count(PASS)} of {len(report.results)} checks pass on {whose}.", _rest(report))
    for line in report.missing:
        print(f"Not confined on this machine: {line}.")
    if report.count(FAIL):
        print(f"The random cases of this run come back with SEED={report.seed}.")
    return (1 if report.count(FAIL) or report.count(UNPROVEN) else 0), report


def _tell(report: Any) -> None:
    """Print every failure; what keeps a whole part from being asked is said once."""
    from grading.verdicts import FAIL, NOT_RUNNABLE, UNPROVEN

    unreadable = Counter(result.unreadable for result in report.results if result.unreadable)
    for why, checks in unreadable.items():
        took = "1 check fails" if checks == 1 else f"{checks} checks fail"
        print(f"✗ {why}\n    {took} for this alone.\n")
    for result in report.results:
        title = f"{result.exercise} {result.test.replace('_', ' ')}"
        if result.verdict in (FAIL, UNPROVEN) and not result.unreadable:
            print(f"✗ {title}\n{_indented(result.text)}\n")
        if result.verdict == NOT_RUNNABLE:
            print(f"– {title}: {result.text}")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _by_exercise(report: Any, pairs: list[Any], waiting: list[Any]) -> None:
    """Print a line per exercise of the steps at hand, and count what waits in other steps."""
    steps = {step.number: step for step, _ in pairs}
    names = {exercise.id for _, exercise in [*pairs, *waiting]}
    for step in steps.values():
        for exercise in (each for each in step.exercises if each.id in names):
            print(_line(exercise, [r for r in report.results if r.exercise == exercise.id]))
    if others := sum(step.number not in steps for step, _ in waiting):
        several = f"{others} more exercises, in other steps, are not started."
        print("1 more exercise, in another step, is not started." if others == 1 else several)


def _line(exercise: Any, results: list[Any]) -> str:
    count = len(results or exercise.checks)
    checks = "1 check" if count == 1 else f"{count} checks"
    about = f"{exercise.id} {exercise.title}"
    if not results:
        return f"· not started {about}: {checks}, {exercise.track}"
    passed = sum(result.verdict == "pass" for result in results)
    mark = "✓ passes    " if passed == count else "✗ not yet   "
    return f"{mark} {about}: {passed} of {checks}, {exercise.track}{_waits(results)}"


def _waits(results: list[Any]) -> str:
    """Say for which exercises some checks wait, because their functions still raise todo."""
    waiting = [result.text for result in results if result.verdict == "not started"]
    ids = sorted({text.removeprefix("not started: ").partition(":")[0] for text in waiting})
    if not ids:
        return ""
    checks = "1 check needs" if len(waiting) == 1 else f"{len(waiting)} checks need"
    return f"; {checks} {' and '.join(ids)}, which is not started"


def _rest(report: Any) -> str:
    counts = {
        verdict: report.count(verdict)
        for verdict in ("fail", "not started", "not runnable here", "unproven")
    }
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
