"""What an operation of a subject can come back with, besides a plain JSON value.

A check compares with the fields it cares about: a field that the expected value leaves out is not
compared, so ``got == RpcFailure(-32602)`` is silent about message and data.
"""

from dataclasses import dataclass, fields
from typing import Any


class _LeftOut:
    def __repr__(self) -> str:
        return "…"


LEFT_OUT: Any = _LeftOut()


class Outcome:
    """Equal when the class is the same and every field that both sides give is."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        return all(_agree(mine, theirs) for mine, theirs in zip(_row(self), _row(other), strict=True))

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        given = [value for value in _row(self) if value is not LEFT_OUT]
        return f"{type(self).__name__}({', '.join(repr(value) for value in given)})"


def _row(outcome: Any) -> list[Any]:
    return [getattr(outcome, field.name) for field in fields(outcome)]


def _agree(mine: Any, theirs: Any) -> bool:
    return mine is LEFT_OUT or theirs is LEFT_OUT or bool(mine == theirs)


@dataclass(frozen=True, eq=False, repr=False)
class Refused(Outcome):
    """The part raised ToolRefusal. message: the sentence for the model."""

    message: str = LEFT_OUT


@dataclass(frozen=True, eq=False, repr=False)
class RpcFailure(Outcome):
    """The part raised RpcError. data: None when there is none."""

    code: int = LEFT_OUT
    message: str = LEFT_OUT
    data: Any = LEFT_OUT


@dataclass(frozen=True, eq=False, repr=False)
class StoreRefused(Outcome):
    """The part raised a StoreRefusal. kind: ``nonce_spent``, ``store_full``, or the class name."""

    kind: str = LEFT_OUT


@dataclass(frozen=True, eq=False, repr=False)
class StateRefusal(Outcome):
    """The part raised StateRefused. reason: the word for the log."""

    reason: str = LEFT_OUT


@dataclass(frozen=True, eq=False, repr=False)
class Raised(Outcome):
    """The part raised anything else: a bug in it. type: name of the class. where: ``scope.py:42``."""

    type: str = LEFT_OUT
    message: str = LEFT_OUT
    where: str = LEFT_OUT


KINDS = {
    "refused": Refused,
    "rpc_failure": RpcFailure,
    "store_refused": StoreRefused,
    "state_refused": StateRefusal,
    "raised": Raised,
}


def is_refused(value: Any) -> bool:
    """Tell whether a value is a refusal of any kind; a bug in the part is none."""
    return isinstance(value, Refused | RpcFailure | StoreRefused | StateRefusal)


class CheckEnded(Exception):
    """The part did something after which the check cannot go on. `told` is for the learner."""

    def __init__(self, told: str, where: str = "") -> None:
        super().__init__(told)
        self.told = told
        self.where = where


class Unfinished(CheckEnded):
    """The part still waits for the learner. told: ``2.1: Read a note id``."""


class Undecided(Exception):
    """The judge itself could not do its work; never the learner's fault, never a pass."""
