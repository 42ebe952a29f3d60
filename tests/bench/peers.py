"""The peers that we measure against, with their versions."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Literal

Json = dict[str, Any]


def named(package: str) -> str:
    """The package's name and version, as a report gives it."""
    return f"{package} {version(package)}"


def sdk_server() -> Any:
    """A server of the official Python SDK with one tool that asks once, like ours.

    It does what the SDK does unasked: its state is sealed and bound to the call. It keeps no
    nonces, and its notes never run out.
    """
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.request_state import RequestStateSecurity
    from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
    from pydantic import BaseModel

    class Choice(BaseModel):
        note_id: Literal["draft-1", "draft-2"]
        confirm: bool

    security = RequestStateSecurity(keys=[b"\xff" + bytes(range(31))])
    server = MCPServer("notes", request_state_security=security, log_level="ERROR")
    question = ElicitRequestFormParams(
        message="Which note called Draft should be deleted for ever?",
        requested_schema=_flat(Choice.model_json_schema()),
    )

    @server.tool()
    async def notes_delete(
        workspaceUri: str,
        title: str,
        ctx: Context,  # type: ignore[type-arg]
    ) -> str | InputRequiredResult:
        if not ctx.request_state:
            requests = {"delete_choice": ElicitRequest(params=question)}
            return InputRequiredResult(input_requests=requests, request_state="draft-1,draft-2")
        answer: Any = (ctx.input_responses or {})["delete_choice"]
        choice = Choice.model_validate(answer.content)
        if choice.note_id not in ctx.request_state.split(",") or not choice.confirm:
            return "Nothing was deleted."
        return f"Deleted {choice.note_id}."

    return server


def _flat(schema: Json) -> Json:
    return {key: schema[key] for key in ("type", "properties", "required")}


def sdk_application(words: Sequence[str]) -> Any:
    """The SDK's server as an ASGI application; `json` in the words asks for JSON responses."""
    return sdk_server().streamable_http_app(json_response="json" in words)
