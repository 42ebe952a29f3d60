"""Forms: may this client be asked, what may it be asked, and what did the user really say.

Promise: a question is put only to a client that can show it, only in the form that every client
understands, never about a secret; and an answer is one of five things that cannot be mistaken for
one another. Attacks it stops: `"confirm": "false"` taken for yes, a default taken for consent, a
declined form whose content is used all the same, a choice that was never offered, a password asked
for in plain sight.
"""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.errors import PydanticUserError

from kit.protocol import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from kit.refusals import RpcError

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

# The words of a name: `userPINs` is `user` and `PINs`, and `APIKey` is `API` and `Key`.
WORD = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# What a name is about when its words, in lower case and with spaces between, hold one of these.
SECRET = re.compile(
    r"\b("
    r"\w*(password|passwd|passphrase|passcode|secret|token|credential)|pass (word|phrase|code)|"
    r"pwd|pin|t?otp|one ?time ?code|(api|access|private|signing|encryption|ssh) ?key|"
    r"(credit|debit|payment|bank) ?card|card ?(number|no)|cvv|cvc|iban"
    r")s?\b"
)
# The formats: an email has one @ with something on both sides, a uri has a scheme, a date is a day
# of the calendar, a date-time has an offset (RFC 3339). Judging them more finely is left open.
_SHAPES = {
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "date-time": re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
    ),
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

        Errors: TypeError, always. A ValueError would pass for malformed input.
        """
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
    form (ELI-2). Keys that are no modes count for nothing: ``{"vendor": {}}`` is not empty, and it
    declares no mode (ELI-3).
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


def asks_for_secret(name: str) -> bool:
    """Tell whether a field called `name` would ask for a secret (FORM-6, ELI-12).

    name: in any spelling: ``api_key``, ``apiKey``, ``APIKey``, ``apikey``, ``API keys``.
    Whole words count, one or many: password (passwd), passphrase, passcode, PIN, secret, token,
    credential, cvv; key after api, access or private; card before number and after credit. These
    pairs count in one word, too (``accesskey``). More words than these are welcome, but
    ``secretary``, ``keyboard`` and ``spinner`` are no secrets.
    WORD finds the words of the name, and SECRET what they are about, in lower case and with single
    spaces between them.

    >>> asks_for_secret("userPIN"), asks_for_secret("spinner")
    (True, False)
    """
    words = WORD.findall(name)
    return SECRET.search(" ".join(words).lower()) is not None


def check_property(name: str, declared: Json) -> None:
    """Let one property of a form pass if every client can show it, and it asks for no secret.

    declared: its schema, without references. ``type`` and the other keys say which kind it is, and
    ALLOWED_KEYS what that kind may have (FORM-5). A string with ``enum`` is an enum: one or more
    texts, and ``enumNames`` has a text for each; a string with ``oneOf`` and an array need options
    that `choices` finds. `kind_of` tells all this, `has_right_values` what the values of some keys
    may be, and `fits` whether a ``default`` would be an answer, as it has to be.
    Left open: negative lengths, and bounds between which nothing is left.
    Errors: ValueError, naming the field, for everything else; and when its name or its title asks
    for a secret (`asks_for_secret`).

    >>> check_property("confirm", {"type": "boolean", "title": "Delete it?"})
    """
    if asks_for_secret(name) or asks_for_secret(str(declared.get("title", ""))):
        raise ValueError(f"{name}: a secret is asked for in URL mode, never in a form.")
    if not set(declared) <= ALLOWED_KEYS[kind_of(name, declared)] | COMMON_KEYS:
        raise ValueError(f"{name}: a form cannot express {sorted(declared)}.")
    if not has_right_values(declared):
        raise ValueError(f"{name}: {declared} has a value of the wrong type, or no known format.")
    if "default" in declared and not fits(declared, declared["default"]):
        raise ValueError(f"{name}: its default would be no answer.")


def has_right_values(declared: Json) -> bool:
    """Tell whether the keys in KEY_TYPES have values of their types, and ``format`` is known.

    A bound that is NaN or infinite has no JSON, and so no right value.
    """
    for key in set(declared) & set(KEY_TYPES):
        value = declared[key]
        if type(value) not in KEY_TYPES[key] or not (isinstance(value, str) or is_finite(value)):
            return False
    return declared.get("format", "email") in FORMATS


def kind_of(name: str, declared: Json) -> str:
    """Return the kind of a property, a key of ALLOWED_KEYS.

    An array or a ``oneOf`` is asked of `choices`. Errors: ValueError, naming the field, when it is
    of no kind.
    """
    kind = declared.get("type")
    if kind == "array" and choices(declared):
        return "multiple enum"
    if kind == "string" and "oneOf" in declared and choices(declared):
        return "titled enum"
    if kind == "string" and "enum" in declared and _names_all(declared):
        return "enum"
    if kind in ("string", "number", "integer", "boolean") and not {"enum", "oneOf"} & set(declared):
        return str(kind)
    raise ValueError(f"{name}: only flat texts, numbers, booleans and choices fit into a form.")


def _names_all(declared: Json) -> bool:
    options = declared["enum"]
    names: Any = declared.get("enumNames", options)
    return _texts(options) and _texts(names) and len(names) == len(options)


def _texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) for v in values)


def choices(declared: Json) -> tuple[str, ...]:
    """Return the answers that a titled or a multiple choice offers, in their order (ELI-6).

    declared: a string whose ``oneOf`` lists objects of ``const`` and ``title``; or an array whose
    ``items`` are ``{"type": "string", "enum": [...]}`` or ``{"anyOf": [...]}`` with such objects.
    ``items`` and options have these keys and no others, no title beside ``enum`` either. The keys
    around ``oneOf`` and ``items`` are for `check_property`: whether they count here is left open.
    Return an empty tuple for everything else: a free list, no options, an option without a title,
    an option that is no text.
    """
    if "oneOf" in declared:
        return _constants(declared["oneOf"])
    items = declared.get("items")
    if not isinstance(items, dict):
        return ()
    if set(items) == {"anyOf"}:
        return _constants(items["anyOf"])
    plain = set(items) == {"type", "enum"} and items["type"] == "string" and _texts(items["enum"])
    return tuple(items["enum"]) if plain else ()


def _constants(options: Any) -> tuple[str, ...]:
    if not isinstance(options, list) or not all(isinstance(option, dict) for option in options):
        return ()
    if not all(set(o) == {"const", "title"} and _texts(list(o.values())) for o in options):
        return ()
    return tuple(option["const"] for option in options)


def form_schema(model: type[BaseModel]) -> Json:
    """Return the ``requestedSchema`` of a form, out of a pydantic model.

    model: flat; each field is one of the kinds in ELI-6. What pydantic cannot say by itself comes
    in a field's ``json_schema_extra``, for example ``{"format": "email"}`` or ``{"oneOf": [...]}``.
    The result has ``type``, ``properties`` under the names that the client sends (aliases) and, if
    any field is required, ``required`` (ELI-5). No ``$ref`` and no ``$defs``: an enum class becomes
    an ``enum`` of its values, and a `Literal` of one text an ``enum`` of one (`object_schema`,
    `inlined`). What a field says for itself (default, title, description) stays.
    A default fills in the form for the human and decides nothing, so a field is required whether it
    has one or not. Only a free text whose default is "" may be left out, since that says that
    nothing came (FORM-2, `may_be_left_out`).
    Left open: an empty ``required`` or none, title and description of an enum class, and whether
    the Python name behind an alias may look like a secret.
    Errors: ValueError, when the tool is defined and not when it is called: as `check_property`; for
    a nested model, a free list, a union, any keyword outside the subset (FORM-5); for a model that
    is no object with fields, or of which no JSON schema can be made, like one with a callable.
    """
    schema = object_schema(model)
    properties = {
        name: inlined(declared, schema.get("$defs", {}))
        for name, declared in schema["properties"].items()
    }
    for name, declared in properties.items():
        check_property(name, declared)
    expected = schema.get("required", [])
    required = [n for n in properties if n in expected or not may_be_left_out(properties[n])]
    form: Json = {"type": "object", "properties": properties}
    return {**form, "required": required} if required else form


def object_schema(model: type[BaseModel]) -> Json:
    """Return the JSON schema of a model, with its ``properties`` at the top.

    Errors: ValueError for a model of which pydantic makes none, or that has no fields.
    """
    try:
        schema: Json = json.loads(_told_by_pydantic(model))
    except (PydanticUserError, KeyError) as error:  # KeyError: a reference to nothing
        raise ValueError(f"{model.__name__} has no JSON schema: {error}") from None
    if "$ref" in schema:  # a model that contains itself is its own definition
        schema |= schema["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "properties" not in schema:
        raise ValueError(f"{model.__name__}: a form is an object with fields.")
    return schema


@lru_cache(maxsize=256)  # it takes longer than the rest of a round, and a class does not change
def _told_by_pydantic(model: type[BaseModel]) -> str:
    return json.dumps(model.model_json_schema())  # a text, so that nobody changes what is kept


def inlined(declared: Json, definitions: Json) -> Json:
    """Replace references by what they mean, and a single choice (`const`) by a short list.

    What stands beside a reference stays, and wins.
    """
    target = definitions.get(str(declared.get("$ref")).removeprefix("#/$defs/"), {})
    plain = {key: target[key] for key in target if key not in COMMON_KEYS} | declared
    if target:
        del plain["$ref"]
    if isinstance(plain.get("items"), dict):
        plain["items"] = inlined(plain["items"], definitions)
    if isinstance(plain.get("const"), str):
        plain["enum"] = [plain.pop("const")]
    return plain


def may_be_left_out(declared: Json) -> bool:
    """Tell whether a property is a free text whose default is "" (FORM-2)."""
    is_text = declared["type"] == "string" and not {"enum", "oneOf"} & set(declared)
    return is_text and declared.get("default") == ""


def elicit(message: str, model: type[BaseModel]) -> Json:
    """Return the ``elicitation/create`` request that asks `message` with the form of `model`.

    It is a bare object for ``inputRequests``: ``method`` and ``params``, without ``jsonrpc`` and
    ``id`` (MRTR-3). ``"mode": "form"`` may be left out, since a client reads a missing mode as form
    (ELI-4); said aloud it helps whoever reads the traffic.
    Errors: ValueError as `form_schema`.
    """
    params = {"mode": "form", "message": message, "requestedSchema": form_schema(model)}
    return {"method": "elicitation/create", "params": params}


def read_answer(model: type[BaseModel], input_responses: Mapping[str, Any], key: str) -> Answer:
    """Return what the user said to the question `key`.

    input_responses: of this request; entries under other keys are not looked at (MRTR-15).
    Missing: no such key. Declined, Cancelled: whatever content came along is dropped unread
    (FORM-7). Accepted: ``content`` has every required field of `form_schema` and no field that is
    not in it, whatever `model` does with such fields (FORM-8); each value `fits` its property, in
    JSON type, bounds, format and options (FORM-1, FORM-12, ELI-8); and `model` agrees when it reads
    the content as strict JSON (``model_validate_json``, ``strict=True``), which makes a date of its
    text and refuses half a surrogate pair. The value is what the model made of it. A text that was
    left out is "".
    Malformed: everything else (FORM-3, FORM-11).
    Errors: none for an answer, however bad: it is a result, not an exception.
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
    form = form_schema(model)
    if not isinstance(content, dict) or not set(content) <= set(form["properties"]):
        return Malformed(f"{key}: content must hold the fields of the form and no others.")
    if not set(form.get("required", ())) <= set(content):
        return Malformed(f"{key}: a field is missing, and a default is not an answer.")
    if not all(fits(form["properties"][name], value) for name, value in content.items()):
        return Malformed(f"{key}: content does not fit the form.")
    try:
        return Accepted(model.model_validate_json(json.dumps(content), strict=True))
    except ValidationError:
        return Malformed(f"{key}: content does not fit the form.")


