"""Messages that a notebook shows: what no peer would send is reported, wherever it stands."""

import importlib.util
import json
from typing import Any

import pytest
from miniature import notebook, printed

from grading.prove.notebook_rules import flaws
from grading.prove.wire import Conversation, flaw_of_type, spoken

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ASKED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
LISTED = {"resultType": "complete", "tools": [], "ttlMs": 1, "cacheScope": "public"}
WRONG: list[dict[str, Any]] = [
    {**ASKED, "params": {}},
    {**ASKED, "id": True},
    {**ASKED, "method": "tools/lists"},
    {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}},
    {"jsonrpc": "2.0", "id": 2, "error": {"code": "x", "message": "?"}},
    {"jsonrpc": "1.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
]

needs_types = pytest.mark.skipif(
    not importlib.util.find_spec("mcp_types"), reason="needs the group interop"
)


def complaint(message: dict[str, Any], *tags: str) -> str:
    """What the rules say about a notebook that prints one message."""
    text = f" 1  client → server: {json.dumps(message)}\n"
    cell = {"source": "print(tape)", "outputs": [printed(text)], "metadata": {"tags": list(tags)}}
    return " ".join(flaws(notebook(cell), set()))


@needs_types
@pytest.mark.parametrize("message", WRONG)
def test_a_message_that_no_peer_would_send_is_reported(message: dict[str, Any]) -> None:
    assert "shows a message that the protocol does not know" in complaint(message)


@needs_types
@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_message_may_be_shown_on_purpose(message: dict[str, Any]) -> None:
    assert complaint(message, "malformed-on-purpose") == ""


@needs_types
def test_a_purpose_without_a_wrong_message_is_reported() -> None:
    assert "all of its messages are well formed" in complaint(ASKED, "malformed-on-purpose")


@needs_types
def test_an_error_without_an_id_is_what_an_unreadable_request_gets() -> None:
    assert complaint({"jsonrpc": "2.0", "error": {"code": -32700, "message": "?"}}) == ""


@needs_types
def test_a_result_is_judged_by_the_request_that_it_answers() -> None:
    conversation = Conversation()
    assert conversation.flaw(ASKED) == ""
    assert conversation.flaw({"jsonrpc": "2.0", "id": 1, "result": LISTED}) == ""
    short = {name: value for name, value in LISTED.items() if name != "ttlMs"}
    assert "ttlMs" in conversation.flaw({"jsonrpc": "2.0", "id": 1, "result": short})


@needs_types
def test_initialize_opens_the_old_era_and_a_version_in_meta_the_new_one() -> None:
    conversation = Conversation()
    client = {"name": "a", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    roots = {"jsonrpc": "2.0", "id": 3, "method": "roots/list"}
    assert "no such method in 2026-07-28" in conversation.flaw(roots)
    assert [conversation.flaw(opening), conversation.flaw(roots)] == ["", ""]
    assert [conversation.flaw(ASKED), bool(conversation.flaw(roots))] == ["", True]


@needs_types
def test_a_value_is_judged_by_the_type_that_it_claims() -> None:
    assert flaw_of_type("ElicitResult", {"action": "accept"}) == ""
    assert flaw_of_type("ElicitResult", {"action": "yes"}).startswith("action: ")
    assert flaw_of_type("message", ASKED) == ""
    with pytest.raises(LookupError, match="no type NoSuchType"):
        flaw_of_type("NoSuchType", {})


def test_messages_are_found_in_text_in_json_and_inside_a_tape() -> None:
    text = ["an {odd} text ", json.dumps({"message": ASKED}), "\n"]
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "display_data", "data": {"application/json": [{"message": ASKED}]}},
        {"output_type": "execute_result", "data": {"text/plain": f"{json.dumps(ASKED)} {{"}},
    ]
    assert list(spoken(outputs)) == [ASKED] * 3


def test_a_picture_that_nobody_compares_is_reported() -> None:
    shown = {"output_type": "display_data", "data": {"image/png": "iVBORw0="}}
    told = " ".join(flaws(notebook({"source": "1", "outputs": [shown]}), set()))
    assert told == "code cell 1 shows image/png, which nobody compares; SVG is text."
