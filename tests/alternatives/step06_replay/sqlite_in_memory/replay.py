"""The replay store as a table in memory: SQLite says which nonce is there, and takes it back.

The nonce is inserted first, inside a transaction of SQLite. The primary key refuses the second
one. Whatever goes wrong afterwards rolls the row back, so there is nothing to undo by hand.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kit.clock import Clock, ForwardClock
from kit.notes import Note, Notes
from kit.refusals import NonceSpent, StoreFull

CAPACITY = 10_000
LEEWAY = 5

SCHEMA = """
    CREATE TABLE spent (nonce TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;
    CREATE INDEX by_end ON spent (until);
"""


class Transaction:
    """Deletions that wait for the commit, as a set of ids."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.gone: set[str] = set()

    def find(self, note_id: str) -> Note | None:
        """The note, if it exists and is not gone."""
        note = self.notes.find(note_id)
        return note if note and note.id not in self.gone else None

    def delete(self, note_id: str) -> None:
        """Let the note be gone. Errors: KeyError when it is not there to go."""
        match self.find(note_id):
            case None:
                raise KeyError(note_id)
            case note:
                self.gone |= {note.id}

    def commit(self) -> None:
        """Make the gone notes go, if all of them are still there. Errors: KeyError."""
        missing = self.gone - {note.id for note in self.notes}
        if missing:
            raise KeyError(*missing)
        for note_id in sorted(self.gone):
            self.notes.delete(note_id)
        self.gone = set()


class ReplayStore:
    """One connection, used by one thread at a time."""

    def __init__(
        self, notes: Notes, clock: Clock, capacity: int = CAPACITY, leeway: float = LEEWAY
    ) -> None:
        self.notes, self.clock = notes, ForwardClock(clock)
        self.capacity, self.leeway = capacity, leeway
        self.turn = threading.BoundedSemaphore()
        self.whose = threading.local()
        self.table = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.table.executescript(SCHEMA)
        self.rows = 0

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Insert the nonce, run the effect, and keep both or neither."""
        if getattr(self.whose, "turn", False):
            raise RuntimeError("This thread is in the middle of a claim.")
        with self.turn:
            self.whose.turn = True
            try:
                return self._claim_now(nonce, expires_at + self.leeway, effect)
            finally:
                self.whose.turn = False

    def _claim_now(self, nonce: str, until: float, effect: Callable[[Transaction], Any]) -> Any:
        self.prune()
        if not until > self.clock.now():
            raise NonceSpent
        with self._all_or_nothing():
            self.remember(nonce, until)
            transaction = Transaction(self.notes)
            outcome = effect(transaction)
            transaction.commit()
        return outcome

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        rows = self.rows
        self.table.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.table.execute("ROLLBACK")
            self.rows = rows
            raise
        self.table.execute("COMMIT")

    def prune(self) -> None:
        """Delete the rows whose time is up, found by the index."""
        ended = self.table.execute("DELETE FROM spent WHERE until <= ?", (self.clock.now(),))
        self.rows -= ended.rowcount

    def remember(self, nonce: str, until: float) -> None:
        """Insert the row. Errors: NonceSpent when it is there; StoreFull."""
        try:
            self.table.execute("INSERT INTO spent VALUES (?, ?)", (nonce, until))
        except sqlite3.IntegrityError:
            raise NonceSpent from None
        if self.rows >= self.capacity:
            raise StoreFull
        self.rows += 1

    def is_spent(self, nonce: str) -> bool:
        """Ask the table; the default collation compares to the letter."""
        found = self.table.execute("SELECT 1 FROM spent WHERE nonce = ?", (nonce,))
        return found.fetchone() is not None
