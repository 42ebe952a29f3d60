"""The edge by patterns: what a request looks like decides what becomes of it."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from kit.refusals import RpcError

ENCODED = re.compile(r"=\?base64\?(.*)\?=")
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
BEARER = re.compile(r"bearer[ ]+(\S+)", re.IGNORECASE)
JSON = re.compile(r"application/json[ \t]*(;.*)?", re.IGNORECASE)


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
    """None, one, or a refusal."""
    match [value for key, value in headers if re.fullmatch(re.escape(name), key, re.IGNORECASE)]:
        case []:
            return None
        case [value]:
            return re.sub(r"^[ \t]+|[ \t]+$", "", value)
        case _:
            _mismatch()


def _mismatch() -> NoReturn:
    raise RpcError(-32020, "Headers and body disagree.")


def decode_value(value: str) -> str:
    """Plain or encoded, and nothing else."""
    if not re.fullmatch(r"[\x20-\x7e]*", value):
        _mismatch()
    match ENCODED.fullmatch(value):
        case None:
            return value
        case found if not BASE64.fullmatch(found[1]):
            _mismatch()
        case found:
            try:
                return base64.b64decode(found[1]).decode()
            except UnicodeDecodeError:
                _mismatch()


def _must_say(headers: Any, name: str, meant: Any) -> None:
    sent = header(headers, name)
    if sent is None or (isinstance(meant, str) and decode_value(sent) != meant):
        _mismatch()


def check_headers(headers: Any, message: dict[str, Any]) -> None:
    """Three headers at most."""
    match message:
        case {"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": version}}}:
            _must_say(headers, "MCP-Protocol-Version", version)
        case _:
            _must_say(headers, "MCP-Protocol-Version", None)
    _must_say(headers, "Mcp-Method", message["method"])
    match message:
        case {"method": "tools/call" | "prompts/get", "params": {"name": name}}:
            _must_say(headers, "Mcp-Name", name)
        case {"method": "resources/read", "params": {"uri": uri}}:
            _must_say(headers, "Mcp-Name", uri)
        case {"method": "tools/call" | "prompts/get" | "resources/read"}:
            _must_say(headers, "Mcp-Name", None)


def check_origin(headers: Any, edge: Edge) -> None:
    """A pair of headers, and what may stand in it."""
    match header(headers, "Host"), header(headers, "Origin"):
        case host, None if host in edge.hosts:
            return
        case host, origin if host in edge.hosts and origin in edge.origins:
            return
    raise Turned(HttpResponse(403))


def authenticate(headers: Any, edge: Edge) -> Principal:
    """A bearer token of somebody with the scope."""
    found = BEARER.fullmatch(header(headers, "Authorization") or "")
    match found and edge.tokens.get(sha256(found[1].encode()).hexdigest()):
        case Principal(scopes=scopes) as principal if edge.scope in scopes:
            return principal
        case Principal():
            says = f'Bearer scope="{edge.scope}", error="insufficient_scope"'
            raise Turned(HttpResponse(403, (("www-authenticate", says),)))
    raise Turned(HttpResponse(401, (("www-authenticate", "Bearer"),)))


def status_for(message: Any, answer: dict[str, Any]) -> int:
    """By the shape of the answer, and once by that of the message."""
    match answer, message:
        case {"error": {"code": -32601}}, _:
            return 404
        case {"error": {"code": -32700 | -32600 | -32020 | -32021 | -32022}}, _:
            return 400
        case {"error": {"code": -32602}}, {"params": {"_meta": dict(meta)}}:
            return 200 if {PROTOCOL_VERSION, CLIENT_CAPABILITIES}.issubset(meta) else 400
        case {"error": {"code": -32602}}, _:
            return 400
    return 200


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """What the request looks like decides."""
    match request:
        case HttpRequest(path=path) if path != "/mcp":
            return HttpResponse(404)
        case HttpRequest(method=method) if method != "POST":
            return HttpResponse(405, (("allow", "POST"),))
    message: Any = None
    try:
        check_origin(request.headers, edge)
        principal = authenticate(request.headers, edge)
        if not JSON.fullmatch(header(request.headers, "Content-Type") or ""):
            return HttpResponse(415)
        message = server.decode(request.body)
        match message:
            case {"method": "initialize"}:
                pass
            case {"id": _, "method": str()}:
                check_headers(request.headers, message)
        answer = server.handle(message, principal)
    except Turned as turned:
        return turned.response
    except RpcError as refusal:
        answer = server.failure(message, refusal)
    match answer:
        case None:
            return HttpResponse(202)
        case _:
            said = json.dumps(answer).encode()
            head = (("content-type", "application/json"),)
            return HttpResponse(status_for(message, answer), head, said)
