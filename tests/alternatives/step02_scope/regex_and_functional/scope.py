"""Scope in place of Roots, as grammar and folds: patterns say what is legal, tables of predicates
say what is refused, and a location is what remains when a stream of names is folded.

The order never changes: take the URI apart, decode once, walk the dots away, compare components.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import eq
from typing import Any, TypeVar

from kit.notes import Note
from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, ToolRefusal

Grants = Mapping[str, Iterable[str]]

NOT_A_NOTE_ID = "A note id is 1 to 64 of a-z, 0-9 and hyphen."
NOT_A_LOCATION = "This is not a file URI that this server accepts."
NOT_AVAILABLE = "This workspace is not available to you."

_T = TypeVar("_T")


@dataclass(frozen=True)
class Location:
    """A place as path components, decoded and without dots; the only form that is ever compared.

    segments: from the top downwards; ``()`` is the top itself.
    """

    segments: tuple[str, ...]


# The grammar. Always fullmatch, so that no "$" finds an end before the end.

_NOTE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

# The inline "a" matters: without it, ignoring case makes a dotless i into an i.
_FILE_URI = re.compile(r"(?ai:file)://(?:localhost)?(?P<path>/(?!/)[^?#]*)")

_ENCODED_PATH = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")

_RELATIVE_PATH = re.compile(r"(?![/~])[^\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+")

_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class _Taboo:
    """Something that a name must not have about it; `why` is for the reader of the table."""

    why: str
    hit: Callable[[str], object]


_ANYWHERE = (
    _Taboo("it would be two names", re.compile(r"[/\\]").search),
    _Taboo("control character", re.compile(r"[\x00-\x1f\x7f-\x9f]").search),
)

_ON_WINDOWS = (
    _Taboo("stream or wildcard", re.compile(r'[:<>"|?*]').search),
    _Taboo("Windows trims the end", re.compile(r"[. ]\Z").search),
    _Taboo(
        "device",
        re.compile(
            r"(?ai:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[1-9\xb9\xb2\xb3])\x20*(?:\..*)?",
            re.DOTALL,
        ).fullmatch,
    ),
)


def _matched(pattern: re.Pattern[str], value: Any, refusal: str) -> re.Match[str]:
    match = pattern.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ToolRefusal(refusal)
    return match


def _free_of(taboos: Iterable[_Taboo], name: str) -> str:
    if any(taboo.hit(name) for taboo in taboos):
        raise ToolRefusal(NOT_A_LOCATION)
    return name


def _attempt(function: Callable[..., _T], *arguments: Any) -> Iterator[_T]:
    """The result as a stream of one, or of none where the function refuses."""
    try:
        result = function(*arguments)
    except ToolRefusal:
        return
    yield result


# The fold.


def _real(names: Iterable[str]) -> Iterator[str]:
    """Names without those that mean "here"."""
    return (name for name in names if name not in ("", "."))


def _walk(refusal: str, start: tuple[str, ...], names: Iterable[str]) -> tuple[str, ...]:
    def step(here: list[str], name: str) -> list[str]:
        if name != "..":
            here.append(name)
        elif here:
            here.pop()
        else:
            raise ToolRefusal(refusal)
        return here

    return tuple(reduce(step, _real(names), list(start)))


# Reading.


def note_id(text: Any) -> str:
    """Return `text` if it is a note id (SCOPE-1), else raise ToolRefusal.

    >>> note_id("draft-1")
    'draft-1'
    """
    return _matched(_NOTE_ID, text, NOT_A_NOTE_ID)[0]


def uri_path(uri: Any) -> str:
    """Return the path of a file URI, still percent-encoded (SCOPE-5, SCOPE-7), or raise ToolRefusal.

    >>> uri_path("file:///srv/notes/50%25.md")
    '/srv/notes/50%25.md'
    """
    return _matched(_FILE_URI, uri, NOT_A_LOCATION)["path"]


def _decode(segment: str) -> str:
    """One substitution in one pass: what it produces is never scanned again (SCOPE-2)."""
    try:
        raw = segment.encode("utf-8")
        return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), raw).decode("utf-8")
    except UnicodeError:
        raise ToolRefusal(NOT_A_LOCATION) from None


def _names(uri: Any) -> Iterator[str]:
    """The names in a file URI, each decoded once and free of taboos, dots included."""
    path = _matched(_ENCODED_PATH, uri_path(uri), NOT_A_LOCATION)[0]
    return map(partial(_free_of, _ANYWHERE), map(_decode, path.split("/")))


def normalize(uri: Any) -> Location:
    """Return the location that a file URI means, or raise ToolRefusal.

    >>> normalize("file:///srv/notes/./a/../50%25.md")
    Location(segments=('srv', 'notes', '50%.md'))
    """
    return Location(_walk(NOT_A_LOCATION, (), _names(uri)))


# Comparing.


def contains(workspace: Location, target: Location) -> bool:
    """Tell whether `target` is `workspace` or lies inside it (SCOPE-3, SCOPE-9).

    >>> contains(Location(("srv", "team")), Location(("srv", "team-archive", "x.md")))
    False
    """
    return len(workspace.segments) <= len(target.segments) and all(
        map(eq, workspace.segments, target.segments)
    )


def contains_strictly(workspace: Location, target: Location) -> bool:
    """Tell whether `target` lies inside `workspace` and is not `workspace` itself (SCOPE-12)."""
    return contains(workspace, target) and not contains(target, workspace)


# Asking who, then where.


def authorize(principal: Principal, workspace: Location, grants: Grants) -> None:
    """Let `principal` use `workspace`, or raise ToolRefusal(NOT_AVAILABLE)."""
    granted = (
        location
        for uri in grants.get(principal.subject, ())
        for location in _attempt(normalize, uri)
    )
    if not any(contains(location, workspace) for location in granted):
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
    for workspace in _attempt(normalize, configuration.get(principal.subject)):
        return workspace
    raise ToolRefusal(NOT_AVAILABLE)


def _located(notes: Iterable[Note]) -> Iterator[tuple[Note, Location]]:
    """Each note with its place; a note without one is nowhere, and so is not there."""
    return ((note, place) for note in notes for place in _attempt(normalize, note.uri))


def candidates(notes: Iterable[Note], title: Any, workspace: Location) -> list[Note]:
    """Return the notes of that title strictly inside `workspace`, in the order of `notes`."""
    if not isinstance(title, str):
        raise ToolRefusal("The title has to be a string.")
    return [
        note
        for note, place in _located(notes)
        if note.title == title and contains_strictly(workspace, place)
    ]


def read_resource(uri: Any, principal: Principal, grants: Grants, notes: Iterable[Note]) -> Note:
    """Return the note at `uri`; RpcError -32602, always the same one, when there is none."""
    readable = (
        note
        for target in _attempt(normalize, uri)
        for _ in _attempt(authorize, principal, target, grants)
        for note, place in _located(notes)
        if place == target
    )
    for note in readable:
        return note
    raise RpcError(INVALID_PARAMS, "No resource of this URI is available.", {"uri": uri})


# Path arguments.


def within(workspace: Location, path: Any) -> Location:
    """Return the location of a relative path argument inside `workspace`, or raise ToolRefusal.

    >>> within(Location(("srv", "team")), "old/../draft-1.md")
    Location(segments=('srv', 'team', 'draft-1.md'))
    """
    names = _matched(_RELATIVE_PATH, path, NOT_AVAILABLE)[0].split("/")
    location = Location(_walk(NOT_AVAILABLE, workspace.segments, names))
    if not contains(workspace, location):
        raise ToolRefusal(NOT_AVAILABLE)
    return location


def within_all(
    workspace: Location, arguments: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Location]:
    """Return the location of every path argument that the call brought, or raise ToolRefusal."""
    present = filter(arguments.__contains__, names)
    return {name: within(workspace, arguments[name]) for name in present}


# Windows.


def _fold_letter(letter: str) -> str:
    """One small letter for one capital; ``casefold`` would make two folders of ß and ss one."""
    small = letter.lower()
    return small if small.upper() == letter else letter


def _fold_case(name: str) -> str:
    return "".join(map(_fold_letter, name))


def windows_location(uri: Any) -> Location:
    """Return the location that a file URI means on Windows, or raise ToolRefusal (SCOPE-13).

    The drive stands outside the fold, so no ``..`` can exchange it for another; and every name is
    checked before the fold, because Windows trims ``".. "`` to what would then be a ``..``.
    """
    names = _real(_names(uri))
    drive = _matched(_DRIVE, next(names, None), NOT_A_LOCATION)[0]
    safe = (name if name == ".." else _free_of(_ON_WINDOWS, name) for name in names)
    return Location(tuple(map(_fold_case, (drive, *_walk(NOT_A_LOCATION, (), safe)))))
