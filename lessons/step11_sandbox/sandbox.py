"""The third layer: a process that cannot reach what lies outside its workspace, whatever it runs.

Promise: from `confine` on, this process and all that it starts read, write and run nothing outside
but what is named. Attacks it stops: a compromised library inside the tool, a path that escaped the
first two layers. It says exactly what it does not stop, and without Landlock it stops nothing and
says that.
"""

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
from kit.todo import todo

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
    todo("11.1: What this kernel knows")


def allow(kernel: Kernel, ruleset: int, path: Path, rights: Right) -> None:
    """Add a rule to the ruleset: `rights` for what lies at `path` and below.

    path: a folder or a file; one that is not there needs no rule, and gets none. rights: those that
    the ruleset handles, at most. Of a single file only OF_A_FILE can be said: the kernel refuses a
    rule with more. A rule without any right is refused as well, so none is made.
    The path is opened for its place only (``O_PATH``), and closed again whatever happens.
    Errors: OSError from the kernel.
    """
    todo("11.2: One rule")


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
    todo("11.3: Confine")


def close_inherited(keep: Iterable[int] = STANDARD) -> int:
    """Close every descriptor that is open and not in `keep`; return how many were closed.

    What was open before is not judged again: through it the process reads on (BOX-5).
    `open_descriptors` lists them; one that is closed meanwhile is no error.
    """
    todo("11.4: What was open before")


def stopped(abi: int) -> frozenset[str]:
    """Return which of the ways out in STOPPED_BY a confined process does not have (BOX-11).

    abi: of the kernel; 0 stops nothing, and then not even descriptors are closed. What is stopped
    by a flag is stopped from the ABI on that knows the flag; ALWAYS and DESCRIPTORS from the first
    on; NOTHING never (BOX-9).

    >>> "empty a file" in stopped(2), "empty a file" in stopped(3)
    (False, True)
    """
    todo("11.5: Claim no more than holds")
