"""The notes server, put together from the parts of the steps: the composition root.

It owns what no part may own: the order of the questions. A message and a verified principal go in,
a message or nothing comes out; hosts (stdio, HTTP) stand outside.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import BaseModel, create_model

from connect import NotesConnect
from kit.clock import Clock
from kit.notes import Note
from kit.parts import load
from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import (
    NonceSpent,
    RpcError,
    StateRefused,
    StoreFull,
    StoreUnavailable,
    ToolRefusal,
)
from results import said

Json = dict[str, Any]

SERVER_INFO = {"name": "notes-lab", "version": "0.1.0"}
QUESTION = "delete_choice"
MOST_CANDIDATES = 50  # in one form; a person cannot choose from more, and the state stays short
DESCRIPTOR: Json = {
    "name": "notes_delete",
    "title": "Delete a note",
    "description": "Delete one note of a title in a workspace. The user is always asked first.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "workspaceUri": {"type": "string", "description": "file URI of the workspace"},
            "title": {"type": "string", "description": "title of the note"},
        },
        "required": ["workspaceUri", "title"],
        "additionalProperties": False,
    },
    "annotations": {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": False,
    },
}


@dataclass(frozen=True)
class World:
    """What the server works on and with; shared by all server objects that act as one.

    notes, grants: the world and who may use which workspace. ring: of step 05. store: of step 06,
    or of another step that keeps its interface. audience: the name of the service that a state is
    good for. desk: a `connect.Desk`, or None where there is no page and so no ``notes_connect``.
    """

    notes: Any
    grants: Mapping[str, tuple[str, ...]]
    ring: Any
    store: Any
    clock: Clock
    randomness: Randomness
    audience: str = "notes-lab"
    desk: Any = None


@lru_cache(maxsize=256)  # to make a class takes longer than everything else in a round
def choice_of(form: type[BaseModel], ids: tuple[str, ...]) -> type[BaseModel]:
    """Return the form, a class below `form`, that offers these notes and asks for a yes."""
    fields: Json = {"note_id": (Literal[ids], ...), "confirm": (bool, ...)}
    made: type[BaseModel] = create_model("DeleteChoice", __base__=form, **fields)
    return made


class Parts:
    """The parts as modules. paths: of `kit.parts.part_paths`."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        modules: dict[str, ModuleType] = {part: load(path) for part, path in paths.items()}
        self.envelope, self.scope = modules["envelope"], modules["scope"]
        self.forms, self.state = modules["forms"], modules["state"]
        self.server_half, self.client_half = modules["server_half"], modules["client_half"]
        self.replay, self.sqlite_store = modules["replay"], modules["sqlite_store"]
        self.url_mode, self.beneath = modules["url_mode"], modules["beneath"]
        self.safe_write, self.sandbox = modules["safe_write"], modules["sandbox"]
        self.edge = modules["edge"]


class NotesServer:
    """One server object; it remembers nothing between two messages.

    parts: what it is made of. world: what it works on. log: receives one line for each refusal
    whose reason the client is not told.
    """

    def __init__(self, parts: Parts, world: World, log: Callable[[str], None]) -> None:
        self._parts, self._world, self._log = parts, world, log

    def handle(self, message: Any, principal: Principal) -> Json | None:
        """Return the answer to a decoded message from `principal`, or None for no answer."""
        methods = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
        }
        handlers = {
            name: lambda request, method=method: self._parts.envelope.complete(
                method(request, principal), SERVER_INFO
            )
            for name, method in methods.items()
        }
        return self._parts.envelope.respond(message, handlers, self._log)

    def answer_line(self, line: bytes, principal: Principal) -> bytes | None:
        """Return the answer to one line of stdio, any bytes at all."""
        try:
            answer = self.handle(self._parts.envelope.decode(line), principal)
        except RpcError as refusal:
            answer = self._parts.envelope.failure(None, refusal)
        return None if answer is None else json.dumps(answer, separators=(",", ":")).encode()

    def _discover(self, request: Any, principal: Principal) -> Json:
        return self._parts.envelope.discover({"tools": {}, "resources": {}})

    def _list_tools(self, request: Any, principal: Principal) -> Json:
        return self._parts.envelope.list_tools([tool.descriptor for tool in self._tools()])

    def _tools(self) -> list[Any]:
        return [NotesDelete] if self._world.desk is None else [NotesDelete, NotesConnect]

    def _list_templates(self, request: Any, principal: Principal) -> Json:
        return {"resourceTemplates": [], "ttlMs": 300_000, "cacheScope": "public"}

    def _list_resources(self, request: Any, principal: Principal) -> Json:
        visible = [note for note in self._world.notes if self._may_see(note, principal)]
        resources = [{"uri": n.uri, "name": n.title, "mimeType": "text/markdown"} for n in visible]
        return {"resources": resources, "ttlMs": 0, "cacheScope": "private"}

    def _may_see(self, note: Note, principal: Principal) -> bool:
        scope = self._parts.scope
        try:
            scope.authorize(principal, scope.normalize(note.uri), self._world.grants)
        except ToolRefusal:
            return False
        return True

    def _read_resource(self, request: Any, principal: Principal) -> Json:
        uri = request.params.get("uri")
        note = self._parts.scope.read_resource(
            uri, principal, self._world.grants, self._world.notes
        )
        contents = [{"uri": uri, "mimeType": "text/markdown", "text": note.body}]
        return {"contents": contents, "ttlMs": 0, "cacheScope": "private"}

    def _call_tool(self, request: Any, principal: Principal) -> Json:
        arguments = request.params.get("arguments", {})
        named = [t for t in self._tools() if t.descriptor["name"] == request.params.get("name")]
        if not named:
            raise RpcError(INVALID_PARAMS, "This server has no such tool.")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object.")
        try:
            result: Json = named[0](self._parts, self._world, request, arguments, principal).run()
            return result
        except ToolRefusal as refusal:
            return said(refusal.message, is_error=True)
        except StateRefused as refusal:
            self._log(f"requestState refused: {refusal}")
        except NonceSpent:
            self._log("requestState refused: replayed")
        raise self._parts.state.wire_error()


