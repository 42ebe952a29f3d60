"""The tool ``notes_connect``: its setup needs a key that must never pass through the client.

The question is a link. The answer to it says only that the user has opened it; whether the setup is
done stands in the tickets, which the page behind the link fills in (`pages`).
"""

from dataclasses import dataclass
from typing import Any

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, StoreFull, ToolRefusal
from results import said

Json = dict[str, Any]

QUESTION = "connect_page"
SERVICE = "archive.example"
LIFETIME = 600  # seconds that an answer to one question may take; a ticket lives as long
DESCRIPTOR: Json = {
    "name": "notes_connect",
    "title": "Connect the archive",
    "description": f"Connect {SERVICE} to your notes. Your key is typed into a page of this "
    "server, which you are asked to open; it is never sent through this tool.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}


@dataclass(frozen=True)
class Desk:
    """What tool and page share. tickets, vault: of step 08. base: the address of the page."""

    tickets: Any
    vault: Any
    base: str


class NotesConnect:
    """One call of ``notes_connect``: look into the vault, then send the user to the page.

    parts, world: of the server; the world has a `Desk`. request: checked by the envelope.
    arguments: of the call. principal: verified by the host.
    """

    descriptor = DESCRIPTOR

    def __init__(
        self, parts: Any, world: Any, request: Any, arguments: Json, principal: Any
    ) -> None:
        self._parts, self._world, self._desk = parts, world, world.desk
        self._request, self._arguments, self._subject = request, arguments, principal.subject

    def run(self) -> Json:
        """Return the fields of the result. Errors: ToolRefusal, StateRefused, RpcError."""
        if self._arguments:
            raise ToolRefusal("notes_connect takes no arguments, least of all a key.")
        retry = self._parts.server_half.read_retry(self._request.params)
        if retry.request_state is not None:
            return self._read(retry)
        if self._desk.vault.find(self._subject) is not None:
            return said(f"{SERVICE} is connected already.")
        self._parts.forms.require_mode(self._request.client_capabilities, "url")
        return self._ask(self._ticket())

    def _ticket(self) -> str:
        try:
            return str(self._desk.tickets.open(self._subject))
        except StoreFull:
            raise ToolRefusal("Too many setups are under way; try again later.") from None

    def _origin(self) -> Any:
        return self._parts.state.Origin(
            self._subject, "tools/call", DESCRIPTOR["name"], {}, self._world.audience
        )

    def _ask(self, ticket: str) -> Json:
        parts, world = self._parts, self._world
        parts.forms.require_mode(self._request.client_capabilities, "url")
        state = parts.state.mint(
            *(self._origin(), QUESTION, (ticket,), world.ring, world.clock, world.randomness),
            lifetime=LIFETIME,
        )
        message = f"Open the page of the notes server and type your key for {SERVICE} there."
        question = parts.url_mode.ask_to_open(message, parts.url_mode.link(self._desk.base, ticket))
        return parts.server_half.input_required("tools/call", {QUESTION: question}, state)

    def _read(self, retry: Any) -> Json:
        interaction = self._parts.state.open_state(
            retry.request_state, self._origin(), QUESTION, self._world.ring, self._world.clock
        )
        response = retry.input_responses.get(QUESTION)
        if response is not None and not isinstance(response, dict):
            raise RpcError(INVALID_PARAMS, "A response must be an object.")
        (ticket,) = interaction.candidates
        progress = self._parts.url_mode.read_progress(
            self._desk.tickets, ticket, self._subject, response
        )
        if progress == "ask":
            return self._ask(ticket)
        if progress == "done":
            return said(f"{SERVICE} is connected.")
        return said("The setup was called off or took too long. Nothing was connected by it.")
