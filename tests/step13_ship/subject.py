"""What the checks of step 13 can ask of a learner's parts; runs in the worker."""

import hashlib
import json
from typing import Any

from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.protocol import PARSE_ERROR
from kit.refusals import RpcError

Pairs = list[list[str]]
Users = dict[str, list[Any]]


def header(parts: Any, *, headers: Pairs, name: str) -> Any:
    """The value of a header."""
    return parts.edge.header(_tuples(headers), name)


def decode_value(parts: Any, *, value: str) -> Any:
    """What a header value says."""
    return parts.edge.decode_value(value)


def check_headers(parts: Any, *, headers: Pairs, message: Any) -> str:
    """Whether headers agree with a request."""
    parts.edge.check_headers(_tuples(headers), message)
    return "passes"


def check_origin(parts: Any, *, headers: Pairs, hosts: list[str], origins: list[str]) -> Any:
    """Whether a request was sent to this server, or the status with which it is turned away."""
    edge = parts.edge.Edge(frozenset(hosts), {}, origins=frozenset(origins))
    try:
        parts.edge.check_origin(_tuples(headers), edge)
    except parts.edge.Turned as turned:
        return turned.response.status
    return "passes"


def authenticate(parts: Any, *, headers: Pairs, users: Users, scope: str) -> dict[str, Any]:
    """Who is calling. users: subject and scopes by token in clear; the part gets hashes."""
    edge = parts.edge.Edge(frozenset(), _tokens(users), scope)
    try:
        principal = parts.edge.authenticate(_tuples(headers), edge)
    except parts.edge.Turned as turned:
        return _told(turned.response)
    return {"subject": principal.subject, "scopes": sorted(principal.scopes)}


def status_for(parts: Any, *, message: Any, answer: dict[str, Any]) -> Any:
    """The status of an answer."""
    return int(parts.edge.status_for(message, answer))


def respond(
    parts: Any,
    *,
    body: str,
    headers: Pairs,
    hosts: list[str],
    users: Users,
    answer: Any,
    method: str = "POST",
    path: str = "/mcp",
) -> dict[str, Any]:
    """Answer one HTTP request before a server that always says `answer`, and notes its calls."""
    calls: list[Any] = []

    def handle(message: Any, principal: Any) -> Any:
        calls.append({"message": message, "subject": principal.subject})
        return answer

    edge = parts.edge.Edge(frozenset(hosts), _tokens(users))
    server = parts.edge.Server(_decode, handle, _failure)
    request = HttpRequest(method, path, _tuples(headers), body.encode())
    return {**_told(parts.edge.respond(request, edge, server)), "calls": calls}


def encode_value(parts: Any, *, text: str) -> Any:
    """A text as a header value."""
    return parts.client_headers.encode_value(text)


def headers_for(parts: Any, *, message: Any) -> Any:
    """The headers of a request."""
    return parts.client_headers.headers_for(message)


def _tuples(headers: Pairs) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers)


def _tokens(users: Users) -> dict[str, Principal]:
    return {
        hashlib.sha256(token.encode()).hexdigest(): Principal(subject, frozenset(scopes))
        for token, (subject, scopes) in users.items()
    }


def _told(response: HttpResponse) -> dict[str, Any]:
    """A response: its status, its headers by small name, its body as JSON, None for no body."""
    headers = {name.lower(): value for name, value in response.headers}
    body = json.loads(response.body) if response.body else None
    return {"status": int(response.status), "headers": headers, "body": body}


def _decode(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        raise RpcError(PARSE_ERROR, "This is not JSON.") from None


def _failure(message: Any, refusal: RpcError) -> dict[str, Any]:
    known = {"id": message["id"]} if isinstance(message, dict) and "id" in message else {}
    return {
        "jsonrpc": "2.0",
        **known,
        "error": {"code": refusal.code, "message": refusal.message},
    }
