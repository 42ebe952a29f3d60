"""Files below one folder, opened so that no link and no swap leads outside.

Promise: whatever is read, written, deleted or listed lies below the folder that was opened once,
at the start. Attacks it stops: a link out of the folder, in any component; a file or folder that is
swapped for a link between a check and the use; `..`; a FIFO that never answers; a second name of a
file outside.

There is one rule: open first, then judge what was opened. No path is checked and used afterwards.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kit.openat2 import BENEATH, NO_MAGICLINKS, NO_SYMLINKS
from kit.refusals import ToolRefusal
from kit.todo import todo

Policy = Literal["no links", "links inside"]
Openat2 = Callable[[int, str, int, int], int]

NO_LINKS: Policy = "no links"
LINKS_INSIDE: Policy = "links inside"

NOT_AVAILABLE = "There is no file of this name that this server may use."

LONGEST_PATH = 4095  # bytes; what Linux takes
DEEPEST = 40  # folders below the root, each of which may cost a descriptor
MOST_LINKS = 40  # in one path, as many as Linux follows
MOST_TRIES = 16  # of a call that says EAGAIN

# To go through a folder, no right to list it is needed; where there is no O_PATH, it is.
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
FILE = os.O_NONBLOCK | os.O_NOCTTY

# Not about the path: the machine is out of something, and the operator has to know.
TROUBLE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC, errno.EDQUOT)


def open_root(folder: str) -> int:
    """Open the root: once, at the start, by whatever links lead to it (LINK-16).

    folder: an absolute path out of the operator's configuration.
    Returns a descriptor. From now on it counts, and not the path.
    Errors: ValueError for a relative path; OSError.
    """
    if not os.path.isabs(folder):
        raise ValueError("The root must be an absolute path.")
    return os.open(folder, FOLDER)


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Make one and the same ToolRefusal of whatever the system has against a path (SCOPE-15).

    Errors: OSError of `TROUBLE` goes through; it is about the machine.
    """
    try:
        yield
    except OSError as error:
        if error.errno in TROUBLE:
            raise
        raise ToolRefusal(NOT_AVAILABLE) from None


def components(path: Any, folder: bool = False) -> tuple[str, ...]:
    """Return the names that a relative path is made of.

    path: whatever the client sent: any JSON value. folder: a folder is meant, and not a file.
    Empty names and ``.`` vanish (SCOPE-11), but at the end they say that a folder is meant: for a
    file they are refused there (LINK-12). For a folder, ``.`` is the root itself, ``()``.
    Errors: ToolRefusal unless it is a string that is not empty and does not begin with ``/``
    (LINK-4), without the name ``..`` (LINK-7), without NUL, and sayable in UTF-8 (LINK-14); and
    for more than 4095 bytes or more than 40 names (LINK-21).

    >>> components("old//./draft.md")
    ('old', 'draft.md')
    """
    todo("9.1: Take a path apart")


def walk(root_fd: int, names: Sequence[str], flags: int) -> int:
    """Open the last of `names`, going through the others one by one, none of them a link.

    root_fd: where to start; it stays open. names: of `components`; none at all is the root itself.
    flags: of `os.open` for the last name; the folders on the way are opened with `FOLDER`, each
    from the descriptor of the one before (LINK-2). Whatever was opened on the way is closed again,
    in any case (LINK-19).
    Returns a descriptor. Errors: OSError of the system, for a link too.
    """
    todo("9.2: Walk, and go through no link")


def judge(descriptor: int, access: int) -> None:
    """Look at what was opened, and refuse what is no file to work with.

    descriptor: the file itself and not its path, so nobody can swap it any more (LINK-5).
    access: ``os.O_RDONLY``, or ``os.O_WRONLY`` for writing.
    Errors: ToolRefusal(NOT_AVAILABLE) for anything but a regular file (LINK-11), and for writing
    unless the file has exactly one name (LINK-10).
    """
    todo("9.3: Open first, then judge")


def open_beneath(
    root_fd: int,
    path: Any,
    policy: Policy = NO_LINKS,
    openat2: Openat2 | None = None,
    access: int = os.O_RDONLY,
) -> int:
    """Open a regular file below the root and return its descriptor.

    root_fd: of `open_root`. path: whatever the client sent. policy: about links; it changes
    nothing else (LINK-7). openat2: the kernel's call, or None to walk. access: ``os.O_RDONLY``
    or ``os.O_WRONLY``; the content stays as it is, since nothing is judged yet (LINK-22).
    The system is asked with `FILE`, so that opening a FIFO does not wait (LINK-11). What was opened
    is judged, and closed when it is refused (LINK-19).
    Errors: ToolRefusal(NOT_AVAILABLE), the same whatever lies outside (SCOPE-15).
    """
    todo("9.3: Open first, then judge")


