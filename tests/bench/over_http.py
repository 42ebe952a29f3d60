"""Both rounds over one kept-alive connection on loopback, each server in a process of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.peers import named
from bench.rounds import first, must_have_deleted, second
from bench.side_by_side import Repeat, Row, compare
from kit.parts import ROOT
from kit.protocol import VERSION

SUMMARY = "two-round confirmations over HTTP on loopback"
TOKEN = "bench-token"
FOLDERS = ("lessons", "tests")
HEAD = f"""\
POST /mcp HTTP/1.1
Content-Type: application/json
Accept: application/json, text/event-stream
MCP-Protocol-Version: {VERSION}
Mcp-Method: tools/call
Mcp-Name: notes_delete
Authorization: Bearer {TOKEN}
"""


def rows() -> Iterator[Row]:
    """Yield a row for the SDK's server with JSON responses, and one for its default."""
    with _serving("ours") as ours, _serving("json") as with_json, _serving("default") as default:
        what = "confirmations over HTTP"
        yield Row(what, f"{named('mcp')}, JSON", *compare(ours, with_json), least=1.5)
        yield Row(what, f"{named('mcp')}, default", *compare(ours, default), least=1.5)


@contextmanager
def _serving(kind: str) -> Iterator[Repeat]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / n) for n in FOLDERS)}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.serving", kind, TOKEN],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        with Line(int(process.stdout.readline())) as line:
            yield lambda times: _confirm(line, times)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Line:
    """One kept-alive connection; a client that costs next to nothing, so that servers are compared.

    It knows of HTTP what these servers say, and no more. port: on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = f"Host: 127.0.0.1:{port}\n"

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *raised: object) -> None:
        self._socket.close()

    def post(self, body: bytes) -> bytes:
        """Send one request in one write; return the body of its answer."""
        head = f"{HEAD}{self._host}Content-Length: {len(body)}\n\n".replace("\n", "\r\n")
        self._socket.sendall(head.encode() + body)
        answer = self._until(b"", lambda read: b"\r\n\r\n" in read)
        told, _, rest = answer.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in told.split(b"\r\n")[1:])
        if b"content-length" in fields:
            length = int(fields[b"content-length"])
            return self._until(rest, lambda read: len(read) >= length)
        return self._until(rest, lambda read: read.endswith(b"\r\n0\r\n\r\n"))

    def _until(self, read: bytes, enough: Callable[[bytes], bool]) -> bytes:
        while not enough(read):
            more = self._socket.recv(65536)
            if not more:
                raise RuntimeError("The server closed the connection.")
            read += more
        return read


def _confirm(line: Line, times: int) -> None:
    for _ in range(times):
        must_have_deleted(line.post(second(line.post(first()))))
