"""The edge: everything that HTTP adds to a message, decided before and after the server sees it.

Promise: what the headers say is what the body says, the caller is known by credentials and by
nothing else, and every answer has the status that the table names. Attacks it stops: a web page
that talks to a local server (DNS rebinding), a proxy that routes by a header while the body asks
for something else, a caller who names himself.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.protocol import (
    CLIENT_CAPABILITIES,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    PROTOCOL_VERSION,
    UNSUPPORTED_VERSION,
)
from kit.refusals import RpcError

Headers = tuple[tuple[str, str], ...]

ENDPOINT = "/mcp"
NAME_FIELD = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


@dataclass(frozen=True)
class Edge:
    """The operator's settings.

    hosts: values of ``Host`` that are served (EDGE-3). origins: values of ``Origin`` that are
    served; none, unless a browser is meant to call (EDGE-4). tokens: principals by the SHA-256 of
    their bearer token, in hex (EDGE-5). scope: what a principal needs to call at all.
    """

    hosts: frozenset[str]
    tokens: Mapping[str, Principal]
    scope: str = "notes"
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Server:
    """What lies behind the edge.

    decode: bytes to a message, or RpcError. handle: message and principal to an answer or None.
    failure: message and RpcError to an error message.
    """

    decode: Callable[[bytes], Any]
    handle: Callable[[Any, Principal], Any]
    failure: Callable[[Any, RpcError], Any]


class Turned(Exception):
    """The request is turned away at the edge. response: what it gets."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status)
        self.response = response


def header(headers: Headers, name: str) -> str | None:
    """Return the value of a header, or None.

    Names ignore case (HTTP-6); spaces and tabs around the value are not part of it (EDGE-6).
    Errors: RpcError -32020 when it comes more than once (EDGE-11).

    >>> header((("mcp-name", "notes_delete "),), "Mcp-Name")
    'notes_delete'
    """
    values = [value.strip(" \t") for key, value in headers if key.lower() == name.lower()]
    if len(values) > 1:
        raise RpcError(HEADER_MISMATCH, f"{name} comes more than once.")
    return values[0] if values else None


def decode_value(value: str) -> str:
    """Return what a header value says: ``=?base64?ZsO8cg==?=`` says ``für`` (HTTP-7).

    Errors: RpcError -32020 for a value that is not printable ASCII, or whose Base64 or UTF-8 is
    broken (HTTP-8).
    """
    if not (value.isascii() and value.isprintable()):
        raise RpcError(HEADER_MISMATCH, "A header value must be printable ASCII.")
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except ValueError:
        raise RpcError(HEADER_MISMATCH, "A header value has broken Base64.") from None


def check_headers(headers: Headers, message: dict[str, Any]) -> None:
    """Let a request go on if its headers say what its body says.

    message: a request. Compared are the version (HTTP-4), the method (HTTP-5), and for three
    methods the name; a field that the body lacks is for the server to complain about.
    Errors: RpcError -32020 when a header is missing, differs, or cannot be decoded (HTTP-8).
    """
    params = _object(message.get("params"))
    meta = _object(params.get("_meta"))
    said = {
        "MCP-Protocol-Version": meta.get(PROTOCOL_VERSION),
        "Mcp-Method": message["method"],
    }
    if message["method"] in NAME_FIELD:
        said["Mcp-Name"] = params.get(NAME_FIELD[message["method"]])
    for name, in_body in said.items():
        in_header = header(headers, name)
        if in_header is None:
            raise RpcError(HEADER_MISMATCH, f"{name} is missing.")
        if isinstance(in_body, str) and decode_value(in_header) != in_body:
            raise RpcError(HEADER_MISMATCH, f"{name} differs from the body.")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def check_origin(headers: Headers, edge: Edge) -> None:
    """Let a request go on if it was sent to this server, by no foreign web page.

    Errors: Turned with 403 when ``Host`` is not on the list (EDGE-3), or ``Origin`` is present and
    is not on its list (HTTP-2, EDGE-4).
    """
    origin = header(headers, "Origin")
    if header(headers, "Host") not in edge.hosts:
        raise Turned(HttpResponse(403))
    if origin is not None and origin not in edge.origins:
        raise Turned(HttpResponse(403))


