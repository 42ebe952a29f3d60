"""The headers of a request, by patterns."""

import base64
import re
from typing import Any

PLAIN = re.compile(r"(?!=\?base64\?.*\?=$)(?:[!-~](?:[ -~]*[!-~])?)?")


def encode_value(text: str) -> str:
    """As it is, or encoded."""
    if PLAIN.fullmatch(text):
        return text
    return "=?base64?" + str(base64.b64encode(text.encode()), "ascii") + "?="


def headers_for(message: dict[str, Any]) -> dict[str, str]:
    """What every request says, and what three methods say."""
    version = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
    headers = {
        "Accept": "application/json;q=0.9, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": version,
        "Mcp-Method": message["method"],
    }
    match message:
        case {"method": "tools/call" | "prompts/get", "params": {"name": said}}:
            headers["Mcp-Name"] = encode_value(said)
        case {"method": "resources/read", "params": {"uri": said}}:
            headers["Mcp-Name"] = encode_value(said)
    return headers
