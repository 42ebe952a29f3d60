"""The mother of all workers: starts once per session, gives birth to a fresh worker for each check.

It imports Python, pydantic and the kit once and never runs a line of a part itself, so that each
check starts clean and still costs milliseconds. Per worker: a keeper, which the judge can end by
signal; where Linux allows it, an init of a process namespace, with which all descendants end; and
the worker.
"""

import array
import contextlib
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from grading import confine
from grading.limits import limit_usage
from grading.workshop import Workshop

HEAVY = {
    "pydantic": ("pydantic",),
    "cryptography": (
        "cryptography.exceptions",
        "cryptography.hazmat.primitives.ciphers.aead",
        "cryptography.hazmat.primitives.hashes",
        "cryptography.hazmat.primitives.kdf.hkdf",
    ),
    "sqlite3": ("sqlite3",),
    "asyncio": ("asyncio",),
    "json": ("json",),
    "urllib": ("urllib.parse",),
}
WIRE, STATUS, PRINTS = range(3)


@dataclass(frozen=True)
class Birth:
    """What one worker is made of, as the judge asks for it."""

    subject: Path
    parts: dict[str, Path]
    readable: list[Path]
    folder: Path
    descriptors: list[int]


def main(scratch: str) -> None:
    """Serve births on standard input, a socket, until the judge closes it."""
    control = socket.socket(fileno=os.dup(0))
    missing = confine.leave_the_world(Path(scratch))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control.sendall(json.dumps(missing).encode() + b"\n")
    compiled: dict[Path, CodeType] = {}
    while birth := _next(control):
        if birth.subject not in compiled:
            text = birth.subject.read_bytes()
            compiled[birth.subject] = compile(text, str(birth.subject), "exec", dont_inherit=True)
            _warm_up(text.decode(), *[path.read_text("utf-8", "replace") for path in birth.parts.values()])
        if os.fork() == 0:
            control.close()
            _keep(birth, compiled[birth.subject])
        for descriptor in birth.descriptors:
            os.close(descriptor)


def _next(control: socket.socket) -> Birth | None:
    line, received = b"", array.array("i")
    while not line.endswith(b"\n"):
        chunk, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_LEN(3 * received.itemsize))
        if not chunk:
            return None
        for _, _, data in ancillary:
            received.frombytes(data)
        line += chunk
    asked: dict[str, Any] = json.loads(line)
    parts = {name: Path(path) for name, path in asked["parts"].items()}
    readable = [Path(path) for path in asked["readable"]]
    subject, folder = Path(asked["subject"]), Path(asked["folder"])
    return Birth(subject, parts, readable, folder, list(received))


def _warm_up(*texts: str) -> None:
    for word, modules in HEAVY.items():
        if any(word in text for text in texts):
            for module in modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(module)


def _keep(birth: Birth, source: CodeType) -> None:
    """Be the keeper of one worker: end with it, and end it when the judge says so."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = birth.descriptors[STATUS]
    is_namespace = confine.own_processes()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _be_born(birth, source) if not is_namespace else _be_init(birth, source)
    for descriptor in (birth.descriptors[WIRE], birth.descriptors[PRINTS]):
        os.close(descriptor)

    def end(*_: object) -> None:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
            if not is_namespace:
                os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    os.write(status, json.dumps({"keeper": os.getpid()}).encode() + b"\n")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _, ended = os.waitpid(child, 0)
    if not is_namespace:
        end()
        _report(status, ended)
    os._exit(0)


def _be_init(birth: Birth, source: CodeType) -> None:
    """Be process 1: when it ends, everything that the worker started ends too."""
    worker = os.fork()
    if worker == 0:
        _be_born(birth, source)
    for descriptor in (birth.descriptors[WIRE], birth.descriptors[PRINTS]):
        os.close(descriptor)
    while True:
        child, ended = os.wait()
        if child == worker:
            _report(birth.descriptors[STATUS], ended)
            os._exit(0)


def _report(status: int, ended: int) -> None:
    code = os.waitstatus_to_exitcode(ended)
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"ended": code}).encode() + b"\n")


def _be_born(birth: Birth, source: CodeType) -> None:
    """Be the worker: one check, one part, one folder to write in."""
    code = 70
    try:
        os.setsid()
        wire = _arrange_descriptors(birth)
        os.chdir(birth.folder)
        os.environ["TMPDIR"] = os.environ["HOME"] = str(birth.folder)
        limit_usage()
        confine.restrict_files([birth.subject, *birth.readable], birth.folder)
        work(wire, Workshop(source, birth.subject, birth.parts, birth.folder))
        code = 0
    except BaseException as trouble:
        print(f"The worker could not begin: {trouble!r}", file=sys.stderr, flush=True)
    os._exit(code)


def _arrange_descriptors(birth: Birth) -> socket.socket:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(birth.descriptors[PRINTS], 1)
    os.dup2(birth.descriptors[PRINTS], 2)
    wire = os.dup2(birth.descriptors[WIRE], 100, inheritable=False)
    os.closerange(3, wire)
    return socket.socket(fileno=wire)


def work(wire: socket.socket, workshop: Workshop) -> None:
    """Answer requests, one line each, until the judge closes the wire."""
    waiting = b""
    while True:
        while b"\n" not in waiting:
            chunk, ancillary, _, _ = wire.recvmsg(65536, socket.CMSG_LEN(16 * 4))
            if not chunk:
                return
            received = array.array("i")
            for _, _, data in ancillary:
                received.frombytes(data)
            handed = list(received)
            workshop.receive(handed)
            waiting += chunk
        line, waiting = waiting.split(b"\n", 1)
        reply = workshop.answer(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        wire.sendall(reply)
