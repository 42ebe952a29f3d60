"""Moves messages over stdin and stdout, one to a line (STDIO-1); knows nothing of MCP."""

from collections.abc import Callable
from typing import BinaryIO

LONGEST_LINE = 1_048_576

Answer = Callable[[bytes], bytes | None]


def run_stdio(answer: Answer, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each line of `source` on `sink` until its end (STDIO-5).

    answer: takes one line without its newline, returns the answer without one, or None for no
    answer. A line longer than LONGEST_LINE is read to its end and given to `answer` cut off, which
    makes it a parse error and keeps the next line intact. Empty lines are skipped.
    """
    while line := source.readline(LONGEST_LINE):
        tail = line
        while not tail.endswith(b"\n") and (tail := source.readline(LONGEST_LINE)):
            pass
        if line.strip() and (reply := answer(line.rstrip(b"\r\n"))) is not None:
            sink.write(reply + b"\n")
            sink.flush()
