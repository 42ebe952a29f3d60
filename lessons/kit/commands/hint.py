"""``make hint EXERCISE=2.3``: one rung of the ladder at a time, the least telling first."""

import json
import re
import sys
from pathlib import Path
from typing import Any

SUMMARY = "show the next hint for an exercise"
OPTIONS = {
    "EXERCISE": "the exercise, for example 2.3",
    "RUNG": "this rung again, for example 1",
}
RUNG = re.compile(r"^### +(\d+).*$", re.MULTILINE)


def run(options: dict[str, str]) -> int:
    """Print one rung; 2 for an exercise or a rung that is not there."""
    from grading.house import House

    return show(House(), options)


def show(house: Any, options: dict[str, str]) -> int:
    """Print one rung of a house's hints and remember it. Returns as `run`."""
    from kit.registry import RegistryBroken, read_registry

    if "EXERCISE" not in options:
        return _refuse("Which exercise? Write make hint EXERCISE=2.3.")
    try:
        step, exercise = read_registry(house.registry).exercise(options["EXERCISE"])
    except RegistryBroken as trouble:
        return _refuse(str(trouble))
    rungs = rungs_of(house.root / "lessons" / step.folder / "hints.md", exercise.id)
    if not rungs:
        return _refuse(f"There is no hint for {exercise.id} {exercise.title}.")
    memory = house.root / ".lab" / "hints.json"
    seen = _seen(memory)
    wanted = options.get("RUNG", str(min(seen.get(exercise.id, 0) + 1, len(rungs))))
    if not wanted.isdecimal() or not 1 <= int(wanted) <= len(rungs):
        return _refuse(f"{exercise.id} has the rungs 1 to {len(rungs)}, not {wanted}.")
    rung = int(wanted)
    print(f"{exercise.id} {exercise.title}, hint {rung} of {len(rungs)}\n\n{rungs[rung - 1]}\n")
    if rung == len(rungs):
        print("That was the last one.")
    _remember(memory, {**seen, exercise.id: max(rung, seen.get(exercise.id, 0))})
    return 0


def rungs_of(hints: Path, exercise: str) -> list[str]:
    """Return the rungs of an exercise: ``## 2.3 Title``, then ``### 1`` and so on."""
    try:
        text = hints.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    sections = re.split(r"^## +", text, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading.split(maxsplit=1)[:1] == [exercise]:
            return [rung.strip() for rung in RUNG.split(body)[2::2]]
    return []


def _seen(memory: Path) -> dict[str, int]:
    try:
        told = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(told, dict) and all(type(rung) is int for rung in told.values())
    return told if is_ours else {}


def _remember(memory: Path, seen: dict[str, int]) -> None:
    memory.parent.mkdir(exist_ok=True)
    fresh = memory.with_suffix(".new")
    fresh.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(memory)


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2
