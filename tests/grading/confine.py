"""Everything that the worker gives up before it meets learner code, and what it could not give up."""

import ctypes
import os
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

from grading.landlock import LandlockMissing, restrict

NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
MEBIBYTE = 1 << 20
LIMITS = {
    "RLIMIT_AS": 1024 * MEBIBYTE,
    "RLIMIT_FSIZE": 8 * MEBIBYTE,
    "RLIMIT_NOFILE": 64,
    "RLIMIT_CORE": 0,
}


def enter_namespaces() -> list[str]:
    """Go into an empty network and a new PID namespace; return what could not be done.

    Only children made afterwards live in the PID namespace, so the caller forks once.
    """
    if not sys.platform.startswith("linux"):
        return ["no empty network and no PID namespace: this is not Linux"]
    rights = 0 if os.geteuid() == 0 else NEW_USER
    missing = []
    for flag, what in ((NEW_NET, "no empty network namespace"), (NEW_PID, "no PID namespace")):
        if _unshare(flag | rights) != 0:
            missing.append(f"{what}: {os.strerror(ctypes.get_errno())}")
        else:
            rights = 0
    return missing


def _unshare(flags: int) -> int:
    return int(ctypes.CDLL(None, use_errno=True).unshare(flags))


def limit_resources(cpu_seconds: int) -> list[str]:
    """Set the limits of this process; return those that the system does not take."""
    missing = []
    for name, value in {**LIMITS, "RLIMIT_CPU": cpu_seconds}.items():
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (ValueError, OSError, AttributeError) as trouble:
            missing.append(f"{name} is not limited: {trouble}")
    return missing


def close_filesystem(readable: Iterable[Path], writable: Path) -> list[str]:
    """Leave only what is listed readable, and one folder writable; return what could not be done."""
    system = [Path(p) for p in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]
    devices = [Path("/dev/null"), Path("/dev/urandom"), Path("/etc/localtime")]
    try:
        restrict([*system, *devices, *readable], [writable])
    except (LandlockMissing, OSError) as trouble:
        return [f"the filesystem is open: {trouble}"]
    return []
