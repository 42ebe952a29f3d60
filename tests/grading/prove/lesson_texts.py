"""What lies in ``lessons`` is what the solutions generate, and the learner's work is left alone."""

import os

from grading.prove.lab import Lab
from grading.prove.outcome import Outcome, Shortfall
from grading.prove.tree import committed
from grading.started import started
from grading.stubs import NoStub, exercises_of, stub_source
from kit.registry import Step


def lessons_are_generated(lab: Lab) -> Outcome:
    """Each part in ``lessons`` equals its generated stub, as far as nobody has worked on it.

    Where somebody has, the committed text is compared in its place; where that was worked on too,
    it is a learner's branch and is left alone, except when the environment says ``CI``: there,
    a solution committed into ``lessons`` is a mistake.
    """
    equal = yours = 0
    shortfalls: list[Shortfall] = []
    parts = [(step, part) for step in lab.steps for part in step.parts]
    for step, part in parts:
        name = f"lessons/{step.folder}/{part}.py"
        try:
            stub = stub_source(step, part, lab.root)
        except (NoStub, OSError) as refusal:
            shortfalls.append(Shortfall(name, f"has no stub to be compared with: {refusal}"))
            continue
        text = _untouched(lab, name, step, part)
        if text is None:
            yours += 1
        elif text == stub:
            equal += 1
        else:
            shortfalls.append(Shortfall(name, "is not the generated stub; `make reset` makes it."))
    figures = f"{equal} of {len(parts) - yours} equal the generated stubs"
    return Outcome(figures + (f", {yours} yours" if yours else ""), equal, tuple(shortfalls))


def _untouched(lab: Lab, name: str, step: Step, part: str) -> str | None:
    """The text to compare, or None for a learner's work."""
    path = lab.root / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not text or not started(text, exercises_of(step, part)):
        return text
    before = committed(lab.root, name)
    if before is None or (started(before, exercises_of(step, part)) and not os.environ.get("CI")):
        return None
    return before