def open_names(
    root_fd: int, names: Sequence[str], flags: int, policy: Policy, openat2: Openat2 | None
) -> int:
    """Open `names` the kernel's way where there is one, and by walking otherwise.

    Returns a descriptor. Errors: OSError.
    """
    if openat2 is not None:
        descriptor = open_by_kernel(root_fd, names, flags, policy, openat2)
        if descriptor is not None:
            return descriptor
    if policy == LINKS_INSIDE:
        return walk_links(root_fd, names, flags)
    return walk(root_fd, names, flags)


@contextlib.contextmanager
def opened_folder(
    root_fd: int,
    names: Sequence[str],
    policy: Policy,
    openat2: Openat2 | None,
    flags: int = FOLDER,
) -> Iterator[int]:
    """Lend the descriptor of a folder below the root, and close it at the end.

    names: of the folder. flags: `FOLDER` is enough to work on names in it; to list it, it has to be
    opened with ``os.O_RDONLY | os.O_DIRECTORY``.
    Errors: as `refusing`, for what happens inside the ``with`` as well.
    """
    with refusing():
        descriptor = open_names(root_fd, names, flags, policy, openat2)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def create_beneath(
    root_fd: int,
    path: Any,
    content: bytes,
    policy: Policy = NO_LINKS,
    openat2: Openat2 | None = None,
) -> None:
    """Create a file that is not there yet, with that content.

    Its folder is opened first, below the root; the file is made through that descriptor, so a
    linked or swapped folder carries nothing away (LINK-8). The name must be free: a link is an
    entry, wherever it points and if it points nowhere (LINK-9).
    Errors: ToolRefusal(NOT_AVAILABLE), and then nothing was made.
    """
    todo("9.4: Create, replace, delete, list")


def replace_beneath(
    root_fd: int,
    path: Any,
    content: bytes,
    policy: Policy = NO_LINKS,
    openat2: Openat2 | None = None,
) -> None:
    """Put `content` in the place of what an existing regular file holds.

    The file is opened for writing and judged before a byte of it changes: with ``O_TRUNC``, a file
    outside that has a second name in here would be empty by the time it is refused (LINK-22).
    Errors: ToolRefusal(NOT_AVAILABLE) as `open_beneath`, for a file with two names too (LINK-10).
    """
    todo("9.4: Create, replace, delete, list")


def delete_beneath(
    root_fd: int, path: Any, policy: Policy = NO_LINKS, openat2: Openat2 | None = None
) -> None:
    """Remove a name, through the descriptor of its folder (LINK-15).

    What the name stands for is not opened and not followed: of a link, the link goes; of a file
    with two names, this name goes (LINK-10). So there is nothing to check first.
    Errors: ToolRefusal(NOT_AVAILABLE) for a folder, and for a name that is not there.
    """
    todo("9.4: Create, replace, delete, list")


@dataclass(frozen=True)
class Listing:
    """The entries of a folder. names: sorted. left_out: how many have names that are not UTF-8."""

    names: tuple[str, ...]
    left_out: int


def list_beneath(
    root_fd: int, path: Any, policy: Policy = NO_LINKS, openat2: Openat2 | None = None
) -> Listing:
    """Return the names in a folder, by its descriptor (LINK-15); links are named, not followed.

    path: of a folder; ``.`` is the root. Names that are not UTF-8 are counted (LINK-14).
    Errors: ToolRefusal(NOT_AVAILABLE) for anything but a folder below the root.
    """
    todo("9.4: Create, replace, delete, list")


def open_by_kernel(
    root_fd: int, names: Sequence[str], flags: int, policy: Policy, openat2: Openat2
) -> int | None:
    """Open `names` with one system call that never leaves the root, or return None.

    openat2: takes a descriptor, a path (``.`` for no names at all), flags and what may be resolved.
    Under both policies `BENEATH` and `NO_MAGICLINKS` hold (LINK-3, LINK-18), under `NO_LINKS` also
    `NO_SYMLINKS`. EAGAIN is tried again, 16 times in all. ``O_CLOEXEC`` goes with the flags: Python
    adds it in `os.open`, nobody adds it here (LINK-20).
    Returns a descriptor, or None where the kernel has no such call (ENOSYS) or a container keeps
    it away (EPERM): then the walk takes over (LINK-3).
    Errors: OSError of the kernel otherwise; EAGAIN after the last try.
    """
    todo("9.6: The kernel's way")


def walk_links(root_fd: int, names: Sequence[str], flags: int) -> int:
    """Open the last of `names`; a link on the way is followed by hand, as long as it stays inside.

    As `walk`, but the target of a link takes its place: its names are walked next, from the folder
    in which the link lies. ``..`` in a target goes back to the folder that was opened before, by
    its descriptor; the name ``..`` is never opened, since the folder may have been moved meanwhile
    (LINK-6).
    Errors: OSError of the system; OSError ELOOP for an absolute target, for ``..`` in the root,
    after more than 40 links (LINK-13), and below more than 40 folders (LINK-21).
    """
    todo("9.7: Links that stay inside")


def link_target(parent: int, name: str) -> str | None:
    """Return where the link of that name in the folder `parent` points, or None for no link.

    Errors: OSError when there is no such entry.
    """
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None
