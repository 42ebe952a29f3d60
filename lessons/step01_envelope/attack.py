"""The exploit that opens step 01: a confirmed deletion with its id left out, so nobody sees it."""

from typing import Any

TITLE = (
    "Bob may delete a note of the team. He leaves the id out of the call, and no answer shows it."
)
SUCCEEDED = "The attack succeeds: draft-1 is gone, and not one message says so."
FAILED = "The attack fails: without an id nothing ran, and draft-1 is still there."

# What must be written before your own part is attacked.
NEEDS = (("envelope", ("message_kind", "read_request", "complete", "respond", "failure")),)


def make_naive(parts: Any) -> None:
    """Put the fix in place that most people write first: run it, and drop the answer."""
    answer = parts.envelope.respond

    def respond(message: Any, handlers: Any, log: Any) -> Any:
        if isinstance(message, dict) and "id" not in message:
            answer({**message, "id": 0}, handlers, log)
            return None
        return answer(message, handlers, log)

    parts.envelope.respond = respond


def attack(stage: Any) -> bool:
    """Ask, confirm without an id, and look whether the note is gone although nothing was said."""
    question = stage.send(stage.delete(), "bob")
    state = question.result.get("requestState")
    chosen = {"action": "accept", "content": {"note_id": "draft-1", "confirm": True}}
    retry = stage.delete(requestState=state, inputResponses={"delete_choice": chosen})
    del retry["id"]
    reply = stage.send(retry, "bob")
    return reply.message is None and "draft-1" not in stage.ids()
