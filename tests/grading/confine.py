"""What the worker gives up before it meets learner code, and what it could not give up."""

import contextlib
import os
import resource
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from kit.landlock import LandlockMissing, open_descriptors
from kit.parts import ROOT, load

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
    """Leave the list readable and one folder writable; return what could not be done.

    It is done by the sandbox that step 11 builds. What is readable may be run, too.
    """
    system = [Path(p) for p in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]
    shared = [Path("/dev/urandom"), Path("/etc/localtime"), Path("/usr/share/zoneinfo")]
    runnable = [*system, *shared, *readable, writable]
    try:
        _sandbox().confine(writable, [], runnable, [Path("/dev/null")], keep=open_descriptors())
    except (LandlockMissing, RuntimeError, OSError) as trouble:
        return [f"the filesystem is open: {trouble}"]
    return []


@lru_cache(maxsize=1)
def _sandbox() -> ModuleType:
    return load(ROOT / "solutions" / "step11_sandbox" / "sandbox.py", "grading_sandbox")


def prepare() -> None:
    """Load the sandbox while its file can still be read."""
    with contextlib.suppress(OSError):
        _sandbox()