def authenticate(headers: Headers, edge: Edge) -> Principal:
    """Return who is calling.

    Errors: Turned with 401 and ``WWW-Authenticate`` when there is no bearer token or it is unknown,
    with 403 when its principal lacks the scope (HTTP-16, EDGE-5).
    """
    scheme, _, token = (header(headers, "Authorization") or "").partition(" ")
    # A lookup by hash reveals nothing by its timing: the caller cannot choose a hash.
    principal = edge.tokens.get(hashlib.sha256(token.strip().encode()).hexdigest())
    if scheme.lower() != "bearer" or principal is None:
        raise Turned(HttpResponse(401, (("WWW-Authenticate", "Bearer"),)))
    if edge.scope not in principal.scopes:
        challenge = f'Bearer error="insufficient_scope", scope="{edge.scope}"'
        raise Turned(HttpResponse(403, (("WWW-Authenticate", challenge),)))
    return principal


def status_for(message: Any, answer: dict[str, Any]) -> int:
    """Return the HTTP status of an answer (HTTP-9, EDGE-9).

    message: as decoded, whatever it is; None when there was none. answer: result or error.
    404 for an unknown method. 400 for what is no JSON, no request, a header mismatch, a missing
    capability or an unsupported version. -32602 is 400 when the envelope lacks a ``_meta`` key.
    200 for everything else: it was dispatched.
    """
    code = answer.get("error", {}).get("code")
    if code == INVALID_PARAMS and not _has_envelope(message):
        return 400
    return _STATUS.get(code, 200)


def _has_envelope(message: Any) -> bool:
    meta = _object(_object(_object(message).get("params")).get("_meta"))
    return {PROTOCOL_VERSION, CLIENT_CAPABILITIES} <= set(meta)


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """Return the response to one HTTP request.

    The order is fixed (EDGE-10): path, 404 (EDGE-1); method, 405 with ``Allow`` (HTTP-14); Host
    and Origin; credentials; media type, 415 for another one, whatever its parameters (EDGE-13);
    JSON; headers against body, for requests; then the server. What is turned away does not reach
    it. An RpcError on the way becomes an answer by `server.failure`, an answer is sent as
    ``application/json``. A notification gets 202 and no body (HTTP-11). ``initialize`` comes from a
    client that knows no such headers; the server tells it which versions there are (VER-4).
    """
    message: Any = None
    try:
        principal = _admit(request, edge)
        message = server.decode(request.body)
        if _is_request(message) and message["method"] != "initialize":
            check_headers(request.headers, message)
        answer = server.handle(message, principal)
    except Turned as turned:
        return turned.response
    except RpcError as refusal:
        answer = server.failure(message, refusal)
    return HttpResponse(202) if answer is None else _json(status_for(message, answer), answer)


def _admit(request: HttpRequest, edge: Edge) -> Principal:
    if request.path != ENDPOINT:
        raise Turned(HttpResponse(404))
    if request.method != "POST":
        raise Turned(HttpResponse(405, (("Allow", "POST"),)))
    check_origin(request.headers, edge)
    principal = authenticate(request.headers, edge)
    media_type = (header(request.headers, "Content-Type") or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Turned(HttpResponse(415))
    return principal


def _is_request(message: Any) -> bool:
    return isinstance(message, dict) and "id" in message and isinstance(message.get("method"), str)


def _json(status: int, answer: Any) -> HttpResponse:
    body = json.dumps(answer, separators=(",", ":")).encode("utf-8")
    return HttpResponse(status, (("Content-Type", "application/json"),), body)
