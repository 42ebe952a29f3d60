"""Takes away from the worker what a part does not need, and says what it could not take away.

Attacks it stops: reading the solutions or the checks, sending an answer out over the network,
changing the lab's files, leaving processes behind, stopping the judge.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from grading import landlock, namespaces

SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache",
    "/etc/localtime", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip


def leave_the_world(scratch: Path) -> list[str]:
    """Confine the mother of all workers; once, before any part is near.

    scratch: the folder below which workers may write.
    Return a sentence for each thing that could not be done.
    """
    missing: list[str] = []
    _try(namespaces.become_nobody_new, "a user namespace", missing)
    _try(lambda: namespaces.unshare(namespaces.NEW_NETWORK), "an empty network", missing)
    _try(lambda: namespaces.freeze_files(scratch), "read-only mounts", missing)
    _try(landlock.forbid_new_privileges, "no new privileges", missing)
    if landlock.version() == 0:
        missing.append("Landlock is not available: parts can read every file that you can.")
    return missing


def own_processes() -> bool:
    """Give the next child a process namespace, so that all it starts ends with it."""
    with contextlib.suppress(OSError):
        namespaces.unshare(namespaces.NEW_PROCESSES)
        return True
    return False


def restrict_files(readable: list[Path], writable: Path) -> None:
    """Confine one worker to the interpreter, these paths and its folder, where Landlock exists."""
    if landlock.version() == 0:
        return
    system = [Path(name) for name in SYSTEM]
    landlock.restrict([*interpreter(), *system, *readable], [writable, Path("/dev/null")])


def interpreter() -> list[Path]:
    """The folders that the running Python needs."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    return sorted(prefixes | {Path(os.path.realpath(prefix)) for prefix in prefixes})


def _try(confine: Callable[[], None], what: str, missing: list[str]) -> None:
    try:
        confine()
    except OSError as trouble:
        missing.append(f"Could not get {what}: {trouble}.")
