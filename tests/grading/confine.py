"""What the worker gives up before it meets learner code, and what it could not give up."""

import os
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

from grading.landlock import LandlockMissing, restrict

MEBIBYTE = 1 << 20
LIMITS = {
    "RLIMIT_AS": 1024 * MEBIBYTE,
    "RLIMIT_FSIZE": 8 * MEBIBYTE,
    "RLIMIT_NOFILE": 64,
    "RLIMIT_CORE": 0,
}
PROCESSES = 64  # of one user, counted in the worker's own user namespace; root is not counted


def limit_resources(cpu_seconds: int, own_user: bool) -> list[str]:
    """Set the limits of this process; return those that the system does not take.

    own_user: this is a user namespace of its own, in which the user's other processes do not count.
    """
    missing = []
    limits = {**LIMITS, "RLIMIT_CPU": cpu_seconds}
    if own_user and os.getuid() != 0:
        limits["RLIMIT_NPROC"] = PROCESSES
    for name, value in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (ValueError, OSError, AttributeError) as trouble:
            missing.append(f"{name} is not limited: {trouble}")
    return missing


def close_filesystem(readable: Iterable[Path], writable: Path) -> list[str]:
    """Leave the list readable and one folder writable; return what could not be done."""
    system = [Path(p) for p in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]
    shared = [Path("/dev/urandom"), Path("/etc/localtime"), Path("/usr/share/zoneinfo")]
    try:
        restrict([*system, *shared, *readable], [writable, Path("/dev/null")])
    except (LandlockMissing, OSError) as trouble:
        return [f"the filesystem is open: {trouble}"]
    return []
