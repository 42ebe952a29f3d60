"""The envelope, checked by strict pydantic models.

The models say what a message must look like; the functions turn "does not fit" into the one exact
error. Strings and objects are checked by instance only: pydantic's own ``str`` refuses a lone
surrogate, which is a legal JSON string.
"""

import json
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf, ValidationError

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


# --- models ----------------------------------------------------------------------------------


def _no_bool(value: int) -> int:
    if isinstance(value, bool):
        raise ValueError("a bool is no id")
    return value


Text = InstanceOf[str]
Whole = Annotated[InstanceOf[int], AfterValidator(_no_bool)]


class Strict(BaseModel):
    """Nothing is converted; members that nobody asked for are left alone."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Identified(Strict):
    """Anything with an id that an answer may echo."""

    id: Text | Whole


class NotificationShape(Strict):
    """What a request and a notification have in common."""

    jsonrpc: Literal["2.0"]
    method: Text


class RequestShape(NotificationShape, Identified):
    """A request: the same, with an id."""


class Version(Strict):
    """The key that names the version."""

    version: Text = Field(alias=PROTOCOL_VERSION)


class Meta(Version):
    """The two keys that every request brings."""

    capabilities: InstanceOf[dict] = Field(alias=CLIENT_CAPABILITIES)  # type: ignore[type-arg]


class Params(Strict):
    """Parameters with their ``_meta``."""

    meta: Meta = Field(alias="_meta")


class Envelope(Strict):
    """The part of a request that `read_request` judges."""

    params: Params


class LegacyParams(Strict):
    """What ``initialize`` says about its version."""

    version: Text = Field(alias="protocolVersion")


class LegacyEnvelope(Strict):
    """An ``initialize`` of revision 2025-11-25 and before."""

    params: LegacyParams


class ModernParams(Strict):
    """The version where an ``initialize`` does not have to say it, but may."""

    meta: Version = Field(alias="_meta")


class ModernEnvelope(Strict):
    """An ``initialize`` in the clothes of revision 2026-07-28."""

    params: ModernParams


# --- 1.1 -------------------------------------------------------------------------------------


def message_kind(message: Any) -> Literal["request", "notification"]:
    """Tell a request from a notification.

    >>> message_kind({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    'notification'
    """
    has_id = isinstance(message, dict) and "id" in message
    try:
        (RequestShape if has_id else NotificationShape).model_validate(message)
    except ValidationError:
        raise RpcError(INVALID_REQUEST, "This is no valid request.") from None
    return "request" if has_id else "notification"


# --- 1.2 -------------------------------------------------------------------------------------

# A string (perhaps one that never ends), one bracket, or a run of anything else.
_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]|[^"\[\]{}]+', re.DOTALL)
_DIGITS_AT_ONCE = 512


def _integer(text: str) -> int:
    """Read an integer of any length; Python's own ``int`` stops at some thousand digits."""
    if len(text) <= _DIGITS_AT_ONCE:
        return int(text)
    if text[0] == "-":
        return -_integer(text[1:])
    low = len(text) // 2
    return _integer(text[:-low]) * 10**low + _integer(text[-low:])


def _float(text: str) -> float:
    """Read a number with a fraction or an exponent; one that overflows is refused."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:20]} is larger than every float")
    return number


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _survey(text: str) -> tuple[int, bool]:
    """Return how deep `text` nests and whether a key comes twice, or raise ValueError: no JSON.

    Each container is parsed alone, at its closing bracket, and then stands as ``{}`` in the
    container around it. So nothing recurses, however deep the text is.
    """
    doubled = False

    def note(pairs: list[tuple[str, Any]]) -> None:
        nonlocal doubled
        doubled = doubled or len({key for key, _ in pairs}) < len(pairs)

    def check(pieces: list[str]) -> None:
        json.loads(
            "".join(pieces),
            object_pairs_hook=note,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=len,
        )

    open_parts: list[list[str]] = [[]]
    deepest = 0
    for found in _PIECE.finditer(text):
        piece = found.group()
        if piece in ("[", "{"):
            open_parts.append([piece])
            deepest = max(deepest, len(open_parts) - 1)
        elif piece in ("]", "}"):
            part = open_parts.pop()
            if not open_parts:
                raise ValueError("a bracket closes that never opened")
            check([*part, piece])
            open_parts[-1].append("{}")
        else:
            open_parts[-1].append(piece)
    if len(open_parts) != 1:
        raise ValueError("a bracket never closes")
    check(open_parts[0])
    return deepest, doubled


def decode(raw: bytes) -> Any:
    """Return the JSON value in `raw`; what is not JSON is -32700, whatever else it is."""
    try:
        text = raw.decode("utf-8")
        deepest, doubled = _survey(text)
    except ValueError:
        raise RpcError(PARSE_ERROR, "This is not JSON in UTF-8.") from None
    if deepest > MAX_DEPTH:
        raise RpcError(INVALID_REQUEST, TOO_DEEP)
    if doubled:
        raise RpcError(INVALID_REQUEST, "An object names the same key twice.")
    return json.loads(text, parse_int=_integer)


# --- 1.3 -------------------------------------------------------------------------------------


def _unsupported(requested: str) -> RpcError:
    data = {"supported": list(SUPPORTED_VERSIONS), "requested": requested}
    return RpcError(UNSUPPORTED_VERSION, "This protocol version is not served.", data)


def _legacy_version(message: Message) -> str:
    with suppress(ValidationError):
        return LegacyEnvelope.model_validate(message).params.version
    with suppress(ValidationError):
        return ModernEnvelope.model_validate(message).params.meta.version
    return ""


def read_request(message: Message) -> Request:
    """Return the checked request in `message`, judged by nothing but `message`."""
    if message["method"] == "initialize":
        raise _unsupported(_legacy_version(message))
    try:
        meta = Envelope.model_validate(message).params.meta
    except ValidationError as error:
        # Only our own names of keys, never what the client wrote.
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        raise RpcError(INVALID_PARAMS, f"Missing or of the wrong type: {where}.") from None
    if meta.version not in SUPPORTED_VERSIONS:
        raise _unsupported(meta.version)
    return Request(message["id"], message["method"], message["params"], meta.capabilities)


# --- 1.4 -------------------------------------------------------------------------------------


class CacheHints(Strict):
    """How long, and for whom, a result stays good."""

    ttl: int = Field(ge=0, serialization_alias="ttlMs")
    scope: Literal["public", "private"] = Field(serialization_alias="cacheScope")

    def fields(self) -> Message:
        return self.model_dump(by_alias=True)


_FOR_EVERYBODY = CacheHints(ttl=300_000, scope="public")


def complete(fields: Message, server_info: Message) -> Message:
    """Return a finished result: `fields`, ``resultType`` and who answered."""
    meta = {**fields.get("_meta", {}), SERVER_INFO: dict(server_info)}
    return {**fields, "resultType": "complete", "_meta": meta}


def discover(capabilities: Message) -> Message:
    """Return the fields of a ``server/discover`` result."""
    return {
        "supportedVersions": list(SUPPORTED_VERSIONS),
        "capabilities": dict(capabilities),
        **_FOR_EVERYBODY.fields(),
    }


def list_tools(tools: Iterable[Message]) -> Message:
    """Return the fields of a ``tools/list`` result, sorted by name."""
    ordered = sorted(tools, key=lambda tool: (tool["name"], json.dumps(tool, sort_keys=True)))
    return {"tools": ordered, **_FOR_EVERYBODY.fields()}


# --- 1.5 -------------------------------------------------------------------------------------


def respond(
    message: Any, handlers: Mapping[str, Handler], log: Callable[[str], None]
) -> Message | None:
    """Return the answer to one decoded message, or None when it must not be answered."""
    try:
        if message_kind(message) == "notification":
            return None
        request = read_request(message)
        if request.method not in handlers:
            raise RpcError(METHOD_NOT_FOUND, "This method is unknown.")
        result = handlers[request.method](request)
    except RpcError as refusal:
        return failure(message, refusal)
    except Exception as bug:
        with suppress(Exception):  # a log that breaks must not cost the client its answer
            log("".join(traceback.format_exception(bug)))
        return failure(message, RpcError(INTERNAL_ERROR, "Something went wrong inside."))
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


def failure(message: Any, refusal: RpcError) -> Message:
    """Return the JSON-RPC error for `refusal`, under the id of `message` if it has a valid one."""
    answer: Message = {"jsonrpc": "2.0"}
    with suppress(ValidationError):
        answer["id"] = Identified.model_validate(message).id
    answer["error"] = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        answer["error"]["data"] = refusal.data
    return answer
