"""The headers of a request, written by a small class."""

import binascii
from typing import Any

from kit.protocol import PROTOCOL_VERSION


class Writer:
    """Collects headers."""

    def __init__(self) -> None:
        self.headers = {"Content-Type": "application/json"}

    def say(self, name: str, *values: str) -> "Writer":
        """Add a header."""
        self.headers[name] = ", ".join(values)
        return self


def encode_value(text: str) -> str:
    """Encode when it is needed."""
    needed = text != text.strip() or any(not 32 <= ord(each) < 127 for each in text)
    needed = needed or (text.startswith("=?base64?") and text.endswith("?="))
    if not needed:
        return text
    return f"=?base64?{binascii.b2a_base64(text.encode(), newline=False).decode()}?="


def headers_for(message: dict[str, Any]) -> dict[str, str]:
    """Say all that has to be said."""
    params = message["params"]
    writer = Writer().say("Accept", "application/json", "text/event-stream")
    writer.say("MCP-Protocol-Version", params["_meta"][PROTOCOL_VERSION])
    writer.say("Mcp-Method", message["method"])
    if message["method"] == "resources/read":
        writer.say("Mcp-Name", encode_value(params["uri"]))
    elif message["method"] in {"tools/call", "prompts/get"}:
        writer.say("Mcp-Name", encode_value(params["name"]))
    return writer.headers
