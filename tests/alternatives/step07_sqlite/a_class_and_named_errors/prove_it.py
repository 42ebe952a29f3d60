"""What proves that of two rivals exactly one took effect: count, do not look for a missing note.

Promise: no store gets through that deletes twice, that answers "deleted" and forgets the nonce,
or that says so and deletes nothing; and none is accused for letting this or that rival win.
"""

from dataclasses import dataclass


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
    winners = [i for i in (0, 1) if aftermath.told[i] == "deleted"]
    assert len(winners) == 1, f"one rival has to be told deleted, told were {aftermath.told}"
    winner = winners[0]
    loser = 1 - winner
    assert aftermath.told[loser] in ("spent", "unavailable"), (
        f"the loser was told {aftermath.told[loser]}"
    )
    assert aftermath.wanted[winner] in aftermath.before, "the winner's note was never there"
    assert aftermath.wanted[winner] not in aftermath.after, "the winner's note is still there"
    assert aftermath.wanted[loser] in aftermath.after, "the loser's note is gone"
    assert aftermath.after == aftermath.before - {aftermath.wanted[winner]}, (
        "another note came or went"
    )
    assert aftermath.nonces == 1, f"the nonce has {aftermath.nonces} rows"
