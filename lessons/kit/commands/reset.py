"""``make reset STEP=02``: put the stub of a step back, and keep what was there."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SUMMARY = "start a step again from its stub; your file is kept under .lab/kept"
OPTIONS = {"STEP": "the step, for example 02", "YES": "1 does not ask"}


def run(options: dict[str, str]) -> int:
    """Reset; 0 when done, 1 when the learner thought better of it, 2 for a wrong step."""
    from grading.house import House

    return put_back(House(), options, input)


def put_back(house: Any, options: dict[str, str], ask: Callable[[str], str]) -> int:
    """Reset a step of a house. ask: puts a question and returns the answer. Returns as `run`."""
    from grading.stubs import NoStub, stub_source
    from kit.registry import RegistryBroken, read_registry

    number = options.get("STEP", "")
    if not number.isdecimal():
        print("Which step? Write make reset STEP=02.", file=sys.stderr)
        return 2
    try:
        step = read_registry(house.registry).step(int(number))
        stubs = {
            house.part(house.root / "lessons", step, part): stub_source(step, part, house.root)
            for part in step.parts
        }
    except (RegistryBroken, NoStub, FileNotFoundError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    changed = {path: stub for path, stub in stubs.items() if _text(path) != stub}
    if not changed:
        print(f"Step {step.number:02d} is as it was given to you.")
        return 0
    names = ", ".join(str(path.relative_to(house.root)) for path in changed)
    if options.get("YES") != "1" and not _agrees(ask, f"Put the stub back in {names}? [y/N] "):
        print("Nothing was changed.")
        return 1
    for path, stub in changed.items():
        _replace(house.root, path, stub)
    return 0


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _agrees(ask: Callable[[str], str], question: str) -> bool:
    try:
        return ask(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _replace(root: Path, path: Path, stub: str) -> None:
    relative = path.relative_to(root)
    if path.exists():
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        kept = root / ".lab" / "kept" / moment / relative
        kept.parent.mkdir(parents=True)
        path.replace(kept)
        print(f"Your {relative} is now {kept.relative_to(root)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stub, encoding="utf-8")
    print(f"{relative} is the stub again.")
