"""Linux namespaces for the worker: no network, no neighbours, files that nobody changes, no rights.

Whoever starts the worker, root included, ends up in a process that may do less than a guest. All of
it holds for the children, for ever.
"""

import ctypes
import os
import platform
import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from kit.landlock import NO_NEW_PRIVS

MOUNTS, IPC, USERS = 0x20000, 0x08000000, 0x10000000
PROCESSES, NETWORK = 0x20000000, 0x40000000
BIND, RECURSIVE, PRIVATE, NO_DEVICES = 0x1000, 0x4000, 0x40000, 0x6
MOUNT_SETATTR, READ_ONLY, ALL_BELOW, HERE = 442, 1, 0x8000, -100
CAPABILITIES_3, READ_ANYTHING = 0x20080522, 2
MOST_PROCESSES = 512  # of root, whom RLIMIT_NPROC does not count; the kernel's least is 301
OWN_PROCESS_LIMIT = (6, 14)  # from this Linux on the limit belongs to the PID namespace


def enter() -> list[str]:
    """Leave the network, the mounts and the processes of this machine; return what failed.

    Only children made afterwards live in the new PID namespace, so the caller forks, and the first
    child calls `settle`.
    """
    if not sys.platform.startswith("linux"):
        return ["network, processes and file attributes are open: this is not Linux"]
    return _attempt(
        {
            "no user namespace": _become_own_user if os.geteuid() else lambda: None,
            "no empty network": lambda: unshare(NETWORK | IPC),
            "file attributes can be changed": lambda: unshare(MOUNTS),
            "no PID namespace": lambda: unshare(PROCESSES),
        }
    )


def settle(writable: Path, needed: Iterable[Path], failed: list[str]) -> list[str]:
    """Close the namespaces from the inside and give up every privilege; return what failed.

    writable: the one folder that stays writable. Read-only mounts also stop chmod, chown, utime
    and setxattr, which Landlock lets through (BOX-9). needed: what must stay readable. failed: from
    `enter`; what was not entered is not closed.
    """
    if not sys.platform.startswith("linux"):
        return []
    steps: dict[str, Callable[[], None]] = {}
    if not any("PID" in line for line in failed) and os.geteuid() == 0:
        steps["root may start any number of processes"] = _limit_processes
    if not any("attributes" in line for line in failed):
        steps["file attributes can be changed"] = lambda: _freeze(writable, needed)
    reader = os.geteuid() == 0 and not all(map(_open_to_owner_or_all, needed))
    steps["root's privileges are kept"] = lambda: _drop_privileges(reader)
    kept = ["root's right to read other people's files is kept, for the lab is in one's folder"]
    return _attempt(steps) + (kept if reader else [])


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for new ones. Errors: OSError. (os.unshare needs 3.12.)"""
    _done(_libc().unshare(flags))


def _attempt(steps: dict[str, Callable[[], None]]) -> list[str]:
    failed = []
    for what, step in steps.items():
        try:
            step()
        except OSError as trouble:
            failed.append(f"{what}: {trouble.strerror}")
    return failed


def _become_own_user() -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(USERS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _limit_processes() -> None:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if version is None or (int(version[1]), int(version[2])) < OWN_PROCESS_LIMIT:
        raise OSError(0, "before Linux 6.14 this limit is the whole machine's")
    Path("/proc/sys/kernel/pid_max").write_text(str(MOST_PROCESSES))


def _freeze(writable: Path, needed: Iterable[Path]) -> None:
    """Make every mount read-only but one, and hide the sockets of /run, which Landlock allows."""
    folder, libc = os.fsencode(writable), _libc()
    _done(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
    _done(libc.mount(folder, folder, None, BIND, None))
    _set_mount(b"/", struct.pack("=QQQQ", READ_ONLY, 0, 0, 0), ALL_BELOW)
    _set_mount(folder, struct.pack("=QQQQ", 0, READ_ONLY, 0, 0), 0)
    if not any(path.resolve().is_relative_to("/run") for path in (writable, *needed)):
        _done(libc.mount(b"none", b"/run", b"tmpfs", NO_DEVICES | READ_ONLY, b"size=4k"))


def _set_mount(path: bytes, attributes: bytes, flags: int) -> None:
    size = ctypes.c_size_t(len(attributes))
    _done(_libc().syscall(MOUNT_SETATTR, HERE, path, flags, attributes, size))


def _drop_privileges(reader: bool) -> None:
    mask = 1 << READ_ANYTHING if reader else 0
    _done(_libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    header = struct.pack("=Ii", CAPABILITIES_3, 0)
    _done(_libc().capset(header, struct.pack("=IIIIII", mask, mask, 0, 0, 0, 0)))


def _open_to_owner_or_all(path: Path) -> bool:
    """Whether root reaches `path` without privileges: as its owner, or as everybody does."""
    statuses = [step.stat() for step in (path, *path.parents)]
    return all(s.st_mode & (0o400 if s.st_uid == 0 else 0o004) for s in statuses)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
