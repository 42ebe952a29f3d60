"""A client over HTTP around the client half of step 04; the other end of the official suite.

Promise: the rounds are step 04's, unchanged. What is added here belongs to the transport: headers
that repeat the body (HTTP-1 to HTTP-7, TOOL-10) and the one retry with a version that is served.
"""

import base64
import http.client
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from kit.protocol import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, VERSION

Json = dict[str, Any]

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
UNSUPPORTED_VERSION = -32022
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
MARKED_TYPES = ("string", "integer", "boolean")


class Refused(Exception):
    """The server answered with an error. error: its JSON."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error.get('code')} {error.get('message')}")
        self.error = error


class HttpClient:
    """Calls one server.

    client_half: the module of step 04. url: of the server's endpoint. answer: gets the input
    requests by key, returns the input responses.
    """

    def __init__(self, client_half: ModuleType, url: str, answer: Callable[[Json], Json]) -> None:
        self._half, self._url, self._answer = client_half, urlsplit(url), answer
        self._ids = count(1)
        self._marked: dict[str, dict[str, str]] = {}

    def call(self, method: str, **params: Any) -> Json:
        """Make one call with all its rounds; return the complete result. Errors: Refused."""
        meta = {
            PROTOCOL_VERSION: VERSION,
            CLIENT_CAPABILITIES: {"elicitation": {"form": {}}},
            CLIENT_INFO: {"name": "lab-client", "version": "0.1.0"},
        }
        exchange = self._half.Exchange(method, {**params, "_meta": meta}, lambda: next(self._ids))
        step: Any = exchange.first()
        while isinstance(step, dict):
            step = exchange.feed(self._send(step))
            if isinstance(step, self._half.Asked):
                step = exchange.answer(self._answer(step.input_requests))
        if isinstance(step, self._half.Failed):
            raise Refused(step.error or {"message": step.why})
        return dict(step.result)

    def tools(self) -> list[Json]:
        """The tools whose header marks are valid, as the server sent them (TOOL-10)."""
        listed: list[Json] = self.call("tools/list")["tools"]
        self._marked = {}
        for tool in listed:
            marks = header_marks(tool["inputSchema"])
            if marks is not None:
                self._marked[tool["name"]] = marks
        return [tool for tool in listed if tool["name"] in self._marked]

    def _send(self, message: Json) -> Json:
        response = self._post(message)
        served = response.get("error", {}).get("data") or {}
        if response.get("error", {}).get("code") == UNSUPPORTED_VERSION:
            if VERSION not in served.get("supported", []):
                return response
            response = self._post(message)  # a server may change its mind, not we our version
        return response

    def _post(self, message: Json) -> Json:
        line = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=20)
        headers = {**standard_headers(message), **self._mirrored(message)}
        line.request("POST", self._url.path or "/", json.dumps(message).encode(), headers)
        response = line.getresponse()
        kind, body = response.headers.get_content_type(), response.read()
        line.close()
        messages = events(body) if kind == "text/event-stream" else [json.loads(body)]
        return next(dict(each) for each in messages if "id" in each and "method" not in each)

    def _mirrored(self, message: Json) -> dict[str, str]:
        if message["method"] != "tools/call":
            return {}
        arguments = message["params"].get("arguments", {})
        marks = self._marked.get(message["params"]["name"], {})
        present = {name: arguments.get(field) for field, name in marks.items()}
        return {
            f"Mcp-Param-{name}": header_value(value)
            for name, value in present.items()
            if value is not None
        }


def standard_headers(message: Json) -> dict[str, str]:
    """The headers that repeat the body of a request (HTTP-1 to HTTP-4)."""
    params = message["params"]
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": params["_meta"][PROTOCOL_VERSION],
        "Mcp-Method": message["method"],
    }
    if field := NAMED_BY.get(message["method"]):
        headers["Mcp-Name"] = header_value(params[field])
    return headers


def header_marks(schema: Json) -> dict[str, str] | None:
    """Header name by argument, out of ``x-mcp-header``; None when a mark is invalid (TOOL-10)."""
    properties = schema.get("properties", {}).items()
    marked = {name: each for name, each in properties if "x-mcp-header" in each}
    names = {name: each["x-mcp-header"] for name, each in marked.items()}
    if not all(isinstance(mark, str) and TOKEN.fullmatch(mark) for mark in names.values()):
        return None
    if any(each.get("type") not in MARKED_TYPES for each in marked.values()):
        return None
    if len({mark.lower() for mark in names.values()}) < len(names):
        return None
    return names


def header_value(value: str | int | bool) -> str:
    """Write a value into a header, encoded where plain text would not survive (HTTP-7)."""
    text = value if isinstance(value, str) else json.dumps(value)
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def events(body: bytes) -> Iterator[Json]:
    """The messages of an event stream that has ended."""
    for event in body.decode().replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].strip() for line in event.split("\n") if line.startswith("data:")]
        if any(lines):
            yield json.loads("\n".join(lines))
