"""The exploit that opens step 02: delete a note from a folder that nobody granted."""

from typing import Any

TITLE = "Alice may use file:///srv/notes/team. She asks for file:///srv/notes/team-archive."
SUCCEEDED = "The attack succeeds: draft-3, kept for the audit, is gone."
FAILED = "The attack fails: the workspace is refused, and draft-3 is still there."

# What must be written before your own part is attacked.
NEEDS = (("scope", ("uri_path", "normalize", "contains", "authorize", "workspace_from_argument")),)


def make_naive(parts: Any) -> None:
    """Put the containment test in place that most people write first."""

    def contains(workspace: Any, target: Any) -> bool:
        return "/".join(target.segments).startswith("/".join(workspace.segments))

    parts.scope.contains = contains


def attack(stage: Any) -> bool:
    """Ask, confirm, and look whether the note is gone."""
    archive = "file:///srv/notes/team-archive"
    question = stage.send(stage.delete(workspace=archive))
    state = question.result.get("requestState")
    if state is not None:
        chosen = {"action": "accept", "content": {"note_id": "draft-3", "confirm": True}}
        stage.answer(state, chosen, workspace=archive)
    return "draft-3" not in stage.ids()
