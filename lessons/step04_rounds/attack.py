"""The exploit that opens step 04: an answer that arrives before the question."""

import json
from typing import Any

TITLE = "The first call brings its own yes. Nobody has been asked yet."
SUCCEEDED = "The attack succeeds: draft-1 is gone, and no user ever saw a form."
FAILED = "The attack fails: the call is answered with a question, and draft-1 is still there."

# What must be written before your own part is attacked.
NEEDS = (("server_half", ("input_required", "read_retry", "ask", "converse")),)

FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Delete draft-1 for ever?",
        "requestedSchema": {
            "type": "object",
            "properties": {"confirm": {"type": "boolean"}},
            "required": ["confirm"],
        },
    },
}


def make_naive(parts: Any) -> None:
    """Take every answer that comes, whether or not its question was asked."""
    half = parts.server_half

    def converse(method: Any, params: Any, handler: Any, open_state: Any, mint_state: Any) -> Any:
        conversation = half.Conversation(half.Memory(answers=params.get("inputResponses", {})))
        try:
            return handler(conversation)
        except half.Paused as pause:
            return half.input_required(method, pause.input_requests, mint_state(half.Memory()))

    half.converse = converse


def attack(stage: Any) -> bool:
    """Send the yes with the first call, and look whether the note is gone."""
    call = stage.request(
        "tools/call",
        name="draft_delete",
        arguments={},
        inputResponses={"confirm": {"action": "accept", "content": {"confirm": True}}},
    )
    stage.tape.record("alice", "server", call)
    stage.tape.record("server", "alice", answer(stage, call))
    return "draft-1" not in stage.ids()


def answer(stage: Any, call: Any) -> Any:
    """Run one round of a tool that deletes draft-1 after a yes."""
    half, state, world = stage.parts.server_half, stage.parts.state, stage.world

    def handler(conversation: Any) -> Any:
        answers = conversation.ask({"confirm": FORM})
        if answers["confirm"].get("content") == {"confirm": True}:
            stage.notes.delete("draft-1")
            return {"resultType": "complete", "content": [{"type": "text", "text": "Deleted."}]}
        return {"resultType": "complete", "content": [{"type": "text", "text": "Kept."}]}

    def mint_state(memory: Any) -> str:
        kept = [memory.round, list(memory.asked), memory.answers, memory.effects]
        return str(state.sign(state.canonical(kept), world.ring, world.randomness))

    def open_state(token: str) -> Any:
        round_, asked, answers, effects = json.loads(state.verify(token, world.ring))
        return half.Memory(round_, tuple(asked), answers, effects)

    result = half.converse("tools/call", call["params"], handler, open_state, mint_state)
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}
