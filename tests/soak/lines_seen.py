"""Which lines of some files have run: the guide of the message soak.

A function whose lines were all seen costs nothing more than the call event.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any


class LinesSeen:
    """A context in which new lines of `files` are noticed.

    count: how many lines were seen so far. Python traces one thread, the one that entered.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = {str(path) for path in files}
        self._left: dict[CodeType, set[int]] = {}
        self.count = 0

    def __enter__(self) -> "LinesSeen":
        sys.settrace(self._called)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        if code not in self._left:
            self._left[code] = {line for _, _, line in code.co_lines() if line}
        return self._ran if self._left[code] else None

    def _ran(self, frame: FrameType, event: str, value: Any) -> Any:
        left = self._left[frame.f_code]
        if frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.count += 1
        return self._ran
