"""The two hosts of the notes server: stdio for one user, HTTP on loopback for several."""

import getpass
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.clock import SystemClock
from kit.http_loop import HttpLoop
from kit.http_message import HttpRequest, HttpResponse
from kit.notes import ALICE, GRANTS
from kit.parts import ROOT, part_paths
from kit.principal import Principal
from kit.randomness import SystemRandomness
from kit.refusals import StoreUnavailable
from kit.secrets_file import Secrets, SecretsUnusable, load_or_make, save
from kit.stdio_loop import run_stdio
from pages import Pages, open_desk
from server import NotesServer, Parts, World
from stores import open_store

SECRETS = ROOT / ".lab" / "server.json"
DATABASE = ROOT / ".lab" / "notes.db"


def say(line: str) -> None:
    """Tell the operator something; on stdio, stdout belongs to the protocol (STDIO-1)."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Choice:
    """What the operator chose. parts: whose. store: of `stores.STORES`, file: for sqlite."""

    parts: str = "solutions"
    store: str = "memory"
    file: Path = DATABASE


def build(
    choice: Choice, secrets: Secrets, user: str, base: str = ""
) -> tuple[NotesServer, Parts, Pages | None]:
    """Return the server, its parts, and its pages for browsers.

    user: gets the workspaces that the examples grant Alice. base: the address of the pages; without
    one there are no pages, and no tool that needs them.
    """
    made = Parts(_told(part_paths(choice.parts), choice.parts))
    clock, randomness = SystemClock(), SystemRandomness()
    ring = made.state.KeyRing(secrets.keys, secrets.signer)
    notes, store = open_store(choice.store, made, clock, choice.file)
    grants = {**GRANTS, user: GRANTS[ALICE]}
    desk = open_desk(made, base, clock, randomness) if base else None
    pages = Pages(made, desk, secrets.tokens, clock, randomness) if desk else None
    world = World(notes, grants, ring, store, clock, randomness, desk=desk)
    return NotesServer(made, world, say), made, pages


def _told(paths: dict[str, Path], parts: str) -> dict[str, Path]:
    if parts != "solutions":
        for part, path in paths.items():
            owner = "the finished one" if path.is_relative_to(ROOT / "solutions") else "yours"
            say(f"part {part}: {owner} ({path.relative_to(ROOT)})")
    return paths


def serve_stdio(choice: Choice, secrets: Secrets) -> int:
    """Serve the operating-system user on stdin and stdout until stdin ends (STDIO-5)."""
    user = Principal(getpass.getuser(), frozenset({"notes"}))
    server, _, _ = build(choice, secrets, user.subject)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print must not break the wire
    run_stdio(lambda line: server.answer_line(line, user), source, sink)
    return 0


def serve_http(
    choice: Choice, secrets: Secrets, port: int, ready: Callable[[HttpLoop], None]
) -> int:
    """Serve bearer tokens on 127.0.0.1 until SIGINT or SIGTERM. ready: called once it listens."""
    loop = HttpLoop(lambda request: respond(request), port)
    base = f"http://127.0.0.1:{loop.port}"
    server, made, pages = build(choice, secrets, ALICE, base)
    behind = made.edge.Server(made.envelope.decode, server.handle, made.envelope.failure)
    hosts = frozenset({f"127.0.0.1:{loop.port}", f"localhost:{loop.port}"})
    settings = made.edge.Edge(hosts, secrets.tokens)

    def respond(request: HttpRequest) -> HttpResponse:
        if pages is not None and pages.takes(request.path):
            return pages.respond(request)
        return made.edge.respond(request, settings, behind)

    stop: Any = lambda *_: threading.Thread(target=loop.shutdown).start()  # noqa: E731
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    ready(loop)
    loop.serve_forever()
    loop.server_close()
    return 0


def main(transport: str, choice: Choice, port: int, token_for: str | None) -> int:
    """Serve; 2 when something that the operator can mend stands in the way."""
    try:
        secrets = load_or_make(SECRETS, SystemRandomness())
        if transport == "stdio":
            return serve_stdio(choice, secrets)
        if token_for or not secrets.tokens:
            subject = token_for or ALICE
            token = secrets.issue(subject, frozenset({"notes"}), SystemRandomness())
            save(SECRETS, secrets)
            say(f"Bearer token for {subject}, shown once: {token}")
        address = "http://127.0.0.1:{}/mcp, until you press Ctrl-C"
        return serve_http(choice, secrets, port, lambda loop: say(address.format(loop.port)))
    except StoreUnavailable:
        say(f"The server did not start: {choice.file} cannot be used as its database.")
        return 2
    except (SecretsUnusable, OSError) as trouble:
        say(f"The server did not start: {trouble}")
        return 2
