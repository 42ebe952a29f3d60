"""The lab's state, wrapped, is a codec of the official Python SDK; needs the group interop."""

import asyncio
import importlib.util
from typing import Any

import pytest

from kit.parts import ROOT, load
from kit.randomness import SystemRandomness
from kit.refusals import StateRefused

pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("mcp"), reason="needs the group interop"
)

state = load(ROOT / "solutions" / "step05_state" / "state.py")
RING = state.KeyRing({"k1": b"\xff" + SystemRandomness().token_bytes(31)}, "k1")


class SdkCodec:
    """`sign` and `verify` of step 05 as the SDK wants them."""

    def __init__(self, ring: Any) -> None:
        self._ring, self._randomness = ring, SystemRandomness()

    def seal(self, payload: bytes) -> str:
        return state.sign(payload, self._ring, self._randomness)

    def unseal(self, token: str) -> bytes:
        from mcp.server.request_state import InvalidRequestState

        try:
            return state.verify(token, self._ring)
        except StateRefused as refusal:
            raise InvalidRequestState(refusal.reason) from None


def server_with(codec: Any) -> Any:
    """A server of the SDK with one tool that asks once and carries the title in its state."""
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.request_state import RequestStateSecurity
    from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    server = MCPServer("notes", request_state_security=RequestStateSecurity(codec=codec))
    schema = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
    question = ElicitRequestFormParams(message="Really?", requested_schema=schema)

    @server.tool()
    async def delete(title: str, ctx: Context) -> str | InputRequiredResult:  # type: ignore[type-arg]
        if ctx.request_state is not None:
            return f"state: {ctx.request_state}"
        requests = {"sure": ElicitRequest(params=question)}
        return InputRequiredResult(input_requests=requests, request_state=f"about {title}")

    return server


def call_twice(codec: Any, between: Any, **second: Any) -> tuple[str, Any]:
    """Call the tool, change the state by `between`, call again; return the state and the end."""
    from mcp import Client, MCPError
    from mcp.types import ElicitResult

    async def play() -> tuple[str, Any]:
        async def never(context: Any, params: Any) -> ElicitResult:
            raise AssertionError("The session asks for input itself.")

        arguments = {"title": "Draft"}
        async with Client(server_with(codec), elicitation_callback=never) as client:
            session = client.session
            asked = await session.call_tool("delete", arguments, allow_input_required=True)
            answer = {"sure": ElicitResult(action="accept", content={"confirm": True})}
            try:
                end = await session.call_tool(
                    "delete",
                    second or arguments,
                    input_responses=answer,
                    request_state=between(asked.request_state),
                )
            except MCPError as error:
                return asked.request_state, error.error
            return asked.request_state, end.content[0].text

    return asyncio.run(play())


def test_the_codec_carries_a_state_through_the_sdk() -> None:
    token, end = call_twice(SdkCodec(RING), lambda token: token)
    assert token.startswith("rs1.k1.")
    assert end == "state: about Draft"


def test_a_changed_state_is_refused_by_the_sdk_in_the_labs_words() -> None:
    _, error = call_twice(SdkCodec(RING), lambda token: token[:-5] + "AAAAA")
    assert error.code == state.wire_error().code
    assert error.data == state.wire_error().data


def test_the_sdk_binds_the_arguments_whatever_the_codec() -> None:
    _, error = call_twice(SdkCodec(RING), lambda token: token, title="Agenda")
    assert error.data == state.wire_error().data
