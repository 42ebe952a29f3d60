"""The envelope as data: tables of small guards, token generators and match statements."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """One request whose envelope has been checked."""

    id: str | int
    method: str
    params: Message
    client_capabilities: Message


Handler = Callable[[Request], Message]


# --- guards ----------------------------------------------------------------------------------

Guard = tuple[Callable[[Any], bool], str]


def _is_object(message: Any) -> bool:
    return isinstance(message, dict)


def _speaks_2_0(message: Any) -> bool:
    match message:
        case {"jsonrpc": "2.0"}:
            return True
    return False


def _names_a_method(message: Any) -> bool:
    match message:
        case {"method": str()}:
            return True
    return False


def _id_members(message: Any) -> Message:
    """Return ``{"id": …}`` if `message` has a valid id, else ``{}``."""
    match message:
        case {"id": bool()}:
            return {}
        case {"id": str() | int() as id_}:
            return {"id": id_}
    return {}


def _id_is_absent_or_valid(message: Any) -> bool:
    return "id" not in message or bool(_id_members(message))


SHAPE: tuple[Guard, ...] = (
    (_is_object, "A message is an object."),
    (_speaks_2_0, "The member jsonrpc has to be the string 2.0."),
    (_names_a_method, "The member method has to be a string."),
    (_id_is_absent_or_valid, "The member id has to be a string or an integer."),
)


def _has_params(message: Any) -> bool:
    match message:
        case {"params": dict()}:
            return True
    return False


def _has_meta(message: Any) -> bool:
    match message:
        case {"params": {"_meta": dict()}}:
            return True
    return False


def _has_version(message: Any) -> bool:
    return isinstance(message["params"]["_meta"].get(PROTOCOL_VERSION), str)


def _has_capabilities(message: Any) -> bool:
    return isinstance(message["params"]["_meta"].get(CLIENT_CAPABILITIES), dict)


ENVELOPE: tuple[Guard, ...] = (
    (_has_params, "params has to be an object."),
    (_has_meta, "params._meta has to be an object."),
    (_has_version, f"params._meta has to bring {PROTOCOL_VERSION}, a string."),
    (_has_capabilities, f"params._meta has to bring {CLIENT_CAPABILITIES}, an object."),
)


def _pass(guards: Iterable[Guard], code: int, message: Any) -> None:
    """Raise RpcError `code` with the sentence of the first guard that stops `message`."""
    complaint = next((sentence for holds, sentence in guards if not holds(message)), None)
    if complaint is not None:
        raise RpcError(code, complaint)


def message_kind(message: Any) -> Literal["request", "notification"]:
    """Tell a request from a notification.

    >>> message_kind({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    'notification'
    """
    _pass(SHAPE, INVALID_REQUEST, message)
    return "request" if "id" in message else "notification"


# --- bytes -----------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
        (?P<mark>[\[\]{}:,])
      | (?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")
      | (?P<float>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))
      | (?P<int>-?(?:0|[1-9][0-9]*))
      | (?P<word>true|false|null)
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)


def _whole(digits: str) -> int:
    """Read an integer of any length, which ``int`` alone does not: join the pieces pairwise."""
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits)
    size = 512
    digits = digits.zfill(-(-len(digits) // size) * size)
    pieces = [int(digits[at : at + size]) for at in range(0, len(digits), size)]
    while len(pieces) > 1:
        base = 10**size
        pieces = [0] * (len(pieces) % 2) + pieces
        pieces = [high * base + low for high, low in zip(pieces[::2], pieces[1::2], strict=True)]
        size *= 2
    return sign * pieces[0]


def _finite(text: str) -> float:
    number = float(text)
    if number in (math.inf, -math.inf):
        raise ValueError("this number is larger than every float")
    return number


_VALUE_OF: dict[str, Callable[[str], Any]] = {
    "string": json.loads,
    "float": _finite,
    "int": _whole,
    "word": {"true": True, "false": False, "null": None}.__getitem__,
}

Token = tuple[str, Any]


def _tokens(text: str) -> Iterator[Token]:
    """Yield (kind, value) per token and ("end", None) at last; ValueError where none fits."""
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"no token at {at}")
        kind = str(found.lastgroup)
        if kind == "end":
            yield "end", None
            return
        lexeme = found.group(kind)
        if kind == "mark":
            yield lexeme, None
        else:
            yield ("string" if kind == "string" else "scalar"), _VALUE_OF[kind](lexeme)
        at = found.end()


Event = tuple[str, Any]


def _events(tokens: Iterator[Token]) -> Iterator[Event]:
    """Check the grammar and yield "open" with a new container, "key", "value" and "close".

    `want` is what may come next; `inside` holds the closing bracket of each open container.
    """
    inside: list[str] = []
    want = "value"
    for token, value in tokens:
        match want, token:
            case ("value" | "value or ]", "["):
                inside.append("]")
                want = "value or ]"
                yield "open", []
            case ("value" | "value or ]", "{"):
                inside.append("}")
                want = "key or }"
                yield "open", {}
            case ("value" | "value or ]", "string" | "scalar"):
                want = "more" if inside else "end"
                yield "value", value
            case ("key" | "key or }", "string"):
                want = "colon"
                yield "key", value
            case ("colon", ":"):
                want = "value"
            case ("more", ","):
                want = "value" if inside[-1] == "]" else "key"
            case ("value or ]", "]") | ("key or }", "}"):
                inside.pop()
                want = "more" if inside else "end"
                yield "close", None
            case ("more", "]" | "}") if token == inside[-1]:
                inside.pop()
                want = "more" if inside else "end"
                yield "close", None
            case ("end", "end"):
                return
            case _:
                raise ValueError(f"{token} where {want} should be")


def _build(events: Iterator[Event]) -> tuple[Any, int, bool]:
    """Return the value, how deep it nests, and whether an object names a key twice."""
    root: list[Any] = []
    places: list[Any] = [root]
    keys: list[str] = []
    deepest, doubled = 0, False

    def put(value: Any) -> None:
        nonlocal doubled
        match places[-1]:
            case list() as items:
                items.append(value)
            case dict() as members:
                key = keys.pop()
                doubled = doubled or key in members
                members[key] = value

    for event, value in events:
        match event:
            case "key":
                keys.append(value)
            case "value":
                put(value)
            case "open":
                put(value)
                places.append(value)
                deepest = max(deepest, len(places) - 1)
            case "close":
                places.pop()
    return root[0], deepest, doubled


def decode(raw: bytes) -> Any:
    """Return the JSON value in `raw`."""
    try:
        value, deepest, doubled = _build(_events(_tokens(raw.decode("utf-8"))))
    except ValueError:
        raise RpcError(PARSE_ERROR, "These bytes are not JSON in UTF-8.") from None
    match deepest > MAX_DEPTH, doubled:
        case True, _:
            raise RpcError(INVALID_REQUEST, TOO_DEEP)
        case _, True:
            raise RpcError(INVALID_REQUEST, "A key comes twice in one object.")
    return value


# --- requests --------------------------------------------------------------------------------


def _unsupported(requested: str) -> RpcError:
    data = {"supported": [*SUPPORTED_VERSIONS], "requested": requested}
    return RpcError(UNSUPPORTED_VERSION, "This version is not served here.", data)


def _requested_by_initialize(message: Message) -> str:
    match message:
        case {"params": {"protocolVersion": str() as version}}:
            return version
        case {"params": {"_meta": dict() as meta}} if isinstance(meta.get(PROTOCOL_VERSION), str):
            return str(meta[PROTOCOL_VERSION])
    return ""


def read_request(message: Message) -> Request:
    """Return the checked request in `message`."""
    if message["method"] == "initialize":
        raise _unsupported(_requested_by_initialize(message))
    _pass(ENVELOPE, INVALID_PARAMS, message)
    params = message["params"]
    version, capabilities = map(params["_meta"].get, (PROTOCOL_VERSION, CLIENT_CAPABILITIES))
    if version not in SUPPORTED_VERSIONS:
        raise _unsupported(version)
    return Request(message["id"], message["method"], params, capabilities)


# --- results ---------------------------------------------------------------------------------


def _cached(ttl_ms: int, scope: Literal["public", "private"], fields: Message) -> Message:
    return fields | {"ttlMs": ttl_ms, "cacheScope": scope}


def complete(fields: Message, server_info: Message) -> Message:
    """Return a finished result: `fields`, ``resultType`` and who answered."""
    meta = fields.get("_meta", {}) | {SERVER_INFO: {**server_info}}
    return fields | {"resultType": "complete", "_meta": meta}


def discover(capabilities: Message) -> Message:
    """Return the fields of a ``server/discover`` result."""
    fields = {"supportedVersions": [*SUPPORTED_VERSIONS], "capabilities": {**capabilities}}
    return _cached(60_000, "private", fields)


def _tool_order(tool: Message) -> tuple[str, str]:
    return tool["name"], json.dumps(tool, sort_keys=True)


def list_tools(tools: Iterable[Message]) -> Message:
    """Return the fields of a ``tools/list`` result, sorted by name."""
    return _cached(60_000, "public", {"tools": sorted(tools, key=_tool_order)})


# --- answers ---------------------------------------------------------------------------------


def _success(message: Message, handlers: Mapping[str, Handler]) -> Message:
    request = read_request(message)
    if request.method not in handlers:
        raise RpcError(METHOD_NOT_FOUND, "This method is not known here.")
    return {
        "jsonrpc": "2.0",
        "id": request.id,
        "result": handlers[request.method](request),
    }


def _note(log: Callable[[str], None], bug: Exception) -> None:
    """Tell the log; neither a text that cannot be had nor a broken log may cost the answer."""
    try:
        what = f"{type(bug).__name__}: {bug}"
    except Exception:
        what = f"{type(bug).__name__} (its text cannot be had)"
    try:
        log(what)
    except Exception:
        return


def respond(
    message: Any, handlers: Mapping[str, Handler], log: Callable[[str], None]
) -> Message | None:
    """Return the answer to one decoded message, or None when it must not be answered."""
    try:
        match message_kind(message):
            case "request":
                return _success(message, handlers)
            case "notification":
                return None
    except RpcError as refusal:
        return failure(message, refusal)
    except Exception as bug:
        _note(log, bug)
        return failure(message, RpcError(INTERNAL_ERROR, "An internal error happened."))


def failure(message: Any, refusal: RpcError) -> Message:
    """Return the JSON-RPC error for `refusal`, under the id of `message` if it has a valid one."""
    error = {"code": refusal.code, "message": refusal.message}
    data = {} if refusal.data is None else {"data": refusal.data}
    return {"jsonrpc": "2.0"} | _id_members(message) | {"error": error | data}
