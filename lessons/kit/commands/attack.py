"""``make attack``: the exploit that opens a step, against the naive version or your own part."""

import importlib
import sys
from pathlib import Path
from typing import Any

from kit.parts import ROOT, is_finished, load, part_paths
from kit.tape import compact

SUMMARY = "run a step's exploit against the naive version, or against your finished part"
OPTIONS = {
    "STEP": "the step, for example 02",
    "AGAINST": "naive, yours or solutions; by default yours once its core is written",
}

Needs = tuple[tuple[str, tuple[str, ...]], ...]


def run(options: dict[str, str]) -> int:
    """Attack; 0 when it ends as it should, 1 when your own part falls, 2 for a wrong option."""
    folder = _folder(options.get("STEP", ""))
    against = options.get("AGAINST", "")
    if folder is None or against not in ("", "naive", "yours", "solutions"):
        print(
            "Say STEP=02, or another step that has an attack; AGAINST is naive, yours or solutions."
        )
        return 2
    if not (ROOT / "solutions" / "stage.py").is_file():
        print("The attack needs the rest of the server from solutions/, which is not here.")
        return 2
    sys.path.insert(0, str(ROOT / "solutions"))
    attack = load(folder / "attack.py")
    chosen = against or ("yours" if _is_written(folder, attack.NEEDS) else "naive")
    return _play(attack, chosen)


def _folder(step: str) -> Path | None:
    found = list((ROOT / "lessons").glob(f"step{int(step):02d}_*")) if step.isdecimal() else []
    return found[0] if found and (found[0] / "attack.py").is_file() else None


def _is_written(folder: Path, needs: Needs) -> bool:
    return all(is_finished(folder / f"{part}.py", functions) for part, functions in needs)


def _play(attack: Any, against: str) -> int:
    stage_module, server = importlib.import_module("stage"), importlib.import_module("server")
    paths = part_paths("solutions")
    if against == "yours":
        paths |= {
            part: ROOT / "lessons" / paths[part].parent.name / f"{part}.py"
            for part, _ in attack.NEEDS
        }
    parts = server.Parts(paths)
    lent = _lend(parts, attack.NEEDS) if against == "yours" else []
    if against == "naive":
        attack.make_naive(parts)
    stage = stage_module.Stage(parts, getattr(attack, "STORE", "memory"))
    try:
        succeeded = attack.attack(stage)
    finally:
        stage.close()
    print(f"{attack.TITLE}\nagainst: {_described(against)}")
    print(f"not started, so taken from the finished part: {', '.join(lent)}\n" if lent else "")
    for entry in stage.tape.entries:
        print(f"{entry.sender} → {entry.receiver}: {compact(_brief(entry.message))}")
    print(f"\n{attack.SUCCEEDED if succeeded else attack.FAILED}")
    return 1 if succeeded and against != "naive" else 0


def _lend(parts: Any, needs: Needs) -> list[str]:
    """Put finished functions in the place of those that still raise todo; return their names."""
    from grading.started import started
    from kit.registry import read_registry

    exercises = [exercise for step in read_registry().steps for exercise in step.exercises]
    lent = []
    for part, _ in needs:
        mine = getattr(parts, part)
        finished = load(part_paths("solutions")[part], f"finished_{part}")
        functions = [name for each in exercises if each.part == part for name in each.functions]
        text = Path(str(mine.__file__)).read_text(encoding="utf-8")
        for name in set(functions) - set(started(text, functions)):
            owner, _, short = name.rpartition(".")
            place = getattr(mine, owner) if owner else mine
            given = getattr(finished, owner) if owner else finished
            setattr(place, short, getattr(given, short))
            lent.append(name)
    return sorted(lent)


def _described(against: str) -> str:
    return {
        "naive": "the naive version, as people write it at first",
        "yours": "your part, in an otherwise finished server",
        "solutions": "the finished server",
    }[against]


def _brief(message: Any) -> Any:
    if isinstance(message, dict):
        left_out = ("jsonrpc", "_meta", "requestedSchema")
        return {name: _brief(member) for name, member in message.items() if name not in left_out}
    return message
