"""One server for `over_http`, in a process of its own: python -m bench.serving KIND TOKEN.

It prints its port, on 127.0.0.1, and serves until it is killed.
"""

import hashlib
import socket
import sys

from bench.endless import USER, endless_server
from bench.peers import sdk_application
from kit.http_loop import HttpLoop


def main(kind: str, token: str) -> None:
    """Serve the lab's own server for `ours`, else the SDK's."""
    if kind == "ours":
        _ours(token)
    else:
        _sdk(kind)


def _ours(token: str) -> None:
    server, parts = endless_server()
    edge, envelope = parts.edge, parts.envelope
    loop = HttpLoop(lambda request: edge.respond(request, settings, behind))
    tokens = {hashlib.sha256(token.encode()).hexdigest(): USER}
    settings = edge.Edge(frozenset({f"127.0.0.1:{loop.port}"}), tokens)
    behind = edge.Server(envelope.decode, server.handle, envelope.failure)
    print(loop.port, flush=True)
    loop.serve_forever()


def _sdk(kind: str) -> None:
    import uvicorn

    # Without the protocol's number asyncio leaves Nagle on, and each answer waits for 44 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    settings = uvicorn.Config(sdk_application([kind]), log_level="error")
    uvicorn.Server(settings).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
