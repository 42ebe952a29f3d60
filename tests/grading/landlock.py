"""Landlock from plain Python: this process and its children lose the filesystem, but for a list.

What Landlock does not stop even so: chmod, chown, utime, setxattr, stat and chdir outside the list,
pathname Unix sockets, UDP (BOX-9). The worker's other layers are in `confine`.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH = 1, 1
NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_DIR
READ_ONE_FILE = EXECUTE | READ_FILE
# Number of filesystem rights by ABI: REFER came with 2, TRUNCATE with 3, IOCTL_DEV with 5.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
TCP_FROM, SCOPES_FROM = 4, 6


class LandlockMissing(Exception):
    """This machine has no Landlock; the message says why."""


def abi() -> int:
    """Return the ABI of the kernel, 0 where there is no Landlock."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _syscall(CREATE_RULESET, None, 0, ASK_VERSION))


def restrict(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """Confine this process for ever; return the ABI that was used.

    readable: files and folders to read and execute. writable: folders for everything. Paths that
    do not exist are left out. TCP is refused from ABI 4 on, signals and abstract sockets to the
    outside from ABI 6 on.
    Errors: LandlockMissing; OSError from the kernel.
    """
    version = abi()
    if version == 0:
        raise LandlockMissing("the kernel has no Landlock")
    everything = (1 << RIGHTS[min(version, max(RIGHTS))]) - 1
    ruleset = _ruleset(version, everything)
    try:
        for path in readable:
            _allow(ruleset, path, READ)
        for path in writable:
            _allow(ruleset, path, everything)
        _checked(_prctl(NO_NEW_PRIVS, 1))
        _checked(_syscall(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
    return version


def _ruleset(version: int, filesystem: int) -> int:
    network = 0b11 if version >= TCP_FROM else 0
    scopes = 0b11 if version >= SCOPES_FROM else 0
    size = 24 if version >= SCOPES_FROM else 16 if version >= TCP_FROM else 8
    attributes = struct.pack("=QQQ", filesystem, network, scopes)[:size]
    return _checked(_syscall(CREATE_RULESET, attributes, size, 0))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= READ_ONE_FILE | WRITE_FILE
        rule = struct.pack("=Qi", rights, descriptor)
        _checked(_syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    libc = _libc()
    packed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *packed))


def _prctl(option: int, value: int) -> int:
    return int(_libc().prctl(option, value, 0, 0, 0))


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
