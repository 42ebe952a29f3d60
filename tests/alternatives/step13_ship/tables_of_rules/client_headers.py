"""The headers of a request, row by row."""

from base64 import b64encode
from typing import Any

from kit.protocol import PROTOCOL_VERSION

PLAIN = frozenset(map(chr, range(32, 127)))
NAMED_BY = {"name": ("tools/call", "prompts/get"), "uri": ("resources/read",)}


def encode_value(text: str) -> str:
    """Plain when nothing on the way can change it."""
    looks_encoded = (text[:9], text[-2:]) == ("=?base64?", "?=")
    if set(text) <= PLAIN and text.strip(" ") == text and not looks_encoded:
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


def headers_for(message: dict[str, Any]) -> dict[str, str]:
    """All rows that apply."""
    method, params = message["method"], message["params"]
    named = {
        "mcp-name": encode_value(params[field])
        for field, methods in NAMED_BY.items()
        if method in methods
    }
    return {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "mcp-protocol-version": params["_meta"][PROTOCOL_VERSION],
        "mcp-method": method,
        **named,
    }
