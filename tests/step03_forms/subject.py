"""What the checks of step 03 can ask of a learner's part; runs in the worker.

A form is described as JSON: field name to its kind (a key of KINDS), its options, and keywords of
`pydantic.Field`; `_model` builds the pydantic model out of it.
"""

import datetime
import decimal
import enum
from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel, SecretStr, create_model

FIVE = ("Accepted", "Declined", "Cancelled", "Missing", "Malformed")


class Inner(BaseModel):
    """A model to nest in another."""

    text: str


class Chain(BaseModel):
    """A model that contains itself."""

    next: "Chain | None" = None


class Lax(BaseModel):
    """The base of a model that is no `Form`: pydantic drops what it does not know."""


class Colour(enum.Enum):
    """A choice, as people write it in Python."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """A choice among numbers, which no form can show."""

    LOW = 1
    HIGH = 2


KINDS: dict[str, Any] = {
    "text": str,
    "number": float,
    "integer": int,
    "boolean": bool,
    "date": datetime.date,
    "moment": datetime.datetime,
    "enum": Colour,
    "enums": list[Colour],
    "numeric enum": Level,
    "texts": list[str],
    "object": dict[str, str],
    "nested": Inner,
    "list of nested": list[Inner],
    "optional boolean": bool | None,
    "optional text": str | None,
    "union": int | str,
    "anything": Any,
    "bytes": bytes,
    "decimal": decimal.Decimal,
    "secret": SecretStr,
    "true only": Literal[True],
    "callable": Callable[[], str],
    "class": type,
}


def modes(parts: Any, *, capabilities: Any) -> list[str]:
    """The modes in which a client with these capabilities can be asked."""
    return sorted(parts.forms.elicitation_modes(capabilities))


def modes_of_each(parts: Any, *, requests: list[Any]) -> list[list[str]]:
    """The modes of several requests, judged one after the other."""
    return [sorted(parts.forms.elicitation_modes(each)) for each in requests]


def require(parts: Any, *, capabilities: Any, mode: str) -> str:
    """Go on if the client can be asked in this mode."""
    parts.forms.require_mode(capabilities, mode)
    return "go on"


def asks_for_secret(parts: Any, *, name: str) -> Any:
    """Whether a field of this name asks for a secret."""
    return parts.forms.asks_for_secret(name)


def check(parts: Any, *, declared: Any, name: str = "field") -> str:
    """Let one property of a form pass."""
    parts.forms.check_property(name, declared)
    return "passes"


def choices(parts: Any, *, declared: Any) -> list[str]:
    """The options of a titled or multiple choice."""
    return list(parts.forms.choices(declared))


def schema(parts: Any, *, fields: dict[str, Any]) -> Any:
    """The requestedSchema of a form."""
    return parts.forms.form_schema(_model(parts, fields))


def schema_of_odd_model(parts: Any, *, kind: str) -> Any:
    """The requestedSchema of a model that is no flat object."""
    odd: dict[str, type[BaseModel]] = {
        "contains itself": Chain,
        "is a text": RootModel[str],
        "is a dictionary": RootModel[dict[str, str]],
    }
    return parts.forms.form_schema(odd[kind])


def elicit(parts: Any, *, message: str, fields: dict[str, Any]) -> Any:
    """The request that asks with a form."""
    return parts.forms.elicit(message, _model(parts, fields))


def read(parts: Any, *, fields: dict[str, Any], responses: Any, key: str = "choice") -> Any:
    """What the user said: the outcome, and everything that it holds but the reason."""
    return _read(parts, _model(parts, fields), responses, key)


def read_with_a_plain_model(parts: Any, *, fields: dict[str, Any], responses: Any) -> Any:
    """As `read`, with a model that is no `Form` and would drop unknown fields."""
    return _read(parts, _model(parts, fields, Lax), responses, "choice")


def types_of(parts: Any, *, fields: dict[str, Any], responses: Any) -> Any:
    """The Python type of each value in an accepted form."""
    answer = parts.forms.read_answer(_model(parts, fields), responses, "choice")
    return {name: type(value).__name__ for name, value in answer.value}


def _read(parts: Any, model: type[BaseModel], responses: Any, key: str) -> Any:
    answer = parts.forms.read_answer(model, responses, key)
    names = [name for name in FIVE if isinstance(answer, getattr(parts.forms, name))]
    if len(names) != 1:
        return {"outcome": f"{type(answer).__name__}, which is not one of the five"}
    held = {name: _plain(value, model) for name, value in vars(answer).items() if name != "why"}
    return {"outcome": names[0].lower(), **held}


def truth(parts: Any, *, fields: dict[str, Any], responses: Any, key: str = "choice") -> str:
    """What an `if` makes of the answer."""
    answer = parts.forms.read_answer(_model(parts, fields), responses, key)
    try:
        return "true" if answer else "false"
    except TypeError:
        return "no truth value"


def _model(
    parts: Any, fields: dict[str, Any], base: type[BaseModel] | None = None
) -> type[BaseModel]:
    made = {name: _field(**field) for name, field in fields.items()}
    model: type[BaseModel] = create_model("Question", __base__=base or parts.forms.Form, **made)
    return model


def _field(kind: str, options: Any = (), extra: Any = None, **keywords: Any) -> tuple[Any, Any]:
    if kind == "text made by the model":
        return str, Field(default_factory=lambda: "made", json_schema_extra=extra, **keywords)
    if kind == "choice":
        return Literal[tuple(options)], Field(json_schema_extra=extra, **keywords)
    if kind == "choices":
        return list[Literal[tuple(options)]], Field(json_schema_extra=extra, **keywords)
    if kind == "set of choices":
        return set[Literal[tuple(options)]], Field(json_schema_extra=extra, **keywords)
    return KINDS[kind], Field(json_schema_extra=extra, **keywords)


def _plain(value: Any, model: type[BaseModel]) -> Any:
    if isinstance(value, model):
        return value.model_dump(mode="json")
    return f"a {type(value).__name__}, which is no instance of the form's model"
