"""The judge's end of the worker: starts it, opens actors for each check, never waits for ever.

An actor is one forked child of the worker. It dies with its check; what a part keeps in a global
cannot reach the next check.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
KIT = TESTS.parent / "lessons"
PATIENCE = 5.0  # seconds for one operation
START = 30.0  # seconds for the worker to come up
LONGEST_REPLY = 4 << 20


class Trouble(Exception):
    """The part gave no answer. kind: timeout, died, wire; text: one sentence for the learner."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


class WorkerLost(Exception):
    """The worker itself is gone or never came: the judge cannot decide."""


@dataclass
class Judge:
    """One worker process.

    readable: what parts and subjects need beside Python and the kit. confined: False for a machine
    where somebody wants to see what confinement changes.
    """

    readable: list[Path]
    confined: bool = True
    _missing: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="lab-worker-")
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START)
        self._opened = 0
        paths = [str(TESTS), str(KIT)]
        boot = (
            f"import sys; sys.path[:0] = {paths}; import grading.worker as w; w.start(sys.argv[1])"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", boot, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        readable = [str(path) for path in [KIT / "kit", *self.readable]]
        job = {
            "kit": str(KIT),
            "readable": readable,
            "folder": self._folder,
            "confined": self.confined,
        }
        self._control.sendall(json.dumps(job).encode())

    @property
    def missing(self) -> list[str]:
        """What could not be confined; waits until the worker is up. Errors: WorkerLost."""
        if self._missing is None:
            self._missing = list(self._told()["missing"])
        return self._missing

    def _told(self) -> Any:
        try:
            answer = self._control.recv(1 << 16)
        except OSError as trouble:
            raise WorkerLost(f"The worker does not answer: {trouble}") from None
        if not answer:
            told = self._process.stderr.read().decode() if self._process.stderr else ""
            raise WorkerLost(f"The worker ended: {told.strip().splitlines()[-1:]}")
        return json.loads(answer.splitlines()[-1])

    def actor(self, subject: Path, files: dict[str, Path], check: str) -> "Actor":
        """Open a fresh process with these parts. Errors: WorkerLost.

        check: processes of one check share a working folder, until `clear`.
        """
        assert self.missing is not None  # the worker is up
        ours, theirs = socket.socketpair()
        printed = tempfile.TemporaryFile()  # noqa: SIM115
        self._opened += 1
        order = {
            "open": self._opened,
            "subject": str(subject),
            "files": {part: str(path) for part, path in files.items()},
            "folder": str(self._check_folder(check)),
        }
        try:
            socket.send_fds(
                self._control,
                [json.dumps(order).encode() + b"\n"],
                [theirs.fileno(), printed.fileno()],
            )
        except OSError as trouble:
            raise WorkerLost(f"The worker is gone: {trouble}") from None
        theirs.close()
        return Actor(self, self._opened, ours, printed)

    def _check_folder(self, check: str) -> Path:
        return Path(self._folder) / f"check-{zlib.crc32(check.encode()):08x}"

    def clear(self, check: str) -> None:
        """End every process of a check, also those that its parts started, and empty its folder.

        Errors: WorkerLost.
        """
        self._order({"clear": str(self._check_folder(check))})

    def kill(self, number: int) -> None:
        """End one process of a check, whatever it is doing. Errors: WorkerLost."""
        self._order({"kill": number})

    def _order(self, order: dict[str, Any]) -> None:
        try:
            self._control.sendall(json.dumps(order).encode() + b"\n")
        except OSError as trouble:
            raise WorkerLost(f"The worker is gone: {trouble}") from None
        self._told()

    def close(self) -> None:
        """End the worker and all its actors, and remove their folder."""
        self._control.close()
        try:
            self._process.wait(START)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Actor:
    """One process of one check; see `Judge.actor`."""

    def __init__(self, judge: Judge, number: int, wire: socket.socket, printed: Any) -> None:
        self._judge, self._number, self._wire, self._printed = judge, number, wire, printed
        self._lines = wire.makefile("rb")
        self.is_lost = False
        self._asked = 0

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation. Errors: Trouble, after which the process is lost."""
        try:
            return self._ask(operation, arguments)
        except Trouble:
            self.is_lost = True
            raise

    def _ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._wire.settimeout(PATIENCE)
        self._asked += 1
        told = {"number": self._asked, "operation": operation, "arguments": arguments}
        request = json.dumps(told)
        try:
            self._wire.sendall(request.encode() + b"\n")
            line = self._lines.readline(LONGEST_REPLY)
        except TimeoutError:
            raise Trouble(
                "timeout", f"No answer within {PATIENCE:.0f} seconds: an endless loop?"
            ) from None
        except OSError:
            line = b""
        if not line:
            raise Trouble(
                "died", "Your code ended the whole process (exit, crash, or too much memory)."
            )
        return self._read(line)

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or reply.pop("number", None) != self._asked:
            raise Trouble("wire", "Something wrote to the worker's private channel.")
        return reply

    def printed(self) -> str:
        """Return the beginning of what the part has printed."""
        self._printed.seek(0)
        return str(self._printed.read(2000).decode("utf-8", "replace"))

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        self._judge.kill(self._number)
        self.is_lost = True

    def close(self) -> None:
        """Let go of the process; `Judge.clear` ends it."""
        self._lines.close()
        self._wire.close()
        self._printed.close()
