"""The edge: whatever is wrong is a bad request."""

import base64
import hashlib
import json
from collections import namedtuple

from kit.http_message import HttpResponse
from kit.protocol import PROTOCOL_VERSION
from kit.refusals import RpcError

Edge = namedtuple("Edge", "hosts tokens scope origins", defaults=("notes", frozenset()))
Server = namedtuple("Server", "decode handle failure")
BAD = HttpResponse(400)


class Turned(Exception):
    """A bad request."""

    response = BAD


def header(headers, name):
    """Look for a header."""
    for key, value in headers:
        if key.lower() == name.lower():
            return value.strip()
    return None


def decode_value(value):
    """Decode a value."""
    if value[:9] == "=?base64?" and value[-2:] == "?=":
        try:
            return base64.b64decode(value[9:-2]).decode("utf-8", "ignore")
        except ValueError:
            return value
    return value


def check_headers(headers, message):
    """Compare."""
    params = message["params"]
    wrong = (
        header(headers, "MCP-Protocol-Version") != params["_meta"][PROTOCOL_VERSION]
        or header(headers, "Mcp-Method") != message["method"]
        or (message["method"] == "tools/call" and header(headers, "Mcp-Name") != params["name"])
    )
    if wrong:
        raise RpcError(-32600, "Invalid Request")


def check_origin(headers, edge):
    """Host and Origin."""
    if header(headers, "Host") not in edge.hosts:
        raise Turned
    if header(headers, "Origin") not in {None, "null", *edge.origins}:
        raise Turned


def authenticate(headers, edge):
    """The token."""
    token = (header(headers, "Authorization") or " ").split(" ")[-1]
    principal = edge.tokens.get(hashlib.sha256(token.encode()).hexdigest())
    if principal is None:
        raise Turned
    return principal


def status_for(message, answer):
    """400 for every error."""
    return 400 if "error" in answer else 200


def respond(request, edge, server):
    """Answer."""
    message = None
    try:
        message = server.decode(request.body)
        check_headers(request.headers, message)
        check_origin(request.headers, edge)
        answer = server.handle(message, authenticate(request.headers, edge))
    except Turned:
        return BAD
    except (KeyError, TypeError, RpcError):
        answer = server.failure(message, RpcError(-32600, "Invalid Request"))
    status = status_for(message, answer)
    return HttpResponse(status, (("Content-Type", "application/json"),), json.dumps(answer).encode())
