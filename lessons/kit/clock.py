"""Time as an argument, so that expiry is tested by turning a dial and not by sleeping."""

import time
from typing import Protocol


class Clock(Protocol):
    """Anything that tells the time."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()


class FrozenClock:
    """A clock that moves only when told to.

    start: seconds since the epoch.
    """

    def __init__(self, start: float = 1_790_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock; a negative number moves it back, as real clocks sometimes do."""
        self._now += seconds


class ForwardClock:
    """A clock that stands still while the one below it goes back, as real ones sometimes do.

    What was forgotten because its time was up must not come back to life.
    clock: the one below.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest = clock.now()

    def now(self) -> float:
        """The latest time that was ever told, in seconds since the epoch, UTC."""
        self._latest = max(self._latest, self._clock.now())
        return self._latest
