"""The `subject` of a check: the step's operations as methods, answers as values or outcomes."""

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from grading.outcomes import outcome_of


class Player(Protocol):
    """Something that plays operations: an actor in the worker, or a player in this process."""

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation."""
        ...


class NotStartedYet(Exception):
    """The exercise still raises todo(...)."""


class PartBroken(Exception):
    """The part cannot be asked. kind: as in `grading.player`; the message is for the learner."""

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.kind = kind


class WrongUse(Exception):
    """A check asks for something that its subject does not have: a mistake in the lab."""


@dataclass
class Exchange:
    """What a check said last, and what came back."""

    operation: str
    arguments: dict[str, Any]
    answer: Any = None


@dataclass
class Subject:
    """Each operation of the step's subject.py is a method here, with keyword arguments.

    player: answers. signatures: of the operations. open_more: opens another process with the same
    parts, for checks that need two. said: every exchange of this check.
    """

    player: Player
    signatures: dict[str, inspect.Signature]
    open_more: Callable[[], Player] | None = None
    said: list[Exchange] = field(default_factory=list)
    _others: dict[str, "Subject"] = field(default_factory=dict)

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation not in self.signatures:
            raise WrongUse(f"The subject of this step has no operation {operation}.")

        def ask(**arguments: Any) -> Any:
            try:
                self.signatures[operation].bind(None, **arguments)
            except TypeError as error:
                raise WrongUse(f"{operation}: {error}") from None
            self.said.append(Exchange(operation, arguments, "no answer"))
            answer = _answer(self.player.ask(operation, arguments))
            self.said[-1].answer = answer
            return answer

        return ask

    def process(self, name: str) -> "Subject":
        """Return the subject in another process of that name, opened when first asked for.

        With ``DEBUG=1`` there is one process only, and this is it.
        """
        if self.open_more is None:
            return self
        if name not in self._others:
            self._others[name] = Subject(self.open_more(), self.signatures, said=self.said)
        return self._others[name]


def _answer(reply: dict[str, Any]) -> Any:
    if "not_started" in reply:
        raise NotStartedYet(reply["not_started"]["exercise"])
    if "broken" in reply:
        raise PartBroken(reply["broken"]["text"], reply["broken"]["kind"])
    if "odd" in reply:
        raise PartBroken(f"Your code returned {reply['odd']['text']}; that is no JSON value.")
    return outcome_of(reply)


@lru_cache(maxsize=32)
def signatures_of(subject: Path) -> dict[str, inspect.Signature]:
    """Return the operations of a subject.py, by name; importing it loads the kit, never a part."""
    spec = importlib.util.spec_from_file_location(f"subject_{subject.parent.name}", subject)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        name: inspect.signature(operation)
        for name, operation in vars(module).items()
        if inspect.isfunction(operation) and not name.startswith("_")
    }
