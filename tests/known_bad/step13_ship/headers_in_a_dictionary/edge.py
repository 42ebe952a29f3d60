"""The edge, in the way that worked at once."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from kit.http_message import HttpRequest, HttpResponse
from kit.protocol import PROTOCOL_VERSION
from kit.refusals import RpcError


@dataclass(frozen=True)
class Edge:
    """Settings."""

    hosts: frozenset
    tokens: dict
    scope: str = "notes"
    origins: frozenset = field(default_factory=frozenset)


@dataclass(frozen=True)
class Server:
    """What lies behind."""

    decode: Any
    handle: Any
    failure: Any


class Turned(Exception):
    """Turned away."""

    def __init__(self, response):
        super().__init__(response.status)
        self.response = response


def header(headers, name):
    """The value of a header."""
    return dict(headers).get(name)


def decode_value(value):
    """What a value says."""
    if value.startswith("=?base64?"):
        return base64.b64decode(value[9:-2]).decode()
    return value


def check_headers(headers, message):
    """Compare what is there."""
    found = dict(headers)
    params = message.get("params", {})
    expected = {
        "MCP-Protocol-Version": params.get("_meta", {}).get(PROTOCOL_VERSION),
        "Mcp-Method": message["method"],
        "Mcp-Name": params.get("name"),
    }
    for name, value in expected.items():
        if name in found and found[name] != value:
            raise RpcError(-32020, f"{name} is wrong.")


def check_origin(headers, edge):
    """Local is good."""
    host = header(headers, "Host") or ""
    if not host.startswith(("127.0.0.1", "localhost")):
        raise Turned(HttpResponse(403))
    origin = header(headers, "Origin")
    if origin and "evil" in origin:
        raise Turned(HttpResponse(403))


def authenticate(headers, edge):
    """Who is calling."""
    token = (header(headers, "Authorization") or "").replace("Bearer ", "")
    for digest, principal in edge.tokens.items():
        if hashlib.sha256(token.encode()).hexdigest() == digest:
            return principal
    raise Turned(HttpResponse(401))


def status_for(message, answer):
    """JSON-RPC does not care."""
    return 200


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """Answer."""
    try:
        check_origin(request.headers, edge)
        principal = authenticate(request.headers, edge)
        message = server.decode(request.body)
        check_headers(request.headers, message)
        answer = server.handle(message, principal)
    except Turned as turned:
        return turned.response
    except RpcError as refusal:
        answer = server.failure(None, refusal)
    body = json.dumps(answer).encode()
    return HttpResponse(200, (("Content-Type", "application/json"),), body)
