"""The replay store: each approval is good for one deletion.

Promise: of all requests that carry one nonce, exactly one takes effect, and the effect and the
spending of the nonce happen together or not at all. Attacks it stops: the same approval sent
again, sent twice at once, sent to another instance; a store that is flooded until it forgets.
"""

import math
import threading
from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any

from kit.clock import Clock, ForwardClock
from kit.notes import Note, Notes
from kit.refusals import NonceSpent, StoreFull

CAPACITY = 10_000
LEEWAY = 5


class Transaction:
    """What an effect may do to the notes; nothing of it is seen outside before the claim commits.

    notes: the shared world.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._deleted: dict[str, None] = {}

    def find(self, note_id: str) -> Note | None:
        """Return the note as this transaction sees it, or None."""
        return None if note_id in self._deleted else self._notes.find(note_id)

    def delete(self, note_id: str) -> None:
        """Delete the note when the transaction commits. Errors: KeyError when there is none."""
        if self.find(note_id) is None:
            raise KeyError(note_id)
        self._deleted[note_id] = None

    def commit(self) -> None:
        """Do to the shared world what was done here."""
        going = [(note_id, self._notes.find(note_id)) for note_id in self._deleted]
        for note_id, note in going:
            if note is None:  # somebody who does not go through the store was here
                raise KeyError(note_id)
        gone: list[Note] = []
        try:
            for note_id, note in going:
                self._notes.delete(note_id)
                gone += [note] if note else []
        except BaseException:
            for back in gone:
                self._notes.put(back)
            raise
        self._deleted.clear()


class ReplayStore:
    """Nonces that are spent, and the notes that spending them changes.

    One object is shared by all server objects of a process (ONCE-10); a restart forgets
    (ONCE-12), which step 07 mends.
    notes: the world. clock: of the server; when it goes back, time stands still in here (ONCE-7).
    capacity: live nonces at most. leeway: seconds that a nonce is kept beyond its expiry, for
    instances whose clocks differ (ONCE-7).
    """

    def __init__(
        self, notes: Notes, clock: Clock, capacity: int = CAPACITY, leeway: float = LEEWAY
    ) -> None:
        self._notes, self._clock = notes, ForwardClock(clock)
        self._capacity, self._leeway = capacity, leeway
        # The lock guards `_owner` only; who is the owner has the turn, and everything below.
        self._lock = threading.Condition(threading.Lock())
        self._owner: int | None = None
        self._until: dict[str, float] = {}
        self._ending: dict[float, set[str]] = {}  # the same nonces, by the time of their end
        self._ends: list[float] = []  # those times, negated and sorted: the next one is the last

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Spend `nonce` and run `effect` as one step; return what `effect` returns (ONCE-1).

        nonce: out of a state that was verified, never the text of the token (ONCE-6).
        expires_at: seconds since the epoch; the nonce is remembered until then plus leeway
        (ONCE-7). effect: takes the Transaction; whatever it raises goes through, and then the
        nonce is not spent and nothing has changed (ONCE-5).
        Errors: NonceSpent for a nonce that is spent, or too old to be remembered; StoreFull when
        `capacity` nonces are live: none of them is evicted (ONCE-8).
        """
        me = threading.get_ident()
        if self._owner == me:
            raise RuntimeError("an effect must not claim: it would wait for itself")
        try:
            with self._lock:
                self._lock.wait_for(lambda: self._owner is None)
                self._owner = me
            return self._claim_in_turn(nonce, expires_at + self._leeway, effect)
        finally:
            with self._lock:
                if self._owner == me:
                    self._owner = None
                    self._lock.notify_all()

    def prune(self) -> None:
        """Forget the nonces whose time, leeway included, is up (ONCE-7).

        They go from the oldest end, so the cost does not grow with the number of live ones
        (ONCE-9). The caller holds the lock.
        """
        now = self._clock.now()
        while self._ends and -self._ends[-1] <= now:
            for nonce in self._ending.pop(-self._ends.pop()):
                del self._until[nonce]

    def remember(self, nonce: str, until: float) -> None:
        """Keep `nonce` until that time, in seconds since the epoch. The caller holds the lock."""
        if math.isnan(until):
            raise ValueError("NaN is no time")
        if nonce in self._until:
            until = max(until, self._until[nonce])
            self._forget(nonce)
        if until not in self._ending:
            insort(self._ends, -until)
            self._ending[until] = set()
        self._ending[until].add(nonce)
        self._until[nonce] = until

    def is_spent(self, nonce: str) -> bool:
        """Tell whether `nonce` is remembered, to the letter. The caller holds the lock."""
        return nonce in self._until

    def _claim_in_turn(self, nonce: str, until: float, effect: Callable[[Transaction], Any]) -> Any:
        self.prune()
        # The time is read after pruning: what has just been forgotten is too old at this time, too.
        # Written positively, so that NaN does not slip past.
        if nonce in self._until or not self._clock.now() < until:
            raise NonceSpent
        if len(self._until) >= self._capacity:
            raise StoreFull
        transaction = Transaction(self._notes)
        outcome = effect(transaction)
        try:
            self.remember(nonce, until)
            transaction.commit()
        except BaseException:
            self._forget(nonce)
            raise
        return outcome

    def _forget(self, nonce: str) -> None:
        """Take the nonce out, if it is in, as if it had never been spent."""
        if nonce not in self._until:
            return
        until = self._until.pop(nonce)
        self._ending[until].discard(nonce)
        if not self._ending[until]:
            del self._ending[until]
            del self._ends[bisect_left(self._ends, -until)]
