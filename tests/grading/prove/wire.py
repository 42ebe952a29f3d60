"""Messages judged by the protocol's own types, so that no page shows what no peer would send."""

import importlib.util
import json
from collections.abc import Iterator
from typing import Any

from grading.prove.notebook_run import joined
from kit.protocol import LEGACY_VERSION, PROTOCOL_VERSION, VERSION


def missing_types() -> str:
    """A sentence when the protocol's types are not installed here, else nothing."""
    if importlib.util.find_spec("mcp_types"):
        return ""
    return "messages were not validated: mcp-types (interop group) is not installed"


def spoken(outputs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every JSON-RPC message in the outputs of a cell: in its text and in its JSON."""
    for output in outputs:
        data = output.get("data", {})
        texts = [output.get("text", ""), data.get("text/plain", "")]
        for text in texts:
            yield from _messages_in_text(joined(text))
        yield from _messages_in(data.get("application/json"))


def _messages_in_text(text: str) -> Iterator[dict[str, Any]]:
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except ValueError:
            end = place + 1
        else:
            yield from _messages_in(value)
        place = text.find("{", end)


def _messages_in(value: Any) -> Iterator[dict[str, Any]]:
    """Messages in a JSON value, also below: a tape is a list, an entry holds its message."""
    if isinstance(value, dict) and "jsonrpc" in value:
        yield value
        return
    for child in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _messages_in(child)


class Conversation:
    """Messages in the order shown.

    A result is judged by the request that has its id, and a message without a version by the era
    of those before it: ``initialize`` opens the old one, a version in ``_meta`` the new one.
    """

    def __init__(self) -> None:
        self._methods: dict[Any, str] = {}
        self._era = VERSION

    def flaw(self, message: dict[str, Any]) -> str:
        """What is wrong with a message, or nothing."""
        from pydantic import ValidationError

        self._era = _era(message, self._era)
        try:
            return self._judge(message)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return f"{place}: {first['msg']}, in {_short(message)}"
        except KeyError:
            return f"no such method in {self._era}, in {_short(message)}"

    def _judge(self, message: dict[str, Any]) -> str:
        _judge_frame(message)
        if "id" in message and message["id"] is None:
            return f"an id is never null, in {_short(message)}"
        if "method" not in message:
            return self._judge_result(message) if "result" in message else ""
        if "id" in message:
            self._methods[message["id"]] = message["method"]
        _judge_sent(message["method"], self._era, message.get("params"), "id" in message)
        return ""

    def _judge_result(self, message: dict[str, Any]) -> str:
        from mcp_types import methods

        result, asked = message["result"], self._methods.get(message.get("id"))
        if self._era == VERSION and "resultType" not in result:
            return f"no resultType, in {_short(message)}"
        if asked and (asked, self._era) in methods.SERVER_RESULTS:
            methods.validate_server_result(asked, self._era, result)
        elif asked:
            methods.validate_client_result(asked, self._era, result)
        return ""


def _judge_frame(message: dict[str, Any]) -> None:
    """Errors: ValidationError. An error whose request had no readable id has none itself."""
    from mcp_types import jsonrpc

    if "method" in message:
        frame = jsonrpc.JSONRPCRequest if "id" in message else jsonrpc.JSONRPCNotification
        frame.model_validate(message)
    elif "error" in message:
        jsonrpc.JSONRPCError.model_validate({"id": None, **message})
    else:
        jsonrpc.JSONRPCResponse.model_validate(message)


def _era(message: dict[str, Any], before: str) -> str:
    if message.get("method") == "initialize":
        return LEGACY_VERSION
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return VERSION if isinstance(meta, dict) and PROTOCOL_VERSION in meta else before


def _judge_sent(method: str, era: str, params: Any, is_request: bool) -> None:
    """Errors: KeyError for a method of another era, ValidationError for a wrong shape."""
    from mcp_types import methods

    if is_request and (method, era) in methods.SERVER_REQUESTS:
        methods.parse_server_request(method, era, params)
    elif is_request:
        methods.validate_client_request(method, era, params)
    elif (method, era) in methods.SERVER_NOTIFICATIONS:
        methods.parse_server_notification(method, era, params)
    else:
        methods.validate_client_notification(method, era, params)


def flaw_of_type(name: str, value: Any) -> str:
    """What is wrong with a value as one of the protocol's types; ``message`` is a whole message.

    Errors: LookupError when the protocol has no such type.
    """
    import mcp_types
    from pydantic import TypeAdapter, ValidationError

    if name == "message":
        return Conversation().flaw(value)
    if not hasattr(mcp_types, name):
        raise LookupError(f"mcp_types has no type {name}")
    try:
        TypeAdapter(getattr(mcp_types, name)).validate_python(value, by_name=False)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


def _short(message: dict[str, Any]) -> str:
    text = json.dumps(message, ensure_ascii=False)
    return text if len(text) <= 120 else text[:119] + "…"
