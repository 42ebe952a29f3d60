"""Forms: may this client be asked, what may it be asked, and what did the user really say.

Promise: a question is put only to a client that can show it, only in the form that every client
understands, never about a secret; and an answer is one of five things that cannot be mistaken for
one another. Attacks it stops: `"confirm": "false"` taken for yes, a default taken for consent, a
declined form whose content is used all the same, a password asked for in plain sight.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from kit.protocol import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from kit.refusals import RpcError

Json = dict[str, Any]
Mode = Literal["form", "url"]

MODES: tuple[Mode, ...] = ("form", "url")
FORMATS = ("email", "uri", "date", "date-time")

# The keys that each kind of property may have, beside title, description and default (ELI-6).
ALLOWED_KEYS: dict[str, frozenset[str]] = {
    "string": frozenset({"type", "minLength", "maxLength", "format"}),
    "number": frozenset({"type", "minimum", "maximum"}),
    "integer": frozenset({"type", "minimum", "maximum"}),
    "boolean": frozenset({"type"}),
    "enum": frozenset({"type", "enum"}),
    "titled enum": frozenset({"type", "oneOf"}),
    "multi enum": frozenset({"type", "items", "minItems", "maxItems"}),
}
COMMON_KEYS = frozenset({"title", "description", "default"})

_SECRET = re.compile(
    r"pass(word|wd|phrase|code)|secret|token|credential|api_?key|private_?key|access_?key|"
    r"card_?(number|no)|credit_?card|cvv|cvc|\bpin\b|iban|one_?time_?code|otp"
)


class Form(BaseModel):
    """The base of every form: values are taken as they are, and unknown fields are not taken.

    `strict` keeps ``"yes"`` and ``1`` from becoming true (FORM-12); `extra` refuses what was never
    asked (FORM-8).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Answer:
    """What the user said. It has no truth value, so that no `if answer:` can guess (FORM-4)."""

    def __bool__(self) -> NoReturn:
        raise TypeError("An answer is not true or false: match on its class.")


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
    if "elicitation" not in client_capabilities:
        return frozenset()
    declared = _object(client_capabilities["elicitation"])
    modes = frozenset(mode for mode in MODES if mode in declared)
    for mode in modes:
        _object(declared[mode])
    return modes if declared else frozenset({"form"})


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, "A client capability must be an object.")
    return value


def require_mode(client_capabilities: Json, mode: Mode) -> None:
    """Let the work go on if this request's client can be asked in `mode`.

    Call it before anything is looked up or minted (FORM-9).
    Errors: RpcError -32021 whose data names what is missing, for example
    ``{"requiredCapabilities": {"elicitation": {"form": {}}}}`` (ENV-13, ERR-7, ELI-3).
    """
    if mode not in elicitation_modes(client_capabilities):
        data: Json = {"requiredCapabilities": {"elicitation": {mode: {}}}}
        raise RpcError(MISSING_CLIENT_CAPABILITY, f"The client must support a {mode}.", data)


def form_schema(model: type[BaseModel]) -> Json:
    """Return the ``requestedSchema`` of a form, out of a pydantic model.

    model: flat; each field is one of the kinds in ELI-6. The result has ``type``, ``properties``
    and, if any field is required, ``required`` (ELI-5); no ``$defs``, no
    ``additionalProperties``. An enum class becomes an ``enum`` of its values; a field's
    ``json_schema_extra={"oneOf": [{"const", "title"}, ...]}`` makes a titled one.
    Errors: ValueError, when the tool is defined and not when it is called, naming the field: for a
    nested model, a free list, a union, any keyword outside the subset (FORM-5), and for a name
    that asks for a secret: password, key, token, card (FORM-6, ELI-12).
    """
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    for name in schema.get("properties", {}):
        _refuse_secret(name)
    properties = {
        name: _property(name, _inlined(declared, definitions))
        for name, declared in schema.get("properties", {}).items()
    }
    form = {"type": "object", "properties": properties}
    return {**form, "required": schema["required"]} if schema.get("required") else form


def _refuse_secret(name: str) -> None:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]", "_", name).lower()
    if _SECRET.search(words):
        raise ValueError(f"{name}: a secret is asked for in URL mode, never in a form.")


