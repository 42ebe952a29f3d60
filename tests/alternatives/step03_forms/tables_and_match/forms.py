"""Forms: may this client be asked, what may it be asked, and what did the user really say.

Promise: a question is put only to a client that can show it, only in the form that every client
understands, never about a secret; and an answer is one of five things that cannot be mistaken for
one another. Attacks it stops: `"confirm": "false"` taken for yes, a default taken for consent, a
declined form whose content is used all the same, a choice that was never offered, a password asked
for in plain sight.
"""

import ipaddress
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Literal, NoReturn

from pydantic import AliasPath, BaseModel, ConfigDict, RootModel
from pydantic.json_schema import GenerateJsonSchema

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

# Bounds that belong together, and those of them that count something and so start at zero.
BOUNDS = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))
COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})

# What pydantic says about a model as a whole and a form does without.
DROPPED_MODEL_KEYS = frozenset({"title", "description", "additionalProperties", "$schema"})
FORM_KEYS = frozenset({"type", "properties", "required"})

# Words that ask for a secret, and pairs of words that do so together or written as one.
SECRET_PAIRS = frozenset(
    {
        *((word, "key") for word in ("api", "access", "private", "ssh", "signing", "encryption")),
        ("card", "number"),
        ("credit", "card"),
        ("debit", "card"),
        ("pass", "word"),
        ("pass", "phrase"),
        ("pass", "code"),
    }
)
SECRET_WORDS = frozenset(
    {
        *("password", "passwd", "pwd", "passphrase", "passcode", "pin", "otp"),
        *("secret", "token", "credential", "cvv", "cvc"),
        *("clientsecret", "secretkey", "accesstoken", "authtoken", "creditcardnumber"),
        *(first + second for first, second in SECRET_PAIRS),
    }
)

# The ways to see words in letters that stand together: `APIKey`, `APIkey` and `PINs`, `apikey`.
WORD_BREAKS = (
    re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"),
    re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[a-z])"),
    re.compile(r"(?!)"),
)
LETTERS = re.compile(r"[^\W\d_]+")


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
        raise TypeError(f"{type(self).__name__} has no truth value; match on its class")


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


# ---------------------------------------------------------------------------- may it be asked?


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
    match client_capabilities:
        case {"elicitation": {**declared}}:
            for mode in MODES:
                if mode in declared and not isinstance(declared[mode], Mapping):
                    raise RpcError(INVALID_PARAMS, f"elicitation.{mode} must be an object.")
            if not declared:
                return frozenset({"form"})
            return frozenset(mode for mode in MODES if mode in declared)
        case {"elicitation": _}:
            raise RpcError(INVALID_PARAMS, "elicitation must be an object.")
        case {}:
            return frozenset()
        case _:
            raise RpcError(INVALID_PARAMS, "The client capabilities must be an object.")


def require_mode(client_capabilities: Json, mode: Mode) -> None:
    """Let the work go on if this request's client can be asked in `mode`.

    Call it before anything is looked up or minted (FORM-9).
    Errors: RpcError -32021 whose data names what is missing, for example
    ``{"requiredCapabilities": {"elicitation": {"form": {}}}}`` (ENV-13, ERR-7, ELI-3).
    """
    if mode not in elicitation_modes(client_capabilities):
        raise RpcError(
            MISSING_CLIENT_CAPABILITY,
            f"This request needs a client that can be asked in {mode} mode.",
            {"requiredCapabilities": {"elicitation": {mode: {}}}},
        )


# -------------------------------------------------------------------------- what may be asked?


def asks_for_secret(name: str) -> bool:
    """Tell whether a field called `name` would ask for a secret (FORM-6, ELI-12).

    name: in any spelling: ``api_key``, ``apiKey``, ``APIKey``, ``apikey``, ``API keys``.
    Whole words count, one or many: password (passwd), passphrase, passcode, PIN, secret, token,
    credential, cvv; key after api, access or private; card before number and after credit. More
    words than these are welcome, but ``secretary``, ``keyboard`` and ``spinner`` are no secrets.

    >>> asks_for_secret("userPIN"), asks_for_secret("spinner")
    (True, False)
    """
    runs = LETTERS.findall(unicodedata.normalize("NFKC", name))
    for word_break in WORD_BREAKS:
        words = [_singular(word) for run in runs for word in word_break.split(run)]
        if not SECRET_WORDS.isdisjoint(words) or not SECRET_PAIRS.isdisjoint(pairwise(words)):
            return True
    return False


def _singular(word: str) -> str:
    word = word.casefold()
    return word if word.endswith("ss") else word.removesuffix("s")


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
    why = _objection(name, declared)
    if why is not None:
        raise ValueError(f"field {name!r}: {why}")


