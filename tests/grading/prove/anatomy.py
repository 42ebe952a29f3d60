"""Every step has all its parts: a page, hints, an attack, a notebook, checks, submissions."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from grading.prove.lab import Lab, checks_of
from grading.prove.markdown import Line, count_words, split
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.submissions import alternatives, known_bad
from grading.stub_names import find_function
from kit.registry import Step

MOST_WORDS = 1500
RUNGS = ["1", "2", "3"]
FIRST_EXERCISE_MINUTES = 5
ALTERNATIVES, BY_FILE, BY_EDIT = 3, 2, 8


def steps_are_complete(lab: Lab) -> Outcome:
    """Each chosen step has what the anatomy of a step asks for."""
    found = [list(_flaws(lab, step)) for step in lab.steps]
    whole = sum(not flaws for flaws in found)
    return counted(whole, len(lab.steps), "steps are complete", list(chain.from_iterable(found)))


def _flaws(lab: Lab, step: Step) -> Iterator[Shortfall]:
    lesson = f"lessons/{step.folder}"
    wanted = [f"{lesson}/{name}" for name in ("README.md", "hints.md", "attack.py")]
    wanted += [f"notebooks/{step.folder}.ipynb", f"tests/{step.folder}/subject.py"]
    wanted += [f"solutions/{step.folder}/{part}.py" for part in step.parts]
    yield from (Shortfall(name, "is missing.") for name in wanted if name not in lab.files())
    yield from _flaws_of_page(lab, f"{lesson}/README.md")
    yield from _flaws_of_hints(lab, step, f"{lesson}/hints.md")
    yield from _flaws_of_exercises(lab, step)
    yield from _flaws_of_checks(lab, step)
    yield from _flaws_of_submissions(lab, step)


def _flaws_of_page(lab: Lab, name: str) -> Iterator[Shortfall]:
    words = count_words(lab.text(name)) if name in lab.files() else 0
    if words > MOST_WORDS:
        yield Shortfall(name, f"has {words} words beside its listings, not {MOST_WORDS} or fewer.")


def _flaws_of_hints(lab: Lab, step: Step, name: str) -> Iterator[Shortfall]:
    if name not in lab.files():
        return
    rungs = rungs_by_exercise(lab.text(name))
    titles = [f"{exercise.id} {exercise.title}" for exercise in step.exercises]
    for title in titles:
        if title not in rungs:
            yield Shortfall(name, f"has no section “## {title}”.")
        elif rungs[title] != RUNGS:
            has = ", ".join(rungs[title]) or "none"
            yield Shortfall(name, f"“## {title}” has the rungs {has}, not ### 1, ### 2 and ### 3.")
    for title in rungs:
        if title not in titles:
            yield Shortfall(name, f"“## {title}” is no exercise of the registry.")


def rungs_by_exercise(text: str) -> dict[str, list[str]]:
    """Below each ``## 2.3 Title`` the ``### 1`` … that have something to say, in their order."""
    found: dict[str, list[str]] = {}
    rungs: list[str] = []
    rung = ""
    blocks, prose = split(text)
    listings = [Line(block.line, "a listing") for block in blocks if block.text.strip()]
    for line in sorted([*prose, *listings], key=lambda line: line.number):
        if heading := re.match(r"##\s+(.+?)\s*$", line.text):
            rungs, rung = found.setdefault(heading[1], []), ""
        elif heading := re.match(r"###\s+(\S+)", line.text):
            rung = heading[1]
        elif rung and line.text.strip():
            rungs.append(rung)
            rung = ""
    return found


def _flaws_of_exercises(lab: Lab, step: Step) -> Iterator[Shortfall]:
    where = f"lessons/lab.toml ({step.folder})"
    if step.exercises[0].minutes > FIRST_EXERCISE_MINUTES:
        yield Shortfall(
            where, f"the first exercise takes more than {FIRST_EXERCISE_MINUTES} minutes."
        )
    core = sum(each.minutes for each in step.exercises if each.track == "core")
    if core > step.minutes:
        yield Shortfall(
            where, f"its core exercises take {core} minutes, the step says {step.minutes}."
        )
    for exercise in step.exercises:
        name = f"solutions/{step.folder}/{exercise.part}.py"
        tree = ast.parse(lab.text(name)) if name in lab.files() else ast.Module([], [])
        missing = [f for f in exercise.functions if find_function(tree, f) is None]
        yield from (Shortfall(name, f"has no {f}, exercise {exercise.id}.") for f in missing)
        if not (exercise.minutes and exercise.points and exercise.checks):
            yield Shortfall(where, f"{exercise.id} needs minutes, points and a check.")


def _flaws_of_checks(lab: Lab, step: Step) -> Iterator[Shortfall]:
    folder = f"tests/{step.folder}/"
    written = Counter(
        node.name
        for name in lab.files(".py")
        if name.startswith(folder) and name.rpartition("/")[2].startswith("test_")
        for node in ast.parse(lab.text(name)).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
    registered = checks_of(step)
    yield from (
        Shortfall(folder, f"{name} is written {times} times.")
        for name, times in written.items()
        if times > 1
    )
    yield from (
        Shortfall(folder, f"{n} is not registered.") for n in written if n not in registered
    )
    yield from (Shortfall(folder, f"{n} is not written.") for n in registered if n not in written)


def _flaws_of_submissions(lab: Lab, step: Step) -> Iterator[Shortfall]:
    bad = [found for found in known_bad(lab) if found.step == step]
    right = [found for found in alternatives(lab) if found.step == step]
    edits = sum(found.is_edit for found in bad)
    for kind, has, wanted in (
        ("known-bad submissions by edit", edits, BY_EDIT),
        ("known-bad submissions by beginner's file", len(bad) - edits, BY_FILE),
        ("alternatives", len(right), ALTERNATIVES),
    ):
        if has < wanted:
            yield Shortfall(f"tests ({step.folder})", f"has {has} {kind}, not {wanted} or more.")
