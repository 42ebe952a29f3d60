"""What the notebooks need: a part, or a whole server with a tape, from one of two places."""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from kit.parts import ROOT, SERVER_PARTS, load, part_paths


def part(name: str, parts: str = "solutions") -> ModuleType:
    """Load one part. parts: ``solutions``, or ``lessons`` for the learner's own."""
    return load(ROOT / parts / SERVER_PARTS[name] / f"{name}.py")


def stage(
    parts: str = "solutions",
    change: Callable[[Any], None] | None = None,
    store: str = "memory",
) -> Any:
    """Open a stage: servers on loopback, two users, and a tape that records every message.

    parts: as for `part`; what is not finished there comes from ``solutions``. change: gets the
    parts before the server is made of them, for a naive version of one. store: memory or sqlite.
    """
    if str(ROOT / "solutions") not in sys.path:
        sys.path.insert(0, str(ROOT / "solutions"))
    made = importlib.import_module("server").Parts(part_paths(parts))
    if change is not None:
        change(made)
    return importlib.import_module("stage").Stage(made, store)
