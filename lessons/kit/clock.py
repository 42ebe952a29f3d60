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
