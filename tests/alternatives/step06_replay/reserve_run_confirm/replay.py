"""The replay store as reserve, run, confirm: no lock is held while an effect runs.

`dict.setdefault` hands the nonce to one claim and shows it to all others, who wait for how it
ends. Who holds it runs the effect on what he sees, and confirms it only if the notes are still
what he saw; else he looks again. A claim that ends in an exception hands the nonce back.
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
        """Delete what is doomed, if it still is what it was. Errors: KeyError."""
        if not self.holds():
            raise KeyError(*self._doomed)
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
        self._spent: set[str] = set()
        self._ends: list[tuple[float, str]] = []
        self._reserved: dict[str, object] = {}
        self._short = threading.Condition()
        self._inside = threading.local()

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Reserve, run, confirm. Errors: NonceSpent, StoreFull, and what the effect raises."""
        if getattr(self._inside, "an_effect", False):
            raise RuntimeError("An effect cannot claim.")
        until = expires_at + self._leeway
        self._reserve(nonce, until)
        self._inside.an_effect = True
        try:
            return self._run(nonce, until, effect)
        finally:
            self._inside.an_effect = False
            self._give_back(nonce)

    def _reserve(self, nonce: str, until: float) -> None:
        mine = object()
        with self._short:
            self._refuse_what_is_over(nonce, until)
            while self._reserved.setdefault(nonce, mine) is not mine:
                self._short.wait()  # for how that claim ends
                self._refuse_what_is_over(nonce, until)
            if len(self._spent) + len(self._reserved) > self._capacity:
                del self._reserved[nonce]
                raise StoreFull

    def _refuse_what_is_over(self, nonce: str, until: float) -> None:
        self.prune()
        # After pruning: the time may have come in between, and then the nonce is forgotten.
        if not until > self._clock.now() or self.is_spent(nonce):
            raise NonceSpent

    def _give_back(self, nonce: str) -> None:
        with self._short:
            del self._reserved[nonce]
            self._short.notify_all()

    def _run(self, nonce: str, until: float, effect: Callable[[Transaction], Any]) -> Any:
        while True:
            transaction = Transaction(self._notes)
            outcome = effect(transaction)
            with self._short:
                if transaction.holds():
                    transaction.commit()
                    self.remember(nonce, until)
                    return outcome

    def is_spent(self, nonce: str) -> bool:
        """Tell whether a claim of the nonce was confirmed; the caller holds the lock."""
        return nonce in self._spent

    def prune(self) -> None:
        """Drop the nonces whose time is up; the caller holds the lock."""
        now = self._clock.now()
        while self._ends and self._ends[0][0] <= now:
            _, nonce = heapq.heappop(self._ends)
            self._spent.discard(nonce)

    def remember(self, nonce: str, until: float) -> None:
        """Confirm the nonce, with its end; the caller holds the lock."""
        self._spent.add(nonce)
        heapq.heappush(self._ends, (until, nonce))
