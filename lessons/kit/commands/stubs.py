"""``make stubs``: the maintainer writes every stub again, from the solutions."""

from grading.stubs import ROOT, NoStub, write_stubs
from kit.registry import RegistryBroken, read_registry

SUMMARY = "maintainer: write every part in lessons again, as a stub of its solution"
OPTIONS = {"STEP": "only this step, for example 02"}


def run(options: dict[str, str]) -> int:
    """Overwrite the parts in ``lessons``; 1 when a stub cannot be made, 2 for an unknown step.

    It asks nobody: on a learner's branch `make reset` is the command to use.
    """
    try:
        lab = read_registry()
        steps = [lab.step(int(options["STEP"]))] if options.get("STEP") else lab.steps
    except (RegistryBroken, ValueError) as refusal:
        print(f"STEP is the number of a step: {refusal}")
        return 2
    try:
        written = write_stubs(ROOT, steps)
    except (NoStub, OSError) as refusal:
        print(f"No stub was written: {refusal}")
        return 1
    for path in written:
        print(path.relative_to(ROOT))
    return 0
