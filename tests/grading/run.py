"""Grades one folder of parts: pytest in a process of its own, and no check left out of the report.

The judge knows every check beforehand. A check without a verdict, because pytest was killed, could
not collect, or ran into the time limit, is unproven and counts as a failure.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grading.house import House
from grading.verdicts import UNPROVEN, Report, Result
from kit.registry import read_registry


def grade(
    parts: Path | str,
    *,
    steps: Iterable[int] | None = None,
    checks: Iterable[str] | None = None,
    timeout: float = 120.0,
    root: Path | None = None,
    seed: int | None = None,
    debug: bool = False,
) -> Report:
    """Return the report on the parts in a folder.

    parts: ``lessons``, ``solutions`` or a folder laid out like them. steps: numbers, all of them by
    default. checks: names of test functions, all of the steps' by default. timeout: seconds for
    everything. root: of the lab. seed: of the random cases. debug: in this terminal, unconfined.
    Errors: RegistryBroken; ValueError when no check is chosen; a broken run is in the report.
    """
    house = House(root) if root else House()
    chosen_steps = None if steps is None else set(steps)
    chosen = None if checks is None else set(checks)
    expected = [
        (step, exercise, check)
        for step in read_registry(house.registry).steps
        if chosen_steps is None or step.number in chosen_steps
        for exercise in step.exercises
        for check in exercise.checks
        if chosen is None or check.test in chosen
    ]
    if not expected:
        raise ValueError("No check is chosen.")
    folders = sorted({str(house.root / "tests" / step.folder) for step, _, _ in expected})
    wanted = {check.test for _, _, check in expected} if chosen is not None else set()
    told, trouble = _run(house, str(parts), folders, wanted, timeout, seed, debug)
    found = {result["check"]: result for result in told.get("results", [])}
    results = tuple(
        Result(**{**found[check.id], "requirements": tuple(found[check.id]["requirements"])})
        if check.id in found
        else Result(
            check.id,
            check.test,
            step.number,
            exercise.id,
            UNPROVEN,
            trouble or "This check was not run.",
            check.requirements,
            0.0,
        )
        for step, exercise, check in expected
    )
    return Report(results, told.get("seed", 0), tuple(told.get("missing", ())), trouble)


def _run(
    house: House,
    parts: str,
    folders: list[str],
    wanted: set[str],
    timeout: float,
    seed: int | None,
    debug: bool,
) -> tuple[dict[str, Any], str]:
    with tempfile.TemporaryDirectory(prefix="lab-report-") as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            "-c",
            str(house.root / "pyproject.toml"),
            "--rootdir",
            str(house.root),
            f"--parts={parts}",
            f"--lab-root={house.root}",
            *folders,
        ]
        if wanted:
            command += ["-k", " or ".join(sorted(wanted))]
        environment = _environment(house, report, seed, debug)
        try:
            done = subprocess.run(
                command,
                cwd=house.root,
                env=environment,
                timeout=None if debug else timeout,
                stdin=None if debug else subprocess.DEVNULL,
                capture_output=not debug,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return {}, f"The checks were not done within {timeout:.0f} seconds."
        if not report.exists():
            lines = ((done.stderr or "") + (done.stdout or "")).strip().splitlines()
            return {}, lines[-1] if lines else f"pytest ended with {done.returncode}."
        return json.loads(report.read_text(encoding="utf-8")), ""


def _environment(house: House, report: Path, seed: int | None, debug: bool) -> dict[str, str]:
    paths = [str(house.root / "lessons"), str(Path(__file__).resolve().parents[1])]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PARTS"))
    }
    environment.update(
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        PYTHONPATH=os.pathsep.join(paths),
        LAB_REPORT=str(report),
        DEBUG="1" if debug else "0",
    )
    if seed is not None:
        environment["SEED"] = str(seed)
    return environment
