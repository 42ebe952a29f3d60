"""The exploit that opens step 06: one approval, sent twice, deletes two notes."""

from typing import Any

from kit.refusals import NonceSpent

TITLE = "Alice approves one deletion. Her client sends the approval again, to the second server."
SUCCEEDED = "The attack succeeds: one approval, and both draft-1 and draft-2 are gone."
FAILED = "The attack fails: the approval is spent, on every server, and draft-2 is still there."

# What must be written before your own part is attacked.
NEEDS = (("replay", ("find", "delete", "commit", "remember", "is_spent", "prune", "claim")),)


def make_naive(parts: Any) -> None:
    """Put the claim in place that trusts a signature and an expiry, and remembers nothing."""

    def claim(store: Any, nonce: str, expires_at: float, effect: Any) -> Any:
        transaction = parts.replay.Transaction(store._notes)
        outcome = effect(transaction)
        transaction.commit()
        return outcome

    parts.replay.ReplayStore.claim = claim


def attack(stage: Any) -> bool:
    """Approve once, send it twice, and look whether a second note went."""
    state = stage.ask()
    for server, note_id in enumerate(("draft-1", "draft-2")):
        chosen = {"action": "accept", "content": {"note_id": note_id, "confirm": True}}
        stage.answer(state, chosen, server=server)
    return not {"draft-1", "draft-2"} & stage.ids()


class LookThenAdd:
    """A store that remembers, and still grants one nonce twice: look and add are two steps.

    notes: the world. transaction: the class of step 06.
    """

    def __init__(self, notes: Any, transaction: Any) -> None:
        self._notes, self._transaction = notes, transaction
        self._spent: set[str] = set()

    def claim(self, nonce: str, expires_at: float, effect: Any) -> Any:
        """Look, act, add. A rival that looks before the add is granted the nonce, too."""
        if nonce in self._spent:
            raise NonceSpent
        transaction = self._transaction(self._notes)
        outcome = effect(transaction)
        transaction.commit()
        self._spent.add(nonce)
        return outcome
