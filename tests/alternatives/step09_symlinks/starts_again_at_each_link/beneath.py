"""Files below one folder. A link is spliced into the names, and the walk begins again."""

import errno
import os
import stat
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from kit.openat2 import BENEATH, NO_MAGICLINKS, NO_SYMLINKS
from kit.refusals import ToolRefusal

NO_LINKS, LINKS_INSIDE = "no links", "links inside"
NOTHING = "Nothing of that name is to be had here."
SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
MACHINE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC}


class Link(Exception):
    """Stumbled over a link. at: which name. target: its text."""

    def __init__(self, at, target):
        super().__init__(at)
        self.at, self.target = at, target


class Listing(NamedTuple):
    names: tuple
    left_out: int


@contextmanager
def quiet():
    try:
        yield
    except OSError as error:
        if error.errno in MACHINE:
            raise
        raise ToolRefusal(NOTHING) from error


def open_root(folder):
    return os.open(folder, SEARCH & ~os.O_NOFOLLOW)


def utf8(text):
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def components(path, folder=False):
    raw = utf8(path) if isinstance(path, str) else None
    if not raw or len(raw) > 4095 or raw[:1] == b"/" or b"\0" in raw:
        raise ToolRefusal(NOTHING)
    pieces = path.split("/")
    names = tuple(filter(lambda piece: piece not in ("", "."), pieces))
    if len(names) > 40 or ".." in pieces or (pieces[-1] in ("", ".") and not folder):
        raise ToolRefusal(NOTHING)
    return names


def walk(root_fd, names, flags):
    return _pass(root_fd, list(names) or ["."], flags, lambda at, name, parent: None)


def _pass(root_fd, names, flags, look):
    """Go through the names once; `look` may raise at each of them."""
    with ExitStack() as opened:
        parent = os.dup(root_fd)
        opened.callback(os.close, parent)
        for at, name in enumerate(names[:-1]):
            look(at, name, parent)
            below = os.open(name, SEARCH, dir_fd=parent)
            opened.pop_all().close()
            opened.callback(os.close, below)
            parent = below
        look(len(names) - 1, names[-1], parent)
        return os.open(names[-1], flags | os.O_NOFOLLOW, dir_fd=parent)


def walk_links(root_fd, names, flags):
    ahead, links = list(names) or ["."], 0
    while links <= 40:
        try:
            return _pass(root_fd, ahead, flags, _stumble)
        except Link as link:
            at, target = link.at, link.target
            if target is None:  # the name is ..: it takes the folder before it away
                if at == 0:
                    break
                ahead[at - 1 : at + 1] = []
            elif target.startswith("/"):
                break
            else:
                links += 1
                ahead[at : at + 1] = _pieces(target, last=at == len(ahead) - 1)
            ahead = ahead or ["."]
            if len([name for name in ahead if name not in ("..", ".")]) > 41:
                break
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _pieces(target, last):
    """The names of a target; a slash at its end asks for a folder, so a dot stays there."""
    pieces = target.split("/")
    kept = [piece for piece in pieces if piece not in ("", ".")]
    return [*kept, "."] if not kept or (last and pieces[-1] in ("", ".")) else kept


def _stumble(at, name, parent):
    if name == "..":
        raise Link(at, None)
    if name == ".":
        return
    try:
        target = os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    else:
        raise Link(at, target)


def open_by_kernel(root_fd, names, flags, policy, openat2):
    resolve = {
        NO_LINKS: BENEATH | NO_SYMLINKS | NO_MAGICLINKS,
        LINKS_INSIDE: BENEATH | NO_MAGICLINKS,
    }
    tries = 0
    while True:
        tries += 1
        try:
            return openat2(
                root_fd, "/".join(names) if names else ".", flags | os.O_CLOEXEC, resolve[policy]
            )
        except OSError as error:
            match error.errno:
                case errno.ENOSYS | errno.EPERM:
                    return None
                case errno.EAGAIN if tries < 20:
                    continue
                case _:
                    raise


def open_names(root_fd, names, flags, policy, openat2):
    if openat2:
        descriptor = open_by_kernel(root_fd, names, flags, policy, openat2)
        if descriptor is not None:
            return descriptor
    return (walk if policy == NO_LINKS else walk_links)(root_fd, names, flags)


@contextmanager
def opened(root_fd, names, policy, openat2, flags=SEARCH & ~os.O_NOFOLLOW):
    with quiet(), ExitStack() as stack:
        descriptor = open_names(root_fd, names, flags, policy, openat2)
        stack.callback(os.close, descriptor)
        yield descriptor


def judge(descriptor, access):
    status = os.fstat(descriptor)
    regular = stat.S_IFMT(status.st_mode) == stat.S_IFREG
    if not regular or (access & os.O_ACCMODE and status.st_nlink > 1):
        raise ToolRefusal(NOTHING)


def open_beneath(root_fd, path, policy=NO_LINKS, openat2=None, access=os.O_RDONLY):
    names, flags = components(path), access | os.O_NONBLOCK | os.O_NOCTTY
    with ExitStack() as stack:
        with quiet():
            descriptor = open_names(root_fd, names, flags, policy, openat2)
        stack.callback(os.close, descriptor)
        judge(descriptor, access)
        stack.pop_all()
    return descriptor


def create_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    *above, name = components(path)
    with opened(root_fd, above, policy, openat2) as parent:

        def opener(file, flags):
            return os.open(file, flags, 0o600, dir_fd=parent)

        with open(name, "xb", opener=opener) as file:
            file.write(content)


def replace_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    descriptor = open_beneath(root_fd, path, policy, openat2, os.O_WRONLY)
    try:
        os.ftruncate(descriptor, 0)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def delete_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    *above, name = components(path)
    with opened(root_fd, above, policy, openat2) as parent:
        os.remove(name, dir_fd=parent)


def list_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    names = components(path, folder=True)
    with opened(root_fd, names, policy, openat2, os.O_RDONLY | os.O_DIRECTORY) as here:
        with os.scandir(here) as entries:
            found = sorted(entry.name for entry in entries)
    fine = [name for name in found if utf8(name) is not None]
    return Listing(tuple(fine), len(found) - len(fine))
