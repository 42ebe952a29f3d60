"""The notes world: what every lesson reads and some of them destroy.

It is built so that the tempting mistakes have something to hit: a sibling folder whose name starts
like the workspace's, two notes with one title, a note of that title outside the scope.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """One note.

    id: unique, ``[a-z0-9-]``. title: what people type. uri: where it lives. body: its text.
    """

    id: str
    title: str
    uri: str
    body: str = ""


class Notes:
    """Notes in memory, in a fixed order; the world, not a replay store.

    notes: the notes to begin with.
    """

    def __init__(self, notes: Iterable[Note]) -> None:
        self._notes = {note.id: note for note in notes}

    def __iter__(self) -> Iterator[Note]:
        return iter(sorted(self._notes.values(), key=lambda note: note.id))

    def find(self, note_id: str) -> Note | None:
        """The note of that id, or None."""
        return self._notes.get(note_id)

    def put(self, note: Note) -> None:
        """Add the note, or replace the one of the same id."""
        self._notes[note.id] = note

    def delete(self, note_id: str) -> None:
        """Remove the note. Errors: KeyError when there is none of that id."""
        del self._notes[note_id]


ALICE, BOB = "alice", "bob"

# What the operator grants to whom: workspace URIs by the principal's subject.
GRANTS: dict[str, tuple[str, ...]] = {
    ALICE: ("file:///srv/notes/team", "file:///srv/notes/alice"),
    BOB: ("file:///srv/notes/team",),
}


def example_notes() -> Notes:
    """A fresh copy of the world that lessons, checks, notebooks and the demo share."""
    return Notes(
        [
            Note("draft-1", "Draft", "file:///srv/notes/team/draft-1.md", "Plan for spring."),
            Note("draft-2", "Draft", "file:///srv/notes/team/old/draft-2.md", "Plan for autumn."),
            Note(
                "draft-3", "Draft", "file:///srv/notes/team-archive/draft-3.md", "Keep for audit."
            ),
            Note("draft-4", "Draft", "file:///srv/notes/alice/draft-4.md", "Alice's own draft."),
            Note("agenda-1", "Agenda", "file:///srv/notes/team/agenda-1.md", "Monday, 10:00."),
        ]
    )
