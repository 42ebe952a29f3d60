"""What shows that a reader can be led outside while it reads: swap at each of its moments.

Promise: no reader gets through that looks at a path and uses it afterwards, however short the time
between; and none is accused for refusing, or for having opened the right file already.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kit.todo import todo


@dataclass(frozen=True)
class World:
    """Two folders side by side, made anew for each try.

    root: the reader may read in here, and is asked for ``old/draft.md``. outside: has a
    ``draft.md`` of its own, which is secret.
    """

    root: Path
    outside: Path


@dataclass(frozen=True)
class Seen:
    """What one try showed.

    told: what the reader returned, or None when it refused. inside, secret: what the two files
    called draft.md held. reached: the reader came to the moment of the swap.
    """

    told: str | None
    inside: str
    secret: str
    reached: bool


Swap = Callable[[World], None]
Trial = Callable[[Swap, int], Seen]


def leave_alone(world: World) -> None:
    """Swap nothing."""


def swap_file(world: World) -> None:
    """Put a link to the secret in the place of the file ``old/draft.md``."""
    todo("9.5: Break it yourself: show the race")


def swap_folder(world: World) -> None:
    """Put a link to the folder outside in the place of the folder ``old``, which moves away."""
    todo("9.5: Break it yourself: show the race")


def stays_inside(trial: Trial) -> None:
    """Return when a reader reads nothing but the file inside, whatever is swapped, and whenever.

    trial: `trial(swap, moment)` lets the reader read in a new world; right before its step number
    `moment`, counted from 0, `swap` happens. Left alone, the reader has to read the file: one that
    refuses everything proves nothing. When something is swapped, it may refuse or still read what
    was inside (LINK-5). `swap_file` and `swap_folder` are tried at every moment that it reaches.
    Errors: AssertionError with a sentence that says what was swapped and when.
    """
    todo("9.5: Break it yourself: show the race")
