"""Scope in place of Roots, read by hand: one cursor, one character at a time, nothing borrowed.

A reader that somebody else wrote forgives what its author found harmless. This one forgives
nothing, because every character that it lets through is named in it.

The order never changes: take the URI apart, decode once, walk the dots away, compare components.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from kit.notes import Note
from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, ToolRefusal

Grants = Mapping[str, Iterable[str]]

NOT_A_NOTE_ID = "A note id is 1 to 64 of a-z, 0-9 and hyphen."
NOT_A_LOCATION = "This is not a file URI that this server accepts."
NOT_AVAILABLE = "This workspace is not available to you."

_NOT_A_TITLE = "The title of a note is a string."
_NOT_A_PATH = "This path is not one that leads into the workspace."
_NO_SUCH_RESOURCE = "No such resource is there for you."


@dataclass(frozen=True)
class Location:
    """A place as path components, decoded and without dots; the only form that is ever compared.

    segments: from the top downwards; ``()`` is the top itself.
    """

    segments: tuple[str, ...]


# --- Characters -------------------------------------------------------------------------------


def _is_control(char: str) -> bool:
    code = ord(char)
    return code < 0x20 or 0x7F <= code <= 0x9F


def _is_surrogate(char: str) -> bool:
    return 0xD800 <= ord(char) <= 0xDFFF


def _is_ascii_letter(char: str) -> bool:
    return "a" <= char <= "z" or "A" <= char <= "Z"


def _hex_value(char: str) -> int:
    """The value of a hex digit, or -1: ``int(…, 16)`` would also take ``+1`` and ``١``."""
    if "0" <= char <= "9":
        return ord(char) - ord("0")
    if "a" <= char <= "f":
        return ord(char) - ord("a") + 10
    if "A" <= char <= "F":
        return ord(char) - ord("A") + 10
    return -1


def _fold(char: str) -> str:
    """The small letter of a pair; a letter without exactly one partner stays as it is."""
    small = char.lower()
    return small if small.upper() == char else char


# --- Cursor and machines ----------------------------------------------------------------------


class _Cursor:
    """A place in a text. `peek` at the end is the empty string, which equals no character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def take(self) -> str:
        char = self.peek()
        self._at += len(char)
        return char

    def rest(self) -> str:
        return self._text[self._at :]


class _State(Enum):
    PLAIN = auto()
    FIRST_DIGIT = auto()
    SECOND_DIGIT = auto()


def _decoded_names(path: str) -> Iterator[str]:
    """The names of an encoded path, in one pass; a decoded byte is never looked at again."""
    state = _State.PLAIN
    name = bytearray()
    high = 0
    for char in path:
        if state is _State.PLAIN:
            if char == "/":
                yield _finish(name)
                name.clear()
            elif char == "%":
                state = _State.FIRST_DIGIT
            elif _is_surrogate(char):
                raise ToolRefusal(NOT_A_LOCATION)
            else:
                name += char.encode("utf-8")
            continue
        value = _hex_value(char)
        if value < 0:
            raise ToolRefusal(NOT_A_LOCATION)
        if state is _State.FIRST_DIGIT:
            high = value
            state = _State.SECOND_DIGIT
        else:
            name.append(16 * high + value)
            state = _State.PLAIN
    if state is not _State.PLAIN:
        raise ToolRefusal(NOT_A_LOCATION)
    yield _finish(name)


