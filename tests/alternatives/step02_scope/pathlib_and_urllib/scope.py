"""Scope in place of Roots, with the standard library's own vocabulary: urllib takes a URI apart,
pathlib tidies a path, and every list of legal characters has a name.

The order never changes: take the URI apart, decode once, walk the dots away, compare components.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from string import ascii_letters, ascii_lowercase, digits, hexdigits
from typing import Any
from unicodedata import category
from urllib.parse import unquote_to_bytes, urlsplit

from kit.notes import Note
from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, ToolRefusal

Grants = Mapping[str, Iterable[str]]

NOT_A_NOTE_ID = "A note id is 1 to 64 of a-z, 0-9 and hyphen."
NOT_A_LOCATION = "This is not a file URI that this server accepts."
NOT_AVAILABLE = "This workspace is not available to you."

_NOT_A_TITLE = "A title is a string."
_NOT_A_PATH = "This is not a relative path that stays inside the workspace."
_NO_SUCH_RESOURCE = "There is no such resource."

_ID_FIRST = frozenset(ascii_lowercase + digits)
_ID_CHARACTERS = _ID_FIRST | {"-"}
_HEX = frozenset(hexdigits)
_WINDOWS_FORBIDDEN = frozenset(':<>"|?*')
_WINDOWS_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [port + number for port in ("com", "lpt") for number in "123456789\u00b9\u00b2\u00b3"]
)


@dataclass(frozen=True)
class Location:
    """A place as path components, decoded and without dots; the only form that is ever compared.

    segments: from the top downwards; ``()`` is the top itself.
    """

    segments: tuple[str, ...]


def note_id(text: Any) -> str:
    """Return `text` if it is a note id (SCOPE-1), else raise ToolRefusal.

    >>> note_id("draft-1")
    'draft-1'
    """
    if (
        isinstance(text, str)
        and 1 <= len(text) <= 64
        and text[0] in _ID_FIRST
        and _ID_CHARACTERS.issuperset(text)
    ):
        return text
    raise ToolRefusal(NOT_A_NOTE_ID)


def uri_path(uri: Any) -> str:
    """Return the path of a file URI, still percent-encoded (SCOPE-5, SCOPE-7), or raise ToolRefusal.

    >>> uri_path("file:///srv/notes/50%25.md")
    '/srv/notes/50%25.md'
    """
    if not isinstance(uri, str):
        raise ToolRefusal(NOT_A_LOCATION)
    try:
        parts = urlsplit(uri)
    except ValueError:  # such as half a pair of brackets in the host
        raise ToolRefusal(NOT_A_LOCATION) from None
    # urlsplit forgives: it strips blanks, drops line breaks and forgets an empty query. What it
    # found must therefore spell the URI again, character by character, with nothing left over.
    spelled_again = f"://{parts.netloc}{parts.path}"
    if (
        parts.scheme != "file"
        or uri[len("file") :] != spelled_again
        or parts.netloc not in ("", "localhost")
        or not parts.path.startswith("/")
        or parts.path.startswith("//")
    ):
        raise ToolRefusal(NOT_A_LOCATION)
    return parts.path


def normalize(uri: Any) -> Location:
    """Return the location that a file URI means, or raise ToolRefusal.

    >>> normalize("file:///srv/notes/./a/../50%25.md")
    Location(segments=('srv', 'notes', '50%.md'))
    """
    return Location(_walk((), _decoded_names(uri), NOT_A_LOCATION))


def contains(workspace: Location, target: Location) -> bool:
    """Tell whether `target` is `workspace` or lies inside it (SCOPE-3, SCOPE-9).

    >>> contains(Location(("srv", "team")), Location(("srv", "team-archive", "x.md")))
    False
    """
    return target.segments[: len(workspace.segments)] == workspace.segments


def contains_strictly(workspace: Location, target: Location) -> bool:
    """Tell whether `target` lies inside `workspace` and is not `workspace` itself (SCOPE-12)."""
    return target != workspace and contains(workspace, target)


def authorize(principal: Principal, workspace: Location, grants: Grants) -> None:
    """Let `principal` use `workspace`, or raise ToolRefusal(NOT_AVAILABLE)."""
    for uri in grants.get(principal.subject, ()):
        granted = _location_or_none(uri)
        if granted is not None and contains(granted, workspace):
            return
    raise ToolRefusal(NOT_AVAILABLE)


def workspace_from_argument(
    arguments: Mapping[str, Any], principal: Principal, grants: Grants
) -> Location:
    """The workspace is the call's ``workspaceUri``, if it is granted; else ToolRefusal."""
    workspace = normalize(arguments.get("workspaceUri"))
    authorize(principal, workspace, grants)
    return workspace


def workspace_from_configuration(principal: Principal, configuration: Mapping[str, str]) -> Location:
    """The workspace that the operator fixed for `principal`; else ToolRefusal(NOT_AVAILABLE)."""
    workspace = _location_or_none(configuration.get(principal.subject))
    if workspace is None:
        raise ToolRefusal(NOT_AVAILABLE)
    return workspace


