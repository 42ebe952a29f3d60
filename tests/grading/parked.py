"""Real processes that are parked before one of their SQL statements, let go, or killed there.

A race between processes falls between two statements. A process is stopped before each statement
in turn while another one runs to its end, so the gap is hit every time and not once a month.
"""

import json
import os
import select
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PATIENCE = 2.0  # seconds after which a process is taken to wait for another one

_connect = sqlite3.connect
_listener: Callable[[str], None] | None = None
opened = 0  # connections that this process and its ancestors opened


def listen() -> None:
    """Let every connection that is opened from now on tell its statements; before parts load."""
    sqlite3.connect = _told_connect  # type: ignore[assignment]


def _told_connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    global opened
    opened += 1
    connection = _connect(*arguments, **options)
    connection.set_trace_callback(_heard)
    return connection


def _heard(statement: str) -> None:
    if _listener is not None:
        _listener(statement)


def tell(listener: Callable[[str], None] | None) -> None:
    """Hand each statement to `listener` before it runs; None ends it."""
    global _listener
    _listener = listener


class NothingHeard(RuntimeError):
    """Not one statement was heard, so nothing was proved."""


@dataclass
class Process:
    """A forked process that acts once. pid: its own. lines: what it tells. go: lets it go on."""

    pid: int
    lines: int
    go: int

    def wait(self, patience: float = PATIENCE) -> Any:
        """Return what it tells next: a statement it is parked before, what it did, or None."""
        if not select.select([self.lines], [], [], patience)[0]:
            return None
        told = b""
        while not told.endswith(b"\n"):
            more = os.read(self.lines, 65536)
            if not more:
                return {"died": True}
            told += more
        return json.loads(told)

    def release(self) -> None:
        """Let it go on."""
        os.write(self.go, b"!")

    def end(self, kill: bool = False) -> None:
        """Bury it, after it was killed with SIGKILL if that is wanted."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        for descriptor in (self.lines, self.go):
            os.close(descriptor)
        os.waitpid(self.pid, 0)


def start(act: Callable[[Callable[[], None]], Any], point: int | None = None) -> Process:
    """Fork a process that calls `act(arm)` and tells what it returns, a JSON value.

    point: park before the statement of that number, counted from the moment `arm()` is called;
    None parks it in `arm()` itself, as a starting line.
    """
    lines, tell_end = os.pipe()
    wait_end, go = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell_end)
        os.close(wait_end)
        return Process(pid, lines, go)
    status = 1
    try:
        os.close(lines)
        os.close(go)
        _act(act, point, tell_end, wait_end)
        status = 0
    finally:
        os._exit(status)


def _act(
    act: Callable[[Callable[[], None]], Any], point: int | None, tell_end: int, wait_end: int
) -> None:
    left = -1 if point is None else point

    def say(told: Any) -> None:
        os.write(tell_end, json.dumps(told).encode() + b"\n")

    def heard(statement: str) -> None:
        nonlocal left
        if left == 0:
            say({"parked": statement})
            os.read(wait_end, 1)
        left -= 1

    def arm() -> None:
        if point is None:
            say({"parked": "the starting line"})
            os.read(wait_end, 1)
        else:
            tell(heard)

    try:
        outcome: Any = {"did": act(arm)}
    except BaseException as raised:
        outcome = {"raised": f"{type(raised).__name__}: {raised}"}
    say(outcome)
