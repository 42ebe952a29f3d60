"""``make status``: what is started, and what to do next; nothing is run."""

import sys
from typing import Any

SUMMARY = "show which exercises you have started, and the next one"
OPTIONS = {"STEP": "one step, for example 02"}


def run(options: dict[str, str]) -> int:
    """Print one line per exercise; 2 for a wrong step."""
    from grading.house import House

    return show(House(), options)


def show(house: Any, options: dict[str, str]) -> int:
    """Print the status of a house. Returns as `run`."""
    from grading.started import is_started
    from kit.registry import RegistryBroken, read_registry

    try:
        lab = read_registry(house.registry)
        steps = [lab.step(_number(options["STEP"]))] if "STEP" in options else lab.steps
    except (RegistryBroken, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    lessons = house.root / "lessons"
    waiting: list[tuple[Any, Any]] = []
    for step in steps:
        print(f"{step.number:02d} {step.title}")
        for exercise in step.exercises:
            started = is_started(exercise, house.part(lessons, step, exercise.part))
            waiting += [] if started else [(step, exercise)]
            mark = "started    " if started else "not started"
            effort = f"{exercise.track}, {exercise.minutes} min"
            print(f"   {mark}  {exercise.id} {exercise.title} ({effort})")
    total = sum(len(step.exercises) for step in steps)
    print(f"\n{total - len(waiting)} of {total} exercises started; make test says which pass.")
    if waiting:
        step, exercise = waiting[0]
        print(f"Next: {exercise.id} {exercise.title}, in lessons/{step.folder}/{exercise.part}.py")
    return 0


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"STEP is a number such as 02, not {text!r}.")
    return int(text)
