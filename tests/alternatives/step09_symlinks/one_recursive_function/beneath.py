"""The way down is a call, the way back is a return: no trail has to be kept."""

import errno as E
import functools
import os
import stat

from kit.openat2 import BENEATH, NO_MAGICLINKS, NO_SYMLINKS
from kit.refusals import ToolRefusal

NO_LINKS = "no links"
LINKS_INSIDE = "links inside"
NO = "This cannot be used."
DIRECTORY = getattr(os, "O_PATH", 0) | os.O_DIRECTORY
FATAL = (E.EMFILE, E.ENFILE, E.ENOMEM, E.EIO, E.ENOSPC)


def refuses(function):
    """Turn the system's errors into the one refusal."""

    @functools.wraps(function)
    def wrapped(*arguments, **named):
        try:
            return function(*arguments, **named)
        except OSError as error:
            if error.errno in FATAL:
                raise
            raise ToolRefusal(NO) from None

    return wrapped


def components(path, folder=False):
    try:
        raw = path.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        raise ToolRefusal(NO) from None
    pieces = raw.split(b"/")
    kept = [piece.decode() for piece in pieces if piece.strip(b".") or len(piece) > 2]
    bad = (
        not raw
        or len(raw) > 4095
        or b"\0" in raw
        or raw.startswith(b"/")
        or b".." in pieces
        or len(kept) > 40
        or (not folder and pieces[-1] in (b"", b"."))
    )
    if bad:
        raise ToolRefusal(NO)
    return tuple(kept)


class Up(Exception):
    """Somebody further down said `..`; the folder above goes on with these names."""

    def __init__(self, rest):
        super().__init__()
        self.rest = rest


def _descend(here, names, flags, budget, depth):
    """Open names[-1] below `here`. budget: [links left], or None to follow no link."""
    while names and names[0] in ("", "."):
        names = names[1:]
    if not names:
        return os.open(".", flags, dir_fd=here)
    first, rest = names[0], names[1:]
    if first == "..":
        raise Up(rest)
    target = _read_link(here, first) if budget is not None else None
    if target is not None:
        budget[0] -= 1
        if budget[0] < 0 or target[0] == "/":
            raise OSError(E.ELOOP, "link")
        return _descend(here, (*target.split("/"), *rest), flags, budget, depth)
    if not rest:
        return os.open(first, flags | os.O_NOFOLLOW, dir_fd=here)
    if depth == 40:
        raise OSError(E.ELOOP, "deep")
    below = os.open(first, DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
    try:
        return _descend(below, rest, flags, budget, depth + 1)
    except Up as up:
        back = up.rest
    finally:
        os.close(below)
    return _descend(here, back, flags, budget, depth)


def _read_link(here, name):
    try:
        return os.readlink(name, dir_fd=here)
    except OSError as error:
        if error.errno != E.EINVAL:
            raise


def _from_the_root(root_fd, names, flags, budget):
    try:
        return _descend(root_fd, tuple(names), flags, budget, 0)
    except Up:
        raise OSError(E.EXDEV, "above the root") from None


def walk(root_fd, names, flags):
    return _from_the_root(root_fd, names, flags, None)


def walk_links(root_fd, names, flags):
    return _from_the_root(root_fd, names, flags, [40])


def open_by_kernel(root_fd, names, flags, policy, openat2, tries=10):
    allowed = BENEATH | NO_MAGICLINKS | {NO_LINKS: NO_SYMLINKS, LINKS_INSIDE: 0}[policy]
    try:
        return openat2(root_fd, "/".join(names) or ".", flags | os.O_CLOEXEC, allowed)
    except OSError as error:
        if error.errno in {E.ENOSYS, E.EPERM}:
            return None
        if error.errno == E.EAGAIN and tries > 1:
            return open_by_kernel(root_fd, names, flags, policy, openat2, tries - 1)
        raise


def _reach(root_fd, names, flags, policy, openat2):
    by_kernel = openat2 and open_by_kernel(root_fd, names, flags, policy, openat2)
    if by_kernel is not None:
        return by_kernel
    return (walk_links if policy == LINKS_INSIDE else walk)(root_fd, names, flags)


def _in_folder(root_fd, names, policy, openat2, act, flags=DIRECTORY):
    """Return what `act` returns for the descriptor of a folder."""
    folder = _reach(root_fd, names, flags, policy, openat2)
    try:
        return act(folder)
    finally:
        os.close(folder)


def open_root(folder):
    return os.open(folder, DIRECTORY)


def judge(descriptor, access):
    mode, names = (lambda s: (s.st_mode, s.st_nlink))(os.stat(descriptor))
    if not (stat.S_ISREG(mode) and (names == 1 or access == os.O_RDONLY)):
        raise ToolRefusal(NO)


@refuses
def open_beneath(root_fd, path, policy=NO_LINKS, openat2=None, access=os.O_RDONLY):
    flags = os.O_NONBLOCK | access
    descriptor = _reach(root_fd, components(path), flags, policy, openat2)
    try:
        judge(descriptor, access)
    except ToolRefusal:
        os.close(descriptor)
        raise
    return descriptor


@refuses
def create_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    *above, name = components(path)
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    new = _in_folder(
        root_fd, above, policy, openat2, lambda here: os.open(name, flags, 0o644, dir_fd=here)
    )
    with open(new, "r+b") as file:
        file.write(content)


@refuses
def replace_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    with open(open_beneath(root_fd, path, policy, openat2, os.O_WRONLY), "wb", 0) as file:
        os.truncate(file.fileno(), 0)
        file.write(content)


@refuses
def delete_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    *above, name = components(path)
    _in_folder(root_fd, above, policy, openat2, lambda here: os.unlink(name, dir_fd=here))


class Listing:
    def __init__(self, everything):
        self.names = sorted(filter(self.is_text, everything))
        self.left_out = len(everything) - len(self.names)

    @staticmethod
    def is_text(name):
        return name == os.fsencode(name).decode("utf-8", "replace")


@refuses
def list_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    names = components(path, folder=True)
    return Listing(
        _in_folder(root_fd, names, policy, openat2, os.listdir, os.O_RDONLY | os.O_DIRECTORY)
    )
