"""The demo's stage: real servers on loopback, a new world for each checkpoint, two users."""

import hashlib
import http.client
import json
import tempfile
import threading
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from browser import Browser
from kit.clock import FrozenClock
from kit.http_loop import HttpLoop
from kit.http_message import HttpRequest, HttpResponse
from kit.notes import ALICE, BOB, GRANTS
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, VERSION
from kit.randomness import SeededRandomness
from kit.tape import Tape
from pages import Pages, open_desk
from server import NotesServer, Parts, World
from stores import open_store

Json = dict[str, Any]

FORM: Json = {"elicitation": {"form": {}}}
URL: Json = {"elicitation": {"url": {}}}
BASE = "https://notes.example"
TEAM = "file:///srv/notes/team"
TOKENS = {ALICE: "alice-demo-token", BOB: "bob-demo-token"}
NAME_FIELD = {"tools/call": "name", "resources/read": "uri"}


@dataclass(frozen=True)
class Reply:
    """What came back. status: of HTTP. message: the JSON body, or None when it was empty."""

    status: int
    message: Any

    @property
    def result(self) -> Json:
        """The result, or an empty object when this is an error."""
        return (self.message or {}).get("result", {})

    @property
    def error(self) -> Json:
        """The error, or an empty object when this is a result."""
        return (self.message or {}).get("error", {})


