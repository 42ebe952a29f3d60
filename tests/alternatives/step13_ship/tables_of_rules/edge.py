"""The edge as tables: gates in their order, fields in their places, statuses by code."""

import hashlib
import hmac
import json
from binascii import Error, a2b_base64
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, HEADER_MISMATCH, PROTOCOL_VERSION
from kit.refusals import RpcError

FIELDS = (
    ("MCP-Protocol-Version", ("params", "_meta", PROTOCOL_VERSION), None),
    ("Mcp-Method", ("method",), None),
    ("Mcp-Name", ("params", "name"), {"tools/call", "prompts/get"}),
    ("Mcp-Name", ("params", "uri"), {"resources/read"}),
)
BY_STATUS = {400: {-32700, -32600, -32020, -32021, -32022}, 404: {-32601}}


@dataclass(frozen=True)
class Edge:
    """The operator's settings."""

    hosts: frozenset[str]
    tokens: Mapping[str, Principal]
    scope: str = "notes"
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Server:
    """What lies behind the edge."""

    decode: Callable[[bytes], Any]
    handle: Callable[[Any, Principal], Any]
    failure: Callable[[Any, RpcError], Any]


class Turned(Exception):
    """The request is turned away at the edge. response: what it gets."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status)
        self.response = response


def header(headers: Any, name: str) -> str | None:
    """The only value of a header."""
    index: dict[str, list[str]] = defaultdict(list)
    for key, value in headers:
        index[key.casefold()].append(value.strip(" \t"))
    found = index[name.casefold()]
    _or_mismatch(len(found) < 2, f"{name} was sent {len(found)} times.")
    return next(iter(found), None)


def decode_value(value: str) -> str:
    """What a value says."""
    _or_mismatch(all(" " <= each <= "~" for each in value), "Not printable ASCII.")
    inside = value.removeprefix("=?base64?").removesuffix("?=")
    if len(inside) != len(value) - 11:
        return value
    try:
        return a2b_base64(inside.encode(), strict_mode=True).decode()
    except (Error, UnicodeDecodeError):
        return _or_mismatch(False, "Not Base64 of UTF-8.")


def _or_mismatch(holds: bool, says: str) -> Any:
    if not holds:
        raise RpcError(HEADER_MISMATCH, says)


def _dig(value: Any, path: tuple[str, ...]) -> Any:
    return reduce(lambda at, key: at.get(key) if isinstance(at, dict) else None, path, value)


def check_headers(headers: Any, message: dict[str, Any]) -> None:
    """Row by row."""
    for name, path, methods in FIELDS:
        if methods is None or message["method"] in methods:
            sent, meant = header(headers, name), _dig(message, path)
            _or_mismatch(sent is not None, f"{name} was not sent.")
            same = not isinstance(meant, str) or decode_value(str(sent)) == meant
            _or_mismatch(same, f"{name} says something else.")


def _turn_unless(holds: bool, status: int, **headers: str) -> None:
    if not holds:
        told = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        raise Turned(HttpResponse(status, told))


def check_origin(headers: Any, edge: Edge) -> None:
    """Both headers, each on its list."""
    _turn_unless(header(headers, "host") in edge.hosts, 403)
    _turn_unless(header(headers, "origin") in {None, *edge.origins}, 403)


def authenticate(headers: Any, edge: Edge) -> Principal:
    """Compare with every stored hash."""
    said = (header(headers, "authorization") or "").split(maxsplit=1)
    is_bearer = len(said) == 2 and said[0].casefold() == "bearer"
    digest = hashlib.sha256(said[1].encode() if is_bearer else b"").hexdigest()
    known = [who for stored, who in edge.tokens.items() if hmac.compare_digest(stored, digest)]
    _turn_unless(is_bearer and bool(known), 401, WWW_Authenticate='Bearer realm="notes"')
    challenge = f'Bearer error="insufficient_scope", scope="{edge.scope}"'
    _turn_unless(edge.scope in known[0].scopes, 403, WWW_Authenticate=challenge)
    return known[0]


def status_for(message: Any, answer: dict[str, Any]) -> int:
    """Look it up."""
    code = _dig(answer, ("error", "code"))
    meta = _dig(message, ("params", "_meta"))
    if code == -32602:
        has_both = isinstance(meta, dict) and PROTOCOL_VERSION in meta
        return 200 if has_both and CLIENT_CAPABILITIES in meta else 400
    return next((status for status, codes in BY_STATUS.items() if code in codes), 200)


def _check_media_type(request: HttpRequest) -> None:
    said = header(request.headers, "content-type") or ""
    _turn_unless(said.lower().split(";")[0].rstrip() == "application/json", 415)


GATES: tuple[Callable[[HttpRequest, Edge], Any], ...] = (
    lambda request, edge: _turn_unless(request.path == "/mcp", 404),
    lambda request, edge: _turn_unless(request.method == "POST", 405, Allow="POST"),
    lambda request, edge: check_origin(request.headers, edge),
    lambda request, edge: authenticate(request.headers, edge),
    lambda request, edge: _check_media_type(request),
)


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """Through all gates, then to the server."""
    message = None
    try:
        for gate in GATES:
            gate(request, edge)
        message = server.decode(request.body)
        method = _dig(message, ("method",))
        if isinstance(method, str) and "id" in message and method != "initialize":
            check_headers(request.headers, message)
        answer = server.handle(message, authenticate(request.headers, edge))
    except Turned as turned:
        return turned.response
    except RpcError as refusal:
        answer = server.failure(message, refusal)
    if answer is None:
        return HttpResponse(202)
    body = json.dumps(answer, ensure_ascii=False).encode()
    headers = (("Content-Type", "application/json; charset=utf-8"),)
    return HttpResponse(status_for(message, answer), headers, body)
