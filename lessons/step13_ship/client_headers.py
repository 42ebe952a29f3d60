"""The other end of the edge: the headers that a client sends with a message.

Promise: whatever stands in the body, the headers say the same, in characters that every proxy
passes on unchanged. Mistake it prevents: a tool called ``für`` that no server can be asked for.
"""

from typing import Any

from kit.protocol import PROTOCOL_VERSION
from kit.todo import todo

NAME_FIELD = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ENCODED = ("=?base64?", "?=")


def encode_value(text: str) -> str:
    """Return a text as a header value says it (HTTP-7).

    text: what the body says. Printable ASCII goes as it is. Everything else becomes
    ``=?base64?…?=`` over its UTF-8, and so does a text with a space at an edge, which would be
    stripped, and one that looks encoded already, which would be decoded.

    >>> encode_value("notes_delete"), encode_value("für")
    ('notes_delete', '=?base64?ZsO8cg==?=')
    """
    todo("13.8: The headers that a client sends")


def headers_for(message: dict[str, Any]) -> dict[str, str]:
    """Return the headers of the POST that carries a request.

    message: a request with its envelope. The headers are ``Content-Type`` and ``Accept``, which
    takes a JSON object and a stream (HTTP-3), ``MCP-Protocol-Version`` (HTTP-4), ``Mcp-Method``,
    and with three methods ``Mcp-Name``: a name, or the URI of a resource (HTTP-5).
    """
    todo("13.8: The headers that a client sends")
