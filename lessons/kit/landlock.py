"""Landlock as the kernel offers it: four calls and their numbers, and no decision of ours.

`Kernel` is what a sandbox needs; it is an argument, so that another version of the kernel can be
played. Names are those of ``linux/landlock.h``.
"""

import ctypes
import os
import resource
import struct
import sys
import threading
from collections.abc import Iterable
from enum import Flag
from functools import lru_cache
from pathlib import Path
from typing import Protocol

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH = 1, 1
NO_NEW_PRIVS = 38


class Right(Flag):
    """What may be done to files and folders (``LANDLOCK_ACCESS_FS_…``)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


class Network(Flag):
    """What may be done with TCP (``LANDLOCK_ACCESS_NET_…``)."""

    BIND_TCP = 1 << 0
    CONNECT_TCP = 1 << 1


class Scope(Flag):
    """What ends at the border of the sandbox (``LANDLOCK_SCOPE_…``)."""

    ABSTRACT_UNIX_SOCKET = 1 << 0
    SIGNAL = 1 << 1


# The ABI that brought a right; those that are not named came with the first.
SINCE: dict[Flag, int] = {
    Right.REFER: 2,
    Right.TRUNCATE: 3,
    Network.BIND_TCP: 4,
    Network.CONNECT_TCP: 4,
    Right.IOCTL_DEV: 5,
    Scope.ABSTRACT_UNIX_SOCKET: 6,
    Scope.SIGNAL: 6,
}
# What can be said of a single file; the other rights are about the contents of folders.
OF_A_FILE = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV


class LandlockMissing(Exception):
    """This machine cannot confine; the message says why, and what to do instead."""


class Kernel(Protocol):
    """The calls that a sandbox makes."""

    def abi(self) -> int:
        """Return the version of Landlock, 0 where there is none."""
        ...

    def create_ruleset(self, handled: Right, network: Network, scopes: Scope) -> int:
        """Return the descriptor of a ruleset that handles these. Errors: OSError for unknown ones.

        What is handled is denied from `restrict_self` on, unless a rule allows it (BOX-3).
        """
        ...

    def allow(self, ruleset: int, folder: int, rights: Right) -> None:
        """Allow `rights` for what lies at the descriptor `folder` and below it. Errors: OSError."""
        ...

    def threads(self) -> int:
        """Return how many threads this process has."""
        ...

    def no_new_privs(self) -> None:
        """Give up all that set-user-id programs could lend, for ever (BOX-2)."""
        ...

    def restrict_self(self, ruleset: int) -> None:
        """Bind this thread and what it starts from now on, for ever (BOX-1). Errors: OSError."""
        ...


class Linux:
    """The kernel of this machine."""

    def abi(self) -> int:
        """Return the version of Landlock, 0 where there is none."""
        if not sys.platform.startswith("linux"):
            return 0
        return max(0, _syscall(CREATE_RULESET, None, 0, ASK_VERSION))

    def create_ruleset(self, handled: Right, network: Network, scopes: Scope) -> int:
        """Return the descriptor of a ruleset. Errors: OSError."""
        attributes = struct.pack("=QQQ", handled.value, network.value, scopes.value)
        size = 24 if scopes else 16 if network else 8
        return _checked(_syscall(CREATE_RULESET, attributes[:size], size, 0))

    def allow(self, ruleset: int, folder: int, rights: Right) -> None:
        """Add a rule. Errors: OSError."""
        rule = struct.pack("=Qi", rights.value, folder)
        _checked(_syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0))

    def threads(self) -> int:
        """Return how many threads this process has, those that Python did not start included."""
        tasks = Path("/proc/self/task")
        return len(list(tasks.iterdir())) if _is_open(tasks) else threading.active_count()

    def no_new_privs(self) -> None:
        """Give up what set-user-id programs could lend."""
        _checked(int(_libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0)))

    def restrict_self(self, ruleset: int) -> None:
        """Bind this thread. Errors: OSError."""
        _checked(_syscall(RESTRICT_SELF, ruleset, 0))


def open_descriptors() -> list[int]:
    """Return the descriptors of this process that are open, standard ones included."""
    listed = Path("/dev/fd")
    if _is_open(listed):
        found = [int(name) for name in os.listdir(listed)]
    else:
        found = list(range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    return [number for number in found if _is_descriptor(number)]


def _is_open(folder: Path) -> bool:
    try:
        os.listdir(folder)
    except OSError:
        return False
    return True


def _is_descriptor(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def names(rights: Iterable[Flag]) -> list[str]:
    """Return the names of single rights, as the kernel's header has them, in its order."""
    return [str(right.name) for right in sorted(rights, key=lambda right: right.value)]


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    packed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *packed))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
