"""Forms: may this client be asked, what may it be asked, and what did the user really say.

Promise: a question is put only to a client that can show it, only in the form that every client
understands, never about a secret; and an answer is one of five things that cannot be mistaken for
one another. Attacks it stops: `"confirm": "false"` taken for yes, a default taken for consent, a
declined form whose content is used all the same, a choice that was never offered, a password asked
for in plain sight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict

from kit.protocol import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from kit.refusals import RpcError
from kit.todo import todo

Json = dict[str, Any]
Mode = Literal["form", "url"]

MODES: tuple[Mode, ...] = ("form", "url")
FORMATS = ("email", "uri", "date", "date-time")

# The kinds of property and the keys that each may have, beside those that all may have (ELI-6).
ALLOWED_KEYS: dict[str, frozenset[str]] = {
    "string": frozenset({"type", "minLength", "maxLength", "format"}),
    "number": frozenset({"type", "minimum", "maximum"}),
    "integer": frozenset({"type", "minimum", "maximum"}),
    "boolean": frozenset({"type"}),
    "enum": frozenset({"type", "enum", "enumNames"}),
    "titled enum": frozenset({"type", "oneOf"}),
    "multiple enum": frozenset({"type", "items", "minItems", "maxItems"}),
}
COMMON_KEYS = frozenset({"title", "description", "default"})

# What the value of a key may be; the keys that are not here are looked at one by one.
KEY_TYPES: dict[str, tuple[type, ...]] = {
    "title": (str,),
    "description": (str,),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), (int,)),
    **dict.fromkeys(("minimum", "maximum"), (int, float)),
}


class Form(BaseModel):
    """The base of every form: values are taken as they are, and unknown fields are not taken.

    `strict` keeps ``"yes"`` and ``1`` from becoming true (FORM-12); `extra` refuses what was never
    asked (FORM-8).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Answer:
    """What the user said: exactly one of the five classes below (FORM-3)."""

    def __bool__(self) -> NoReturn:
        """Refuse to be true or false, so that no `if answer:` can guess (FORM-4).

        Errors: TypeError, always.
        """
        todo("3.6: One of five answers")


@dataclass(frozen=True)
class Accepted(Answer):
    """The user submitted the form, and it is valid. value: an instance of the form's model."""

    value: BaseModel


@dataclass(frozen=True)
class Declined(Answer):
    """The user said no (ELI-10)."""


@dataclass(frozen=True)
class Cancelled(Answer):
    """The user closed the form without a choice (ELI-10)."""


@dataclass(frozen=True)
class Missing(Answer):
    """The client sent no answer to this question (MRTR-16)."""


@dataclass(frozen=True)
class Malformed(Answer):
    """The client sent something that is no answer (MRTR-17). why: one sentence for the peer."""

    why: str


def elicitation_modes(client_capabilities: Json) -> frozenset[Mode]:
    """Return the modes in which this request's client can be asked.

    client_capabilities: of this very request; an earlier one says nothing (ENV-12).
    No ``elicitation`` means no mode; ``{}`` means form alone; ``{"url": {}}`` means url and not
    form (ELI-2).
    Errors: RpcError -32602 when ``elicitation``, its ``form`` or its ``url`` is present and is not
    an object: ``true`` is not a capability (FORM-10, DISC-4).

    >>> sorted(elicitation_modes({"elicitation": {"url": {}}}))
    ['url']
    """
    todo("3.1: What this client can be asked")


def require_mode(client_capabilities: Json, mode: Mode) -> None:
    """Let the work go on if this request's client can be asked in `mode`.

    Call it before anything is looked up or minted (FORM-9).
    Errors: RpcError -32021 whose data names what is missing, for example
    ``{"requiredCapabilities": {"elicitation": {"form": {}}}}`` (ENV-13, ERR-7, ELI-3).
    """
    todo("3.2: Name what is missing")


