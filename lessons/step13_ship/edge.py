"""The edge: everything that HTTP adds to a message, decided before and after the server sees it.

Promise: what the headers say is what the body says, the caller is known by credentials and by
nothing else, and every answer has the status that the table names. Attacks it stops: a web page
that talks to a local server (DNS rebinding), a proxy that routes by a header while the body asks
for something else, a caller who names himself.
"""

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
from kit.todo import todo

Headers = tuple[tuple[str, str], ...]

ENDPOINT = "/mcp"
NAME_FIELD = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


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
    todo("13.1: Find a header")


def decode_value(value: str) -> str:
    """Return what a header value says: ``=?base64?ZsO8cg==?=`` says ``für`` (HTTP-7).

    Errors: RpcError -32020 for a value that is not printable ASCII, or whose Base64 or UTF-8 is
    broken (HTTP-8).
    """
    todo("13.2: Read what a value says")


def check_headers(headers: Headers, message: dict[str, Any]) -> None:
    """Let a request go on if its headers say what its body says.

    message: a request. Compared are the version (HTTP-4), the method (HTTP-5), and for three
    methods the name; a field that the body lacks is for the server to complain about.
    Errors: RpcError -32020 when a header is missing, differs, or cannot be decoded (HTTP-8).
    """
    todo("13.3: Headers and body say the same")


def check_origin(headers: Headers, edge: Edge) -> None:
    """Let a request go on if it was sent to this server, by no foreign web page.

    Errors: Turned with 403 when ``Host`` is not on the list (EDGE-3), or ``Origin`` is present and
    is not on its list (HTTP-2, EDGE-4).
    """
    todo("13.4: Sent to this server, by no foreign page")


def authenticate(headers: Headers, edge: Edge) -> Principal:
    """Return who is calling.

    Errors: Turned with 401 and ``WWW-Authenticate`` when there is no bearer token or it is unknown,
    with 403 when its principal lacks the scope (HTTP-16, EDGE-5).
    """
    todo("13.5: Who is calling")


def status_for(message: Any, answer: dict[str, Any]) -> int:
    """Return the HTTP status of an answer (HTTP-9, EDGE-9).

    message: as decoded, whatever it is; None when there was none. answer: result or error.
    404 for an unknown method. 400 for what is no JSON, no request, a header mismatch, a missing
    capability or an unsupported version. -32602 is 400 when the envelope lacks a ``_meta`` key.
    200 for everything else: it was dispatched.
    """
    todo("13.6: The table of statuses")


def respond(request: HttpRequest, edge: Edge, server: Server) -> HttpResponse:
    """Return the response to one HTTP request.

    The order is fixed (EDGE-10): path, 404 (EDGE-1); method, 405 with ``Allow`` (HTTP-14); Host
    and Origin; credentials; media type, 415 for another one, whatever its parameters (EDGE-13);
    JSON; headers against body, for requests; then the server. What is turned away does not reach
    it. An RpcError on the way becomes an answer by `server.failure`, an answer is sent as
    ``application/json``. A notification gets 202 and no body (HTTP-11). ``initialize`` comes from a
    client that knows no such headers; the server tells it which versions there are (VER-4).
    """
    todo("13.7: One order for all of it")
