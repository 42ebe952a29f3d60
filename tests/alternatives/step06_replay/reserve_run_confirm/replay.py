"""The replay store as reserve, run, confirm: no lock is held while an effect runs.

`dict.setdefault` hands the nonce to one claim and shows it to all others. Who holds it runs the
effect on what he sees, and confirms it only if the notes are still what he saw; else he looks
again. A claim that ends in an exception hands the nonce back.
"""

import heapq
import threading
from collections.abc import Callable
from typing import Any

from kit.clock import Clock, ForwardClock
from kit.notes import Note, Notes
from kit.refusals import NonceSpent, StoreFull

CAPACITY = 10_000
LEEWAY = 5


class Transaction:
    """A log of which notes are to go, and as what each of them was seen."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._doomed: dict[str, Note] = {}

    def find(self, note_id: str) -> Note | None:
        """Return the note unless it is doomed here, or None."""
        if note_id in self._doomed:
            return None
        return self._notes.find(note_id)

    def delete(self, note_id: str) -> None:
        """Doom the note. Errors: KeyError."""
        seen = self.find(note_id)
        if seen is None:
            raise KeyError(note_id)
        self._doomed[note_id] = seen

    def holds(self) -> bool:
        """Tell whether every doomed note is still what it was when it was doomed."""
        return all(self._notes.find(name) is seen for name, seen in self._doomed.items())

    def commit(self) -> None:
        """Delete what is doomed."""
        while self._doomed:
            note_id, _ = self._doomed.popitem()
            self._notes.delete(note_id)


class ReplayStore:
    """Nonces with the claim that holds each of them; ended claims stay until their time is up."""

    def __init__(
        self, notes: Notes, clock: Clock, capacity: int = CAPACITY, leeway: float = LEEWAY
    ) -> None:
        self._notes, self._clock = notes, ForwardClock(clock)
        self._capacity, self._leeway = capacity, leeway
        self._holders: dict[str, object] = {}
        self._ends: list[tuple[float, str]] = []
        self._short = threading.Lock()

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Reserve, run, confirm. Errors: NonceSpent, StoreFull, and what the effect raises."""
        until = expires_at + self._leeway
        self._reserve(nonce, until)
        try:
            return self._run(nonce, until, effect)
        except BaseException:
            del self._holders[nonce]
            raise

    def _reserve(self, nonce: str, until: float) -> None:
        mine = object()
        with self._short:
            self.prune()
            # After pruning: the time may have come in between, and then the nonce is forgotten.
            if until <= self._clock.now():
                raise NonceSpent
            if self._holders.setdefault(nonce, mine) is not mine:
                raise NonceSpent
            if len(self._holders) > self._capacity:
                del self._holders[nonce]
                raise StoreFull

    def _run(self, nonce: str, until: float, effect: Callable[[Transaction], Any]) -> Any:
        while True:
            transaction = Transaction(self._notes)
            outcome = effect(transaction)
            with self._short:
                if transaction.holds():
                    transaction.commit()
                    self.remember(nonce, until)
                    return outcome

    def prune(self) -> None:
        """Drop the nonces whose time is up; the caller holds the lock."""
        now = self._clock.now()
        while self._ends and self._ends[0][0] <= now:
            _, nonce = heapq.heappop(self._ends)
            del self._holders[nonce]

    def remember(self, nonce: str, until: float) -> None:
        """Give the reservation its end; the caller holds the lock."""
        heapq.heappush(self._ends, (until, nonce))
