"""Grades one folder of parts: pytest in a process of its own, and no check left out of the report.

The judge knows every check beforehand. A check without a verdict, because pytest was killed, could
not collect, or ran into the time limit, is unproven and counts as a failure.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from grading.house import House
from grading.report_lines import VARIABLE, Told, read_lines
from grading.verdicts import UNPROVEN, Report, Result
from kit.registry import Check, Exercise, Lab, Step, read_registry

TESTS = Path(__file__).resolve().parents[1]
# Python's own modules come first, so that no file beside the lessons can pass for one of them.
BOOT = "import sys; sys.path += {paths}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
BEFORE, PER_CHECK = 60.0, 6.0  # seconds; every check may end in a time-out of its own

Chosen = list[tuple[Step, Exercise, Check]]


def grade(
    parts: Path | str,
    *,
    steps: Iterable[int] | None = None,
    checks: Iterable[str] | None = None,
    timeout: float | None = None,
    root: Path | None = None,
    seed: int | None = None,
    debug: bool = False,
    patience: float | None = None,
    stop: bool = False,
) -> Report:
    """Return the report on the parts in a folder.

    parts: ``lessons``, ``solutions`` or a folder laid out like them. steps: numbers, all of them by
    default. checks: names of test functions, all of the steps' by default. timeout: seconds for
    everything, by default what an endless loop in every check would take. root: of the lab. seed:
    of the random cases. debug: in this terminal, unconfined. patience: seconds for one operation.
    stop: at the first check that fails; those after it are unproven.
    Errors: RegistryBroken; ValueError when no check is chosen; a broken run is in the report.
    """
    house = House(root) if root else House()
    expected = _chosen(read_registry(house.registry), steps, checks)
    if not expected:
        raise ValueError("No check is chosen.")
    limit = BEFORE + PER_CHECK * len(expected) if timeout is None else timeout
    command = _command(house, str(parts), expected)
    command += [] if patience is None else [f"--patience={patience}"]
    command += ["-x"] if stop else []
    told, trouble = _run(command, house, _environment(seed, debug), None if debug else limit)
    if not trouble and told.problems:
        trouble = told.problems[0]
    results = (_result(told, step, exercise, check, trouble) for step, exercise, check in expected)
    return Report(tuple(results), told.seed, tuple(told.missing), trouble)


def _chosen(lab: Lab, steps: Iterable[int] | None, checks: Iterable[str] | None) -> Chosen:
    numbers = None if steps is None else set(steps)
    names = None if checks is None else set(checks)
    return [
        (step, exercise, check)
        for step in lab.steps
        if numbers is None or step.number in numbers
        for exercise in step.exercises
        for check in exercise.checks
        if names is None or check.test in names
    ]


def _result(told: Told, step: Step, exercise: Exercise, check: Check, trouble: str) -> Result:
    found = told.summary(check.id)
    verdict = found.verdict if found else UNPROVEN
    text = found.text if found else trouble or "No test of this name was found."
    seconds = found.seconds if found else 0.0
    return Result(
        check=check.id,
        test=check.test,
        step=step.number,
        exercise=exercise.id,
        verdict=verdict,
        text=text,
        requirements=check.requirements,
        seconds=seconds,
        unreadable=found.unreadable if found else "",
    )


def _command(house: House, parts: str, expected: Chosen) -> list[str]:
    paths = [str(house.root / "lessons"), str(TESTS), str(TESTS.parent / "lessons")]
    folders = sorted({str(house.root / "tests" / step.folder) for step, _, _ in expected})
    return [
        *(sys.executable, "-I", "-c", BOOT.format(paths=paths)),
        *("-q", "-p", "no:cacheprovider", "--tb=no", "--continue-on-collection-errors"),
        *("-c", str(house.root / "pyproject.toml"), "--rootdir", str(house.root)),
        *("-o", "pythonpath=", "--confcutdir", str(house.root / "tests")),
        *("-p", "grading.plugin", f"--parts={parts}", f"--lab-root={house.root}"),
        "--checks=" + ",".join(check.id for _, _, check in expected),
        *folders,
    ]


def _run(
    command: list[str], house: House, environment: dict[str, str], limit: float | None
) -> tuple[Told, str]:
    """Run pytest; return what it told and, when it came to no good end, why."""
    said = None if limit is None else subprocess.PIPE
    with tempfile.TemporaryFile() as report:
        with subprocess.Popen(
            command,
            cwd=house.root,
            env={**environment, VARIABLE: str(report.fileno())},
            pass_fds=[report.fileno()],
            stdin=None if limit is None else subprocess.DEVNULL,
            stdout=said,
            stderr=None if limit is None else subprocess.STDOUT,
        ) as running:
            try:
                out, _ = running.communicate(timeout=limit)
                trouble = _last_line(out, running.returncode)
            except subprocess.TimeoutExpired:
                running.kill()
                trouble = f"The checks were not done within {limit:g} seconds."
        report.seek(0)
        told = read_lines(report)
    return told, "" if told.closed else trouble


def _last_line(out: bytes | None, status: int) -> str:
    lines = (out or b"").decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"pytest ended with status {status}."


def _environment(seed: int | None, debug: bool) -> dict[str, str]:
    ours = ("PYTEST", "PARTS", "SEED", "DEBUG")
    environment = {n: v for n, v in os.environ.items() if not n.startswith(ours)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["DEBUG"] = "1" if debug else "0"
    if seed is not None:
        environment["SEED"] = str(seed)
    return environment
