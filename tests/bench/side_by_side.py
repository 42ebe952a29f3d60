"""Measures two ways of doing one thing in turns, so that a slow moment hurts both alike.

Speeds of one machine move by half between two runs; a ratio within one run hardly does. So nothing
is said about speed without a peer.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Repeat = Callable[[int], None]  # does the thing so many times


@dataclass(frozen=True)
class Row:
    """One comparison. ours, peer: times done per second. least: the ratio that we hold to."""

    what: str
    peer_name: str
    ours: float
    peer: float
    ratio: float
    least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the ratio is what we promise; what promises nothing holds."""
        return self.least is None or self.ratio >= self.least


def compare(ours: Repeat, peer: Repeat, turns: int = 9, seconds: float = 0.3) -> Sequence[float]:
    """Return ours and the peer's speed per second and their ratio, each the median of `turns`.

    Both are warmed up first; a turn of each lasts about `seconds`.
    """
    counts = [_enough(repeat, seconds) for repeat in (ours, peer)]
    speeds = [(_speed(ours, counts[0]), _speed(peer, counts[1])) for _ in range(turns)]
    return (
        statistics.median(mine for mine, _ in speeds),
        statistics.median(other for _, other in speeds),
        statistics.median(mine / other for mine, other in speeds),
    )


def _enough(repeat: Repeat, seconds: float) -> int:
    """How often the thing must be done to fill `seconds`."""
    count = 1
    while (spent := count / _speed(repeat, count)) < seconds / 8:
        count *= 2
    return max(1, round(count * seconds / spent))


def _speed(repeat: Repeat, count: int) -> float:
    began = time.perf_counter()
    repeat(count)
    return count / max(time.perf_counter() - began, 1e-9)
