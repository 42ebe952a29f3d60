"""Landlock through its three system calls: which folders a process may still read or write.

Stops a part from reading the solutions or the checks. It does not stop stat, chmod or a pathname
socket; `grading.confine` adds what it can for those. Source: the Linux manual page landlock(7).
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
RULE_PATH_BENEATH = 1
SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
# Rights on files that each version of the interface knows; later ones know at least as many.
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP = 0b11  # bind and connect, from version 4
SCOPES = 0b11  # abstract sockets and signals, from version 6

libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The version of the interface, 0 where there is none."""
    if not hasattr(libc, "syscall") or not os.uname().sysname == "Linux":
        return 0
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG)))


def forbid_new_privileges() -> None:
    """No program that this process starts may gain rights. Errors: OSError."""
    _done(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def restrict(readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Leave this process and its children only these paths; needs `forbid_new_privileges` before.

    Paths that do not exist are left out. Errors: OSError, also where there is no Landlock.
    """
    known = version()
    if known == 0:
        raise OSError("this system has no Landlock")
    rights = RIGHTS[max(number for number in RIGHTS if number <= known)]
    ruleset = _Ruleset(rights, TCP if known >= 4 else 0, SCOPES if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    rules = _done(libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0))
    try:
        for path in readable:
            _allow(rules, path, READ & rights)
        for path in writable:
            _allow(rules, path, rights)
        _done(libc.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= ON_FILES
        rule = _PathBeneath(rights, parent)
        _done(libc.syscall(ADD_RULE, rules, RULE_PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(parent)


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
