"""Linux namespaces: an empty network, processes that die together, a file system nobody changes."""

import ctypes
import os
from pathlib import Path

NEW_MOUNTS, NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x20000, 0x10000000, 0x20000000, 0x40000000
MOUNT_BIND, MOUNT_RECURSIVE, MOUNT_PRIVATE = 4096, 16384, 1 << 18
MOUNT_SETATTR = 442
READ_ONLY = 1
AT_RECURSIVE = 0x8000

libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for new ones. Errors: OSError. (os.unshare needs 3.12.)"""
    if not hasattr(libc, "unshare"):
        raise OSError("this system has no namespaces")
    _done(libc.unshare(flags))


def become_nobody_new() -> None:
    """Enter a user namespace in which this user keeps its number. Errors: OSError."""
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USERS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def freeze_files(except_below: Path) -> None:
    """Make every mount read-only for this process and its children, but for one folder.

    This also stops chmod, chown, utime and setxattr, which Landlock lets through. Errors: OSError.
    """
    unshare(NEW_MOUNTS)
    folder = os.fsencode(except_below)
    _done(libc.mount(None, b"/", None, MOUNT_RECURSIVE | MOUNT_PRIVATE, None))
    _done(libc.mount(folder, folder, None, MOUNT_BIND, None))
    _set(b"/", _MountAttributes(READ_ONLY, 0, 0, 0), AT_RECURSIVE)
    _set(folder, _MountAttributes(0, READ_ONLY, 0, 0), 0)


def _set(path: bytes, attributes: _MountAttributes, flags: int) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    at_working_directory = -100
    done = libc.syscall(
        MOUNT_SETATTR, at_working_directory, path, flags, ctypes.byref(attributes), size
    )
    _done(done)


def _done(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
