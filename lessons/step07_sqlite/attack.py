"""The exploit that opens step 07: an approval that is sent again after a restart."""

from typing import Any

from kit.refusals import NonceSpent

TITLE = "Alice approves one deletion. The service restarts. Her client sends the approval again."
SUCCEEDED = "The attack succeeds: the file kept the notes, memory kept the nonces."
FAILED = "The attack fails: what is spent stands in the file, beside the notes."

STORE = "sqlite"

# What must be written before your own part is attacked.
NEEDS = (
    (
        "sqlite_store",
        ("find", "delete", "connect", "transaction", "create_tables", "prune", "remember", "claim"),
    ),
)


def make_naive(parts: Any) -> None:
    """Put the store in place that deletes in the file and remembers in the process."""
    store = parts.sqlite_store

    def claim(self: Any, nonce: str, expires_at: float, effect: Any) -> Any:
        seen = self.__dict__.setdefault("seen", set())
        if nonce in seen:
            raise NonceSpent
        connection = self._connections.mine()
        with store.transaction(connection):
            outcome = effect(store.Transaction(connection))
        seen.add(nonce)
        return outcome

    store.SqliteStore.claim = claim


def attack(stage: Any) -> bool:
    """Approve once, restart, send it again for another note, and look whether that one went."""
    state = stage.ask()
    stage.answer(state, accept("draft-1"))
    stage.restart()
    stage.answer(state, accept("draft-2"))
    return not {"draft-1", "draft-2"} & stage.ids()


def accept(note_id: str) -> Any:
    """The response of a user who submits the form."""
    return {"action": "accept", "content": {"note_id": note_id, "confirm": True}}