def _finish(raw: bytearray) -> str:
    """The name that these bytes spell, if it may be one."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolRefusal(NOT_A_LOCATION) from None
    for char in name:
        if char == "/" or char == "\\" or _is_control(char):
            raise ToolRefusal(NOT_A_LOCATION)
    return name


def _split_path(path: str) -> Iterator[str]:
    """The names of a path argument: nothing is decoded, ``%`` and ``$`` are characters."""
    start = 0
    for index, char in enumerate(path):
        if char == "\\" or _is_control(char) or _is_surrogate(char):
            raise ToolRefusal(_NOT_A_PATH)
        if char == "/":
            yield path[start:index]
            start = index + 1
    yield path[start:]


class _Walker:
    """Somebody who walks from a floor and is refused below it."""

    def __init__(self, start: tuple[str, ...], floor: int, refusal: str) -> None:
        self._stack = list(start)
        self._floor = floor
        self._refusal = refusal

    def step(self, name: str) -> None:
        if name == "" or name == ".":
            return
        if name != "..":
            self._stack.append(name)
        elif len(self._stack) > self._floor:
            self._stack.pop()
        else:
            raise ToolRefusal(self._refusal)

    def here(self) -> Location:
        return Location(tuple(self._stack))


# --- Reading what the client sent -------------------------------------------------------------


def note_id(text: Any) -> str:
    """Return `text` if it is a note id (SCOPE-1), else raise ToolRefusal.

    >>> note_id("draft-1")
    'draft-1'
    """
    if not isinstance(text, str) or not 1 <= len(text) <= 64:
        raise ToolRefusal(NOT_A_NOTE_ID)
    for index, char in enumerate(text):
        alphanumeric = "a" <= char <= "z" or "0" <= char <= "9"
        if not alphanumeric and not (char == "-" and index > 0):
            raise ToolRefusal(NOT_A_NOTE_ID)
    return text


def uri_path(uri: Any) -> str:
    """Return the path of a file URI, still percent-encoded (SCOPE-5, SCOPE-7), or raise ToolRefusal.

    >>> uri_path("file:///srv/notes/50%25.md")
    '/srv/notes/50%25.md'
    """
    if not isinstance(uri, str):
        raise ToolRefusal(NOT_A_LOCATION)
    cursor = _Cursor(uri)

    for expected in "file":
        found = cursor.take()
        if found != expected and found != expected.upper():
            raise ToolRefusal(NOT_A_LOCATION)
    for expected in "://":
        if cursor.take() != expected:
            raise ToolRefusal(NOT_A_LOCATION)

    host = ""
    while cursor.peek() not in ("/", ""):
        host += cursor.take()
        if len(host) > len("localhost"):
            raise ToolRefusal(NOT_A_LOCATION)
    if host != "" and host != "localhost":
        raise ToolRefusal(NOT_A_LOCATION)

    path = cursor.rest()
    if cursor.take() != "/" or cursor.peek() == "/":
        raise ToolRefusal(NOT_A_LOCATION)
    for char in path:
        if char == "?" or char == "#":
            raise ToolRefusal(NOT_A_LOCATION)
    return path


def normalize(uri: Any) -> Location:
    """Return the location that a file URI means, or raise ToolRefusal.

    >>> normalize("file:///srv/notes/./a/../50%25.md")
    Location(segments=('srv', 'notes', '50%.md'))
    """
    walker = _Walker((), 0, NOT_A_LOCATION)
    for name in _decoded_names(uri_path(uri)):
        walker.step(name)
    return walker.here()


def within(workspace: Location, path: Any) -> Location:
    """Return the location of a relative path argument inside `workspace`, or raise ToolRefusal.

    >>> within(Location(("srv", "team")), "old/../draft-1.md")
    Location(segments=('srv', 'team', 'draft-1.md'))
    """
    if not isinstance(path, str) or path[:1] in ("", "/", "~"):
        raise ToolRefusal(_NOT_A_PATH)
    walker = _Walker(workspace.segments, 0, _NOT_A_PATH)
    for name in _split_path(path):
        walker.step(name)
    if not contains(workspace, walker.here()):
        raise ToolRefusal(_NOT_A_PATH)
    return walker.here()


def within_all(
    workspace: Location, arguments: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Location]:
    """Return the location of every path argument that the call brought, or raise ToolRefusal."""
    locations: dict[str, Location] = {}
    for name in names:
        if name in arguments:
            locations[name] = within(workspace, arguments[name])
    return locations


# --- Comparing --------------------------------------------------------------------------------


def contains(workspace: Location, target: Location) -> bool:
    """Tell whether `target` is `workspace` or lies inside it (SCOPE-3, SCOPE-9).

    >>> contains(Location(("srv", "team")), Location(("srv", "team-archive", "x.md")))
    False
    """
    if len(target.segments) < len(workspace.segments):
        return False
    for index, segment in enumerate(workspace.segments):
        if target.segments[index] != segment:
            return False
    return True


def contains_strictly(workspace: Location, target: Location) -> bool:
    """Tell whether `target` lies inside `workspace` and is not `workspace` itself (SCOPE-12)."""
    return len(target.segments) > len(workspace.segments) and contains(workspace, target)


# --- Who may what -----------------------------------------------------------------------------


def authorize(principal: Principal, workspace: Location, grants: Grants) -> None:
    """Let `principal` use `workspace`, or raise ToolRefusal(NOT_AVAILABLE)."""
    if principal.subject in grants:
        for uri in grants[principal.subject]:
            granted = _understood(uri)
            if granted is not None and contains(granted, workspace):
                return
    raise ToolRefusal(NOT_AVAILABLE)


def workspace_from_argument(
    arguments: Mapping[str, Any], principal: Principal, grants: Grants
) -> Location:
    """The workspace is the call's ``workspaceUri``, if it is granted; else ToolRefusal."""
    if "workspaceUri" not in arguments:
        raise ToolRefusal(NOT_A_LOCATION)
    workspace = normalize(arguments["workspaceUri"])
    authorize(principal, workspace, grants)
    return workspace


