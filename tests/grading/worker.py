"""The worker: one confined process that forks a fresh child for each check.

It is started by `judge`, with a control socket as its only descriptor. On the control socket come
JSON lines: first the job, then ``{"open": n}`` with two descriptors attached (the child's socket
and the file for what it prints), then ``{"kill": n}`` for one child and ``{"clear": folder}`` for
all of a check. A child answers JSON lines on its socket.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from grading import namespaces
from grading.confine import close_filesystem, limit_resources, prepare
from grading.player import Player, subject_code

CPU_SECONDS = 20
DIE_WITH_PARENT = 1
WARM = (
    "base64",
    "copy",
    "hmac",
    "html",
    "http",
    "itertools",
    "posixpath",
    "secrets",
    "sqlite3",
    "string",
    "unicodedata",
    "urllib.parse",
    "uuid",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.kdf.hkdf",
    "pydantic",
    "kit.clock",
    "kit.http_message",
    "kit.notes",
    "kit.principal",
    "kit.protocol",
    "kit.randomness",
    "kit.todo",
    "grading.counted",
    "grading.forced_race",
    "grading.parked",
)


def start(descriptor: str) -> None:
    """Become the worker of the judge at the other end of this socket."""
    main(socket.socket(fileno=int(descriptor)))


def main(control: socket.socket) -> None:
    """Serve the judge until it closes the control socket."""
    job = json.loads(control.recv(1 << 20))
    missing = namespaces.enter() if job["confined"] else ["nothing is, by CONFINE=0"]
    job["own_user"] = job["confined"] and not any("user namespace" in line for line in missing)
    inside = os.fork()
    if inside:
        os.close(control.detach())
        os.waitpid(inside, 0)
        os._exit(0)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    _warm_up(job["kit"])
    if job["confined"]:
        readable = [Path(path) for path in job["readable"]]
        missing += namespaces.settle(Path(job["folder"]), readable, missing)
        missing += _refused_to_a_child(job)
    os.chdir(job["folder"])
    control.sendall(json.dumps({"missing": missing}).encode() + b"\n")
    gc.freeze()  # forked children then share the pages of what is imported
    _serve(control, job)


def _warm_up(kit: str) -> None:
    """Import what parts may use, so that each forked child has it already."""
    for module in WARM:
        importlib.import_module(module)
    prepare()
    installed = [p for p in sys.path if "packages" in p or p.startswith(sys.base_prefix)]
    sys.path[:] = [*installed, kit]


def _refused_to_a_child(job: dict[str, Any]) -> list[str]:
    """Return what the system does not grant to a child; a child on trial tells."""
    probe, answer = os.pipe()
    child = os.fork()
    if child == 0:
        missing = _confine(job, {"subject": "", "files": {}, "folder": job["folder"]})
        os.write(answer, json.dumps(missing).encode())
        os._exit(0)
    os.close(answer)
    told = os.read(probe, 65536)
    os.close(probe)
    os.waitpid(child, 0)
    return list(json.loads(told or b'["a child cannot be confined"]'))


def _confine(job: dict[str, Any], order: dict[str, Any]) -> list[str]:
    """Leave to a child its own check: its parts, its subject, its folder, the kit and Python."""
    paths = [*job["readable"], order["subject"], *order["files"].values()]
    readable = [Path(path) for path in paths if path]
    limited = limit_resources(CPU_SECONDS, job["own_user"])
    return limited + close_filesystem(readable, Path(order["folder"]))


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
            ended = _end(children, order)
            control.sendall(json.dumps({"ended": ended}).encode() + b"\n")
    _end(children, {"clear": ""})


def _end(children: dict[int, int], order: dict[str, Any]) -> str:
    """End one process of a check, or the whole check: its processes and its folder.

    Returns how the one process had ended, if it was not by this.
    """
    if "kill" in order:
        return _kill(children.pop(order["kill"], 0))
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
    return ""


def _kill(child: int) -> str:
    """End a child and its group."""
    if child <= 0:
        return ""
    for end in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return f"exit status {status}" if status >= 0 else signal.Signals(-status).name
    return ""


def _open(
    control: socket.socket, job: dict[str, Any], order: dict[str, Any], descriptors: list[int]
) -> int:
    with contextlib.suppress(Exception):  # the child will say what is wrong with it
        subject_code(order["subject"])
    try:
        child = os.fork()
    except OSError:
        child = -1  # its socket is closed below, so the judge hears of it
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
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (printed, 1), (printed, 2)):
        os.dup2(descriptor, place)
    os.close(nothing)
    os.close(printed)
    os.makedirs(order["folder"], exist_ok=True)
    os.chdir(order["folder"])
    if job["confined"]:
        _confine(job, order)
    said = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = said
    _answer(socket.socket(fileno=wire), order)


def _answer(channel: socket.socket, order: dict[str, Any]) -> None:
    """Play one operation after another until the judge has heard enough."""
    said = sys.stdout  # a part may put something else in its place, or close it
    number = 0

    def tell(told: dict[str, Any]) -> None:
        channel.sendall(json.dumps({"number": number, **told}).encode() + b"\n")

    player = Player(order["subject"], order["files"], order["problems"], tell)
    with channel.makefile("rb") as lines:
        for line in lines:
            request = json.loads(line)
            number = request["number"]
            reply = player.play(request["operation"], request["arguments"])
            with contextlib.suppress(Exception):
                said.flush()
            tell(reply)
