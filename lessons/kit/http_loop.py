"""Moves HTTP requests and responses over loopback; knows nothing of MCP.

The traps that it stays out of: head and body leave in one write and Nagle is off, or each answer on
a kept-alive connection waits for a delayed ACK; the body is read to its end before any answer; a
body without a length, or longer than the limit, ends the connection.
"""

import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kit.http_message import HttpRequest, HttpResponse

LONGEST_BODY = 1_048_576
PATIENCE = 10.0  # seconds that a started request may take to arrive

Respond = Callable[[HttpRequest], HttpResponse]


class HttpLoop(ThreadingHTTPServer):
    """A server on 127.0.0.1 that answers each request with `respond`.

    respond: from request to response; an exception in it is answered with 500 and logged by type.
    port: 0 takes a free one; `port` of the object tells which.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, respond: Respond, port: int = 0) -> None:
        self.respond = respond
        super().__init__(("127.0.0.1", port), _Connection)

    @property
    def port(self) -> int:
        """The TCP port that is listened on."""
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "lab", ""
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = PATIENCE
    server: HttpLoop

    def _serve(self) -> None:
        refusal, length = self._length()
        if refusal is not None:
            self._write(refusal, last=True)
            return
        try:
            body = self.rfile.read(length)
        except TimeoutError:
            self._write(HttpResponse(408), last=True)
            return
        if len(body) < length:
            self.close_connection = True
            return
        headers = tuple(self.headers.items())
        self._write(self._answer(HttpRequest(self.command, self.path, headers, body)))

    do_POST = do_GET = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = do_HEAD = _serve

    def _length(self) -> tuple[HttpResponse | None, int]:
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers:
            return HttpResponse(400 if lengths else 411), 0
        if not lengths:
            return (HttpResponse(411) if self.command == "POST" else None), 0
        if len(lengths) > 1 or not (lengths[0].strip().isascii() and lengths[0].strip().isdigit()):
            return HttpResponse(400), 0
        length = int(lengths[0]) if len(lengths[0]) < 20 else LONGEST_BODY + 1
        return (HttpResponse(413) if length > LONGEST_BODY else None), length

    def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.server.respond(request)
        except Exception as bug:
            self.log_error("bug: %s", type(bug).__name__)
            return HttpResponse(500)

    def _write(self, response: HttpResponse, last: bool = False) -> None:
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        if response.status >= 200 and response.status != 204:
            self.send_header("Content-Length", str(len(response.body)))
        if last:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        self.wfile.flush()
        if last:
            self.connection.shutdown(socket.SHUT_WR)

    def log_message(self, format: str, *arguments: object) -> None:
        """No access log: a request line may hold what nobody should read (EDGE-15)."""
