"""Linux namespaces for the worker: no network, no neighbours, and files that nobody changes."""

import ctypes
import os
import struct
import sys
from pathlib import Path

MOUNTS, USERS, PROCESSES, NETWORK = 0x20000, 0x10000000, 0x20000000, 0x40000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SETATTR, READ_ONLY, ALL_BELOW, HERE = 442, 1, 0x8000, -100


def enter(writable: Path) -> list[str]:
    """Leave the network, the mounts and the processes of this machine; return what failed.

    writable: the one folder that stays writable. Read-only mounts also stop chmod, chown, utime
    and setxattr, which Landlock lets through (BOX-9). Only children made afterwards live in the
    new PID namespace, so the caller forks.
    """
    if not sys.platform.startswith("linux"):
        return ["network, processes and file attributes are open: this is not Linux"]
    steps = {
        "no user namespace": _become_own_user if os.geteuid() else lambda: None,
        "no empty network": lambda: unshare(NETWORK),
        "file attributes can be changed": lambda: _freeze(writable),
        "no PID namespace": lambda: unshare(PROCESSES),
    }
    failed = []
    for what, step in steps.items():
        try:
            step()
        except OSError as trouble:
            failed.append(f"{what}: {trouble.strerror}")
    return failed


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for new ones. Errors: OSError. (os.unshare needs 3.12.)"""
    _done(_libc().unshare(flags))


def _become_own_user() -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(USERS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _freeze(writable: Path) -> None:
    folder, libc = os.fsencode(writable), _libc()
    unshare(MOUNTS)
    _done(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
    _done(libc.mount(folder, folder, None, BIND, None))
    _set_mount(b"/", struct.pack("=QQQQ", READ_ONLY, 0, 0, 0), ALL_BELOW)
    _set_mount(folder, struct.pack("=QQQQ", 0, READ_ONLY, 0, 0), 0)


def _set_mount(path: bytes, attributes: bytes, flags: int) -> None:
    size = ctypes.c_size_t(len(attributes))
    _done(_libc().syscall(MOUNT_SETATTR, HERE, path, flags, attributes, size))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
