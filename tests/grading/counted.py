"""Nonces and times that count how often they are looked at.

A loop that runs inside `min`, `sorted` or `list.remove` executes no bytecode of the part, but it
has to compare, and comparing is what these count. They stay what they are when they are added to,
negated or turned into text.
"""

from collections.abc import Callable
from typing import Any

COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__")
ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__neg__", "__pos__")


class Looks:
    """How often anything counted was compared or hashed."""

    total = 0


def _counting(base: type, name: str) -> Callable[..., Any]:
    plain = getattr(base, name)

    def look(*given: Any) -> Any:
        Looks.total += 1
        return plain(*given)

    return look


def _staying(kind: Callable[[Any], Any], name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def compute(*given: Any) -> Any:
        computed = plain(*given)
        return computed if computed is NotImplemented else kind(computed)

    return compute


class CountedNonce(str):
    """A text that counts."""

    def __str__(self) -> str:
        return self


class CountedTime(float):
    """A number of seconds that counts."""


for _name in COMPARISONS:
    setattr(CountedNonce, _name, _counting(str, _name))
    setattr(CountedTime, _name, _counting(float, _name))
for _name in ARITHMETIC:
    setattr(CountedTime, _name, _staying(CountedTime, _name))
