"""Scope checks, written with os.path and strings."""

import os.path
from dataclasses import dataclass
from urllib.parse import unquote

from kit.refusals import RpcError, ToolRefusal

ALLOWED = "abcdefghijklmnopqrstuvwxyz0123456789-"


@dataclass(frozen=True)
class Location:
    segments: tuple

    def text(self):
        return "/" + "/".join(self.segments)


def note_id(text):
    if type(text) is not str or len(text) < 1 or len(text) > 64 or text[0] == "-":
        raise ToolRefusal("bad note id")
    for letter in text:
        if letter not in ALLOWED:
            raise ToolRefusal("bad note id")
    return text


def uri_path(uri):
    if type(uri) is not str or not uri.lower().startswith("file://"):
        raise ToolRefusal("not a file URI")
    rest = uri[len("file://") :]
    if rest.lower().startswith("localhost/"):
        rest = rest[len("localhost") :]
    if not rest.startswith("/") or rest.startswith("//") or "?" in rest or "#" in rest:
        raise ToolRefusal("not a file URI")
    return rest


def normalize(uri):
    path = os.path.normpath(uri_path(uri))  # the dots first ...
    names = [name for name in path.split("/") if name]
    return Location(tuple(unquote(name) for name in names))  # ... and then the escapes


def contains(workspace, target):
    both = [workspace.text(), target.text()]
    return os.path.commonprefix(both) == workspace.text()


def contains_strictly(workspace, target):
    return contains(workspace, target) and workspace.text() != target.text()


def authorize(principal, workspace, grants):
    for uri in grants.get(principal.subject, []):
        if contains(normalize(uri), workspace):
            return
    raise ToolRefusal("not available")


def workspace_from_argument(arguments, principal, grants):
    workspace = normalize(arguments.get("workspaceUri"))
    authorize(principal, workspace, grants)
    return workspace


def workspace_from_configuration(principal, configuration):
    try:
        return normalize(configuration[principal.subject])
    except KeyError:
        raise ToolRefusal("not available") from None


def candidates(notes, title, workspace):
    if type(title) is not str:
        raise ToolRefusal("title must be text")
    found = []
    for note in notes:
        if note.title == title and contains_strictly(workspace, normalize(note.uri)):
            found.append(note)
    return found


def read_resource(uri, principal, grants, notes):
    try:
        target = normalize(uri)
        authorize(principal, target, grants)
        for note in notes:
            if normalize(note.uri) == target:
                return note
    except ToolRefusal:
        pass
    raise RpcError(-32602, "no such resource", {"uri": uri})


def within(workspace, path):
    if type(path) is not str or path == "" or path[0] in "/~" or "\\" in path or "\0" in path:
        raise ToolRefusal("not a relative path")
    joined = os.path.normpath(workspace.text() + "/" + path)
    target = Location(tuple(name for name in joined.split("/") if name))
    if not contains(workspace, target):
        raise ToolRefusal("outside the workspace")
    return target


def within_all(workspace, arguments, names):
    found = {}
    for name in names:
        if name in arguments:
            found[name] = within(workspace, arguments[name])
    return found


def windows_location(uri):
    names = list(normalize(uri).segments)
    if not names or len(names[0]) != 2 or names[0][1] != ":" or not names[0][0].isalpha():
        raise ToolRefusal("no drive")
    for name in names[1:]:
        if any(letter in name for letter in ':<>"|?*') or name[-1] in ". ":
            raise ToolRefusal("not a name on Windows")
        if name.split(".")[0].upper() in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT1", "LPT¹"):
            raise ToolRefusal("not a name on Windows")
    return Location(tuple(name.lower() for name in names))