def _inlined(declared: Json, definitions: Json) -> Json:
    """Replace references by what they mean, and a single choice (`const`) by a short list."""
    plain = dict(declared)
    target = definitions[plain.pop("$ref").removeprefix("#/$defs/")] if "$ref" in plain else {}
    plain = {key: target[key] for key in set(target) - COMMON_KEYS} | plain
    if isinstance(plain.get("items"), dict):
        plain["items"] = _inlined(plain["items"], definitions)
    if isinstance(plain.get("const"), str):
        plain["enum"] = [plain.pop("const")]
    return plain


def _property(name: str, declared: Json) -> Json:
    if not set(declared) <= ALLOWED_KEYS[_kind(name, declared)] | COMMON_KEYS:
        raise ValueError(f"{name}: a form cannot express {sorted(declared)}.")
    if declared.get("format", "email") not in FORMATS:
        raise ValueError(f"{name}: the format {declared['format']} is not one of {FORMATS}.")
    return declared


def _kind(name: str, declared: Json) -> str:
    kind = declared.get("type")
    if kind == "string" and _texts(declared.get("enum")):
        return "enum"
    if kind == "string" and _titled(declared.get("oneOf")):
        return "titled enum"
    if kind == "array" and _choices(declared.get("items")):
        return "multi enum"
    if kind in ("string", "number", "integer", "boolean"):
        return kind
    raise ValueError(f"{name}: only flat texts, numbers, booleans and choices fit into a form.")


def _texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) for v in values)


def _titled(options: Any) -> bool:
    return (
        isinstance(options, list)
        and bool(options)
        and all(
            set(option) == {"const", "title"} and _texts(list(option.values()))
            for option in options
        )
    )


def _choices(items: Any) -> bool:
    if not isinstance(items, dict):
        return False
    if set(items) == {"anyOf"}:
        return _titled(items["anyOf"])
    return set(items) == {"type", "enum"} and items["type"] == "string" and _texts(items["enum"])


def elicit(message: str, model: type[BaseModel]) -> Json:
    """Return the ``elicitation/create`` request that asks `message` with the form of `model`.

    It is a bare object for ``inputRequests``: ``method`` and ``params``, without ``jsonrpc`` and
    ``id`` (MRTR-3), with the mode said aloud (ELI-4).
    Errors: ValueError as `form_schema`.
    """
    params = {"mode": "form", "message": message, "requestedSchema": form_schema(model)}
    return {"method": "elicitation/create", "params": params}


def read_answer(model: type[BaseModel], input_responses: Mapping[str, Any], key: str) -> Answer:
    """Return what the user said to the question `key`.

    input_responses: of this request; entries under other keys are not looked at (MRTR-15).
    Missing: no such key. Declined, Cancelled: whatever content came along is dropped (FORM-7).
    Accepted: ``content`` is valid for `model` under strict reading: no ``"yes"``, no ``1``
    (FORM-1, FORM-12), no unknown field (FORM-8), every boolean present: a default pre-fills the
    form and is not consent (FORM-2). Malformed: everything else (FORM-3).
    Errors: none; a bad answer is a result, not an exception.
    """
    if key not in input_responses:
        return Missing()
    response = input_responses[key]
    action = response.get("action") if isinstance(response, dict) else None
    if action == "decline":
        return Declined()
    if action == "cancel":
        return Cancelled()
    if action != "accept":
        return Malformed(f"{key}: action must be accept, decline or cancel.")
    return _read_content(model, response.get("content"), key)


def _read_content(model: type[BaseModel], content: Any, key: str) -> Answer:
    if not isinstance(content, dict) or not set(content) <= set(model.model_fields):
        return Malformed(f"{key}: content must hold the fields of the form and no others.")
    if not _booleans(model) <= set(content):
        return Malformed(f"{key}: a default is not an answer.")
    try:
        return Accepted(model.model_validate_json(json.dumps(content), strict=True))
    except ValidationError:
        return Malformed(f"{key}: content does not fit the form.")


def _booleans(model: type[BaseModel]) -> set[str]:
    return {name for name, field in model.model_fields.items() if field.annotation is bool}
