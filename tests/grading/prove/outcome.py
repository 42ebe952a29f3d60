"""What one property found: numbers for its line, and each shortfall as a place and a sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grading.prove.lab import Lab


@dataclass(frozen=True)
class Shortfall:
    """One thing that does not hold. where: file, with line if known. sentence: what is wrong."""

    where: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


@dataclass(frozen=True)
class Outcome:
    """The result of one property.

    figures: the numbers of its line. proved: how many things were looked at; none is a shortfall,
    unless `excuse` says why there is nothing to look at. notes: what the reader should know
    although it is no shortfall.
    """

    figures: str
    proved: int
    shortfalls: tuple[Shortfall, ...] = ()
    notes: tuple[str, ...] = ()
    excuse: str = ""


@dataclass(frozen=True)
class Property:
    """One line of the gate.

    prove: looks at the lab; the first line of its docstring is the promise. slow: starts first.
    """

    name: str
    prove: Callable[["Lab"], Outcome]
    slow: bool = False


def counted(good: int, total: int, what: str, shortfalls: list[Shortfall]) -> Outcome:
    """The usual line, ``57 of 57 checks pass``."""
    return Outcome(f"{good} of {total} {what}", total, tuple(shortfalls))
