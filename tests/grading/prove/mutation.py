"""Random faults instead of collected ones: single-point mutants of the solutions are rejected.

A mutant that no check rejects stands in ``tests/survivors.toml`` with the reason why it is no
fault, or why nothing that a check may look at could show it. One that is not listed there is a
hole in the checks.
"""

import random
import shutil
import tomllib
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from grading.prove.lab import Lab, step_folder
from grading.prove.mutants import Mutant, mutants_of
from grading.prove.outcome import Outcome, Shortfall
from grading.verdicts import NOT_RUNNABLE, PASS
from kit.registry import Step

SURVIVORS = "tests/survivors.toml"
LEAST_OF_ALL, LEAST_OF_A_STEP = 0.97, 0.95


@dataclass(frozen=True)
class Planted:
    """One mutant of one part of one step."""

    step: Step
    part: str
    mutant: Mutant

    @property
    def name(self) -> str:
        """What it is called in the list of survivors."""
        return f"{self.step.number:02d} {self.part}.{self.mutant.name}"


def mutants_are_rejected(lab: Lab, sample: int, seed: int) -> Outcome:
    """Single-point mutants are rejected: 97 of 100, 95 in each step, and the rest has a reason.

    sample: how many are tried, 0 for all. seed: of the choice.
    """
    every = [planted for step in lab.steps for planted in _of_step(lab, step)]
    tried = random.Random(seed).sample(every, sample) if 0 < sample < len(every) else every
    running = [(planted, lab.pool.submit(_is_rejected, lab, planted)) for planted in tried]
    survived = [planted.name for planted, future in running if not _result(planted, future)]
    figures = f"{len(tried) - len(survived)} of {len(tried)} rejected, {len(survived)} survive"
    if len(tried) < len(every):
        return _of_sample(figures, len(every), tried, survived, seed)
    shortfalls = _unexplained(lab, tried, survived) + _below(tried, survived)
    return Outcome(figures, len(tried), tuple(shortfalls))


def _of_sample(
    figures: str, whole: int, tried: list[Planted], survived: list[str], seed: int
) -> Outcome:
    """A sample is judged by its rate alone: a busy machine may spare one by chance."""
    notes = (f"a sample of {whole}: SEED={seed} repeats it", *(f"survives: {n}" for n in survived))
    fewer = len(tried) * (1 - LEAST_OF_A_STEP)
    low = [Shortfall("the sample", f"{len(survived)} of {len(tried)} mutants survive.")]
    return Outcome(figures, len(tried), tuple(low if len(survived) > max(fewer, 3) else ()), notes)


def _unexplained(lab: Lab, tried: list[Planted], survived: list[str]) -> list[Shortfall]:
    """A shortfall for each survivor without a reason, and each reason without a survivor."""
    listed, steps = read_survivors(lab), {f"{planted.step.number:02d}" for planted in tried}
    alive = [f"“{n}” survives, and has no reason there." for n in survived if n not in listed]
    gone = [
        f"“{name}” is rejected, or is no mutant any more."
        for name in listed
        if name[:2] in steps and name not in survived
    ]
    return [Shortfall(SURVIVORS, sentence) for sentence in alive + gone]


def read_survivors(lab: Lab) -> dict[str, str]:
    """The reason of each listed survivor, by its name."""
    path = lab.root / SURVIVORS
    if not path.is_file():
        return {}
    tables = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    return {table["mutant"]: table["why"] for table in tables}


def _of_step(lab: Lab, step: Step) -> list[Planted]:
    return [
        Planted(step, part, mutant)
        for part in step.parts
        for mutant in mutants_of(_solution(lab, step, part).read_text(encoding="utf-8"))
    ]


def _solution(lab: Lab, step: Step, part: str) -> Path:
    return step_folder(lab, "solutions", step) / f"{part}.py"


def _is_rejected(lab: Lab, planted: Planted) -> bool:
    """Try the checks of its own exercise first: they know it best."""
    folder = lab.folder("mutant")
    own = folder / planted.step.folder
    solution = step_folder(lab, "solutions", planted.step)
    shutil.copytree(solution, own, ignore=shutil.ignore_patterns("__pycache__"))
    (own / f"{planted.part}.py").write_text(planted.mutant.text, encoding="utf-8")
    near = _near(planted)
    try:
        return any(
            not _passes(lab, folder, planted.step, checks)
            for checks in (near, [c.test for c in planted.step.checks if c.test not in near])
            if checks
        )
    finally:
        shutil.rmtree(folder)


def _near(planted: Planted) -> list[str]:
    """The checks of the exercises in which the mutated function is written."""
    return [
        check.test
        for exercise in planted.step.exercises
        if exercise.part == planted.part
        and any(name.split(".")[0] == planted.mutant.function for name in exercise.functions)
        for check in exercise.checks
    ]


def _passes(lab: Lab, folder: Path, step: Step, checks: list[str]) -> bool:
    report = lab.grade(folder, steps=[step.number], checks=checks, stop=True)
    return all(result.verdict in (PASS, NOT_RUNNABLE) for result in report.results)


def _result(planted: Planted, future: "Future[bool]") -> bool:
    try:
        return future.result()
    except Exception as crash:
        raise RuntimeError(f"{planted.name}: {type(crash).__name__}: {crash}") from crash


def _below(tried: list[Planted], survived: list[str]) -> list[Shortfall]:
    """A shortfall for each step, and for the whole, of which too few are rejected."""
    total = Counter(planted.step.number for planted in tried)
    alive = Counter(int(name[:2]) for name in survived)
    low = [
        Shortfall(f"step {step:02d}", f"{alive[step]} of {total[step]} mutants survive.")
        for step in total
        if alive[step] > total[step] * (1 - LEAST_OF_A_STEP)
    ]
    if len(survived) > len(tried) * (1 - LEAST_OF_ALL):
        low.append(Shortfall("all steps", f"{len(survived)} of {len(tried)} mutants survive."))
    return low
