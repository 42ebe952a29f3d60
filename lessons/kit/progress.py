"""What the last `make test` found, exercise by exercise; kept in ``.lab/progress.json``.

It is a memory and no mark: nobody is graded by it, and without the file nothing is lost but that.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """What was found of one exercise. passed: every check. digest: of its part at that time."""

    passed: bool
    digest: str


def digest_of(part: Path) -> str:
    """Return a digest of the file, or "" when it cannot be read."""
    try:
        return hashlib.sha256(part.read_bytes()).hexdigest()
    except OSError:
        return ""


def recall(root: Path) -> dict[str, Found]:
    """Return what was found, by exercise id; a memory that cannot be read is an empty one."""
    try:
        told = json.loads(_memory(root).read_text(encoding="utf-8"))
        return {exercise: Found(**found) for exercise, found in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def remember(root: Path, found: Mapping[str, Found]) -> None:
    """Keep what was found, beside what was found of other exercises before."""
    told = {exercise: asdict(each) for exercise, each in (recall(root) | dict(found)).items()}
    memory = _memory(root)
    memory.parent.mkdir(exist_ok=True)
    fresh = memory.with_suffix(".new")
    fresh.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(memory)


def _memory(root: Path) -> Path:
    return root / ".lab" / "progress.json"
