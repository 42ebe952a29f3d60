"""The lab's own server over a world whose notes never run out."""

import importlib
import sys
from typing import Any

from kit.clock import SystemClock
from kit.notes import ALICE, GRANTS, Notes, example_notes
from kit.parts import ROOT, part_paths
from kit.principal import Principal
from kit.randomness import SystemRandomness

PLENTY = 10_000_000  # more nonces than one run can spend
USER = Principal(ALICE, frozenset({"notes"}))


class EndlessNotes(Notes):
    """Notes of which each can be deleted again and again; all else costs what it costs."""

    def delete(self, note_id: str) -> None:
        """Make as if. Errors: KeyError when there is none of that id."""
        self._notes[note_id]


def endless_server() -> tuple[Any, Any]:
    """Return a NotesServer of the reference parts, and those parts."""
    sys.path.insert(0, str(ROOT / "solutions"))
    server: Any = importlib.import_module("server")
    parts = server.Parts(part_paths())
    clock, randomness = SystemClock(), SystemRandomness()
    ring = parts.state.KeyRing({"k1": b"\xff" + randomness.token_bytes(31)}, "k1")
    notes = EndlessNotes(example_notes())
    store = parts.replay.ReplayStore(notes, clock, PLENTY)
    world = server.World(notes, GRANTS, ring, store, clock, randomness)
    return server.NotesServer(parts, world, lambda line: None), parts
