"""A folder is an object: it opens what is in it, and knows the folder that it was entered from."""

import errno
import os
from dataclasses import dataclass
from pathlib import PurePosixPath
from stat import S_ISREG

import kit.openat2 as kernel
from kit.refusals import ToolRefusal

NO_LINKS = "no links"
LINKS_INSIDE = "links inside"
ENTER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
ORDINARY = {
    getattr(errno, name)
    for name in "ENOENT ENOTDIR EISDIR ELOOP EMLINK EXDEV EACCES EPERM EEXIST ENAMETOOLONG "
    "EAGAIN ENXIO ENODEV EROFS ETXTBSY EINVAL EBUSY EILSEQ EOPNOTSUPP".split()
}


class Refusal(ToolRefusal):
    def __init__(self):
        super().__init__("no such file")


class Folder:
    """An open folder. Leaving the with statement closes it and those it was entered from."""

    def __init__(self, descriptor, outer=None):
        self.descriptor, self.outer = descriptor, outer
        self.depth = 0 if outer is None else outer.depth + 1

    @classmethod
    def copy_of(cls, descriptor):
        return cls(os.dup(descriptor))

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
        if isinstance(raised[1], OSError) and raised[1].errno in ORDINARY:
            raise Refusal from None

    def close(self):
        folder = self
        while folder is not None:
            os.close(folder.descriptor)
            folder = folder.outer

    def open(self, name, flags, mode=0):
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=self.descriptor)

    def enter(self, name):
        return Folder(self.open(name, ENTER), self)

    def leave(self):
        if self.outer is None:
            raise OSError(errno.EXDEV, "this is the top")
        os.close(self.descriptor)
        return self.outer

    def target(self, name):
        try:
            return os.readlink(name, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise


class Journey:
    """Walks from the root and remembers how many links it has read."""

    def __init__(self, root_fd, names, follow):
        self.here = Folder.copy_of(root_fd)
        self.ahead = list(names)
        self.follow = follow
        self.links = 0

    def open(self, flags):
        try:
            while self.ahead:
                name = self.ahead.pop(0)
                if name in ("", "."):
                    continue
                if name == "..":
                    self.here = self.here.leave()
                elif self.follow and (target := self.here.target(name)) is not None:
                    self.read(target)
                elif not self.ahead:
                    return self.here.open(name, flags)
                elif self.here.depth == 40:
                    raise OSError(errno.ELOOP, "too deep")
                else:
                    self.here = self.here.enter(name)
            return self.here.open(".", flags)
        finally:
            self.here.close()

    def read(self, target):
        self.links += 1
        if self.links > 40 or os.path.isabs(target):
            raise OSError(errno.ELOOP, "too many links, or a way out")
        self.ahead[:0] = target.split("/")


def components(path, folder=False):
    match path:
        case str() if path and "\0" not in path and not path.startswith("/"):
            pure = PurePosixPath(path)
        case _:
            raise Refusal
    try:
        long = len(os.fsencode(path)) > 4095 or not path.encode("utf-8", "strict")
    except UnicodeEncodeError:
        raise Refusal from None
    says_folder = path.endswith(("/", "/.")) or path == "."
    if long or ".." in pure.parts or len(pure.parts) > 40 or (says_folder and not folder):
        raise Refusal
    return pure.parts


def walk(root_fd, names, flags):
    return Journey(root_fd, names, follow=False).open(flags)


def walk_links(root_fd, names, flags):
    return Journey(root_fd, names, follow=True).open(flags)


def open_by_kernel(root_fd, names, flags, policy, openat2):
    resolve = kernel.BENEATH + kernel.NO_MAGICLINKS
    if policy == NO_LINKS:
        resolve += kernel.NO_SYMLINKS
    path = os.path.join(*names) if names else "."
    for _ in range(100):
        try:
            return openat2(root_fd, path, flags | os.O_CLOEXEC, resolve)
        except BlockingIOError as error:
            last = error
        except PermissionError as error:
            if error.errno == errno.EPERM:
                return None
            raise
        except OSError as error:
            if error.errno == errno.ENOSYS:
                return None
            raise
    raise last


def _open(root_fd, names, flags, policy, openat2):
    found = None
    if openat2 is not None:
        found = open_by_kernel(root_fd, names, flags, policy, openat2)
    if found is None:
        found = Journey(root_fd, names, follow=policy == LINKS_INSIDE).open(flags)
    return found


def open_root(folder):
    return os.open(folder, ENTER)


def judge(descriptor, access):
    status = os.fstat(descriptor)
    names_allowed = 1 if access == os.O_WRONLY else float("inf")
    if not S_ISREG(status.st_mode) or status.st_nlink > names_allowed:
        raise Refusal


def open_beneath(root_fd, path, policy=NO_LINKS, openat2=None, access=os.O_RDONLY):
    names = components(path)
    try:
        descriptor = _open(root_fd, names, access | os.O_NONBLOCK, policy, openat2)
    except OSError as error:
        if error.errno in ORDINARY:
            raise Refusal from None
        raise
    good = False
    try:
        judge(descriptor, access)
        good = True
        return descriptor
    finally:
        if not good:
            os.close(descriptor)


def _parent(root_fd, names, policy, openat2, flags=ENTER):
    try:
        return Folder(_open(root_fd, names, flags, policy, openat2))
    except OSError as error:
        if error.errno in ORDINARY:
            raise Refusal from None
        raise


def create_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    names = components(path)
    with _parent(root_fd, names[:-1], policy, openat2) as parent:
        descriptor = parent.open(names[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def replace_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    with os.fdopen(open_beneath(root_fd, path, policy, openat2, os.O_WRONLY), "wb") as file:
        file.write(content)
        file.truncate()


def delete_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    names = components(path)
    with _parent(root_fd, names[:-1], policy, openat2) as parent:
        os.unlink(names[-1], dir_fd=parent.descriptor)


@dataclass
class Listing:
    names: list
    left_out: int = 0


def list_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    listing = Listing([])
    names = components(path, folder=True)
    with _parent(root_fd, names, policy, openat2, os.O_RDONLY | os.O_DIRECTORY) as folder:
        for name in sorted(os.listdir(folder.descriptor)):
            if any("\ud800" <= character <= "\udfff" for character in name):
                listing.left_out += 1
            else:
                listing.names.append(name)
    return listing
