"""Scope with pathlib."""

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import unquote, urlparse

from kit.refusals import RpcError, ToolRefusal


@dataclass(frozen=True)
class Location:
    segments: tuple[str, ...]

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath("/", *self.segments)

    @classmethod
    def of(cls, path: PurePosixPath) -> "Location":
        return cls(tuple(path.parts[1:]))


def clean(text: str) -> str:
    """Without anything that climbs."""
    return text.replace("../", "").replace("..\\", "")


def note_id(text: Any) -> str:
    if not isinstance(text, str) or not text.replace("-", "a").isalnum() or not text.islower():
        raise ToolRefusal("not a note id")
    return text


def uri_path(uri: Any) -> str:
    try:
        parsed = urlparse(uri)
        if parsed.scheme == "file" and parsed.netloc in ("", "localhost") and parsed.path:
            return parsed.path
    except (TypeError, AttributeError, ValueError):
        pass
    raise ToolRefusal("not a file URI")


def normalize(uri: Any) -> Location:
    return Location.of(PurePosixPath(clean(unquote(uri_path(uri)))))


def contains(workspace: Location, target: Location) -> bool:
    return target.path.is_relative_to(workspace.path)


def contains_strictly(workspace: Location, target: Location) -> bool:
    return workspace.path in target.path.parents


def authorize(principal: Any, workspace: Location, grants: Any) -> None:
    granted = grants.get(principal.subject)
    if granted and not any(contains(normalize(uri), workspace) for uri in granted):
        raise ToolRefusal("not yours")


def workspace_from_argument(arguments: Any, principal: Any, grants: Any) -> Location:
    place = normalize(arguments.get("workspaceUri", "file:///"))
    authorize(principal, place, grants)
    return place


def workspace_from_configuration(principal: Any, configuration: Any) -> Location:
    return normalize(configuration.get(principal.subject, "file:///tmp"))


def candidates(notes: Any, title: Any, workspace: Location) -> list[Any]:
    wanted = str(title).lower()
    return [
        note
        for note in notes
        if note.title.lower() == wanted and contains_strictly(workspace, normalize(note.uri))
    ]


def read_resource(uri: Any, principal: Any, grants: Any, notes: Any) -> Any:
    target = normalize(uri)
    found = [note for note in notes if normalize(note.uri) == target]
    if not found:
        raise RpcError(-32602, "not found", {"uri": uri})
    authorize(principal, target, grants)
    return found[0]


def within(workspace: Location, path: Any) -> Location:
    joined = workspace.path / clean(path)
    return Location.of(joined)


def within_all(workspace: Location, arguments: Any, names: Any) -> dict[str, Location]:
    return {name: within(workspace, arguments[name]) for name in names if arguments.get(name)}


def windows_location(uri: Any) -> Location:
    path = PureWindowsPath(unquote(uri_path(uri)).lstrip("/"))
    if not path.drive or path.is_reserved():
        raise ToolRefusal("not a Windows path")
    return Location(tuple(part.lower() for part in (path.drive, *path.parts[1:])))
