"""The replay store: each approval is good for one deletion.

Promise: of all requests that carry one nonce, exactly one takes effect, and the effect and the
spending of the nonce happen together or not at all. Attacks it stops: the same approval sent
again, sent twice at once, sent to another instance; a store that is flooded until it forgets.
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
    """What an effect may do to the notes; nothing of it is seen outside before the claim commits.

    notes: the shared world.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._deleted: list[str] = []

    def find(self, note_id: str) -> Note | None:
        """Return the note as this transaction sees it, or None.

        >>> from kit.notes import example_notes
        >>> transaction = Transaction(example_notes())
        >>> transaction.find("draft-1").title
        'Draft'
        >>> transaction.delete("draft-1")
        >>> print(transaction.find("draft-1"))
        None
        """
        return None if note_id in self._deleted else self._notes.find(note_id)

    def delete(self, note_id: str) -> None:
        """Delete the note when the transaction commits. Errors: KeyError when there is none."""
        if self.find(note_id) is None:
            raise KeyError(note_id)
        self._deleted.append(note_id)

    def commit(self) -> None:
        """Do to the shared world all that was done here, or nothing (ONCE-5).

        Errors: KeyError when one of the notes has gone from the shared world since; then the
        others stay.
        """
        for note_id in self._deleted:
            if self._notes.find(note_id) is None:
                raise KeyError(note_id)
        for note_id in self._deleted:
            self._notes.delete(note_id)


class OneAtATime:
    """A lock for `with`: others wait their turn, and its own holder is told off.

    A plain Lock would let an effect that claims wait for itself, for ever. An RLock would let it
    in, and spend its own nonce twice.
    Errors: RuntimeError for the thread that is inside already.
    """

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise RuntimeError("An effect must not claim.")
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *raised: object) -> None:
        self._holder = 0
        self._lock.release()


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
        self._lock = OneAtATime()
        self._spent: set[str] = set()
        self._by_expiry: list[tuple[float, str]] = []

    def remember(self, nonce: str, until: float) -> None:
        """Keep `nonce` until that time, in seconds since the epoch.

        The caller holds the lock, and has seen that `nonce` is not remembered yet: nobody
        remembers one twice.
        """
        self._spent.add(nonce)
        heapq.heappush(self._by_expiry, (until, nonce))

    def is_spent(self, nonce: str) -> bool:
        """Tell whether `nonce` is remembered, to the letter. The caller holds the lock.

        What is over and was not pruned yet is still remembered.
        """
        return nonce in self._spent

    def prune(self) -> None:
        """Forget the nonces whose time is up: `until`, as given to `remember`, is now or earlier.

        They go from the oldest end, so the cost does not grow with the number of live ones
        (ONCE-7, ONCE-9). The caller holds the lock.
        """
        while self._by_expiry and self._by_expiry[0][0] <= self._clock.now():
            self._spent.remove(heapq.heappop(self._by_expiry)[1])

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Spend `nonce` and run `effect` as one step; return what `effect` returns (ONCE-1).

        nonce: out of a state that was verified, never the text of the token (ONCE-6).
        expires_at: seconds since the epoch; the nonce is remembered until then plus leeway, and
        at that very moment it is too old (ONCE-7). effect: takes the Transaction; whatever it or
        the commit raises goes through, and then the nonce is not spent and nothing has changed
        (ONCE-5).
        A rival waits for how this claim ends: if it fails, the rival may have the nonce. Time
        goes on inside a claim: a nonce that is over while you look is refused, not granted again.
        Errors, in this order: RuntimeError, at once, for a claim that the effect of another claim
        makes on this store, whatever its nonce. NonceSpent for a nonce that is spent or too old,
        in a full store, too; NaN is no time to come, so it is too old. StoreFull when `capacity`
        nonces are live: none of them is evicted (ONCE-8).

        >>> from kit.clock import FrozenClock
        >>> from kit.notes import example_notes
        >>> store = ReplayStore(example_notes(), FrozenClock(0.0))
        >>> store.claim("nonce-1", 120.0, lambda transaction: transaction.delete("draft-1"))
        >>> store.claim("nonce-1", 120.0, lambda transaction: transaction.delete("draft-2"))
        Traceback (most recent call last):
            ...
        kit.refusals.NonceSpent
        """
        with self._lock:
            self.prune()
            # The time is read after pruning: what was forgotten just now is too old by now.
            if self.is_spent(nonce) or not self._clock.now() < expires_at + self._leeway:
                raise NonceSpent
            if len(self._spent) >= self._capacity:
                raise StoreFull
            transaction = Transaction(self._notes)
            outcome = effect(transaction)
            transaction.commit()
            self.remember(nonce, expires_at + self._leeway)
            return outcome
