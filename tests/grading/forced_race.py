"""Forces a race instead of hoping for one: A is parked at each step while B runs to its end.

Two actors use one part at the same time. A thread switch can fall between any two bytecodes, so A
is stopped before each bytecode of the part in turn; a lost update between a read and a write is
then found every time, and not once a month. Tracing by line would miss a race inside one line.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

PATIENCE = 0.05  # seconds after which B is taken to wait for something that A holds
STUCK = 2.0  # seconds after which both are taken to wait for each other


class NothingTraced(RuntimeError):
    """No bytecode of the part was seen, so nothing was proved (Python 3.12.1 could do this)."""


class Deadlock(RuntimeError):
    """An actor came to no end although the other one had gone on."""


@dataclass(frozen=True)
class Ending:
    """How the two ended when A was parked before its bytecode number `point`.

    first, second: what A and B returned, or the exception that they raised. waited: B could only
    go on after A, because A held a lock.
    """

    point: int
    first: Any
    second: Any
    waited: bool


def race(
    make: Callable[[], tuple[Callable[[], Any], Callable[[], Any]]],
    part: Path,
    most: int = 2000,
    patience: float = PATIENCE,
) -> Iterator[Ending]:
    """Yield the ending for every point at which A can be parked.

    make: returns two fresh actors, A and B, for each point. part: the file whose bytecodes count.
    most: points, so that a loop in the part cannot make the check endless. patience: seconds.
    Errors: NothingTraced; Deadlock.
    """
    for point in range(most):
        ending = _park(point, *make(), str(part), patience)
        if ending is None:
            if point == 0:
                raise NothingTraced(f"No bytecode of {part.name} was traced.")
            return
        yield ending


def _park(
    point: int, first: Callable[[], Any], second: Callable[[], Any], part: str, patience: float
) -> Ending | None:
    """Run both with A parked at one point; None when A has fewer points."""
    parked, go_on = threading.Event(), threading.Event()
    tracer = _Tracer(part, point, parked, go_on)
    a, b = _Actor(first, tracer.call, ended=parked), _Actor(second)
    a.start()
    if not parked.wait(STUCK):
        raise Deadlock("The first actor neither ended nor came to the point.")
    if not tracer.reached:
        a.join(STUCK)
        return None
    b.start()
    b.join(patience)
    waited = b.is_alive()
    go_on.set()
    for actor in (a, b):
        actor.join(STUCK)
        if actor.is_alive():
            raise Deadlock(f"Parked at point {point}, the two wait for each other.")
    return Ending(point, a.outcome, b.outcome, waited)


class _Tracer:
    """Parks its thread before one bytecode of one file."""

    def __init__(
        self, part: str, point: int, parked: threading.Event, go_on: threading.Event
    ) -> None:
        self._part, self._left = part, point
        self._parked, self._go_on = parked, go_on
        self.reached = False

    def call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the frames of the part, bytecode by bytecode, and no others."""
        if self.reached or frame.f_code.co_filename != self._part:
            return None
        # Python 3.13 only traces the bytecodes of a frame that has its tracer already.
        frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes = self._step, False, True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and not self.reached:
            if self._left == 0:
                self.reached = True
                self._parked.set()
                self._go_on.wait(STUCK)
            self._left -= 1
        return self._step


class _Actor(threading.Thread):
    """Runs one callable and keeps what it returned or raised. ended: set when it is done."""

    def __init__(
        self, act: Callable[[], Any], trace: Any = None, ended: threading.Event | None = None
    ) -> None:
        super().__init__(daemon=True)
        self._act, self._trace, self._ended = act, trace, ended
        self.outcome: Any = None

    def run(self) -> None:
        """Act, under trace where there is one."""
        try:
            if self._trace is not None:
                # Python 3.12 only traces bytecodes if a frame wanted that before settrace.
                sys._getframe().f_trace_opcodes = True
                sys.settrace(self._trace)
            self.outcome = self._act()
        except BaseException as raised:
            self.outcome = raised
        finally:
            sys.settrace(None)
            if self._ended is not None:
                self._ended.set()
