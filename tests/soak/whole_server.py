"""The assembled server on a world of its own, reached by lines or by HTTP requests, without I/O."""

import hashlib
import importlib
import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from kit.clock import FrozenClock
from kit.http_message import HttpRequest
from kit.notes import ALICE, GRANTS, example_notes
from kit.parts import ROOT
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION, VERSION
from kit.randomness import SeededRandomness
from soak.mutations import spoilt

sys.path.insert(0, str(ROOT / "solutions"))
assembled: Any = importlib.import_module("server")
pages: Any = importlib.import_module("pages")

Json = dict[str, Any]
WHO = Principal(ALICE, frozenset({"notes"}))
TOKEN, HOST = "token-of-alice", "127.0.0.1:1"
TOKENS = {hashlib.sha256(TOKEN.encode()).hexdigest(): WHO}
NAME_FIELD = {"tools/call": "name", "resources/read": "uri"}


def load_parts(paths: dict[str, Path]) -> Any:
    """The parts in these files."""
    return assembled.Parts(paths)


class WholeServer:
    """A server with a new world. parts: of `load_parts`. seed: of its keys and nonces."""

    def __init__(self, parts: Any, seed: int) -> None:
        clock, randomness = FrozenClock(), SeededRandomness(str(seed))
        ring = parts.state.KeyRing({"k1": randomness.token_bytes(32)}, "k1")
        self._notes = example_notes()
        self._first = self._count = len(list(self._notes))
        store = parts.replay.ReplayStore(self._notes, clock)
        desk = pages.open_desk(parts, "https://notes.example", clock, randomness)
        world = assembled.World(self._notes, GRANTS, ring, store, clock, randomness, desk=desk)
        self._server = assembled.NotesServer(parts, world, lambda line: None)
        self._edge = parts.edge
        self._settings = parts.edge.Edge(frozenset({HOST}), TOKENS)
        self._behind = parts.edge.Server(
            parts.envelope.decode, self._server.handle, parts.envelope.failure
        )

    @property
    def notes_gone(self) -> int:
        """How many notes were deleted so far."""
        return self._first - len(list(self._notes))

    def answer_line(self, raw: bytes) -> Any:
        """The answer to a line of stdio, decoded, or None."""
        answer = self._server.answer_line(raw, WHO)
        return None if answer is None else json.loads(answer)

    def answer_http(self, raw: bytes, headers: tuple[tuple[str, str], ...]) -> tuple[Any, int]:
        """The answer to a POST, decoded, or None; and its status."""
        request = HttpRequest("POST", "/mcp", headers, raw)
        response = self._edge.respond(request, self._settings, self._behind)
        return json.loads(response.body) if response.body else None, response.status


def headers_of(message: Any, rng: Random) -> tuple[tuple[str, str], ...]:
    """The headers that belong to a message; now and then one is odd, missing or there twice.

    A host reads headers as Latin-1, so no other character can be in them.
    """
    method = message.get("method") if isinstance(message, dict) else None
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    headers = [
        ("Host", HOST),
        ("Authorization", f"Bearer {TOKEN}"),
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", str(meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else "")),
        ("Mcp-Method", str(method)),
    ]
    field = NAME_FIELD.get(str(method))
    if field and isinstance(params, dict):
        headers.append(("Mcp-Name", str(params.get(field))))
    if rng.random() < 0.1:
        place = rng.randrange(len(headers))
        name, value = headers[place]
        odd = rng.choice(([], [(name, spoilt(value, rng))], [(name, value), (name, value)]))
        headers[place : place + 1] = odd
    return tuple(
        (name, value.encode("latin-1", "replace").decode("latin-1")) for name, value in headers
    )


def ordinary() -> list[Json]:
    """Messages of an honest client; ``@state`` stands for the last state that came back."""
    team = {"workspaceUri": "file:///srv/notes/team", "title": "Draft"}
    uri = "file:///srv/notes/team/agenda-1.md"
    yes = {"action": "accept", "content": {"note_id": "draft-1", "confirm": True}}
    call = {"name": "notes_delete", "arguments": team}
    retry = {**call, "requestState": "@state"}
    connect: Json = {"name": "notes_connect", "arguments": {}}
    return [
        _request("server/discover"),
        _request("tools/list"),
        _request("resources/list"),
        _request("resources/templates/list"),
        _request("resources/read", uri=uri),
        _request("tools/call", **call),
        _request("tools/call", **retry, inputResponses={"delete_choice": yes}),
        _request("tools/call", **retry, inputResponses={"delete_choice": {"action": "decline"}}),
        _request("tools/call", **retry, inputResponses={"delete_choice": {"action": "cancel"}}),
        _request("tools/call", **retry),
        _request("tools/call", **connect),
        _request(
            "tools/call",
            **connect,
            requestState="@state",
            inputResponses={"connect_page": {"action": "accept"}},
        ),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "x"}},
    ]


def _request(method: str, **params: Any) -> Json:
    meta: Json = {
        PROTOCOL_VERSION: VERSION,
        CLIENT_CAPABILITIES: {"elicitation": {"form": {}, "url": {}}},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