def _objection(name: str, declared: Any) -> str | None:
    """Return what speaks against this property, or None. Each test may trust those before it."""
    kind = _kind(declared)
    if kind is None:
        return "not a text, number, boolean or choice that every client can show"
    if strangers := declared.keys() - ALLOWED_KEYS[kind] - COMMON_KEYS:
        return f"this kind ({kind}) cannot have {', '.join(sorted(map(repr, strangers)))}"
    for key in KEY_TYPES.keys() & declared.keys():
        if not _may_be(key, declared[key]):
            return f"the value of {key!r} is not of the right kind"
    for low, high in BOUNDS:
        if low in declared and high in declared and declared[low] > declared[high]:
            return f"{low!r} is above {high!r}, so no answer would fit"
    if "format" in declared and declared["format"] not in FORMATS:
        return f"the format is none of {', '.join(FORMATS)}"
    if kind == "enum":
        options, names = declared["enum"], declared.get("enumNames", declared["enum"])
        if not _are_texts(options) or not options:
            return "'enum' is not a list of one or more texts"
        if not _are_texts(names) or len(names) != len(options):
            return "'enumNames' does not have a text for each option"
    if "default" in declared and not _fits(declared, declared["default"]):
        return "the default is no answer that would fit"
    if any(asks_for_secret(text) for text in (name, declared.get("title", ""))):
        return "a form must not ask for a secret"
    return None


def _kind(declared: Any) -> str | None:
    match declared:
        case {"type": "string", "enum": _}:
            return "enum"
        case {"type": "string", "oneOf": _}:
            return "titled enum" if choices(declared) else None
        case {"type": "array"}:
            return "multiple enum" if choices(declared) else None
        case {"type": "string" | "number" | "integer" | "boolean" as plain}:
            return plain
        case _:
            return None


def _may_be(key: str, value: Any) -> bool:
    """Tell whether `value` is of a type that KEY_TYPES has for `key`; True is no number."""
    if not isinstance(value, KEY_TYPES[key]):
        return False
    match value:
        case bool():
            return False
        case str():
            return _is_text(value)
        case _:
            return _is_number(value) and not (key in COUNTS and value < 0)


def choices(declared: Json) -> tuple[str, ...]:
    """Return the answers that a titled or a multiple choice offers, in their order (ELI-6).

    declared: a string whose ``oneOf`` lists objects of ``const`` and ``title``; or an array whose
    ``items`` are ``{"type": "string", "enum": [...]}`` or ``{"anyOf": [...]}`` with such objects.
    Return an empty tuple for everything else: a free list, an option without a title, an option
    that is no text, a key that is not named here.
    """
    match declared:
        case {"type": "string", "oneOf": list(options), **rest}:
            return _titled(options) if rest.keys() <= COMMON_KEYS else ()
        case {"type": "array", "items": items, **rest}:
            if not rest.keys() <= COMMON_KEYS | {"minItems", "maxItems"}:
                return ()
        case _:
            return ()
    match items:
        case {"type": "string", "enum": list(options), **rest} if not rest:
            return tuple(options) if _are_texts(options) else ()
        case {"anyOf": list(options), **rest} if not rest:
            return _titled(options)
        case _:
            return ()


def _titled(options: list[Any]) -> tuple[str, ...]:
    found = []
    for option in options:
        match option:
            case {"const": str(const), "title": str(title), **rest} if not rest:
                if not _are_texts([const, title]):
                    return ()
                found.append(const)
            case _:
                return ()
    return tuple(found)


class _Definition(GenerateJsonSchema):
    """Pydantic's generator, but what it would only warn of (a left-out choice) is an error."""

    def emit_warning(self, kind: Any, detail: str) -> None:
        raise ValueError(detail)


