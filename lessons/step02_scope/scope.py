"""Scope in place of Roots: who may touch what, decided by the server on every request.

Promise: a destructive call reaches only what lies inside a workspace that the operator granted to
the verified principal. Attacks it stops: the sibling whose name begins like the workspace, `..` in
plain and in percent-encoded spelling, another host's file, a control character in a name, a client
that names its own scope, and a refusal that tells what exists outside.

The order never changes: take the URI apart, decode once, walk the dots away, compare components.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kit.notes import Note
from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, ToolRefusal
from kit.todo import todo

Grants = Mapping[str, Iterable[str]]

NOT_A_NOTE_ID = "A note id is 1 to 64 of a-z, 0-9 and hyphen."
NOT_A_LOCATION = "This is not a file URI that this server accepts."
NOT_AVAILABLE = "This workspace is not available to you."

# The whole of a file URI, with its host and its path; what is no escape after a percent sign; and
# slashes with the Unicode categories Cc and Cs, which will not grow any more.
FILE_URI = re.compile(r"file://(?P<host>[^/?#]*)(?P<path>/[^?#]*)", re.IGNORECASE | re.ASCII)
BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
NOT_IN_A_NAME = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Location:
    """A place as path components, decoded and without dots; the only form that is ever compared.

    segments: from the top downwards; ``()`` is the top itself.
    """

    segments: tuple[str, ...]


def note_id(text: Any) -> str:
    """Return `text` if it is a note id.

    text: whatever the client sent: any JSON value.
    Errors: ToolRefusal unless the whole of `text` is 1 to 64 of ``a-z``, ``0-9``, ``-``, starting
    with a letter or a digit (SCOPE-1).

    >>> note_id("draft-1")
    'draft-1'
    """
    todo("2.1: Read a note id")


def uri_path(uri: Any) -> str:
    """Return the path of a file URI, still percent-encoded.

    uri: whatever the client sent: any JSON value.
    Errors: ToolRefusal unless it is a string of ``file://``, a host and an absolute path. The
    scheme ignores case, in ASCII; the host is empty or ``localhost`` (SCOPE-5). There is no query
    and no fragment, not even an empty one (SCOPE-7). The path does not begin with ``//``, which
    some systems read as another host (SCOPE-5). Control characters are left to `normalize`.

    >>> uri_path("file:///srv/notes/50%25.md")
    '/srv/notes/50%25.md'
    """
    todo("2.2: Take a file URI apart")


def plain_name(name: str) -> str:
    """Return a decoded component if it may be a name.

    Errors: ToolRefusal for a slash, a backslash, or a control character or half a surrogate pair
    (Unicode categories Cc and Cs; SCOPE-6).
    """
    if NOT_IN_A_NAME.search(name):
        raise ToolRefusal(NOT_A_LOCATION)
    return name


def normalize(uri: Any) -> Location:
    """Return the location that a file URI means.

    uri: whatever the client sent: any JSON value.
    Each segment is percent-decoded exactly once (SCOPE-2) and must then be UTF-8 (SCOPE-19) without
    control characters (Unicode categories Cc and Cs), slash or backslash (SCOPE-6). Empty segments
    and ``.`` vanish (SCOPE-11), ``..`` removes the segment before it (SCOPE-4); names that only
    begin with dots stay (SCOPE-8).
    Errors: ToolRefusal for all that `uri_path` refuses, for a broken escape such as ``%4`` or
    ``%zz``, and for a ``..`` that climbs above the top.

    >>> normalize("file:///srv/notes/./a/../50%25.md")
    Location(segments=('srv', 'notes', '50%.md'))
    """
    todo("2.3: Decode once, then walk the dots")


def contains(workspace: Location, target: Location) -> bool:
    """Tell whether `target` is `workspace` or lies inside it.

    Components are compared, never characters (SCOPE-3): ``team-archive`` is not in ``team``. The
    top contains everything (SCOPE-9).

    >>> contains(Location(("srv", "team")), Location(("srv", "team-archive", "x.md")))
    False
    """
    todo("2.4: Compare components")


def contains_strictly(workspace: Location, target: Location) -> bool:
    """Tell whether `target` lies inside `workspace` and is not `workspace` itself.

    What is destroyed must be below the workspace: nobody who asks to delete a note means the
    folder of all notes (SCOPE-12).
    """
    todo("2.4: Compare components")


def authorize(principal: Principal, workspace: Location, grants: Grants) -> None:
    """Let `principal` use `workspace`, or refuse.

    grants: the operator's configuration, workspace URIs by the principal's `subject`. A folder
    inside a granted workspace may be used; nothing granted means nothing allowed (SCOPE-10).
    Errors: ToolRefusal(NOT_AVAILABLE) otherwise: always this one sentence, whether the place
    exists, belongs to somebody else, or was never heard of (SCOPE-14, SCOPE-15).
    """
    todo("2.5: Ask who, then where")


def workspace_from_argument(
    arguments: Mapping[str, Any], principal: Principal, grants: Grants
) -> Location:
    """First replacement for Roots: the workspace is an explicit argument of the tool.

    arguments: of the call; ``workspaceUri`` names the workspace.
    Errors: ToolRefusal when it is missing, is not a file URI, or is not granted (ROOT-1, SCOPE-14).
    """
    todo("2.6: The workspace of a call")


def workspace_from_configuration(
    principal: Principal, configuration: Mapping[str, str]
) -> Location:
    """Third replacement for Roots: the operator fixed one workspace for each principal.

    configuration: workspace URI by the principal's `subject`. The call has no say in it.
    Errors: ToolRefusal(NOT_AVAILABLE) for a principal without an entry (ROOT-1, SCOPE-10).
    """
    todo("2.6: The workspace of a call")


def candidates(notes: Iterable[Note], title: Any, workspace: Location) -> list[Note]:
    """Return the notes of that title strictly inside `workspace`, in the order of `notes`.

    title: whatever the client sent: any JSON value. A note outside is as absent as one that does
    not exist (SCOPE-3, SCOPE-12, SCOPE-15).
    Errors: ToolRefusal when `title` is not a string.
    """
    todo("2.9: What is in the workspace, and nothing else")


def read_resource(uri: Any, principal: Principal, grants: Grants, notes: Iterable[Note]) -> Note:
    """Second replacement for Roots: the resource's own URI is the scope (``resources/read``).

    uri: whatever the client sent: any JSON value.
    Errors: RpcError -32602 with ``data = {"uri": uri}`` when no such note is there for this
    principal (RSRC-1, RSRC-2): the same answer, to the byte, whether the URI is malformed, lies
    outside, or names nothing (SCOPE-15).
    """
    todo("2.9: What is in the workspace, and nothing else")


def within(workspace: Location, path: Any) -> Location:
    """Return the location of a relative path argument inside `workspace`.

    path: whatever the client sent: any JSON value. It is a path and not a URI: ``%`` and ``$`` are
    ordinary characters in it. It starts at the workspace, never at the working directory of the
    process (SCOPE-18).
    Errors: ToolRefusal unless it is a non-empty string, relative, without ``~`` in front, without
    control characters and backslashes (SCOPE-6), and ends up inside the workspace (SCOPE-3); it
    may leave on its way and come back.

    >>> within(Location(("srv", "team")), "old/../draft-1.md")
    Location(segments=('srv', 'team', 'draft-1.md'))
    """
    todo("2.7: Path arguments, all of them")


def within_all(
    workspace: Location, arguments: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Location]:
    """Return the location of every path argument that the call brought.

    names: the path arguments that the tool declares. Each one present in `arguments` is checked,
    not only the first (SCOPE-17); names that are absent are left out.
    Errors: ToolRefusal when any of them leaves the workspace.
    """
    todo("2.7: Path arguments, all of them")


def windows_location(uri: Any) -> Location:
    """Return the location that a file URI means on Windows; `contains` then needs no change.

    uri: whatever the client sent: any JSON value. The first component is a drive. Case does not
    count in any of them, one character for one: ``C:`` and ``c:`` are one drive, ``ß`` and ``ss``
    are two names (SCOPE-13).
    Errors: ToolRefusal without a drive in front, and for names that Windows reads as something
    else: a colon (a stream), one of ``<>"|?*``, a trailing dot or space, a device with or without
    an extension: CON, PRN, AUX, NUL, COM1 to COM9 and LPT1 to LPT9, also with ¹²³ and
    with spaces before the dot (SCOPE-13).
    """
    todo("2.8: The same rule on Windows")
