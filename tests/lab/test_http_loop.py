"""The HTTP loop and the edge on a real socket: the traps of http.server, and odd requests."""

import hashlib
import importlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kit.http_loop import LONGEST_BODY, HttpLoop
from kit.http_message import HttpRequest, HttpResponse
from kit.parts import ROOT, part_paths
from kit.principal import Principal

sys.path.insert(0, str(ROOT / "solutions"))
server: Any = importlib.import_module("server")
stage: Any = importlib.import_module("stage")


class Line:
    """A raw connection to the loop."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._file = self._socket.makefile("rb")

    def send(self, raw: bytes) -> None:
        self._socket.sendall(raw)

    def read(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by lower-case name, body of the next response."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, self._file.read(int(headers["content-length"]))

    def is_closed(self) -> bool:
        return self._file.read() == b""

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture
def echo() -> Iterator[Line]:
    def respond(request: HttpRequest) -> HttpResponse:
        if request.path == "/bug":
            raise RuntimeError("secret")
        return HttpResponse(200, (("Content-Type", "text/plain"),), request.body)

    yield from _served(HttpLoop(respond))


def _served(loop: HttpLoop) -> Iterator[Line]:
    threading.Thread(target=loop.serve_forever, args=(0.01,), daemon=True).start()
    line = Line(loop.port)
    yield line
    line.close()
    loop.shutdown()
    loop.server_close()


def post(body: bytes, path: str = "/", extra: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_it_listens_on_loopback_only() -> None:
    loop = HttpLoop(lambda request: HttpResponse(200))
    assert loop.server_address[0] == "127.0.0.1"
    loop.server_close()


def test_a_connection_stays_open_and_answers_in_order(echo: Line) -> None:
    echo.send(post(b"one") + post(b"two"))
    assert [echo.read()[2], echo.read()[2]] == [b"one", b"two"]


def test_a_bug_is_told_by_status_and_nothing_else(echo: Line) -> None:
    echo.send(post(b"", "/bug") + post(b"still here"))
    status, _, body = echo.read()
    assert (status, body) == (500, b"")
    assert echo.read()[2] == b"still here"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LONGEST_BODY + 1}\r\n\r\n", 413),
        (f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {'9' * 40}\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", 400),
    ],
)
def test_a_body_without_one_honest_length_ends_the_connection(
    echo: Line, raw: str, status: int
) -> None:
    echo.send(raw.encode())
    assert echo.read()[0] == status
    assert echo.is_closed()


@pytest.fixture
def notes() -> Iterator[tuple[Line, Any]]:
    parts = server.Parts(part_paths("solutions"))
    made = stage.Stage(parts)
    line = Line(made._loops[0].port)
    yield line, made
    line.close()
    made.close()


def mcp(made: Any, message: Any, **changes: str | None) -> bytes:
    """A POST with all headers that belong to it; a change of None leaves one out."""
    port = made._loops[0].port
    headers: dict[str, str | None] = {"Host": f"127.0.0.1:{port}"}
    headers |= made.headers(message, "alice") if isinstance(message, dict) else {}
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}"])
    return head.encode("latin-1") + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"Host": "evil.example"}, 403, None),
        ({"Origin": "https://evil.example"}, 403, None),
        ({"Origin": "null"}, 403, None),
        ({"Authorization": None}, 401, None),
        ({"Authorization": "Bearer wrong"}, 401, None),
        ({"Authorization": "Basic alice-demo-token"}, 401, None),
        ({"Content_Type": "text/plain"}, 415, None),
        ({"Mcp_Method": None}, 400, -32020),
        ({"Mcp_Method": "tools/list"}, 400, -32020),
        ({"Mcp_Method": "TOOLS/CALL"}, 400, -32020),
        ({"Mcp_Name": "notes_lis"}, 400, -32020),
        ({"Mcp_Name": "=?base64?!?="}, 400, -32020),
        ({"MCP_Protocol_Version": None}, 400, -32020),
        ({"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
        ({"Mcp_Name": "=?base64?bm90ZXNfZGVsZXRl?="}, 200, None),
        ({"Mcp_Name": "notes_delete \t"}, 200, None),
        ({"Mcp_Session_Id": "anything"}, 200, None),
    ],
)
def test_the_edge_answers_each_header_with_its_status(
    notes: tuple[Line, Any], changes: dict[str, str | None], status: int, code: int | None
) -> None:
    line, made = notes
    line.send(mcp(made, made.delete(), **changes) + mcp(made, made.delete()))
    told, _, body = line.read()
    assert told == status
    assert code is None or json.loads(body)["error"]["code"] == code
    assert line.read()[0] == 200  # the connection is still good


def test_a_method_that_is_not_there_is_404(notes: tuple[Line, Any]) -> None:
    line, made = notes
    line.send(mcp(made, made.request("tasks/list")))
    status, _, body = line.read()
    assert status == 404 and json.loads(body)["error"]["code"] == -32601


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[]", b"null", b'{"a":1,"a":2}', b"[" * 99_999]
)
def test_a_body_that_is_no_message_is_400(notes: tuple[Line, Any], body: bytes) -> None:
    line, made = notes
    headers = {name: value for name, value in made.headers(made.delete(), "alice").items()}
    line.send(mcp(made, body, **{k.replace("-", "_"): v for k, v in headers.items()}))
    status, _, answer = line.read()
    assert status == 400 and "id" not in json.loads(answer)


def test_a_legacy_client_is_told_the_versions(notes: tuple[Line, Any]) -> None:
    line, made = notes
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    hello["params"] = {"protocolVersion": "2025-11-25", "capabilities": {}}
    line.send(mcp(made, hello, Mcp_Method=None, MCP_Protocol_Version=None))
    status, _, body = line.read()
    data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    assert status == 400 and json.loads(body)["error"]["data"] == data


def test_other_paths_and_methods_are_refused(notes: tuple[Line, Any]) -> None:
    line, made = notes
    port = made._loops[0].port
    for start, status in (("GET /mcp", 405), ("DELETE /mcp", 405), ("GET /other", 404)):
        line.send(f"{start} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert line.read()[0] == status


def test_a_known_token_without_the_scope_is_403(notes: tuple[Line, Any]) -> None:
    edge = notes[1].parts.edge
    digest = hashlib.sha256(b"weak").hexdigest()
    settings = edge.Edge(frozenset({"h"}), {digest: Principal("eve", frozenset())})
    request = HttpRequest("POST", "/mcp", (("Host", "h"), ("Authorization", "Bearer weak")))
    answer = edge.respond(request, settings, None)
    assert answer.status == 403 and "insufficient_scope" in dict(answer.headers)["WWW-Authenticate"]
