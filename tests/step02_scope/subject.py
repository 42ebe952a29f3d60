"""What the checks of step 02 can ask of a learner's part; runs in the worker."""

from typing import Any

from kit.notes import GRANTS, example_notes
from kit.principal import Principal


def note_id(parts: Any, *, text: Any) -> Any:
    """Read a note id."""
    return parts.scope.note_id(text)


def uri_path(parts: Any, *, uri: Any) -> Any:
    """Take a file URI apart."""
    return parts.scope.uri_path(uri)


def normalize(parts: Any, *, uri: Any) -> list[str]:
    """The components that a URI means."""
    return list(parts.scope.normalize(uri).segments)


def contains(parts: Any, *, workspace: list[str], target: list[str]) -> Any:
    """Whether the target is the workspace or inside it, both as components."""
    return parts.scope.contains(_place(parts, workspace), _place(parts, target))


def contains_strictly(parts: Any, *, workspace: list[str], target: list[str]) -> Any:
    """Whether the target is inside the workspace, both as components."""
    return parts.scope.contains_strictly(_place(parts, workspace), _place(parts, target))


def contained(parts: Any, *, allowed: Any, target: Any) -> Any:
    """Whether the target URI lies in the allowed URI, from the text to the verdict."""
    scope = parts.scope
    return scope.contains(scope.normalize(allowed), scope.normalize(target))


def authorize(parts: Any, *, subject: str, workspace: str, grants: Any = GRANTS) -> str:
    """Let a principal use a workspace."""
    scope = parts.scope
    scope.authorize(Principal(subject), scope.normalize(workspace), grants)
    return "allowed"


def workspace_from_argument(parts: Any, *, arguments: Any, subject: str = "alice") -> list[str]:
    """The workspace that a call names."""
    place = parts.scope.workspace_from_argument(arguments, Principal(subject), GRANTS)
    return list(place.segments)


def workspace_from_configuration(parts: Any, *, subject: str, configuration: Any) -> list[str]:
    """The workspace that the operator fixed."""
    place = parts.scope.workspace_from_configuration(Principal(subject), configuration)
    return list(place.segments)


def candidates(parts: Any, *, title: Any, workspace: list[str]) -> list[str]:
    """The ids of the notes of a title in a workspace of the example world."""
    found = parts.scope.candidates(example_notes(), title, _place(parts, workspace))
    return [note.id for note in found]


def read_resource(parts: Any, *, uri: Any, subject: str = "alice") -> str:
    """The text of the note at a URI of the example world."""
    return str(parts.scope.read_resource(uri, Principal(subject), GRANTS, example_notes()).body)


def within(parts: Any, *, path: Any, workspace: tuple[str, ...] = ("srv", "team")) -> list[str]:
    """The components that a path argument means."""
    return list(parts.scope.within(_place(parts, workspace), path).segments)


def within_all(parts: Any, *, arguments: Any, names: list[str]) -> dict[str, list[str]]:
    """The components of all path arguments of a call."""
    places = parts.scope.within_all(_place(parts, ["srv", "team"]), arguments, names)
    return {name: list(place.segments) for name, place in places.items()}


def windows_location(parts: Any, *, uri: Any) -> list[str]:
    """The components that a URI means on Windows."""
    return list(parts.scope.windows_location(uri).segments)


def windows_contained(parts: Any, *, allowed: Any, target: Any) -> Any:
    """Whether the target lies in the allowed URI on Windows."""
    scope = parts.scope
    return scope.contains(scope.windows_location(allowed), scope.windows_location(target))


def _place(parts: Any, segments: Any) -> Any:
    return parts.scope.Location(tuple(segments))
