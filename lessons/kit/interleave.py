"""Lets something happen between two steps of somebody else's code, at every place in turn.

A race is then shown each time and not once a month: whatever can be done between a check and a use
is done there, whether the two lie in two lines or in one.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class NothingTraced(RuntimeError):
    """The file made no call at all, so nothing was shown."""


def at(
    moment: int, meanwhile: Callable[[], None], act: Callable[[], T], file: Path
) -> tuple[T, bool]:
    """Run `act` and, right before the call of that number that `file` makes, `meanwhile`.

    moment: counted from 0; every call in the file's text counts, whatever it calls. Returns what
    `act` returns, and whether it came so far. Errors: whatever `act` raises.
    """
    left, name = moment, str(file)

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if left >= 0 and event == "opcode" and frame.f_lasti in _calls(frame.f_code):
            left -= 1
            if left < 0:
                sys.settrace(None)
                meanwhile()
        return step

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


def everywhere(run: Callable[[int], tuple[T, bool]], most: int = 2000) -> Iterator[T]:
    """Yield what `run(moment)` returns for every moment that it comes to.

    run: does all of it anew and returns what `at` returns. most: moments, so that a loop in the
    file cannot make it endless. Errors: NothingTraced when there is not one moment.
    """
    for moment in range(most):
        outcome, reached = run(moment)
        if not reached:
            if moment == 0:
                raise NothingTraced("No call was traced.")
            return
        yield outcome


@lru_cache(maxsize=256)
def _calls(code: CodeType) -> frozenset[int]:
    """Where in a function's bytecode something is called."""
    return frozenset(
        each.offset for each in dis.get_instructions(code) if each.opname.startswith("CALL")
    )
