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
    told = dict(zip(aftermath.told, aftermath.wanted, strict=True))
    gone = told.pop("deleted", None)
    if gone is None or len(told) != 1:
        raise AssertionError(
            f"Exactly one has to be told deleted, and they were told {aftermath.told}."
        )
    ((word, kept),) = told.items()
    if word not in {"spent", "unavailable"}:
        raise AssertionError(f"The other one has to be refused, and was told {word}.")
    if gone not in aftermath.before or aftermath.before - aftermath.after != {gone}:
        raise AssertionError(f"Only {gone} has to be gone.")
    if not aftermath.after <= aftermath.before or kept not in aftermath.after:
        raise AssertionError(f"{kept} has to be there still, and nothing else may come.")
    if aftermath.nonces != 1:
        raise AssertionError(f"One row of the nonce, not {aftermath.nonces}.")
