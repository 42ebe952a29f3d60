"""Forms, as a table: every keyword says where it may stand, what it may hold and what it asks."""

import datetime
import itertools
import json
import math
import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from kit.refusals import RpcError


class Form(BaseModel):
    """Strict and closed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Answer:
    """One of five; none of them is true or false."""

    def __bool__(self):
        raise TypeError("match on the class of an answer")


@dataclass(frozen=True)
class Accepted(Answer):
    value: BaseModel


@dataclass(frozen=True)
class Declined(Answer):
    pass


@dataclass(frozen=True)
class Cancelled(Answer):
    pass


@dataclass(frozen=True)
class Missing(Answer):
    pass


@dataclass(frozen=True)
class Malformed(Answer):
    why: str


def is_text(value):
    return isinstance(value, str)


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    if is_whole(value):
        return -(2**1024) < value < 2**1024
    return isinstance(value, float) and math.isfinite(value)


def is_texts(value):
    return isinstance(value, list) and len(value) > 0 and all(map(is_text, value))


def is_format(value):
    return is_text(value) and value in FORMATS


def anything(*_):
    return True


def parses(parser):
    def asserted(text):
        try:
            parser(text)
        except ValueError:
            return False
        return True

    return asserted


def moment(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d.*([Zz]|[+-]\d\d:\d\d)", text):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


FORMATS = {
    "email": re.compile(r"[^\s@]+@[^\s@]+").fullmatch,
    "uri": re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s]*").fullmatch,
    "date": lambda text: len(text) == 10 and parses(datetime.date.fromisoformat)(text),
    "date-time": parses(moment),
}

TYPES = {
    "string": is_text,
    "number": is_number,
    "integer": lambda value: is_whole(value) and is_number(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list) and all(map(is_text, value)),
}

# keyword: (kinds of property, test of its own value, test of an answer)
KEYWORDS = {
    "type": ("*", lambda value: is_text(value) and value in TYPES, lambda v, a: TYPES[v](a)),
    "title": ("*", is_text, anything),
    "description": ("*", is_text, anything),
    "default": ("*", anything, anything),
    "minLength": (("text",), is_whole, lambda v, a: len(a) >= v),
    "maxLength": (("text",), is_whole, lambda v, a: len(a) <= v),
    "format": (("text",), is_format, lambda v, a: bool(FORMATS[v](a))),
    "minimum": (("number",), is_number, lambda v, a: a >= v),
    "maximum": (("number",), is_number, lambda v, a: a <= v),
    "enum": (("enum",), is_texts, lambda v, a: a in v),
    "enumNames": (("enum",), is_texts, anything),
    "oneOf": (("titled",), lambda v: bool(constants(v)), lambda v, a: a in constants(v)),
    "items": (("several",), lambda v: bool(options(v)), lambda v, a: set(a) <= set(options(v))),
    "minItems": (("several",), is_whole, lambda v, a: len(a) >= v),
    "maxItems": (("several",), is_whole, lambda v, a: len(a) <= v),
}


def elicitation_modes(client_capabilities):
    seen = [client_capabilities.get("elicitation", {})]
    seen += [seen[0][mode] for mode in ("form", "url") if isinstance(seen[0], dict) and mode in seen[0]]
    if not all(isinstance(each, dict) for each in seen):
        raise RpcError(-32602, "not an object")
    if client_capabilities.get("elicitation") == {}:
        return {"form"}
    return {"form", "url"} & set(seen[0])


def require_mode(client_capabilities, mode):
    if mode in elicitation_modes(client_capabilities):
        return
    raise RpcError(-32021, "cannot ask", {"requiredCapabilities": {"elicitation": {mode: {}}}})


ALONE = "password passwd passphrase passcode pin secret token credential cvv apikey accesstoken "
ALONE += "accesskey creditcard"
PAIRS = "api-key access-key private-key card-number credit-card"


def asks_for_secret(name):
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    spaced = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", spaced)
    words = [word.lower().rstrip("s") for word in re.split(r"[^A-Za-z]+", spaced)]
    alone = {word.rstrip("s") for word in ALONE.split()}
    pairs = {tuple(pair.split("-")) for pair in PAIRS.split()}
    return bool(alone & set(words)) or any(pair in pairs for pair in itertools.pairwise(words))


def kind(declared):
    if declared.get("type") == "array":
        return "several"
    if declared.get("type") in ("number", "integer"):
        return "number"
    if declared.get("type") == "boolean":
        return "boolean"
    return {(True, False): "enum", (False, True): "titled"}.get(
        ("enum" in declared, "oneOf" in declared), "text"
    )


def check_property(name, declared):
    if asks_for_secret(name) or asks_for_secret(str(declared.get("title", ""))):
        raise ValueError(f"{name} is a secret")
    for keyword, value in declared.items():
        kinds, fine, _ = KEYWORDS.get(keyword, ((), None, None))
        if kinds != "*" and kind(declared) not in kinds:
            raise ValueError(f"{name}: {keyword} has no place here")
        if not fine(value):
            raise ValueError(f"{name}: {keyword} cannot be {value!r}")
    needed = {"type", {"titled": "oneOf", "several": "items"}.get(kind(declared), "type")}
    if not needed <= set(declared):
        raise ValueError(f"{name}: {needed} must be said")
    if len(declared.get("enumNames", declared.get("enum", []))) != len(declared.get("enum", [])):
        raise ValueError(f"{name}: one name for each option")
    if "default" in declared and not answers(declared, declared["default"]):
        raise ValueError(f"{name}: the default is no answer")


def answers(declared, value):
    if not KEYWORDS["type"][2](declared["type"], value):
        return False
    return all(KEYWORDS[keyword][2](holds, value) for keyword, holds in declared.items())


def constants(options):
    if not isinstance(options, list):
        return ()
    good = [o for o in options if isinstance(o, dict) and set(o) == {"const", "title"}]
    texts = [o for o in good if is_text(o["const"]) and is_text(o["title"])]
    return tuple(o["const"] for o in texts) if len(texts) == len(options) else ()


def options(items):
    match items:
        case {"anyOf": titled, **rest} if not rest:
            return constants(titled)
        case {"type": "string", "enum": values, **rest} if not rest and is_texts(values):
            return tuple(values)
    return ()


def choices(declared):
    return constants(declared["oneOf"]) if "oneOf" in declared else options(declared.get("items"))


def flat(declared, definitions):
    if "$ref" in declared:
        target = definitions[declared["$ref"].rpartition("/")[2]]
        declared = {**target, **declared}
        del declared["$ref"]
    if "const" in declared and is_text(declared["const"]):
        declared = {**declared, "enum": [declared["const"]]}
        del declared["const"]
    if isinstance(declared.get("items"), dict):
        items = flat(declared["items"], definitions)
        declared = {**declared, "items": {k: items[k] for k in items if k not in ("title", "description")}}
    return declared


def form_schema(model):
    try:
        schema = model.model_json_schema()
    except (RuntimeError, KeyError) as error:  # pydantic's errors of usage are RuntimeErrors
        raise ValueError(f"no schema: {error}") from error
    schema = flat(schema, schema.get("$defs", {}))
    if schema.get("properties") is None:
        raise ValueError("no fields")
    properties = {n: flat(d, schema.get("$defs", {})) for n, d in schema["properties"].items()}
    for name, declared in properties.items():
        check_property(name, declared)
    optional = {n for n, d in properties.items() if kind(d) == "text" and d.get("default") == ""}
    optional -= set(schema.get("required", ()))
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def elicit(message, model):
    asked = {"message": message, "requestedSchema": form_schema(model)}
    return {"method": "elicitation/create", "params": asked}


def read_answer(model, input_responses, key):
    if key not in input_responses:
        return Missing()
    match input_responses[key]:
        case {"action": "decline"}:
            return Declined()
        case {"action": "cancel"}:
            return Cancelled()
        case {"action": "accept", "content": dict(content)}:
            return filled_in(model, content)
    return Malformed("this is no answer")


def filled_in(model, content):
    form = form_schema(model)
    if not set(form["required"]) <= set(content) <= set(form["properties"]):
        return Malformed("other fields than those of the form")
    if not all(answers(form["properties"][name], value) for name, value in content.items()):
        return Malformed("a value that the form does not have")
    try:
        return Accepted(model.model_validate_json(json.dumps(content)))
    except ValueError:
        return Malformed("the model says no")
