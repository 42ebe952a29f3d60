"""Is a file inside a folder? Everything is one absolute path as text."""

import os
import re
from urllib.parse import unquote, urlsplit

from kit.refusals import RpcError, ToolRefusal


class Location:
    """A path; the parts are only computed when somebody asks for them."""

    def __init__(self, segments):
        self.path = os.path.abspath("/" + "/".join(segments))

    @property
    def segments(self):
        return tuple(part for part in self.path.split(os.sep) if part)


def note_id(text):
    if not re.match("^[a-z0-9][a-z0-9-]{0,63}$", str(text)):
        raise ToolRefusal("A note id has letters, digits and hyphens.")
    return text


def uri_path(uri):
    parts = urlsplit(uri)
    if parts.scheme != "file":
        raise ToolRefusal("Only file URIs, please.")
    return parts.path


def normalize(uri):
    return Location(unquote(uri_path(uri)).split("/"))


def contains(workspace, target):
    return target.path.startswith(workspace.path)


def contains_strictly(workspace, target):
    return target.path.startswith(workspace.path) and len(target.path) > len(workspace.path)


def authorize(principal, workspace, grants):
    allowed = [normalize(uri) for uri in grants.get(principal.subject, [])]
    if not any(contains(place, workspace) for place in allowed):
        raise ToolRefusal(f"{workspace.path} is not in {[place.path for place in allowed]}.")


def workspace_from_argument(arguments, principal, grants):
    workspace = normalize(arguments["workspaceUri"])
    authorize(principal, workspace, grants)
    return workspace


def workspace_from_configuration(principal, configuration):
    return normalize(configuration[principal.subject])


def candidates(notes, title, workspace):
    return [n for n in notes if n.title == title and contains(workspace, normalize(n.uri))]


def read_resource(uri, principal, grants, notes):
    authorize(principal, normalize(uri), grants)
    for note in notes:
        if note.uri == uri:
            return note
    raise RpcError(-32602, f"There is no {uri}.", {"uri": uri})


def within(workspace, path):
    full = os.path.abspath(os.path.expanduser(path))
    if not full.startswith(workspace.path):
        raise ToolRefusal("This path is outside.")
    return Location(full.split(os.sep))


def within_all(workspace, arguments, names):
    return {name: within(workspace, arguments[name]) for name in names}


def windows_location(uri):
    path = unquote(uri_path(uri)).lstrip("/")
    if not re.match("[A-Za-z]:", path):
        raise ToolRefusal("No drive.")
    return Location(path.lower().split("/"))
