"""The envelope: what every request must carry, checked before anything is believed.

Promise: each request is judged by what it says itself, nothing is remembered from an earlier one,
and every way of being wrong has one exact answer. Attacks it stops: a call without an id that
deletes in silence, a second message smuggled in by a duplicate key, a version that nobody agreed
to, an exception text that tells the caller about the inside of the server.

Bytes go through `decode`, `message_kind` and `read_request`; `respond` puts them in a row.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kit.protocol import (
    CLIENT_CAPABILITIES,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSION,
    SERVER_INFO,
    UNSUPPORTED_VERSION,
    VERSION,
)
from kit.refusals import RpcError
from kit.todo import todo

Message = dict[str, Any]
SUPPORTED_VERSIONS = (VERSION,)
MAX_DEPTH = 64
TOO_DEEP = "The message is nested too deeply."


@dataclass(frozen=True)
class Request:
    """One request whose envelope has been checked.

    id: to be echoed. method, params: as sent. client_capabilities: of this request alone.
    """

    id: str | int
    method: str
    params: Message
    client_capabilities: Message


Handler = Callable[[Request], Message]


def message_kind(message: Any) -> Literal["request", "notification"]:
    """Tell a request from a notification.

    message: any decoded JSON value. A notification is a message without the member ``id``; it is
    never answered and runs no method (ENV-6, ENV-18).
    Errors: RpcError -32600 for anything that is neither: not an object (a batch is an array), a
    ``jsonrpc`` other than the string "2.0" (ENV-1), a ``method`` that is not a string, an id that
    is neither string nor integer; ``null``, ``true`` and ``1.5`` are not (ENV-2); a response,
    which clients do not send (ENV-7).

    >>> message_kind({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    'notification'
    """
    todo("1.1: Tell a request from a notification")


def decode(raw: bytes) -> Any:
    """Return the JSON value in `raw`.

    raw: one message as it came off the wire, any bytes at all.
    Errors: RpcError -32700 unless `raw` is UTF-8 (ENV-1) and is one JSON text by RFC 8259 (ERR-1);
    ``NaN`` and ``Infinity`` are not JSON. RpcError -32600 for an object with the same key twice,
    since two readers would see two messages, and for nesting deeper than MAX_DEPTH (ENV-22).
    Open, so either code will do: bytes with several of these faults; an integer of more digits than
    Python reads (4300); a number such as ``1e400`` that is too large for a float. Such a number may
    also be kept, as an integer of that value, but never becomes infinity (ENV-23).
    """
    todo("1.2: Read bytes strictly")


def read_request(message: Message) -> Request:
    """Return the checked request in `message`, which `message_kind` called a request.

    Every request carries its own version and client capabilities in ``params._meta``; an earlier
    request vouches for nothing (ENV-8, ENV-12). ``{}`` means no optional capability.
    Errors: RpcError -32602 when ``params`` or ``_meta`` is not an object, or when one of the two
    keys is missing or is no string and no object respectively (ENV-11). RpcError -32022 with
    ``data = {"supported": [...], "requested": ...}`` for a version that is not served (VER-1).
    ``initialize``, with which a legacy client opens before it knows ``_meta``, gets -32022 whatever
    its params are; ``requested`` is its ``params.protocolVersion``, or "" (VER-4).
    Open: a request with both faults, a version that is not served and capabilities that are missing
    or malformed, may be told either.
    """
    todo("1.3: Check what a request says about itself")


def complete(fields: Message, server_info: Message) -> Message:
    """Return a finished result: `fields`, ``resultType`` (RES-1) and who answered (ENV-14).

    server_info: ``name`` and ``version``; it goes into ``_meta``, not to the top level, beside
    whatever ``_meta`` the fields already have. `fields` itself stays as it is.
    """
    todo("1.4: A result says that it is complete")


def discover(capabilities: Message) -> Message:
    """Return the fields of a ``server/discover`` result.

    capabilities: of the server, for example ``{"tools": {}}``; roots and elicitation are not among
    them, they are the client's (DISC-3). The result has ``supportedVersions``, ``capabilities`` and
    the cache hints ``ttlMs``, an integer of milliseconds, and ``cacheScope`` (DISC-2, CACHE-1).
    """
    todo("1.6: Discover and list, with cache hints")


def list_tools(tools: Iterable[Message]) -> Message:
    """Return the fields of a ``tools/list`` result.

    tools: descriptors in any order. They come out sorted by name, so that two calls, two servers
    and two days give the same bytes (TOOL-3), with the cache hints (CACHE-1, CACHE-2).
    """
    todo("1.6: Discover and list, with cache hints")


def respond(
    message: Any, handlers: Mapping[str, Handler], log: Callable[[str], None]
) -> Message | None:
    """Return the answer to one decoded message, or None when it must not be answered.

    handlers: by method; each takes the checked Request and returns a result.
    log: receives what went wrong inside; none of it reaches the client.
    A notification runs nothing and gets None (ENV-6). A result or an error echoes the id; when the
    id could not be read, the error leaves it out, and no answer has the id null (ENV-4). A broken
    message without any id runs nothing either; open: it gets such an error, or None.
    RpcError from a handler becomes an error with ``code``, ``message`` and, if it is not None,
    ``data`` (ENV-5). An unknown method is -32601 (ERR-3), and is told only after the envelope was
    found good. Any other exception is a bug: -32603 with a fixed message (ERR-5).
    """
    todo("1.5: One message in, one answer or none out")


def failure(message: Any, refusal: RpcError) -> Message:
    """Return the JSON-RPC error for `refusal`, under the id of `message` if it has a valid one."""
    todo("1.5: One message in, one answer or none out")