def asks_for_secret(name: str) -> bool:
    """Tell whether a field called `name` would ask for a secret (FORM-6, ELI-12).

    name: in any spelling: ``api_key``, ``apiKey``, ``APIKey``, ``apikey``, ``API keys``.
    Whole words count, one or many: password (passwd), passphrase, passcode, PIN, secret, token,
    credential, cvv; key after api, access or private; card before number and after credit. More
    words than these are welcome, but ``secretary``, ``keyboard`` and ``spinner`` are no secrets.

    >>> asks_for_secret("userPIN"), asks_for_secret("spinner")
    (True, False)
    """
    todo("3.3: Know a secret by its name")


def check_property(name: str, declared: Json) -> None:
    """Let one property of a form pass if every client can show it, and it asks for no secret.

    declared: its schema, without references. ``type`` and the other keys say which kind it is, and
    ALLOWED_KEYS what that kind may have (FORM-5). A string with ``enum`` is an enum: one or more
    texts, and ``enumNames`` has a text for each. A string with ``oneOf`` is a titled enum and an
    array a multiple one if `choices` finds options in it; until that is written, refuse both.
    KEY_TYPES says what the values of some keys are, FORMATS which formats there are. A ``default``
    has to be an answer that would fit.
    Errors: ValueError, naming the field, for everything else; and when its name or its title asks
    for a secret (`asks_for_secret`).

    >>> check_property("confirm", {"type": "boolean", "title": "Delete it?"})
    """
    todo("3.4: One property that every client can show")


def choices(declared: Json) -> tuple[str, ...]:
    """Return the answers that a titled or a multiple choice offers, in their order (ELI-6).

    declared: a string whose ``oneOf`` lists objects of ``const`` and ``title``; or an array whose
    ``items`` are ``{"type": "string", "enum": [...]}`` or ``{"anyOf": [...]}`` with such objects.
    Return an empty tuple for everything else: a free list, an option without a title, an option
    that is no text, a key that is not named here.
    """
    todo("3.7: Titled and multiple choices")


def form_schema(model: type[BaseModel]) -> Json:
    """Return the ``requestedSchema`` of a form, out of a pydantic model.

    model: flat; each field is one of the kinds in ELI-6. What pydantic cannot say by itself comes
    in a field's ``json_schema_extra``, for example ``{"format": "email"}`` or ``{"oneOf": [...]}``.
    The result has ``type``, ``properties`` under the names that the client sends (aliases) and, if
    any field is required, ``required`` (ELI-5). No ``$ref`` and no ``$defs``: an enum class becomes
    an ``enum`` of its values, and a `Literal` of one text an ``enum`` of one. Every boolean and
    every choice is required, whether it has a default or not: a default fills in the form for the
    human and decides nothing (FORM-2).
    Errors: ValueError, when the tool is defined and not when it is called: as `check_property`; for
    a nested model, a free list, a union, any keyword outside the subset (FORM-5); and for a model
    that is no object with fields.
    """
    todo("3.5: A model becomes a question")


def elicit(message: str, model: type[BaseModel]) -> Json:
    """Return the ``elicitation/create`` request that asks `message` with the form of `model`.

    It is a bare object for ``inputRequests``: ``method`` and ``params``, without ``jsonrpc`` and
    ``id`` (MRTR-3), with the mode said aloud (ELI-4).
    Errors: ValueError as `form_schema`.
    """
    todo("3.5: A model becomes a question")


def read_answer(model: type[BaseModel], input_responses: Mapping[str, Any], key: str) -> Answer:
    """Return what the user said to the question `key`.

    input_responses: of this request; entries under other keys are not looked at (MRTR-15).
    Missing: no such key. Declined, Cancelled: whatever content came along is dropped unread
    (FORM-7). Accepted: ``content`` has every required field of `form_schema` and no field that is
    not in it (FORM-8); each value has the JSON type of its property (and NaN and infinity are not
    JSON), keeps to its bounds and format, and is one of its options (FORM-1, FORM-12, ELI-8); and
    `model`, read strictly, agrees. An optional field that was left out has the model's default.
    Malformed: everything else (FORM-3, FORM-11).
    Errors: none for an answer, however bad: it is a result, not an exception.
    """
    todo("3.6: One of five answers")
