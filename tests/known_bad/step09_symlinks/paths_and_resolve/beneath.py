"""Safe file access for the workspace."""

import os
from dataclasses import dataclass
from pathlib import Path

from kit.refusals import ToolRefusal

NO_LINKS = "no links"
LINKS_INSIDE = "links inside"
NOT_AVAILABLE = "There is no file of this name that this server may use."


def root_path(root_fd):
    return Path(os.readlink(f"/proc/self/fd/{root_fd}")).resolve()


def safe_path(root_fd, names):
    """Resolve the path and check that it is inside the root."""
    root = root_path(root_fd)
    full = root.joinpath(*names).resolve()
    if not full.is_relative_to(root):
        raise ToolRefusal(NOT_AVAILABLE)
    return full


def components(path, folder=False):
    if not isinstance(path, str) or not path or path[0] == "/" or "\0" in path:
        raise ToolRefusal(NOT_AVAILABLE)
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise ToolRefusal(NOT_AVAILABLE)
    if size > 4095:
        raise ToolRefusal(NOT_AVAILABLE)
    if not folder and (path.endswith("/") or path.endswith("/.") or path == "."):
        raise ToolRefusal(NOT_AVAILABLE)
    names = [part for part in Path(path).parts if part != "."]
    if ".." in names or len(names) > 40:
        raise ToolRefusal(NOT_AVAILABLE)
    return tuple(names)


def walk(root_fd, names, flags):
    try:
        return os.open(safe_path(root_fd, names), flags)
    except OSError:
        raise ToolRefusal(NOT_AVAILABLE)


def judge(descriptor, access):
    pass


def open_beneath(root_fd, path, policy=NO_LINKS, openat2=None, access=os.O_RDONLY):
    full = safe_path(root_fd, components(path))
    if not full.exists() or full.is_dir():
        raise ToolRefusal(NOT_AVAILABLE)
    if access != os.O_RDONLY and full.stat().st_nlink > 1:
        raise ToolRefusal(NOT_AVAILABLE)
    return os.open(full, access)


def create_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    full = safe_path(root_fd, components(path))
    if full.exists() or not full.parent.is_dir():
        raise ToolRefusal(NOT_AVAILABLE)
    full.write_bytes(content)


def replace_beneath(root_fd, path, content, policy=NO_LINKS, openat2=None):
    full = safe_path(root_fd, components(path))
    if not full.is_file() or full.stat().st_nlink > 1:
        raise ToolRefusal(NOT_AVAILABLE)
    full.write_bytes(content)


def delete_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    full = safe_path(root_fd, components(path))
    try:
        full.unlink()
    except OSError:
        raise ToolRefusal(NOT_AVAILABLE)


@dataclass
class Listing:
    names: tuple
    left_out: int


def list_beneath(root_fd, path, policy=NO_LINKS, openat2=None):
    full = safe_path(root_fd, components(path, folder=True))
    if not full.is_dir():
        raise ToolRefusal(NOT_AVAILABLE)
    names, left_out = [], 0
    for entry in full.iterdir():
        try:
            entry.name.encode()
            names.append(entry.name)
        except UnicodeEncodeError:
            left_out += 1
    return Listing(tuple(sorted(names)), left_out)


def open_by_kernel(root_fd, names, flags, policy, openat2):
    return None


def walk_links(root_fd, names, flags):
    return walk(root_fd, names, flags)
