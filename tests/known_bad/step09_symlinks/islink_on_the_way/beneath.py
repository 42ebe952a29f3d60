"""File helpers. We check each folder for symlinks before we open anything."""

import errno
import os
import stat
from collections import namedtuple

from kit.refusals import ToolRefusal

NO_LINKS = "no links"
LINKS_INSIDE = "links inside"
MESSAGE = "There is no file of this name that this server may use."

Listing = namedtuple("Listing", "names left_out")


def refuse():
    raise ToolRefusal(MESSAGE)


def components(path, folder=False):
    if type(path) is not str or path == "" or path.startswith("/") or "\x00" in path:
        refuse()
    if path.endswith(("/", "/.")) and not folder or path == "." and not folder:
        refuse()
    clean = os.path.normpath(path)
    if clean.startswith(".."):
        refuse()
    try:
        clean.encode("utf8")
    except UnicodeEncodeError:
        refuse()
    return tuple(x for x in clean.split("/") if x != ".")


def check_links(root_fd, names):
    so_far = []
    for name in names:
        so_far.append(name)
        info = os.stat("/".join(so_far), dir_fd=root_fd, follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            raise OSError(errno.ELOOP, "symlink")


def walk(root_fd, names, flags):
    check_links(root_fd, names)
    return os.open("/".join(names) or ".", flags, dir_fd=root_fd)


def judge(descriptor, access):
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        refuse()


def open_beneath(root_fd, path, policy=NO_LINKS, openat2=None, access=os.O_RDONLY):
    names = components(path)
    try:
        fd = walk(root_fd, names, access | os.O_NONBLOCK)
    except OSError:
        refuse()
    try:
        judge(fd, access)
    except ToolRefusal:
        os.close(fd)
        raise
    return fd


def create_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    names = components(path)
    try:
        check_links(root_fd, names[:-1])
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        fd = os.open("/".join(names), flags, 0o600, dir_fd=root_fd)
    except OSError:
        refuse()
    with os.fdopen(fd, "wb") as f:
        f.write(content)


def replace_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    fd = open_beneath(root_fd, path, access=os.O_WRONLY)
    os.ftruncate(fd, 0)
    os.write(fd, content)
    os.close(fd)


def delete_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    names = components(path)
    try:
        check_links(root_fd, names[:-1])
        os.unlink("/".join(names), dir_fd=root_fd)
    except OSError:
        refuse()


def list_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    names = components(path, folder=True)
    try:
        fd = walk(root_fd, names, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        refuse()
    try:
        return Listing(tuple(sorted(os.listdir(fd))), 0)
    finally:
        os.close(fd)


def open_by_kernel(root_fd, names, flags, policy, openat2):
    return None


def walk_links(root_fd, names, flags):
    return walk(root_fd, names, flags)
