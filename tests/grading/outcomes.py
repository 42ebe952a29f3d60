"""What a learner's part did, as values that a check can compare.

A field that the expected outcome leaves out does not count: ``got == RpcFailure(-32602)`` looks at
the code alone. So a check states what its rule says, and accepts every wording.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

ANY: Any = type("Any", (), {"__repr__": lambda self: "…"})()


class Outcome:
    """Equality that ignores the fields in which either side holds ANY.

    thrown: the name under which a learner knows the exception. It stands in failure texts.
    """

    thrown: ClassVar[str] = ""

    def name(self) -> str:
        """Return the name of the exception."""
        return self.thrown or type(self).__name__

    def __repr__(self) -> str:
        told = {name: value for name, value in vars(self).items() if value is not ANY}
        return f"{self.name()}({', '.join(f'{name}={value!r}' for name, value in told.items())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(
            mine[name] is ANY or theirs[name] is ANY or same_json(mine[name], theirs[name])
            for name in mine
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False, repr=False)
class Refused(Outcome):
    """A ToolRefusal. message: its sentence."""

    thrown = "ToolRefusal"
    message: Any = ANY


@dataclass(eq=False, repr=False)
class RpcFailure(Outcome):
    """An RpcError."""

    thrown = "RpcError"
    code: Any = ANY
    message: Any = ANY
    data: Any = ANY


@dataclass(eq=False, repr=False)
class StoreRefused(Outcome):
    """A refusal of the replay store. kind: ``nonce_spent`` or ``store_full``."""

    kind: Any = ANY

    def __repr__(self) -> str:
        kinds = {"nonce_spent": "NonceSpent()", "store_full": "StoreFull()"}
        return kinds.get(str(self.kind), "StoreRefusal()")


@dataclass(eq=False, repr=False)
class StateRefusal(Outcome):
    """A StateRefused. reason: for the log."""

    thrown = "StateRefused"
    reason: Any = ANY


@dataclass(eq=False, repr=False)
class Raised(Outcome):
    """Any other exception: a bug in the part. where: ``file:line`` inside the part, if known."""

    type: Any = ANY
    message: Any = ANY
    where: Any = ANY


def same_json(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are one; ``1``, ``1.0`` and ``true`` are three."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_json(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def outcome_of(reply: dict[str, Any]) -> Any:
    """Return the value or the outcome in a worker's reply."""
    kinds = {
        "refused": Refused,
        "rpc": RpcFailure,
        "store": StoreRefused,
        "state": StateRefusal,
        "raised": Raised,
    }
    if "value" in reply:
        return reply["value"]
    ((kind, fields),) = reply.items()
    return kinds[kind](**fields)