def form_schema(model: type[BaseModel]) -> Json:
    """Return the ``requestedSchema`` of a form, out of a pydantic model.

    model: flat; each field is one of the kinds in ELI-6. What pydantic cannot say by itself comes
    in a field's ``json_schema_extra``, for example ``{"format": "email"}`` or ``{"oneOf": [...]}``.
    The result has ``type``, ``properties`` under the names that the client sends (aliases) and, if
    any field is required, ``required`` (ELI-5). No ``$ref`` and no ``$defs``: an enum class becomes
    an ``enum`` of its values, and a `Literal` of one text an ``enum`` of one. Every field is
    required, whether it has a default or not: a default fills in the form for the human and decides
    nothing. Only a free text whose default is "" may be left out (FORM-2).
    Errors: ValueError, when the tool is defined and not when it is called: as `check_property`; for
    a nested model, a free list, a union, any keyword outside the subset (FORM-5); and for a model
    that is no object with fields.
    """
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise ValueError(f"{model!r} is not a pydantic model")
    if issubclass(model, RootModel):
        raise ValueError(f"{model.__name__} is no object with fields")
    try:
        schema = deepcopy(model.model_json_schema(schema_generator=_Definition))
    except Exception as error:
        raise ValueError(f"{model.__name__} cannot be put into a form: {error}") from error

    definitions = schema.pop("$defs", {})
    declared_properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(declared_properties, dict):
        raise ValueError(f"{model.__name__} is no object with fields")
    if strangers := schema.keys() - FORM_KEYS - DROPPED_MODEL_KEYS:
        listed = ", ".join(sorted(map(repr, strangers)))
        raise ValueError(f"{model.__name__} as a whole cannot have {listed}")
    if not declared_properties or len(declared_properties) != len(model.model_fields):
        raise ValueError(f"{model.__name__} has no fields, or some that a form would not show")
    for name, field in model.model_fields.items():
        if isinstance(field.validation_alias, AliasPath):
            raise ValueError(f"field {name!r}: it would be read from inside another one")
        if asks_for_secret(name):
            raise ValueError(f"field {name!r}: a form must not ask for a secret")

    properties = {
        name: _flat(declared, definitions) for name, declared in declared_properties.items()
    }
    for name, declared in properties.items():
        check_property(name, declared)
    demanded = schema.get("required", [])
    required = [
        name
        for name, declared in properties.items()
        if name in demanded or _kind(declared) != "string" or declared.get("default") != ""
    ]
    form: Json = {"type": "object", "properties": properties}
    return form | {"required": required} if required else form


def _flat(declared: Any, definitions: Json) -> Any:
    """Return the schema of a property without references, and a single text as an enum of one."""
    declared = _enum_of_one(_resolved(declared, definitions))
    match declared:
        case {"type": "array", "items": {"$ref": _, **beside} as items}:
            # Title and description of the class say nothing about the list; what was written
            # beside the reference stays, and is judged.
            resolved = _resolved(items, definitions)
            kept = {
                key: value
                for key, value in resolved.items()
                if key in beside or key not in ("title", "description")
            }
            return declared | {"items": _enum_of_one(kept)}
        case {"type": "array", "items": items}:
            return declared | {"items": _enum_of_one(items)}
        case _:
            return declared


def _resolved(declared: Any, definitions: Json) -> Any:
    for _ in range(len(definitions)):
        match declared:
            case {"$ref": str(reference), **beside} if (
                definition := definitions.get(reference.removeprefix("#/$defs/"))
            ) is not None:
                declared = deepcopy(definition) | beside
            case _:
                break
    return declared


def _enum_of_one(declared: Any) -> Any:
    match declared:
        case {"type": "string", "const": str(only), **rest} if "enum" not in rest:
            return {"type": "string", "enum": [only], **rest}
        case _:
            return declared


def elicit(message: str, model: type[BaseModel]) -> Json:
    """Return the ``elicitation/create`` request that asks `message` with the form of `model`.

    It is a bare object for ``inputRequests``: ``method`` and ``params``, without ``jsonrpc`` and
    ``id`` (MRTR-3), with the mode said aloud (ELI-4).
    Errors: ValueError as `form_schema`.
    """
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": form_schema(model)},
    }


# ------------------------------------------------------------------------ what did they say?


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
    if not isinstance(input_responses, Mapping):
        return Malformed("The input responses are not an object.")
    if key not in input_responses:
        return Missing()
    match input_responses[key]:
        case {"action": "decline"}:
            return Declined()
        case {"action": "cancel"}:
            return Cancelled()
        case {"action": "accept", "content": {**content}}:
            return _read_content(model, content)
        case {"action": "accept"}:
            return Malformed("An accept needs a content that is an object.")
        case {**_rest}:
            return Malformed("The action is none of accept, decline and cancel.")
        case _:
            return Malformed("The answer is not an object.")


def _read_content(model: type[BaseModel], content: Json) -> Answer:
    form = form_schema(model)
    properties = form["properties"]
    if content.keys() - properties.keys():
        return Malformed("The content has a field that the form does not have.")
    for name in form.get("required", ()):
        if name not in content:
            return Malformed(f"The content lacks the required field {name!r}.")
    for name, value in content.items():
        if not _fits(properties[name], value):
            return Malformed(f"The value of the field {name!r} does not fit the form.")
    try:
        # Read as JSON, where a strict model takes the text of an enum class or of a date.
        text = json.dumps(content, allow_nan=False)
        return Accepted(model.model_validate_json(text, strict=True))
    except Exception:  # the model's own validators may raise anything
        return Malformed("The values do not fit the form together.")


