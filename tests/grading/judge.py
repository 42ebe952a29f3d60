"""The judge's end of the worker: starts it, opens actors for each check, never waits for ever.

An actor is one forked child of the worker. It dies with its check, and with it all that it has
started; what a part keeps in a global or in a file cannot reach the next check.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.replies import BadReply, read_reply

TESTS = Path(__file__).resolve().parents[1]
KIT = TESTS.parent / "lessons"
PATIENCE = 5.0  # seconds for one operation
START = 30.0  # seconds for the worker to come up
LONGEST_REPLY = 4 << 20
# The lab's folders come last: no file of a learner can pass for a module of Python's own.
BOOT = "import sys; sys.path += {paths}; import grading.worker as w; w.start(sys.argv[1])"


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

    readable: what every check may read beside Python, the kit, its subject and its parts. confined:
    False for a machine where somebody wants to see what confinement changes. patience: seconds for
    one operation, PATIENCE when None. stuck: parts that did
    not come to the end of their own loading, which is not tried again.
    """

    readable: list[Path] = field(default_factory=list)
    confined: bool = True
    patience: float | None = None
    stuck: set[str] = field(default_factory=set, init=False)
    _missing: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="lab-worker-")
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START)
        self._opened = 0
        boot = BOOT.format(paths=[str(TESTS), str(KIT)])
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

    def actor(
        self,
        subject: Path,
        files: dict[str, Path],
        check: str,
        problems: dict[str, str] | None = None,
    ) -> "Actor":
        """Open a fresh process with these parts. Errors: WorkerLost.

        check: processes of one check share a working folder, until `clear`. problems: why a part
        cannot be graded, by its name; it is not opened then.
        """
        assert self.missing is not None  # the worker is up
        ours, theirs = socket.socketpair()
        printed = tempfile.TemporaryFile()  # noqa: SIM115
        self._opened += 1
        order = {
            "open": self._opened,
            "subject": str(subject),
            "files": {part: str(path) for part, path in files.items()},
            "problems": problems or {},
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

    def kill(self, number: int) -> str:
        """End one process of a check, whatever it is doing; return how it had ended before.

        Errors: WorkerLost.
        """
        return self._order({"kill": number})

    def _order(self, order: dict[str, Any]) -> str:
        try:
            self._control.sendall(json.dumps(order).encode() + b"\n")
        except OSError as trouble:
            raise WorkerLost(f"The worker is gone: {trouble}") from None
        return str(self._told()["ended"])

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
        self._received = bytearray()
        self.is_lost = False
        self._asked = self._heard = 0

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation. Errors: Trouble, after which the process is lost."""
        try:
            return self._ask(operation, arguments)
        except Trouble:
            self.is_lost = True
            raise

    def _ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        patience = self._judge.patience or PATIENCE
        deadline = time.monotonic() + patience
        self._asked += 1
        told = {"number": self._asked, "operation": operation, "arguments": arguments}
        loading = ""
        try:
            self._wire.settimeout(patience)
            self._wire.sendall(json.dumps(told).encode() + b"\n")
            while True:
                reply = read_reply(self._line(deadline), self._asked)
                if "loading" not in reply:
                    return reply
                loading = reply["loading"]["file"]
                if loading in self._judge.stuck:
                    raise TimeoutError
        except TimeoutError:
            raise self._timeout(loading, patience) from None
        except BadReply:
            raise Trouble("wire", "Something wrote to the worker's private channel.") from None
        except OSError:
            raise self._died() from None

    def _line(self, deadline: float) -> bytes:
        """Return the next line. Errors: TimeoutError; OSError at the end; BadReply if too long."""
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._wire.settimeout(left)
            received = self._wire.recv(1 << 16)
            if not received:
                raise ConnectionResetError
            self._received += received
            if len(self._received) > LONGEST_REPLY:
                raise BadReply
        line, _, self._received = self._received.partition(b"\n")
        return bytes(line)

    def _timeout(self, loading: str, patience: float) -> Trouble:
        what = "No answer"
        if loading:
            self._judge.stuck.add(loading)
            what = f"{Path(loading).name} was not loaded"
        return Trouble("timeout", f"{what} within {patience:g} seconds: an endless loop?")

    def _died(self) -> Trouble:
        how = self._judge.kill(self._number) or "it never started"
        how += ", as os._exit(0) does" if how == "exit status 0" else ""
        return Trouble("died", f"Your code ended the whole process ({how}).")

    def begin_case(self) -> None:
        """From here on, `printed` tells of the next case."""
        self._heard = self._printed.seek(0, os.SEEK_END)

    def printed(self) -> str:
        """Return the beginning of what the part has printed in this case."""
        self._printed.seek(self._heard)
        return str(self._printed.read(2000).decode("utf-8", "replace"))

    def kill(self) -> None:
        """End the process at once, as a power cut would."""
        self._judge.kill(self._number)
        self.is_lost = True

    def close(self) -> None:
        """Let go of the process; `Judge.clear` ends it."""
        self._wire.close()
        self._printed.close()
