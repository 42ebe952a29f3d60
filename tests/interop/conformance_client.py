"""What the official conformance suite starts as the client under test: one act per scenario.

Usage: conformance_client.py PATH_OF_CLIENT_HALF URL; the suite adds the URL and says in
``MCP_CONFORMANCE_SCENARIO`` which act it wants.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from http_client import HttpClient, Json

from kit.parts import load


def say_yes(requests: Json) -> Json:
    """Answer each form with yes."""
    return {key: {"action": "accept", "content": {"confirmed": True}} for key in requests}


def add(client: HttpClient, context: Json) -> None:
    """Call the one tool with numbers."""
    client.tools()
    client.call("tools/call", name="add_numbers", arguments={"a": 5, "b": 3})


def look(client: HttpClient, context: Json) -> None:
    """Discover, then list the tools; the server refuses the first request once."""
    client.call("server/discover")
    client.tools()


def all_rounds(client: HttpClient, context: Json) -> None:
    """A call with state, one without, an unrelated one, one whose result names no type."""
    names = [tool["name"] for tool in client.tools()]
    for name in names:
        client.call("tools/call", name=name, arguments={})


def everything(client: HttpClient, context: Json) -> None:
    """Use each method that has headers of its own."""
    for tool in client.tools():
        client.call("tools/call", name=tool["name"], arguments={})
    for resource in client.call("resources/list")["resources"]:
        client.call("resources/read", uri=resource["uri"])
    for prompt in client.call("prompts/list")["prompts"]:
        client.call("prompts/get", name=prompt["name"], arguments={})


def calls_as_told(client: HttpClient, context: Json) -> None:
    """Make the calls that the suite names."""
    client.tools()
    for call in context["toolCalls"]:
        client.call("tools/call", **call)


def every_valid_tool(client: HttpClient, context: Json) -> None:
    """Call what is left after tools with an invalid header mark were dropped."""
    for tool in client.tools():
        client.call("tools/call", name=tool["name"], arguments={"region": "eu"})


def echo_the_schema(client: HttpClient, context: Json) -> None:
    """Send back the schema that came, as it came."""
    focal = next(tool for tool in client.tools() if tool["name"] == "json_schema_2020_12_tool")
    arguments = {"schema": focal["inputSchema"]}
    client.call("tools/call", name="json_schema_echo", arguments=arguments)


ACTS: dict[str, Callable[[HttpClient, Any], None]] = {
    "tools_call": add,
    "request-metadata": look,
    "sep-2322-client-request-state": all_rounds,
    "http-standard-headers": everything,
    "http-custom-headers": calls_as_told,
    "http-invalid-tool-headers": every_valid_tool,
    "json-schema-ref-no-deref": look,
    "json-schema-2020-12-preservation": echo_the_schema,
}


if __name__ == "__main__":
    part, url = sys.argv[1:]
    told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    ACTS[os.environ["MCP_CONFORMANCE_SCENARIO"]](HttpClient(load(Path(part)), url, say_yes), told)