def fits(declared: Json, value: Any) -> bool:
    """Tell whether a value answers a property, by the schema that the user saw (ELI-8).

    Nothing is converted, and a boolean is no number (FORM-12). NaN, infinity and what no double
    can hold (``10**400``) are no numbers (FORM-15); whether ``3.0`` is an integer is left open.
    """
    if declared["type"] == "boolean":
        return isinstance(value, bool)
    if declared["type"] == "string":
        return isinstance(value, str) and _text_fits(declared, value)
    if declared["type"] == "array":
        return isinstance(value, list) and _list_fits(declared, value)
    return type(value) in ((int,) if declared["type"] == "integer" else (int, float)) and (
        _within(value, declared.get("minimum"), declared.get("maximum")) and is_finite(value)
    )


def is_finite(number: float) -> bool:
    """Tell whether a double can hold a number; false for NaN, and 10**400 does not raise."""
    return abs(number) <= sys.float_info.max


def _text_fits(declared: Json, text: str) -> bool:
    if "enum" in declared:
        return text in declared["enum"]
    if "oneOf" in declared:
        return text in choices(declared)
    length = _within(len(text), declared.get("minLength"), declared.get("maxLength"))
    return length and ("format" not in declared or _has_format(text, declared["format"]))


def _list_fits(declared: Json, values: list[Any]) -> bool:
    options = choices(declared)
    count = _within(len(values), declared.get("minItems"), declared.get("maxItems"))
    return count and all(isinstance(value, str) and value in options for value in values)


def _within(size: float, least: float | None, most: float | None) -> bool:
    return (least is None or size >= least) and (most is None or size <= most)


def _has_format(text: str, name: str) -> bool:
    if not _SHAPES[name].fullmatch(text):
        return False
    try:
        return not name.startswith("date") or bool(datetime.fromisoformat(text))
    except ValueError:
        return False
