"""The third layer: a process that cannot reach what lies outside its workspace, whatever it runs.

Promise: from `confine` on, this process and all that it starts read, write and run nothing outside
but what is named. Attacks it stops: a compromised library inside the tool, a path that escaped the
first two layers. It says exactly what it does not stop, and without Landlock it stops nothing and
says that.
"""

import os
from collections.abc import Iterable
from enum import Flag
from pathlib import Path
from typing import TypeVar

from kit.landlock import (
    OF_A_FILE,
    SINCE,
    Kernel,
    LandlockMissing,
    Linux,
    Network,
    Right,
    Scope,
    open_descriptors,
)

Kind = TypeVar("Kind", bound=Flag)

READ = Right.READ_FILE | Right.READ_DIR
STANDARD = (0, 1, 2)
NO_LANDLOCK = (
    "This kernel has no Landlock, so nothing is confined: run the server in a container with a"
    " read-only root, the workspace mounted, no network and a user of its own."
)

# What stops each of the ways out in `kit.ways_out`. A right, or a name for what is not a right.
ALWAYS, DESCRIPTORS, NOTHING = "always", "descriptors", "nothing"
STOPPED_BY: dict[str, Flag | str] = {
    "read a file": Right.READ_FILE,
    "list a folder": Right.READ_DIR,
    "read by ..": Right.READ_FILE,
    "read through a new symbolic link": Right.READ_FILE,
    "overwrite a file": Right.WRITE_FILE,
    "empty a file": Right.TRUNCATE,
    "create a file": Right.MAKE_REG,
    "delete a file": Right.REMOVE_FILE,
    "create a folder": Right.MAKE_DIR,
    "move a file out": ALWAYS,
    "move a file in": ALWAYS,
    "link a file in": ALWAYS,
    "run a program": Right.EXECUTE,
    "run what it wrote": Right.EXECUTE,
    "use a descriptor that was open": DESCRIPTORS,
    "read another process's memory": ALWAYS,
    "signal another process": Scope.SIGNAL,
    "connect to an abstract socket": Scope.ABSTRACT_UNIX_SOCKET,
    "connect by TCP": Network.CONNECT_TCP,
    "listen by TCP": Network.BIND_TCP,
    "change a mode": NOTHING,
    "change an owner": NOTHING,
    "change a time": NOTHING,
    "ask for size and time": NOTHING,
    "change into a folder": NOTHING,
    "set an attribute": NOTHING,
    "connect to a socket with a path": NOTHING,
    "send by UDP": NOTHING,
}


def known(kind: type[Kind], abi: int) -> Kind:
    """Return all flags of a kind that this ABI of Landlock knows.

    kind: Right, Network or Scope. abi: 1 or more; SINCE says which ABI brought which flag. A
    ruleset that names an unknown one is refused as a whole, and one that forgets a known one
    permits it (BOX-3).

    >>> known(Network, 3), known(Network, 4) == Network.BIND_TCP | Network.CONNECT_TCP
    (<Network: 0>, True)
    """
    flags = kind(0)
    for flag in kind:
        if SINCE.get(flag, 1) <= abi:
            flags |= flag
    return flags


def allow(kernel: Kernel, ruleset: int, path: Path, rights: Right) -> None:
    """Add a rule to the ruleset: `rights` for what lies at `path` and below.

    path: a folder or a file; one that is not there needs no rule, and gets none. rights: those that
    the ruleset handles, at most. Of a single file only OF_A_FILE can be said: the kernel refuses a
    rule with more. A rule without any right is refused as well, so none is made.
    The path is opened for its place only (``O_PATH``), and closed again whatever happens.
    Errors: OSError from the kernel.
    """
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        granted = rights if path.is_dir() else rights & OF_A_FILE
        if granted:
            kernel.allow(ruleset, place, granted)
    finally:
        os.close(place)


def confine(
    workspace: Path,
    readable: Iterable[Path] = (),
    runnable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    keep: Iterable[int] = STANDARD,
    kernel: Kernel | None = None,
) -> int:
    """Confine this process and all that it starts, for ever; return the ABI that was used.

    workspace: a folder. Inside: read, write, create, move, remove; no running, and no device files
    (BOX-4). readable: what may be read outside, such as Python's own library. runnable: what may be
    read and run as well. writable: what gets all that the workspace gets, such as ``/dev/null``.
    keep: descriptors that stay open (`close_inherited`). kernel: this
    machine's by default.
    All that the ABI knows is handled: files, TCP and scopes (BOX-3, BOX-8). Nothing is allowed for
    TCP. `no_new_privs` comes before `restrict_self`, which comes last; the ruleset is closed
    whatever happens.
    Errors: LandlockMissing with NO_LANDLOCK where there is none (BOX-11); RuntimeError when other
    threads run, for they would stay free (BOX-1); NotADirectoryError for a workspace that is no
    folder, or FileNotFoundError if it is not there; OSError from the kernel. None of them leaves a
    process that is taken to be confined.
    """
    kernel = Linux() if kernel is None else kernel
    abi = kernel.abi()
    if abi < 1:
        raise LandlockMissing(NO_LANDLOCK)
    if kernel.threads() > 1:
        raise RuntimeError("Other threads run already, and they would stay free.")
    if not workspace.is_dir():
        raise NotADirectoryError(str(workspace))
    handled = known(Right, abi)
    inside = handled & ~(Right.EXECUTE | Right.MAKE_CHAR | Right.MAKE_BLOCK)
    close_inherited(keep)
    ruleset = kernel.create_ruleset(handled, known(Network, abi), known(Scope, abi))
    try:
        allow(kernel, ruleset, workspace, inside)
        for path in readable:
            allow(kernel, ruleset, path, READ)
        for path in runnable:
            allow(kernel, ruleset, path, READ | Right.EXECUTE)
        for path in writable:
            allow(kernel, ruleset, path, inside)
        kernel.no_new_privs()
        kernel.restrict_self(ruleset)
    finally:
        os.close(ruleset)
    return abi


def close_inherited(keep: Iterable[int] = STANDARD) -> int:
    """Close every descriptor that is open and not in `keep`; return how many were closed.

    What was open before is not judged again: through it the process reads on (BOX-5).
    `open_descriptors` lists them; one that is closed meanwhile is no error.
    """
    closed = 0
    for descriptor in set(open_descriptors()) - set(keep):
        try:
            os.close(descriptor)
        except OSError:
            continue
        closed += 1
    return closed


def stopped(abi: int) -> frozenset[str]:
    """Return which of the ways out in STOPPED_BY a confined process does not have (BOX-11).

    abi: of the kernel; 0 stops nothing, and then not even descriptors are closed. What is stopped
    by a flag is stopped from the ABI on that knows the flag; ALWAYS and DESCRIPTORS from the first
    on; NOTHING never (BOX-9).

    >>> "empty a file" in stopped(2), "empty a file" in stopped(3)
    (False, True)
    """
    if abi < 1:
        return frozenset()
    return frozenset(
        way
        for way, means in STOPPED_BY.items()
        if means != NOTHING and (isinstance(means, str) or SINCE.get(means, 1) <= abi)
    )
