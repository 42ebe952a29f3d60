"""Ways out of a sandbox, as a compromised handler tries them: arbitrary code inside the tool.

Each attempt runs in a forked process of its own, once free and once confined. What fails when it is
free proves nothing when it is confined (BOX-12).
"""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

GOT_THROUGH, NOT_CONFINED = "got through", "not confined"
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
SET_PTRACER = 0x59616D61  # so that Yama, where it is on, lets strangers trace the outsider
SECRET = b"the secret of another tenant"


@dataclass
class Scene:
    """A folder with a workspace, which the tool may use, and a neighbour, which it may not.

    workspace, neighbour: folders. inherited: a descriptor of the neighbour's file that is open
    already. outsider: process id of a process that is not confined. tcp: a port on loopback that
    answers, or None where there is no loopback. abstract, pathname: Unix sockets that answer.
    tells: the descriptor on which the process says how it went; who closes descriptors keeps it.
    """

    workspace: Path
    neighbour: Path
    inherited: int
    outsider: int
    tcp: int | None
    abstract: str
    pathname: str
    tells: int = -1

    @property
    def secret(self) -> Path:
        """The neighbour's file."""
        return self.neighbour / "secret.txt"


Confine = Callable[[Scene], None]
Attempt = Callable[[Scene], None]
WAYS: dict[str, Attempt] = {}


def _way(name: str) -> Callable[[Attempt], Attempt]:
    def register(attempt: Attempt) -> Attempt:
        WAYS[name] = attempt
        return attempt

    return register


def try_all(folder: Path, confine: Confine | None, ways: list[str] | None = None) -> dict[str, str]:
    """Try every way, each in a new process; return GOT_THROUGH or the name of the error.

    Where `confine` itself failed it is NOT_CONFINED, with the error behind a colon.

    folder: empty, for the scenes. confine: called in the process before it tries; None leaves it
    free. ways: names, all by default.
    """
    told = {}
    for number, name in enumerate(ways or WAYS):
        with ExitStack() as after:
            scene = _scene(folder / f"scene{number}", after)
            told[name] = _tried(scene, confine, WAYS[name])
    return told


def _scene(folder: Path, after: ExitStack) -> Scene:
    workspace, neighbour = folder / "workspace", folder / "neighbour"
    for place in (workspace, neighbour):
        place.mkdir(parents=True)
    (workspace / "note.txt").write_bytes(b"a note")
    (neighbour / "secret.txt").write_bytes(SECRET)
    inherited = os.open(neighbour / "secret.txt", os.O_RDONLY)
    after.callback(os.close, inherited)
    pathname, abstract = str(neighbour / "socket"), f"\0lab {os.getpid()} {folder}"[:100]
    for address in (pathname, abstract):
        after.enter_context(_listening(socket.AF_UNIX, address))
    outsider = os.fork()
    if not outsider:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        signal.pause()
        os._exit(0)
    after.callback(_bury, outsider)
    return Scene(workspace, neighbour, inherited, outsider, _tcp(after), abstract, pathname)


def _listening(family: int, address: object) -> socket.socket:
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(address)  # type: ignore[arg-type]
    server.listen()
    return server


def _tcp(after: ExitStack) -> int | None:
    """A port on loopback that answers; none inside an empty network namespace."""
    with suppress(OSError):
        server = after.enter_context(_listening(socket.AF_INET, ("127.0.0.1", 0)))
        port: int = server.getsockname()[1]
        return port
    return None


