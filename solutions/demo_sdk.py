"""The official Python client against the notes server, over stdio and over HTTP, four acts each.

The client is the SDK's own and knows nothing of this lab: it finds out the version, lists the
tools, shows the form through its callback, and sends the retry by itself.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult

from hosts import Choice, build
from kit.http_loop import HttpLoop
from kit.notes import ALICE
from kit.parts import ROOT
from kit.randomness import SystemRandomness
from kit.secrets_file import Secrets

ARGUMENTS = {"workspaceUri": "file:///srv/notes/team", "title": "Draft"}
CHOICE: dict[str, Any] = {"note_id": "draft-1", "confirm": True}


class User:
    """The human behind the client. action: what he says to the next form."""

    def __init__(self) -> None:
        self.action = "accept"

    async def answer(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        """Answer one form."""
        print(f"      form: {params.message}  →  {self.action}")
        content = CHOICE if self.action == "accept" else None
        return ElicitResult(action=self.action, content=content)


@asynccontextmanager
async def over_stdio(user: User) -> AsyncIterator[Client]:
    """A client of a server process of its own."""
    paths = os.pathsep.join([str(ROOT / "lessons"), str(ROOT / "solutions")])
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kit", "serve", "TRANSPORT=stdio"],
        env={**os.environ, "PYTHONPATH": paths},
    )
    async with Client(server, elicitation_callback=user.answer) as client:
        yield client


@asynccontextmanager
async def over_http(user: User) -> AsyncIterator[Client]:
    """A client of a server on loopback, with a bearer token."""
    randomness = SystemRandomness()
    secrets = Secrets({"k1": randomness.token_bytes(32)}, "k1")
    token = secrets.issue(ALICE, frozenset({"notes"}), randomness)
    server, parts, _ = build(Choice(), secrets, ALICE)
    behind = parts.edge.Server(parts.envelope.decode, server.handle, parts.envelope.failure)
    loop = HttpLoop(lambda request: parts.edge.respond(request, settings, behind))
    settings = parts.edge.Edge(frozenset({f"127.0.0.1:{loop.port}"}), secrets.tokens)
    threading.Thread(target=loop.serve_forever, args=(0.02,), daemon=True).start()
    try:
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
            transport = streamable_http_client(
                f"http://127.0.0.1:{loop.port}/mcp", http_client=http
            )
            async with Client(transport, elicitation_callback=user.answer) as client:
                yield client
    finally:
        loop.shutdown()
        loop.server_close()


async def lists_tools(client: Client, user: User) -> bool:
    """The client finds the tool, and takes the version of this lab."""
    tools = (await client.list_tools()).tools
    return [tool.name for tool in tools] == [
        "notes_delete"
    ] and client.protocol_version == "2026-07-28"


async def declines(client: Client, user: User) -> bool:
    """A declined form deletes nothing."""
    user.action = "decline"
    result = await client.call_tool("notes_delete", ARGUMENTS)
    return not result.is_error and "Nothing was deleted" in _text(result)


async def deletes(client: Client, user: User) -> bool:
    """An accepted form deletes; the client does both rounds by itself."""
    user.action = "accept"
    result = await client.call_tool("notes_delete", ARGUMENTS)
    return not result.is_error and "Deleted draft-1" in _text(result)


async def replays(client: Client, user: User) -> bool:
    """By hand, the state of an answered question is sent a second time: refused."""
    first = await client.session.call_tool("notes_delete", ARGUMENTS, allow_input_required=True)
    answer = ElicitResult(action="accept", content={"note_id": "draft-2", "confirm": True})
    retry: dict[str, Any] = {
        "input_responses": {"delete_choice": answer},
        "request_state": first.request_state,
    }
    accepted = await client.session.call_tool("notes_delete", ARGUMENTS, **retry)
    try:
        await client.session.call_tool("notes_delete", ARGUMENTS, **retry)
    except MCPError as error:
        refused = error.error.data == {"reason": "invalid_request_state"}
        return "Deleted draft-2" in _text(accepted) and refused
    return False


def _text(result: Any) -> str:
    return " ".join(block.text for block in result.content)


ACTS: dict[str, Callable[[Client, User], Awaitable[bool]]] = {
    "finds notes_delete and speaks 2026-07-28": lists_tools,
    "decline deletes nothing": declines,
    "accept deletes, in two rounds": deletes,
    "replay of an accepted state is refused": replays,
}


async def play(transport: Callable[[User], Any]) -> list[bool]:
    """Run the acts over one transport; return what held."""
    user, held = User(), []
    async with transport(user) as client:
        for title, act in ACTS.items():
            held.append(await act(client, user))
            print(f"   {'✓ holds ' if held[-1] else '✗ FAILS '} {title}")
    return held


def main() -> int:
    """Play over stdio, then over HTTP; 0 when all acts hold, 1 otherwise."""
    held: list[bool] = []
    for name, transport in {"stdio": over_stdio, "HTTP": over_http}.items():
        print(f"Official Python client over {name}")
        try:
            held += asyncio.run(play(transport))
        except Exception as trouble:
            print(f"   ✗ FAILS  the client gave up: {type(trouble).__name__}: {trouble}")
            held.append(False)
    print(f"{sum(held)} of {len(held)} acts hold.")
    return 0 if all(held) else 1
