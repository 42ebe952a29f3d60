"""The system call `openat2` of Linux, which Python has no name for; it moves bytes, no more.

How it is to be asked, and what its answers mean, is step 09.
"""

import ctypes
import errno
import os
import struct
import sys
from functools import lru_cache

NUMBER = 437  # the same on every architecture that Python runs on, alpha aside

# What may happen while a path is resolved: the field `resolve` of `struct open_how`.
NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS, BENEATH, IN_ROOT = 0x01, 0x02, 0x04, 0x08, 0x10


def openat2(dir_fd: int, path: str, flags: int, resolve: int) -> int:
    """Open `path`, starting at the folder `dir_fd`; return the new descriptor.

    flags: of `os.open`, and only such as the call knows; ``os.O_CLOEXEC`` is not added for you.
    resolve: any of the constants above, added up.
    Errors: OSError with the kernel's number; ENOSYS where there is no such call.

    Source: https://man7.org/linux/man-pages/man2/openat2.2.html
    """
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if "\0" in path:
        raise ValueError("embedded null byte")
    how = struct.pack("=QQQ", flags, 0, resolve)
    size = ctypes.c_size_t(len(how))
    answer = _libc().syscall(ctypes.c_long(NUMBER), dir_fd, os.fsencode(path), how, size)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return int(answer)


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