def candidates(notes: Iterable[Note], title: Any, workspace: Location) -> list[Note]:
    """Return the notes of that title strictly inside `workspace`, in the order of `notes`."""
    if not isinstance(title, str):
        raise ToolRefusal(_NOT_A_TITLE)
    return [
        note
        for note in notes
        if note.title == title
        and (location := _location_or_none(note.uri)) is not None
        and contains_strictly(workspace, location)
    ]


def read_resource(uri: Any, principal: Principal, grants: Grants, notes: Iterable[Note]) -> Note:
    """Return the note at `uri`; RpcError -32602, always the same one, when there is none."""
    note = _readable_note(uri, principal, grants, notes)
    if note is None:
        raise RpcError(INVALID_PARAMS, _NO_SUCH_RESOURCE, {"uri": uri})
    return note


def within(workspace: Location, path: Any) -> Location:
    """Return the location of a relative path argument inside `workspace`, or raise ToolRefusal.

    >>> within(Location(("srv", "team")), "old/../draft-1.md")
    Location(segments=('srv', 'team', 'draft-1.md'))
    """
    if not isinstance(path, str) or not path or path.startswith("~"):
        raise ToolRefusal(_NOT_A_PATH)
    relative = PurePosixPath(path)
    if relative.is_absolute() or not all(map(_is_plain, relative.parts)):
        raise ToolRefusal(_NOT_A_PATH)
    location = Location(_walk(workspace.segments, relative.parts, _NOT_A_PATH))
    if not contains(workspace, location):
        raise ToolRefusal(_NOT_A_PATH)
    return location


def within_all(
    workspace: Location, arguments: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Location]:
    """Return the location of every path argument that the call brought, or raise ToolRefusal."""
    return {name: within(workspace, arguments[name]) for name in names if name in arguments}


def windows_location(uri: Any) -> Location:
    """Return the location that a file URI means on Windows, or raise ToolRefusal (SCOPE-13).

    The drive is the top here: no ``..`` leads from one drive to another. Names are judged before
    the dots are walked, because Windows would trim ``".. "`` to a ``..``.
    """
    drive, *names = _decoded_names(uri) or ("",)
    if not _is_drive(drive) or not all(map(_is_windows_name, names)):
        raise ToolRefusal(NOT_A_LOCATION)
    segments = (drive, *_walk((), names, NOT_A_LOCATION))
    return Location(tuple(map(_fold_case, segments)))


def _decoded_names(uri: Any) -> tuple[str, ...]:
    """The names in a file URI, each decoded once and checked; only ``..`` is still to be walked."""
    names = [_decode(segment) for segment in uri_path(uri).split("/")]
    return PurePosixPath("/", *names).parts[1:]  # pathlib drops "" and ".", and keeps ".."


def _decode(segment: str) -> str:
    _, *escapes = segment.split("%")
    if not all(len(escape) >= 2 and _HEX.issuperset(escape[:2]) for escape in escapes):
        raise ToolRefusal(NOT_A_LOCATION)
    try:
        name = unquote_to_bytes(segment).decode("utf-8")
    except UnicodeError:  # a lone surrogate on the way in, or broken UTF-8 on the way out
        raise ToolRefusal(NOT_A_LOCATION) from None
    if not _is_plain(name):
        raise ToolRefusal(NOT_A_LOCATION)
    return name


def _is_plain(name: str) -> bool:
    """No separator, no control character, no half of a surrogate pair (SCOPE-6, SCOPE-19)."""
    return not any(c in "/\\" or category(c) in ("Cc", "Cs") for c in name)


def _walk(start: tuple[str, ...], names: Iterable[str], refusal: str) -> tuple[str, ...]:
    """Follow `names` from `start`; ``..`` takes one component away and never more than there are."""
    here = list(start)
    for name in names:
        if name != "..":
            here.append(name)
        elif here:
            here.pop()
        else:
            raise ToolRefusal(refusal)
    return tuple(here)


def _location_or_none(uri: Any) -> Location | None:
    try:
        return normalize(uri)
    except ToolRefusal:
        return None


def _readable_note(
    uri: Any, principal: Principal, grants: Grants, notes: Iterable[Note]
) -> Note | None:
    try:
        target = normalize(uri)
        authorize(principal, target, grants)
    except ToolRefusal:
        return None
    return next((note for note in notes if _location_or_none(note.uri) == target), None)


def _is_drive(name: str) -> bool:
    return len(name) == 2 and name[0] in ascii_letters and name[1] == ":"


def _is_windows_name(name: str) -> bool:
    if name == "..":
        return True
    stem = name.partition(".")[0].rstrip(" ")
    return (
        _WINDOWS_FORBIDDEN.isdisjoint(name)
        and not name.endswith((".", " "))
        and stem.lower() not in _WINDOWS_DEVICES
    )


def _fold_case(name: str) -> str:
    """Fold the letters that come in pairs, one for one: ``casefold`` would make ss out of ß, and
    for Windows those are two names."""
    return "".join(low if (low := c.lower()).upper() == c else c for c in name)
