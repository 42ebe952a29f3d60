"""``make prove``: the maintainer's and CI's gate, which proves the lab's own checks."""

import importlib
import os
import sys

from kit.parts import ROOT

SUMMARY = "prove the lab itself: stubs score 0, solutions all, every known-bad is rejected, …"
OPTIONS = {
    "STEP": "one step only, for example 02",
    "JOBS": "processes at work at a time, default one for each core",
    "ONLY": "properties by name, separated by commas, for example stubs,known-bad",
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
        return int(gate.prove(ROOT, grade, step=step, only=only, jobs=int(jobs)))
    except (gate.NotUnderstood, registry.RegistryBroken) as refusal:
        print(refusal, file=sys.stderr)
        return 2