class Stage:
    """Two server objects that share one world, and a client that can say anything to them.

    parts: the parts under show. store: of `stores.STORES`; on sqlite each server has objects of its
    own, as processes have, and only the file is shared. base: the address that links begin with,
    "" for the first server's own on loopback. world: the first server's.
    """

    def __init__(self, parts: Parts, store: str = "memory", base: str = BASE) -> None:
        self.parts = parts
        self.clock = FrozenClock()
        self._store, self._folder = store, tempfile.TemporaryDirectory()
        self.database = Path(self._folder.name) / "notes.db"
        self.tape = Tape(self.clock)
        self.log: list[str] = []
        self._ids = count(1)
        self._randomness = SeededRandomness("demo")
        self._ring = parts.state.KeyRing({"k1": self._randomness.token_bytes(32)}, "k1")
        self._paging = SeededRandomness("pages")
        self._base = base
        self._start()

    def _start(self) -> None:
        self._loops = [HttpLoop(_not_yet), HttpLoop(_not_yet)]
        self.base = self._base or f"http://127.0.0.1:{self._loops[0].port}"
        self.world = self._new_world()
        second = self.world if self._store == "memory" else self._new_world()
        self.notes = self.world.notes
        for loop, world in zip(self._loops, (self.world, second), strict=True):
            self._open(loop, world)
        self._lines = [http.client.HTTPConnection("127.0.0.1", each.port) for each in self._loops]

    def _new_world(self) -> World:
        notes, store = open_store(self._store, self.parts, self.clock, self.database)
        desk = open_desk(self.parts, self.base, self.clock, self._paging)
        return World(notes, GRANTS, self._ring, store, self.clock, self._randomness, desk=desk)

    def _open(self, loop: HttpLoop, world: World) -> None:
        server = NotesServer(self.parts, world, self.log.append)
        tokens = {
            hashlib.sha256(token.encode()).hexdigest(): Principal(name, frozenset({"notes"}))
            for name, token in TOKENS.items()
        }
        envelope, edge = self.parts.envelope, self.parts.edge
        behind = edge.Server(envelope.decode, server.handle, envelope.failure)
        settings = edge.Edge(frozenset({f"127.0.0.1:{loop.port}"}), tokens)
        pages = Pages(self.parts, world.desk, tokens, self.clock, self._paging)
        loop.respond = lambda request: (
            pages.respond(request)
            if pages.takes(request.path)
            else edge.respond(request, settings, behind)
        )
        threading.Thread(target=loop.serve_forever, args=(0.02,), daemon=True).start()

    def restart(self) -> None:
        """End both servers and start new ones; what they had in memory is gone."""
        self._stop()
        self._start()

    def close(self) -> None:
        """End the connections and the servers, and delete the file."""
        self._stop()
        self._folder.cleanup()

    def _stop(self) -> None:
        for line in self._lines:
            line.close()
        for loop in self._loops:
            loop.shutdown()
            loop.server_close()

    def next_id(self) -> int:
        """A request id that was not used before on this stage."""
        return next(self._ids)

    def ids(self) -> set[str]:
        """The ids of the notes that exist now."""
        return {note.id for note in self.notes}

    def request(self, method: str, capabilities: Any = FORM, **params: Any) -> Json:
        """A request with an envelope of its own; `params` go beside ``_meta``."""
        meta = {
            PROTOCOL_VERSION: VERSION,
            CLIENT_CAPABILITIES: capabilities,
            CLIENT_INFO: {"name": "lab-client", "version": "0.1.0"},
        }
        params = {**params, "_meta": meta}
        return {"jsonrpc": "2.0", "id": self.next_id(), "method": method, "params": params}

    def delete(self, title: str = "Draft", workspace: str = TEAM, **params: Any) -> Json:
        """A ``tools/call`` of ``notes_delete``."""
        arguments = {"workspaceUri": workspace, "title": title}
        return self.request("tools/call", name="notes_delete", arguments=arguments, **params)

    def send(
        self,
        message: Json,
        who: str = ALICE,
        server: int = 0,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send one message over HTTP with the headers that belong to it; record both ways.

        headers: replace those of the same name.
        """
        label = "server" if server == 0 else "second server"
        self.tape.record(who, label, message)
        line = self._lines[server]
        line.request(
            "POST", "/mcp", json.dumps(message), self.headers(message, who) | (headers or {})
        )
        response = line.getresponse()
        body = response.read()
        answer = json.loads(body) if body else None
        self.tape.record(label, who, answer)
        return Reply(response.status, answer)

    def headers(self, message: Json, who: str = ALICE) -> dict[str, str]:
        """The HTTP headers that belong to a message of `who`."""
        params = message.get("params", {})
        meta = params.get("_meta", {})
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {TOKENS[who]}",
            "MCP-Protocol-Version": str(meta.get(PROTOCOL_VERSION, VERSION)),
            "Mcp-Method": message["method"],
        }
        if field := NAME_FIELD.get(message["method"]):
            headers["Mcp-Name"] = params[field]
        return headers

    def connect(self, capabilities: Any = URL, **params: Any) -> Json:
        """A ``tools/call`` of ``notes_connect``."""
        return self.request(
            "tools/call", capabilities, name="notes_connect", arguments={}, **params
        )

    def retry_connect(self, asked: Json, response: Any, who: str = ALICE, server: int = 0) -> Reply:
        """Send the retry that brings `response` to the link of `asked`, a result with a state."""
        responses = {} if response is None else {"connect_page": response}
        retry = self.connect(inputResponses=responses, requestState=asked["requestState"])
        return self.send(retry, who, server)

    def browser(self, who: str) -> Browser:
        """A browser of `who`, not signed in yet; what it does is on the tape without its forms."""
        return Browser(self._loops[0].port, self.base, who, TOKENS[who], self.tape)

    def ask(self, who: str = ALICE, **params: Any) -> str:
        """Start a deletion and return the ``requestState`` that came with the question."""
        return self.send(self.delete(**params), who).result["requestState"]

    def answer(self, state: str, response: Any, who: str = ALICE, **params: Any) -> Reply:
        """Send the retry that brings `response` to the question, with `state`."""
        server = params.pop("server", 0)
        responses = {} if response is None else {"delete_choice": response}
        retry = self.delete(inputResponses=responses, requestState=state, **params)
        return self.send(retry, who, server)


def _not_yet(request: HttpRequest) -> HttpResponse:
    return HttpResponse(503)


def accept(note_id: str = "draft-1", confirm: Any = True) -> Json:
    """The response of a user who submits the form."""
    return {"action": "accept", "content": {"note_id": note_id, "confirm": confirm}}
