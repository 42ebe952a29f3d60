"""The worker: one confined process that forks a fresh child for each check.

It is started by `judge`, with a control socket as its only descriptor. On the control socket come
JSON lines: first the job, then ``{"open": n}`` with two descriptors attached (the child's socket
and the file for what it prints), then ``{"kill": n}`` for one child and ``{"clear": folder}`` for
all of a check. A child answers JSON lines on its socket.
"""

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from grading import namespaces
from grading.confine import close_filesystem, limit_resources
from grading.player import Player

CPU_SECONDS = 20


def start(descriptor: str) -> None:
    """Become the worker of the judge at the other end of this socket."""
    main(socket.socket(fileno=int(descriptor)))


def main(control: socket.socket) -> None:
    """Serve the judge until it closes the control socket."""
    job = json.loads(control.recv(1 << 20))
    folder = Path(job["folder"])
    missing = namespaces.enter(folder) if job["confined"] else ["nothing is, by CONFINE=0"]
    inside = os.fork()
    if inside:
        os.close(control.detach())
        os.waitpid(inside, 0)
        os._exit(0)
    os.chdir(folder)
    _warm_up(job["kit"])
    if job["confined"]:
        missing += close_filesystem([Path(path) for path in job["readable"]], folder)
        missing += _limits_missing()
    control.sendall(json.dumps({"missing": missing}).encode() + b"\n")
    gc.freeze()  # forked children then share the pages of what is imported
    _serve(control, job)


def _limits_missing() -> list[str]:
    probe, answer = os.pipe()
    if os.fork() == 0:
        os.write(answer, json.dumps(limit_resources(CPU_SECONDS)).encode())
        os._exit(0)
    os.close(answer)
    told = os.read(probe, 65536)
    os.close(probe)
    return list(json.loads(told or b"[]"))


def _warm_up(kit: str) -> None:
    """Import what parts may use, so that each forked child has it already."""
    import cryptography.hazmat.primitives.ciphers.aead
    import cryptography.hazmat.primitives.kdf.hkdf  # noqa: F401
    import pydantic  # noqa: F401

    import grading.forced_race  # noqa: F401  (subjects force races with it)

    for module in ("clock", "notes", "principal", "protocol", "randomness", "http_message", "todo"):
        __import__(f"kit.{module}")
    sys.path[:] = [kit] + [
        path for path in sys.path if "packages" in path or path.startswith(sys.base_prefix)
    ]


def _serve(control: socket.socket, job: dict[str, Any]) -> None:
    children: dict[int, int] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 2)
        if not message:
            break
        for line in message.splitlines():
            order = json.loads(line)
            if "open" in order:
                children[order["open"]] = _open(control, job, order, descriptors)
                continue
            _end(children, order)
            control.sendall(b'{"ended": true}\n')
    _end(children, {"clear": ""})


def _end(children: dict[int, int], order: dict[str, Any]) -> None:
    """Kill one process of a check, or the whole check: its processes and its folder."""
    if "kill" in order:
        _kill(children.pop(order["kill"]))
        return
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # in a PID namespace this is everybody else, orphans too
    for child in children.values():
        _kill(child)
    children.clear()
    if os.getpid() == 1:
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
    if order["clear"]:
        shutil.rmtree(order["clear"], ignore_errors=True)


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _open(
    control: socket.socket, job: dict[str, Any], order: dict[str, Any], descriptors: list[int]
) -> int:
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.close(control.detach())
            _be_child(job, order, *descriptors)
            status = 0
        finally:
            os._exit(status)
    for descriptor in descriptors:
        os.close(descriptor)
    return child


def _be_child(job: dict[str, Any], order: dict[str, Any], wire: int, printed: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (printed, 1), (printed, 2)):
        os.dup2(descriptor, place)
    os.setsid()
    os.makedirs(order["folder"], exist_ok=True)
    os.chdir(order["folder"])
    if job["confined"]:
        limit_resources(CPU_SECONDS)
    channel = socket.socket(fileno=wire)
    player = Player(order["subject"], order["files"])
    with channel.makefile("rwb") as lines:
        for line in lines:
            request = json.loads(line)
            reply = player.play(request["operation"], request["arguments"])
            sys.stdout.flush()
            lines.write(json.dumps({"number": request["number"], **reply}).encode() + b"\n")
            lines.flush()