def _bury(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _tried(scene: Scene, confine: Confine | None, attempt: Attempt) -> str:
    lines, end = os.pipe()
    process = os.fork()
    if not process:
        os.close(lines)
        os.set_inheritable(end, False)
        _act(scene, confine, attempt, end)
    os.close(end)
    told = b"".join(iter(lambda: os.read(lines, 65536), b""))
    os.close(lines)
    os.waitpid(process, 0)
    said: str = json.loads(told) if told else "died"
    return said


def _act(scene: Scene, confine: Confine | None, attempt: Attempt, end: int) -> None:
    """Confine this process, try, tell, and end it whatever happens."""
    try:
        told = NOT_CONFINED
        if confine is not None:
            scene.tells = end
            confine(scene)
        told = GOT_THROUGH
        attempt(scene)
    except BaseException as raised:
        name = errno.errorcode.get(getattr(raised, "errno", None) or 0)
        failed = name or f"{type(raised).__name__}: {raised}"
        told = f"{NOT_CONFINED}: {failed}" if told == NOT_CONFINED else failed
    with suppress(OSError):
        os.write(end, json.dumps(told).encode())
    os._exit(0)


@_way("read a file")
def _(scene: Scene) -> None:
    scene.secret.read_bytes()


@_way("list a folder")
def _(scene: Scene) -> None:
    os.listdir(scene.neighbour)


@_way("read by ..")
def _(scene: Scene) -> None:
    (scene.workspace / ".." / "neighbour" / "secret.txt").read_bytes()


@_way("read through a new symbolic link")
def _(scene: Scene) -> None:
    (scene.workspace / "link").symlink_to(scene.secret)
    (scene.workspace / "link").read_bytes()


@_way("overwrite a file")
def _(scene: Scene) -> None:
    scene.secret.write_bytes(b"mine")


@_way("empty a file")
def _(scene: Scene) -> None:
    os.truncate(scene.secret, 0)


@_way("create a file")
def _(scene: Scene) -> None:
    (scene.neighbour / "new.txt").write_bytes(b"mine")


@_way("delete a file")
def _(scene: Scene) -> None:
    scene.secret.unlink()


@_way("create a folder")
def _(scene: Scene) -> None:
    (scene.neighbour / "new").mkdir()


@_way("move a file out")
def _(scene: Scene) -> None:
    os.rename(scene.workspace / "note.txt", scene.neighbour / "note.txt")


@_way("move a file in")
def _(scene: Scene) -> None:
    os.rename(scene.secret, scene.workspace / "secret.txt")


@_way("link a file in")
def _(scene: Scene) -> None:
    os.link(scene.secret, scene.workspace / "secret.txt")
    (scene.workspace / "secret.txt").read_bytes()


@_way("run a program")
def _(scene: Scene) -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)


@_way("run what it wrote")
def _(scene: Scene) -> None:
    script = scene.workspace / "script"
    script.write_bytes(b"#!" + os.fsencode(sys.executable) + b" -IS\n")
    script.chmod(0o700)
    os.posix_spawn(script, [str(script)], {})


@_way("use a descriptor that was open")
def _(scene: Scene) -> None:
    os.pread(scene.inherited, 100, 0)


@_way("read another process's memory")
def _(scene: Scene) -> None:
    _traced(scene.outsider)


@_way("signal another process")
def _(scene: Scene) -> None:
    os.kill(scene.outsider, signal.SIGCONT)


@_way("connect to an abstract socket")
def _(scene: Scene) -> None:
    _connected(socket.AF_UNIX, scene.abstract)


@_way("connect by TCP")
def _(scene: Scene) -> None:
    if scene.tcp is None:
        raise OSError(errno.ENETDOWN, "there is no loopback")
    _connected(socket.AF_INET, ("127.0.0.1", scene.tcp))


@_way("listen by TCP")
def _(scene: Scene) -> None:
    if scene.tcp is None:
        raise OSError(errno.ENETDOWN, "there is no loopback")
    _listening(socket.AF_INET, ("127.0.0.1", 0)).close()


# What Landlock lets through, up to ABI 7.


@_way("change a mode")
def _(scene: Scene) -> None:
    scene.secret.chmod(0o600)


@_way("change an owner")
def _(scene: Scene) -> None:
    os.chown(scene.secret, os.getuid(), os.getgid())


@_way("change a time")
def _(scene: Scene) -> None:
    os.utime(scene.secret, (1, 1))


@_way("set an attribute")
def _(scene: Scene) -> None:
    os.setxattr(scene.secret, "user.mine", b"1")


@_way("ask for size and time")
def _(scene: Scene) -> None:
    scene.secret.stat()


@_way("change into a folder")
def _(scene: Scene) -> None:
    os.chdir(scene.neighbour)


@_way("connect to a socket with a path")
def _(scene: Scene) -> None:
    _connected(socket.AF_UNIX, scene.pathname)


@_way("send by UDP")
def _(scene: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        if scene.tcp is None:
            sender.bind(("0.0.0.0", 0))
        else:
            sender.sendto(b"the secret", ("127.0.0.1", 9))


def _connected(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.connect(address)  # type: ignore[arg-type]


def _traced(process: int) -> None:
    """Attach to a process that does not belong to the sandbox, and let it go again."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_ATTACH, process, None, None) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    libc.ptrace(PTRACE_DETACH, process, None, None)