def _is_text(value: Any) -> bool:
    """Tell whether it is a str that can be sent: half a surrogate pair has no UTF-8 (ENV-1)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    """Tell whether it is a JSON number that is finite as a float, too."""
    match value:
        case bool():
            return False
        case int() | float():
            try:
                return abs(float(value)) < float("inf")
            except OverflowError:
                return False
        case _:
            return False


def _within(declared: Json, low: str, high: str, value: float) -> bool:
    return declared.get(low, value) <= value <= declared.get(high, value)


def _fits_string(declared: Json, value: Any) -> bool:
    return (
        _is_text(value)
        and _within(declared, "minLength", "maxLength", len(value))
        and ("format" not in declared or FORMAT_TESTS[declared["format"]](value))
    )


def _fits_number(declared: Json, value: Any) -> bool:
    return _is_number(value) and _within(declared, "minimum", "maximum", value)


def _fits_integer(declared: Json, value: Any) -> bool:
    return (
        isinstance(value, int)
        and _is_number(value)
        and _within(declared, "minimum", "maximum", value)
    )


def _fits_boolean(declared: Json, value: Any) -> bool:
    return isinstance(value, bool)


def _fits_enum(declared: Json, value: Any) -> bool:
    return isinstance(value, str) and value in declared["enum"]


def _fits_titled(declared: Json, value: Any) -> bool:
    return isinstance(value, str) and value in choices(declared)


def _fits_multiple(declared: Json, value: Any) -> bool:
    options = choices(declared)
    return (
        isinstance(value, list)
        and all(isinstance(one, str) and one in options for one in value)
        and _within(declared, "minItems", "maxItems", len(value))
    )


FITS: dict[str, Callable[[Json, Any], bool]] = {
    "string": _fits_string,
    "number": _fits_number,
    "integer": _fits_integer,
    "boolean": _fits_boolean,
    "enum": _fits_enum,
    "titled enum": _fits_titled,
    "multiple enum": _fits_multiple,
}


def _fits(declared: Json, value: Any) -> bool:
    """Tell whether `value` answers this property, of which `check_property` approves."""
    kind = _kind(declared)
    return kind is not None and FITS[kind](declared, value)


# The formats of JSON Schema: RFC 5321 (Mailbox), RFC 3986 (URI), RFC 3339 (full-date, date-time).

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAILBOX = re.compile(
    rf"""(?P<local>{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")"""
    rf"""@(?:(?P<domain>{_LABEL}(?:\.{_LABEL})*)|\[(?P<address>[^\[\]]+)\])"""
)

_PCHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_AUTHORITY = (
    r"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[(?P<address>[^\[\]]+)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)"
    r"(?::[0-9]*)?"
)
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://{_AUTHORITY}(?:/{_PCHAR}*)*|/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?|{_PCHAR}+(?:/{_PCHAR}*)*|)"
    rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_IP_FUTURE = re.compile(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")

_FULL_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_DATE = re.compile(_FULL_DATE)
_DATE_TIME = re.compile(
    rf"{_FULL_DATE}[Tt](?P<hour>[0-9]{{2}}):(?P<minute>[0-9]{{2}}):(?P<second>[0-9]{{2}})"
    r"(?:\.[0-9]+)?(?:[Zz]|(?P<sign>[+-])(?P<off_hour>[0-9]{2}):(?P<off_minute>[0-9]{2}))"
)


def _is_address(version: type, text: str) -> bool:
    try:
        version(text)
    except ValueError:
        return False
    return "%" not in text


def _is_email(text: str) -> bool:
    found = _MAILBOX.fullmatch(text)
    if found is None or len(found["local"]) > 64 or len(found["domain"] or "") > 253:
        return False
    match found["address"]:
        case None:
            return True
        case str(tagged) if tagged[:5].lower() == "ipv6:":
            return _is_address(ipaddress.IPv6Address, tagged[5:])
        case address:
            return _is_address(ipaddress.IPv4Address, address)


def _is_uri(text: str) -> bool:
    found = _URI.fullmatch(text)
    if found is None:
        return False
    match found["address"]:
        case None:
            return True
        case address:
            return bool(_IP_FUTURE.fullmatch(address)) or _is_address(
                ipaddress.IPv6Address, address
            )


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    found = _DATE_TIME.fullmatch(text)
    if found is None or not _is_date(found["date"]):
        return False
    hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
    off_hour, off_minute = (int(found[part] or 0) for part in ("off_hour", "off_minute"))
    if max(hour, off_hour) > 23 or max(minute, off_minute) > 59 or second > 60:
        return False
    if second < 60:
        return True
    # A leap second comes at the end of a day in UTC only.
    shift = (off_hour * 60 + off_minute) * (-1 if found["sign"] == "-" else 1)
    return (hour * 60 + minute - shift) % (24 * 60) == 24 * 60 - 1


FORMAT_TESTS: dict[str, Callable[[str], bool]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}