def workspace_from_configuration(principal: Principal, configuration: Mapping[str, str]) -> Location:
    """The workspace that the operator fixed for `principal`; else ToolRefusal(NOT_AVAILABLE)."""
    if principal.subject in configuration:
        workspace = _understood(configuration[principal.subject])
        if workspace is not None:
            return workspace
    raise ToolRefusal(NOT_AVAILABLE)


def candidates(notes: Iterable[Note], title: Any, workspace: Location) -> list[Note]:
    """Return the notes of that title strictly inside `workspace`, in the order of `notes`."""
    if not isinstance(title, str):
        raise ToolRefusal(_NOT_A_TITLE)
    found: list[Note] = []
    for note in notes:
        if note.title != title:
            continue
        location = _understood(note.uri)
        if location is not None and contains_strictly(workspace, location):
            found.append(note)
    return found


def read_resource(uri: Any, principal: Principal, grants: Grants, notes: Iterable[Note]) -> Note:
    """Return the note at `uri`; RpcError -32602, always the same one, when there is none."""
    target = _understood(uri)
    if target is not None and _may_use(principal, target, grants):
        for note in notes:
            if _understood(note.uri) == target:
                return note
    raise RpcError(INVALID_PARAMS, _NO_SUCH_RESOURCE, {"uri": uri})


def _understood(uri: Any) -> Location | None:
    try:
        return normalize(uri)
    except ToolRefusal:
        return None


def _may_use(principal: Principal, workspace: Location, grants: Grants) -> bool:
    try:
        authorize(principal, workspace, grants)
    except ToolRefusal:
        return False
    return True


# --- Windows ----------------------------------------------------------------------------------


def windows_location(uri: Any) -> Location:
    """Return the location that a file URI means on Windows, or raise ToolRefusal (SCOPE-13).

    The drive is the floor: no ``..`` leads to another one. A name is checked even where a later
    ``..`` removes it, as `normalize` checks every segment.
    """
    walker: _Walker | None = None
    for name in _decoded_names(uri_path(uri)):
        if name == "" or name == ".":
            continue
        if walker is None:
            walker = _Walker((_folded_drive(name),), 1, NOT_A_LOCATION)
        else:
            walker.step(name if name == ".." else _folded_name(name))
    if walker is None:
        raise ToolRefusal(NOT_A_LOCATION)
    return walker.here()


def _folded_drive(name: str) -> str:
    if len(name) == 2 and _is_ascii_letter(name[0]) and name[1] == ":":
        return _fold(name[0]) + ":"
    raise ToolRefusal(NOT_A_LOCATION)


def _folded_name(name: str) -> str:
    folded = ""
    for char in name:
        if char in ':<>"|?*':
            raise ToolRefusal(NOT_A_LOCATION)
        folded += _fold(char)
    if folded[-1] in ". " or _is_device(folded):
        raise ToolRefusal(NOT_A_LOCATION)
    return folded


def _is_device(folded: str) -> bool:
    """Devices keep their meaning before an extension, and before blanks in front of it."""
    end = 0
    while end < len(folded) and folded[end] != ".":
        end += 1
    while end > 0 and folded[end - 1] == " ":
        end -= 1
    stem = folded[:end]
    if stem in ("con", "prn", "aux", "nul", "conin$", "conout$"):
        return True
    return len(stem) == 4 and stem[:3] in ("com", "lpt") and stem[3] in "123456789\u00b9\u00b2\u00b3"
