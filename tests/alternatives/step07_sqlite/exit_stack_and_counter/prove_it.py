"""What proves that of two rivals exactly one took effect: count, do not look for a missing note.

Promise: no store gets through that deletes twice, that answers "deleted" and forgets the nonce,
or that says so and deletes nothing; and none is accused for letting this or that rival win.
"""

from collections import Counter
from dataclasses import dataclass


REFUSED = {"spent", "unavailable"}


@dataclass(frozen=True)
class Aftermath:
    """What is found when two processes have claimed one nonce.

    told: what each was told, "deleted", "spent" or "unavailable"; "crashed" for a traceback.
    wanted: the note that each wanted to delete, two different ones. before, after: ids of all
    notes. nonces: rows of this nonce in the table of nonces.
    """

    told: tuple[str, str]
    wanted: tuple[str, str]
    before: frozenset[str]
    after: frozenset[str]
    nonces: int


def exactly_one_commit(aftermath: Aftermath) -> None:
    """Return when exactly one deletion was committed, with its nonce (SQL-18).

    One of the two was told "deleted", whichever; the other one was refused, by a word and not by a
    crash. Its note is there and the winner's is gone, and nothing else came or went. The nonce has
    one row.
    Errors: AssertionError with a sentence that says what is wrong.
    """
    _demand(Counter(aftermath.told)["deleted"] == 1, "exactly one is told deleted")
    won = aftermath.told.index("deleted")
    refusals = Counter(aftermath.told) - Counter(["deleted"])
    _demand(
        refusals.total() == 1 and set(refusals) <= REFUSED, "the other one is refused by a word"
    )
    went = Counter(aftermath.before)
    went.subtract(aftermath.after)
    changed = {note: by for note, by in went.items() if by}
    _demand(changed == {aftermath.wanted[won]: 1}, "the winner's note goes, and nothing else")
    _demand(aftermath.wanted[1 - won] in aftermath.after, "the loser's note stays")
    _demand(aftermath.nonces == 1, "the nonce has one row")


def _demand(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(f"Not so: {sentence}.")
