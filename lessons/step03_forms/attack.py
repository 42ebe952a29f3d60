"""The exploit that opens step 03: the user says no twice, and two notes are gone."""

from typing import Any

TITLE = "Alice says no twice: with the text 'false', and with the button that declines."
SUCCEEDED = "The attack succeeds: notes are gone that the user wanted to keep."
FAILED = "The attack fails: nobody said yes, and every note is still there."

# What must be written before your own part is attacked.
NEEDS = (("forms", ("elicitation_modes", "require_mode", "form_schema", "elicit", "read_answer")),)


def make_naive(parts: Any) -> None:
    """Read an answer as most people do at first: what is in the content is what the user said."""
    forms = parts.forms

    def read_answer(model: Any, input_responses: Any, key: str) -> Any:
        if key not in input_responses:
            return forms.Missing()
        content = input_responses[key].get("content") or {}
        return forms.Accepted(model.model_construct(**content))

    forms.read_answer = read_answer


def attack(stage: Any) -> bool:
    """Say no in two ways, and look whether a note is gone."""
    before = stage.ids()
    _answer(stage, "accept", {"note_id": "draft-1", "confirm": "false"})
    _answer(stage, "decline", {"note_id": "draft-2", "confirm": True})
    return bool(stage.ids() != before)


def _answer(stage: Any, action: str, content: Any) -> None:
    state = stage.send(stage.delete()).result.get("requestState")
    if state is not None:
        stage.answer(state, {"action": action, "content": content})
