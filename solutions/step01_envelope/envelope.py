"""The envelope: what every request must carry, checked before anything is believed.

Promise: each request is judged by what it says itself, nothing is remembered from an earlier one,
and every way of being wrong has one exact answer. Attacks it stops: a call without an id that
deletes in silence, a second message smuggled in by a duplicate key, a version that nobody agreed
to, an exception text that tells the caller about the inside of the server.

Bytes go through `decode`, `message_kind` and `read_request`; `respond` puts them in a row.
"""

import json
import math
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
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "Not a JSON-RPC 2.0 message.")
    if not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, "method must be a string.")
    if "id" in message and not _is_id(message["id"]):
        raise RpcError(INVALID_REQUEST, "id must be a string or an integer.")
    return "request" if "id" in message else "notification"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


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
    try:
        value = json.loads(
            raw.decode("utf-8"),
            parse_constant=_not_json,
            parse_float=_finite,
            object_pairs_hook=_unique_keys,
        )
    except ValueError:
        raise RpcError(PARSE_ERROR, "The message is not JSON.") from None
    except RecursionError:
        raise RpcError(INVALID_REQUEST, TOO_DEEP) from None
    if _depth(value) > MAX_DEPTH:
        raise RpcError(INVALID_REQUEST, TOO_DEEP)
    return value


def _not_json(name: str) -> None:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise RpcError(INVALID_REQUEST, "A number is too large.")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> Message:
    message = dict(pairs)
    if len(message) < len(pairs):
        raise RpcError(INVALID_REQUEST, "An object has the same key twice.")
    return message


def _depth(value: Any) -> int:
    """How many objects and arrays lie in one another."""
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [child for item in level for child in _children(item)]
    return depth


def _children(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


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
    params = message.get("params", {})
    if message["method"] == "initialize":
        raise _unsupported(_legacy_version(params))
    if not isinstance(params, dict) or not isinstance(meta := params.get("_meta"), dict):
        raise RpcError(INVALID_PARAMS, "params._meta must be an object.")
    if not isinstance(version := meta.get(PROTOCOL_VERSION), str):
        raise RpcError(INVALID_PARAMS, f"params._meta must have the string {PROTOCOL_VERSION}.")
    if not isinstance(capabilities := meta.get(CLIENT_CAPABILITIES), dict):
        raise RpcError(INVALID_PARAMS, f"params._meta must have the object {CLIENT_CAPABILITIES}.")
    if version not in SUPPORTED_VERSIONS:
        raise _unsupported(version)
    return Request(message["id"], message["method"], params, capabilities)


def _unsupported(requested: str) -> RpcError:
    data = {"supported": list(SUPPORTED_VERSIONS), "requested": requested}
    return RpcError(UNSUPPORTED_VERSION, "This protocol version is not served.", data)


def _legacy_version(params: Any) -> str:
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    return version if isinstance(version, str) else ""


def complete(fields: Message, server_info: Message) -> Message:
    """Return a finished result: `fields`, ``resultType`` (RES-1) and who answered (ENV-14).

    server_info: ``name`` and ``version``; it goes into ``_meta``, not to the top level, beside
    whatever ``_meta`` the fields already have. `fields` itself stays as it is.
    """
    meta = {**fields.get("_meta", {}), SERVER_INFO: server_info}
    return {"resultType": "complete", **fields, "_meta": meta}


def discover(capabilities: Message) -> Message:
    """Return the fields of a ``server/discover`` result.

    capabilities: of the server, for example ``{"tools": {}}``; roots and elicitation are not among
    them, they are the client's (DISC-3). The result has ``supportedVersions``, ``capabilities`` and
    the cache hints ``ttlMs``, an integer of milliseconds, and ``cacheScope`` (DISC-2, CACHE-1).
    """
    return {
        "supportedVersions": list(SUPPORTED_VERSIONS),
        "capabilities": capabilities,
        "ttlMs": 600_000,
        "cacheScope": "public",
    }


def list_tools(tools: Iterable[Message]) -> Message:
    """Return the fields of a ``tools/list`` result.

    tools: descriptors in any order. They come out sorted by name, so that two calls, two servers
    and two days give the same bytes (TOOL-3), with the cache hints (CACHE-1, CACHE-2).
    """
    return {
        "tools": sorted(tools, key=lambda tool: tool["name"]),
        "ttlMs": 300_000,
        "cacheScope": "public",
    }


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
    try:
        if message_kind(message) == "notification":
            return None
        request = read_request(message)
        return {"jsonrpc": "2.0", "id": request.id, "result": _handler(request, handlers)(request)}
    except RpcError as refusal:
        return failure(message, refusal)
    except Exception as bug:
        log(f"{type(bug).__name__}: {bug}")
        return failure(message, RpcError(INTERNAL_ERROR, "Internal error."))


def _handler(request: Request, handlers: Mapping[str, Handler]) -> Handler:
    if request.method not in handlers:
        raise RpcError(METHOD_NOT_FOUND, "This server has no such method.")
    return handlers[request.method]


def failure(message: Any, refusal: RpcError) -> Message:
    """Return the JSON-RPC error for `refusal`, under the id of `message` if it has a valid one."""
    error = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        error["data"] = refusal.data
    if isinstance(message, dict) and _is_id(message.get("id")):
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "error": error}
