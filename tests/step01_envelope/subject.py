"""What the checks of step 01 can ask of a learner's part; runs in the worker."""

import math
from collections.abc import Callable
from typing import Any

from kit.refusals import RpcError


def message_kind(parts: Any, *, message: Any) -> Any:
    """Tell a request from a notification."""
    return parts.envelope.message_kind(message)


def decode(parts: Any, *, text: str) -> Any:
    """The JSON value in a text that arrives as UTF-8."""
    return parts.envelope.decode(text.encode())


def decode_bytes(parts: Any, *, hexadecimal: str) -> Any:
    """The JSON value in bytes that are not UTF-8 or no text at all, given as hexadecimal digits."""
    return parts.envelope.decode(bytes.fromhex(hexadecimal))


def decode_number(parts: Any, *, number: str) -> dict[str, Any]:
    """What becomes of the only number of an array."""
    [value] = parts.envelope.decode(f"[{number}]".encode())
    whole = isinstance(value, int)
    return {"type": type(value).__name__, "is_finite": whole or math.isfinite(value)}


def read_request(parts: Any, *, message: Any) -> dict[str, Any]:
    """The checked request in a message."""
    return _fields(parts.envelope.read_request(message))


def complete(parts: Any, *, fields: Any, server_info: Any) -> Any:
    """A finished result."""
    return parts.envelope.complete(fields, server_info)


def fields_after_complete(parts: Any, *, fields: Any, server_info: Any) -> Any:
    """What became of the fields that were handed in."""
    parts.envelope.complete(fields, server_info)
    return fields


def discover(parts: Any, *, capabilities: Any) -> Any:
    """The fields of a ``server/discover`` result."""
    return parts.envelope.discover(capabilities)


def list_tools(parts: Any, *, tools: list[Any]) -> Any:
    """The fields of a ``tools/list`` result; the descriptors come one at a time."""
    return parts.envelope.list_tools(iter(tools))


def respond(
    parts: Any,
    *,
    message: Any,
    result: Any = None,
    refusal: dict[str, Any] | None = None,
    bug: str | None = None,
) -> dict[str, Any]:
    """Answer one message with handlers that count.

    result: what each handler returns. refusal: the fields of the RpcError that it raises instead.
    bug: the text of the exception that it raises instead.
    Returns ``answer``, ``calls`` (what each call of a handler was given) and ``log``.
    """
    calls: list[Any] = []
    log: list[str] = []
    handler = _handler(calls, result, refusal, bug)
    handlers = dict.fromkeys(("server/discover", "tools/list", "tools/call"), handler)
    answer = parts.envelope.respond(message, handlers, log.append)
    return {"answer": answer, "calls": calls, "log": [str(line) for line in log]}


def failure(parts: Any, *, message: Any, refusal: dict[str, Any]) -> Any:
    """The JSON-RPC error for a refusal. refusal: the fields of the RpcError."""
    return parts.envelope.failure(message, RpcError(**refusal))


def _handler(
    calls: list[Any], result: Any, refusal: dict[str, Any] | None, bug: str | None
) -> Callable[[Any], Any]:
    def handle(request: Any) -> Any:
        calls.append(_fields(request))
        if refusal is not None:
            raise RpcError(**refusal)
        if bug is not None:
            raise RuntimeError(bug)
        return {} if result is None else result

    return handle


def _fields(request: Any) -> dict[str, Any]:
    names = ("id", "method", "params", "client_capabilities")
    return {name: getattr(request, name) for name in names}
