"""The file tools, put together: step 10 behind the envelope, the forms, the state and the store.

`write_file` takes two rounds and asks the user; `preview_write` and `apply_write` are two calls
and ask nobody, so they exist only where the operator has switched them on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import create_model

from kit.principal import Principal
from kit.protocol import INVALID_PARAMS
from kit.refusals import NonceSpent, RpcError, StateRefused, StoreFull, ToolRefusal

Json = dict[str, Any]

SERVER_INFO = {"name": "files-lab", "version": "0.1.0"}
QUESTION = "apply_write"
NO_TOOL = "This server has no such tool."


@dataclass(frozen=True)
class Files:
    """What the file tools work on.

    open_parent: opens the folder of a path, below the root. two_tools: the operator's switch for
    the tools that ask nobody.
    """

    open_parent: Callable[[str], tuple[int, str]]
    two_tools: bool = False


class FileServer:
    """One server object; like `NotesServer` it remembers nothing between two messages.

    parts, world, log: as for `NotesServer`. files: what it may write.
    """

    def __init__(self, parts: Any, world: Any, files: Files, log: Callable[[str], None]) -> None:
        self._parts, self._world, self._files, self._log = parts, world, files, log

    def handle(self, message: Any, principal: Principal) -> Json | None:
        """Return the answer to a decoded message from `principal`, or None for no answer."""
        envelope = self._parts.envelope
        methods: dict[str, Callable[[Any], Json]] = {
            "server/discover": lambda request: envelope.discover({"tools": {}}),
            "tools/list": lambda request: envelope.list_tools(self._descriptors()),
            "tools/call": lambda request: self._call_tool(request, principal),
        }
        handlers = {
            name: lambda request, method=method: envelope.complete(method(request), SERVER_INFO)
            for name, method in methods.items()
        }
        answer: Json | None = envelope.respond(message, handlers, self._log)
        return answer

    def _descriptors(self) -> list[Json]:
        listed: list[Json] = self._parts.safe_write.descriptors(self._files.two_tools)
        return listed

    def _call_tool(self, request: Any, principal: Principal) -> Json:
        arguments = request.params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object.")
        call = FileCall(self._parts, self._world, self._files, request, principal)
        try:
            return call.run(request.params.get("name"), arguments)
        except ToolRefusal as refusal:
            return said(refusal.message, is_error=True)
        except OSError as trouble:
            self._log(f"write failed: {type(trouble).__name__}")
            return said("The file could not be written, and is as it was.", is_error=True)
        except StateRefused as refusal:
            self._log(f"requestState refused: {refusal}")
        except NonceSpent:
            self._log("requestState refused: replayed")
        raise self._parts.state.wire_error()


class FileCall:
    """One call of one of the file tools. request: checked by the envelope."""

    def __init__(
        self, parts: Any, world: Any, files: Files, request: Any, principal: Principal
    ) -> None:
        self._parts, self._world, self._files = parts, world, files
        self._request, self._who = request, principal.subject

    def run(self, name: Any, arguments: Json) -> Json:
        """Return the fields of the result. Errors: ToolRefusal, StateRefused, NonceSpent, OSError,
        RpcError."""
        safe_write = self._parts.safe_write
        match name:
            case "write_file":
                return self._write_file(safe_write.read_arguments(arguments, self._who, name))
            case "preview_write":
                shown = safe_write.preview_write(arguments, self._who, self._desk())
                return said(shown["message"]) | {"structuredContent": shown}
            case "apply_write":
                outcome = safe_write.apply_write(arguments, self._who, self._desk())
                return self._told(outcome)
        raise RpcError(INVALID_PARAMS, NO_TOOL)

    def _write_file(self, wanted: Any) -> Json:
        retry = self._parts.server_half.read_retry(self._request.params)
        if retry.request_state is None:
            return self._ask(wanted)
        forms, safe_write = self._parts.forms, self._parts.safe_write
        receipt, claim = self._open("write_file", retry.request_state)
        match forms.read_answer(self._form(), retry.input_responses, QUESTION):
            case forms.Missing():
                return self._ask(wanted)
            case forms.Malformed(why=why):
                raise RpcError(INVALID_PARAMS, why)
            case forms.Cancelled():
                answer = safe_write.Answer("cancel")
            case forms.Declined():
                answer = safe_write.Answer("decline")
            case forms.Accepted(value=form):
                answer = safe_write.Answer("accept", form.apply)
        return self._apply(receipt, wanted, answer, claim)

    def _apply(self, receipt: Any, wanted: Any, answer: Any, claim: Any) -> Json:
        open_parent, randomness = self._files.open_parent, self._world.randomness
        outcome = self._parts.safe_write.apply(
            receipt, wanted, answer, open_parent, claim, randomness
        )
        return self._told(outcome)

    def _ask(self, wanted: Any) -> Json:
        self._parts.forms.require_mode(self._request.client_capabilities, "form")
        safe_write = self._parts.safe_write
        shown = safe_write.preview(wanted, self._files.open_parent)
        if shown is None:
            return said(safe_write.SENTENCES[safe_write.Decision.ALREADY])
        question = self._parts.forms.elicit(shown.message, self._form())
        state = self._mint("write_file", shown.receipt)
        asked: Json = self._parts.server_half.input_required(
            "tools/call", {QUESTION: question}, state
        )
        return asked

    def _form(self) -> Any:
        fields: Json = {"apply": (bool, ...)}
        return create_model("ApplyWrite", __base__=self._parts.forms.Form, **fields)

    def _told(self, outcome: Any) -> Json:
        safe_write = self._parts.safe_write
        sentence = safe_write.SENTENCES[outcome.decision]
        if not outcome.durable:
            sentence += " The disk has not confirmed it; look again after a crash."
        conflicts = ("SWAPPED", "APPEARED", "VANISHED", "NOT_A_FILE", "CHANGED")
        return said(sentence, is_error=outcome.decision.name in conflicts)

    def _desk(self) -> Any:
        return self._parts.safe_write.Desk(
            self._files.open_parent,
            self._world.randomness,
            lambda receipt: self._mint("apply_write", receipt),
            lambda state, principal: self._open("apply_write", state),
            self._files.two_tools,
        )

    def _origin(self, tool: str) -> Any:
        # The arguments are in the receipt, where a swap is told apart from a forgery (WRITE-23).
        state = self._parts.state
        return state.Origin(self._who, "tools/call", tool, {}, self._world.audience)

    def _mint(self, tool: str, receipt: Any) -> str:
        state, world = self._parts.state, self._world
        carried = (self._parts.safe_write.write_down(receipt),)
        origin = self._origin(tool)
        try:
            # Sealed and not only signed: the receipt has hashes of what is in the file.
            minted: str = state.mint(
                origin,
                QUESTION,
                carried,
                world.ring,
                world.clock,
                world.randomness,
                protect=state.seal,
            )
        except ValueError:
            raise ToolRefusal("This path is too long for this tool.") from None
        return minted

    def _open(self, tool: str, token: Any) -> tuple[Any, Callable[[], None]]:
        state, world = self._parts.state, self._world
        interaction = state.open_state(
            token, self._origin(tool), QUESTION, world.ring, world.clock, state.unseal
        )

        def claim() -> None:
            try:
                world.store.claim(interaction.nonce, interaction.expires_at, lambda tx: None)
            except StoreFull:
                raise ToolRefusal("Too many writes are under way; try again later.") from None

        return self._parts.safe_write.read_receipt("".join(interaction.candidates)), claim


def said(text: str, is_error: bool = False) -> Json:
    """Return the fields of a tool result that says `text`."""
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
