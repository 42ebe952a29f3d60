"""``make status``: how far you are, and what to do next; nothing is run.

"passed" is what the last `make test` found; "started" is told from the text of your files.
"""

import sys
from collections.abc import Iterable
from typing import Any

SUMMARY = "show which exercises pass, which are started, and the next one"
OPTIONS = {"STEP": "one step, for example 02"}
PASSED, CHANGED, STARTED, NOT_STARTED = "passed", "passed*", "started", "not started"

Row = tuple[Any, Any, str]  # step, exercise, state


def run(options: dict[str, str]) -> int:
    """Print one line per exercise; 2 for a wrong step."""
    from grading.house import House

    return show(House(), options)


def show(house: Any, options: dict[str, str]) -> int:
    """Print the status of a house. Returns as `run`."""
    from kit.registry import RegistryBroken, read_registry

    try:
        lab = read_registry(house.registry)
        steps = [lab.step(_number(options["STEP"]))] if "STEP" in options else lab.steps
    except (RegistryBroken, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    rows = _rows(house, steps)
    for step in steps:
        mine = [row for row in rows if row[0] is step]
        print(f"{step.number:02d} {step.title} ({_minutes(mine)})")
        for _, exercise, state in mine:
            effort = f"{exercise.track}, {exercise.minutes} min"
            print(f"   {state:11}  {exercise.id} {exercise.title} ({effort})")
    _sum_up(rows)
    _say_next(rows)
    return 0


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"STEP is a number such as 02, not {text!r}.")
    return int(text)


def _rows(house: Any, steps: Iterable[Any]) -> list[Row]:
    from kit.progress import recall

    found = recall(house.root)
    return [
        (step, exercise, _state(house, step, exercise, found.get(exercise.id)))
        for step in steps
        for exercise in step.exercises
    ]


def _state(house: Any, step: Any, exercise: Any, found: Any) -> str:
    from grading.started import is_started
    from kit.progress import digest_of

    part = house.part(house.root / "lessons", step, exercise.part)
    if not is_started(exercise, part):
        return NOT_STARTED
    if found is None or not found.passed:
        return STARTED
    return PASSED if found.digest == digest_of(part) else CHANGED


def _is_done(row: Row) -> bool:
    return row[2] in (PASSED, CHANGED)


def _minutes(rows: list[Row]) -> str:
    told = []
    for track in ("core", "stretch"):
        mine = [row for row in rows if row[1].track == track]
        done = sum(row[1].minutes for row in mine if _is_done(row))
        if mine:
            told.append(f"{track} {done} of {sum(row[1].minutes for row in mine)} min")
    return ", ".join(told) + " done"


def _sum_up(rows: list[Row]) -> None:
    done = sum(map(_is_done, rows))
    started = sum(row[2] == STARTED for row in rows)
    print(f"\n{done} of {len(rows)} exercises passed, {started} more started; {_minutes(rows)}.")
    print("passed: in your last make test. started: by the text of your file; nothing was run.")
    if any(row[2] == CHANGED for row in rows):
        print("* the file has changed since then; make test looks again.")


def _say_next(rows: list[Row]) -> None:
    if not (following := next_of(rows)):
        print("Nothing is left to do here.")
        return
    step, exercise, _ = following
    print(f"Next: {exercise.id} {exercise.title}, in lessons/{step.folder}/{exercise.part}.py")


def next_of(rows: list[Row]) -> Row | None:
    """Return the exercise to do next, None when all pass.

    Core comes before stretch. Within a track a step that was begun comes first, then the steps
    after the last one that was begun, then those that were passed over.
    """
    begun = {step.number for step, _, state in rows if state != NOT_STARTED}

    def rank(row: Row) -> tuple[bool, int]:
        number = row[0].number
        place = 0 if number in begun else 1 if number > max(begun, default=0) else 2
        return row[1].track != "core", place

    return min((row for row in rows if not _is_done(row)), key=rank, default=None)
