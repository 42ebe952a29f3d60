"""Lets something happen between two steps of somebody else's code, at every place in turn.

A race is then shown each time and not once a month: whatever can be done between a check and a use
is done there, whether the two lie in two lines or in one.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class NothingTraced(RuntimeError):
    """No bytecode of the file was seen, so nothing was shown."""


def at(
    moment: int, meanwhile: Callable[[], None], act: Callable[[], T], file: Path
) -> tuple[T, bool]:
    """Run `act` and, right before the bytecode of that number in `file`, `meanwhile`.

    moment: counted from 0. Returns what `act` returns, and whether it came so far.
    Errors: whatever `act` raises.
    """
    left, name = moment, str(file)

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "opcode":
            left -= 1
            if left == -1:
                sys.settrace(None)
                meanwhile()
        return step if left >= 0 else None

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        if left < 0 or frame.f_code.co_filename != name:
            return None
        # Python 3.13 only traces the bytecodes of a frame that has its tracer already.
        frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes = step, False, True
        return step

    sys._getframe().f_trace_opcodes = True  # before settrace, or Python 3.12.1 traces none
    sys.settrace(call)
    try:
        outcome = act()
    finally:
        sys.settrace(None)
    return outcome, left < 0


def everywhere(run: Callable[[int], tuple[T, bool]], most: int = 5000) -> Iterator[T]:
    """Yield what `run(moment)` returns for every moment that it comes to.

    run: does all of it anew and returns what `at` returns. most: moments, so that a loop in the
    file cannot make it endless.
    Errors: NothingTraced when there is not one moment.
    """
    for moment in range(most):
        outcome, reached = run(moment)
        if not reached:
            if moment == 0:
                raise NothingTraced("No bytecode was traced.")
            return
        yield outcome
