"""``make prove``: the maintainer's and CI's gate, which proves the lab's own checks."""

import importlib
import os
import random
import sys
from functools import partial
from typing import Any

from kit.parts import ROOT

SUMMARY = "prove the lab itself: stubs score 0, solutions all, every known-bad is rejected, …"
OPTIONS = {
    "STEP": "one step only, for example 02",
    "JOBS": "processes at work at a time, default one for each core",
    "ONLY": "properties by name, separated by commas, for example stubs,known-bad",
    "MUTATE": "1 plants every single-point mutant in the solutions, 60 plants 60 of them",
    "SEED": "of the choice of mutants, to repeat it",
}


def run(options: dict[str, str]) -> int:
    """Prove; 0 when all chosen properties hold, 1 when any falls short, 2 for odd options."""
    jobs = options.get("JOBS", str(os.cpu_count() or 2))
    if not (jobs.isdecimal() and int(jobs)):
        print(f"JOBS is a number from 1 upwards, not {jobs}.", file=sys.stderr)
        return 2
    gate = importlib.import_module("grading.prove.gate")
    grade = importlib.import_module("grading.run").grade
    registry = importlib.import_module("kit.registry")
    for name in importlib.import_module("grading.prove.processes").FOREIGN:
        os.environ.pop(name, None)
    step, only = options.get("STEP", ""), options.get("ONLY", "")
    try:
        mutants = _mutants(options.get("MUTATE", ""), options.get("SEED", ""))
        return int(gate.prove(ROOT, grade, step=step, only=only, jobs=int(jobs), mutants=mutants))
    except (gate.NotUnderstood, registry.RegistryBroken) as refusal:
        print(refusal, file=sys.stderr)
        return 2


def _mutants(mutate: str, seed: str) -> Any:
    """The property that ``MUTATE=`` adds, or None. Errors: NotUnderstood."""
    if not mutate:
        return None
    if not mutate.isdecimal() or (seed and not seed.isdecimal()):
        gate = importlib.import_module("grading.prove.gate")
        raise gate.NotUnderstood("MUTATE is 1 for all mutants or how many; SEED is a number.")
    mutation = importlib.import_module("grading.prove.mutation")
    outcome = importlib.import_module("grading.prove.outcome")
    sample = int(mutate) if int(mutate) > 1 else 0
    chosen = int(seed) if seed else random.SystemRandom().randrange(1_000_000)
    prove = partial(mutation.mutants_are_rejected, sample=sample, seed=chosen)
    return outcome.Property("mutants", prove, slow=True)
