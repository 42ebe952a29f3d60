"""The edge as a desk: it holds one request, and hands it on when nothing speaks against it."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from kit.refusals import RpcError


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


class Said:
    """The headers of one request."""

    def __init__(self, headers: Any) -> None:
        self._lines = Message()
        for name, value in headers:
            self._lines[name] = value

    def one(self, name: str) -> str | None:
        """The value, if there is one; a refusal if there are two."""
        values = self._lines.get_all(name, [])
        if len(values) > 1:
            raise RpcError(-32020, f"{name} stands there {len(values)} times.")
        for value in values:
            return str(value).strip(" \t")
        return None

    def disagreements(self, message: dict[str, Any]) -> Iterator[str]:
        """Names of headers that do not say what the message says."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        yield from self._unless_said("MCP-Protocol-Version", meta.get(PROTOCOL_VERSION))
        yield from self._unless_said("Mcp-Method", message["method"])
        if message["method"] in ("tools/call", "prompts/get"):
            yield from self._unless_said("Mcp-Name", params.get("name"))
        elif message["method"] == "resources/read":
            yield from self._unless_said("Mcp-Name", params.get("uri"))

    def _unless_said(self, name: str, meant: Any) -> Iterator[str]:
        value = self.one(name)
        if value is None:
            yield name
        elif type(meant) is str and decode_value(value) != meant:
            yield name


def header(headers: Any, name: str) -> str | None:
    """The value of a header."""
    return Said(headers).one(name)


def decode_value(value: str) -> str:
    """What a value says."""
    try:
        value.encode("ascii")
        if any(ord(each) < 32 or ord(each) == 127 for each in value):
            raise ValueError(value)
        if not (value.startswith("=?base64?") and value.endswith("?=")) or len(value) < 11:
            return value
        decoded = base64.b64decode(value[9:-2])
        if base64.b64encode(decoded).decode() != value[9:-2]:
            raise ValueError(value)
        return decoded.decode("utf-8", "strict")
    except ValueError as trouble:
        raise RpcError(-32020, "This is no value of a header.") from trouble


def check_headers(headers: Any, message: dict[str, Any]) -> None:
    """The first disagreement is one too many."""
    for name in Said(headers).disagreements(message):
        raise RpcError(-32020, f"{name} does not say what the body says.")


def check_origin(headers: Any, edge: Edge) -> None:
    """Foreign is what is on no list."""
    said = Said(headers)
    foreign = [said.one("Host")] if said.one("Host") not in edge.hosts else []
    if said.one("Origin") is not None:
        foreign += {said.one("Origin")} - set(edge.origins)
    if foreign:
        raise Turned(HttpResponse(403))


def authenticate(headers: Any, edge: Edge) -> Principal:
    """By the hash of what follows the scheme."""
    words = (Said(headers).one("Authorization") or "").split()
    try:
        scheme, token = words
        principal = edge.tokens[hashlib.new("sha256", token.encode()).hexdigest()]
        if scheme.upper() != "BEARER":
            raise KeyError(scheme)
    except (ValueError, KeyError):
        challenge = (("WWW-Authenticate", 'Bearer error="invalid_token"'),)
        raise Turned(HttpResponse(401, challenge)) from None
    if {edge.scope}.isdisjoint(principal.scopes):
        challenge = (("WWW-Authenticate", 'Bearer error="insufficient_scope"'),)
        raise Turned(HttpResponse(403, challenge))
    return principal


def status_for(message: Any, answer: dict[str, Any]) -> int:
    """What was dispatched is 200."""
    if "error" not in answer:
        return 200
    code = answer["error"]["code"]
    if code == -32601:
        return 404
    if code == -32602:
        try:
            meta = message["params"]["_meta"]
            return 200 if meta.keys() >= {PROTOCOL_VERSION, CLIENT_CAPABILITIES} else 400
        except (TypeError, KeyError, AttributeError):
            return 400
    return 400 if code in (-32700, -32600) or -32022 <= code <= -32020 else 200


class Desk:
    """One request at the desk."""

    def __init__(self, request: HttpRequest, edge: Edge, server: Server) -> None:
        self.request, self.edge, self.server = request, edge, server
        self.message: Any = None

    def admit(self) -> Principal:
        """Who is let in."""
        if self.request.path != "/mcp":
            raise Turned(HttpResponse(404))
        if self.request.method != "POST":
            raise Turned(HttpResponse(405, (("Allow", "POST"),)))
        check_origin(self.request.headers, self.edge)
        principal = authenticate(self.request.headers, self.edge)
        declared = Message()
        declared["Content-Type"] = header(self.request.headers, "Content-Type") or "none"
        if declared.get_content_type() != "application/json":
            raise Turned(HttpResponse(415))
        return principal

    def answer(self) -> Any:
        """What the server or the desk says."""
        principal = self.admit()
        try:
            self.message = self.server.decode(self.request.body)
            self.compare()
            return self.server.handle(self.message, principal)
        except RpcError as refusal:
            return self.server.failure(self.message, refusal)

    def compare(self) -> None:
        """Headers and body, for whatever is a request of this revision."""
        method = self.message.get("method") if isinstance(self.message, dict) else None
        if isinstance(method, str) and method != "initialize" and "id" in self.message:
            check_headers(self.request.headers, self.message)


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """Put the request on the desk."""
    desk = Desk(request, edge, server)
    try:
        answer = desk.answer()
    except Turned as turned:
        return turned.response
    except RpcError as refusal:  # a header that came twice, before the message was read
        answer = server.failure(None, refusal)
    if answer is None:
        return HttpResponse(202)
    said = json.dumps(answer, indent=None).encode()
    return HttpResponse(
        status_for(desk.message, answer), (("CONTENT-TYPE", "application/json"),), said
    )
