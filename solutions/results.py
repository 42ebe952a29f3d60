"""The one shape of a tool's result that every tool of this server uses."""

from typing import Any

Json = dict[str, Any]


def said(text: str, is_error: bool = False) -> Json:
    """Return the fields of a tool result that says `text`."""
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
