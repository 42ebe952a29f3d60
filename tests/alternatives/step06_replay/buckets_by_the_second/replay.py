"""The replay store as buckets: all nonces that end within one second go together.

A bucket is thrown away as a whole, so pruning looks at seconds and never at nonces. A nonce is
kept for up to a second longer than it must be.
"""

from bisect import insort
from collections.abc import Callable
from math import ceil, isnan
from threading import RLock
from typing import Any

from kit.clock import Clock, ForwardClock
from kit.notes import Note, Notes
from kit.refusals import NonceSpent, StoreFull

CAPACITY = 10_000
LEEWAY = 5


class Transaction:
    """A view of the notes in which deletions are recorded as steps, to be done at commit."""

    def __init__(self, notes: Notes) -> None:
        self._base = notes
        self._view = {note.id: note for note in notes}
        self._steps: list[Callable[[], None]] = []

    def find(self, note_id: str) -> Note | None:
        """Look into the view."""
        return self._view.get(note_id)

    def delete(self, note_id: str) -> None:
        """Take the note out of the view; KeyError when it is not in it."""
        del self._view[note_id]
        self._steps.append(lambda: self._base.delete(note_id))

    def commit(self) -> None:
        """Do the recorded steps; put back what is gone when one of them fails."""
        before = list(self._base)
        try:
            self._do_the_steps()
        except BaseException:
            now = {note.id for note in self._base}
            for note in before:
                if note.id not in now:
                    self._base.put(note)
            raise

    def _do_the_steps(self) -> None:
        for step in self._steps:
            step()
        self._steps = []


class ReplayStore:
    """Buckets of nonces by the second in which they end, and the bucket that each nonce is in."""

    def __init__(
        self, notes: Notes, clock: Clock, capacity: int = CAPACITY, leeway: float = LEEWAY
    ) -> None:
        self.notes = notes
        self.clock = ForwardClock(clock)
        self.capacity = capacity
        self.leeway = leeway
        self.guard = RLock()
        self.busy = False
        self.buckets: dict[int, list[str]] = {}
        self.seconds: list[int] = []
        self.live: set[str] = set()

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Refuse, or do it and write it down, all under one guard."""
        self.guard.acquire()
        try:
            if self.busy:  # only the thread that holds the guard can see this
                raise RuntimeError("a claim inside the effect of a claim")
            self.busy = True
            try:
                self.prune()
                return self._claim_now(nonce, expires_at + self.leeway, effect)
            finally:
                self.busy = False
        finally:
            self.guard.release()

    def _claim_now(self, nonce: str, until: float, effect: Callable[[Transaction], Any]) -> Any:
        if isnan(until) or self.clock.now() >= until or self.is_spent(nonce):
            raise NonceSpent
        if not len(self.live) < self.capacity:
            raise StoreFull
        transaction = Transaction(self.notes)
        outcome = effect(transaction)
        transaction.commit()
        self.remember(nonce, until)
        return outcome

    def is_spent(self, nonce: str) -> bool:
        """Tell whether the nonce is in one of the buckets."""
        return nonce in self.live

    def prune(self) -> None:
        """Throw away every bucket whose second is over. The seconds are sorted, last one first."""
        while self.seconds and self.seconds[-1] <= self.clock.now():
            self.live.difference_update(self.buckets.pop(self.seconds.pop()))

    def remember(self, nonce: str, until: float) -> None:
        """Put the nonce into the bucket of its second, and open that bucket if it is new."""
        second = ceil(until)
        if second not in self.buckets:
            self.buckets[second] = []
            insort(self.seconds, second, key=lambda each: -each)
        self.buckets[second].append(nonce)
        self.live.add(nonce)