class NotesDelete:
    """One call of ``notes_delete``: scope, then the question, then the answer, then the deletion.

    request: checked by the envelope. arguments: of the call. principal: verified by the host.
    """

    descriptor = DESCRIPTOR

    def __init__(
        self, parts: Parts, world: World, request: Any, arguments: Json, principal: Principal
    ) -> None:
        self._parts, self._world = parts, world
        self._request, self._arguments, self._principal = request, arguments, principal
        self._title = arguments.get("title")
        self._workspace = parts.scope.workspace_from_argument(arguments, principal, world.grants)

    def run(self) -> Json:
        """Return the fields of the result.

        Errors: ToolRefusal, StateRefused, NonceSpent, RpcError.
        """
        if not set(self._arguments) <= set(DESCRIPTOR["inputSchema"]["properties"]):
            raise ToolRefusal("notes_delete takes workspaceUri and title, and nothing else.")
        retry = self._parts.server_half.read_retry(self._request.params)
        if retry.request_state is None:
            return self._first_question()
        return self._read(retry)

    def _origin(self) -> Any:
        arguments = {"title": self._title, "workspace": list(self._workspace.segments)}
        return self._parts.state.Origin(
            self._principal.subject, "tools/call", "notes_delete", arguments, self._world.audience
        )

    def _first_question(self) -> Json:
        self._parts.forms.require_mode(self._request.client_capabilities, "form")
        notes = self._parts.scope.candidates(self._world.notes, self._title, self._workspace)
        if not notes:
            raise ToolRefusal("There is no note of this title in this workspace.")
        if len(notes) > MOST_CANDIDATES:
            raise ToolRefusal("There are too many notes of this title to choose from.")
        ids, world = tuple(note.id for note in notes), self._world
        state = self._parts.state.mint(
            self._origin(), QUESTION, ids, world.ring, world.clock, world.randomness
        )
        return self._ask(ids, state)

    def _ask(self, ids: tuple[str, ...], state: str) -> Json:
        self._parts.forms.require_mode(self._request.client_capabilities, "form")
        message = f"Which note called {self._title} should be deleted for ever?"
        question = self._parts.forms.elicit(message, self._form(ids))
        return self._parts.server_half.input_required("tools/call", {QUESTION: question}, state)

    def _form(self, ids: tuple[str, ...]) -> type[BaseModel]:
        return choice_of(self._parts.forms.Form, ids)

    def _read(self, retry: Any) -> Json:
        forms, world = self._parts.forms, self._world
        interaction = self._parts.state.open_state(
            retry.request_state, self._origin(), QUESTION, world.ring, world.clock
        )
        form = self._form(interaction.candidates)
        match forms.read_answer(form, retry.input_responses, QUESTION):
            case forms.Missing():
                return self._ask(interaction.candidates, retry.request_state)
            case forms.Malformed(why=why):
                raise RpcError(INVALID_PARAMS, why)
            case forms.Cancelled():
                return said("Nothing was decided and nothing was deleted.")
            case forms.Accepted(value=choice) if choice.confirm:
                return self._spend(interaction, lambda tx: self._delete(tx, choice.note_id))
            case _:
                return self._spend(interaction, lambda tx: said("Nothing was deleted."))

    def _spend(self, interaction: Any, effect: Callable[[Any], Json]) -> Json:
        try:
            return self._world.store.claim(interaction.nonce, interaction.expires_at, effect)
        except StoreFull:
            raise ToolRefusal("Too many deletions are under way; try again later.") from None
        except StoreUnavailable:
            raise ToolRefusal("The notes cannot be changed now; try again later.") from None

    def _delete(self, transaction: Any, note_id: str) -> Json:
        # The world may have changed while the user was thinking: scope is checked again (ONCE-14).
        scope, note = self._parts.scope, transaction.find(note_id)
        scope.authorize(self._principal, self._workspace, self._world.grants)
        if note is None or not scope.contains_strictly(self._workspace, scope.normalize(note.uri)):
            raise ToolRefusal("This note is no longer in this workspace.")
        transaction.delete(note_id)
        return said(f"Deleted {note_id}.")
