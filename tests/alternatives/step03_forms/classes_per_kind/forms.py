"""Forms with one class per kind. A property is parsed once; then it knows what answers it takes."""

from dataclasses import dataclass
from datetime import datetime
from json import dumps
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

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


class Unfit(ValueError):
    """A declaration that no form can show."""


class Kind:
    """A kind of property; `keys` beside type, title, description and default."""

    decides = False

    def __init__(self, declared, *keys):
        strange = set(declared) - {"type", "title", "description", "default", *keys}
        if strange:
            raise Unfit(f"unknown: {strange}")
        for key in ("title", "description"):
            if type(declared.get(key, "")) is not str:
                raise Unfit(f"{key} must be a text")
        self.declared = declared

    def limit(self, key, types, otherwise):
        found = self.declared.get(key, otherwise)
        if key in self.declared and not (type(found) in types and abs(found) < float("inf")):
            raise Unfit(f"{key} cannot be {found!r}")
        return found

    def takes(self, value):
        raise NotImplementedError


class YesNo(Kind):
    decides = True

    def takes(self, value):
        return value is True or value is False


class Number(Kind):
    types = (int, float)

    def __init__(self, declared):
        super().__init__(declared, "minimum", "maximum")
        self.low = self.limit("minimum", (int, float), float("-inf"))
        self.high = self.limit("maximum", (int, float), float("inf"))

    def takes(self, value):
        if type(value) not in self.types or not -(2**1024) < value < 2**1024:
            return False
        return self.low <= value <= self.high


class Integer(Number):
    types = (int,)


class Text(Kind):
    def __init__(self, declared):
        super().__init__(declared, "minLength", "maxLength", "format")
        self.shortest = self.limit("minLength", (int,), 0)
        self.longest = self.limit("maxLength", (int,), float("inf"))
        name = declared.get("format", "any")
        if name not in ("any", "email", "uri", "date", "date-time"):
            raise Unfit(f"the format {name}")
        self.looks_right = getattr(self, name.replace("-", "_"))

    def takes(self, value):
        return (
            type(value) is str
            and self.shortest <= len(value) <= self.longest
            and self.looks_right(value)
        )

    @staticmethod
    def any(text):
        return not any("\ud800" <= character <= "\udfff" for character in text)

    @staticmethod
    def email(text):
        name, at, host = text.partition("@")
        return bool(name and at and host) and "@" not in host and not text.count(" ")

    @staticmethod
    def uri(text):
        return text.isprintable() and " " not in text and urlsplit(text).scheme != ""

    @staticmethod
    def date(text):
        return len(text) == 10 and text[4] == text[7] == "-" and Text.date_time(f"{text}T00:00:00Z")

    @staticmethod
    def date_time(text):
        try:
            return text[10:11] == "T" and datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            return False


class Choice(Kind):
    decides = True

    def __init__(self, declared):
        super().__init__(declared, "enum", "enumNames")
        self.options = texts(declared["enum"])
        if "enumNames" in declared and len(texts(declared["enumNames"])) != len(self.options):
            raise Unfit("as many names as options")

    def takes(self, value):
        return type(value) is str and value in self.options


class TitledChoice(Choice):
    def __init__(self, declared):
        Kind.__init__(self, declared, "oneOf")
        self.options = constants(declared["oneOf"])


class Several(Choice):
    def __init__(self, declared):
        Kind.__init__(self, declared, "items", "minItems", "maxItems")
        self.options = listed(declared.get("items"))
        self.least = self.limit("minItems", (int,), 0)
        self.most = self.limit("maxItems", (int,), float("inf"))

    def takes(self, value):
        if type(value) is not list or not self.least <= len(value) <= self.most:
            return False
        return all(Choice.takes(self, each) for each in value)


def texts(values):
    if type(values) is not list or not values or {type(each) for each in values} != {str}:
        raise Unfit("one or more texts")
    return values


def constants(options):
    if type(options) is not list or not all(isinstance(each, dict) for each in options):
        raise Unfit("options are objects")
    if not all(sorted(each) == ["const", "title"] for each in options):
        raise Unfit("options have const and title")
    texts([each["title"] for each in options])
    return texts([each["const"] for each in options])


def listed(items):
    if not isinstance(items, dict):
        raise Unfit("items must be said")
    if list(items) == ["anyOf"]:
        return constants(items["anyOf"])
    if sorted(items) == ["enum", "type"] and items["type"] == "string":
        return texts(items["enum"])
    raise Unfit("a free list")


def parse(declared):
    kinds = {"boolean": YesNo, "number": Number, "integer": Integer, "array": Several}
    kind = declared.get("type")
    if kind == "string":
        chosen = Choice if "enum" in declared else TitledChoice if "oneOf" in declared else Text
    elif isinstance(kind, str) and kind in kinds:
        chosen = kinds[kind]
    else:
        raise Unfit(f"the type {kind}")
    made = chosen(declared)
    if "default" in declared and not made.takes(declared["default"]):
        raise Unfit("the default is no answer")
    return made


def elicitation_modes(client_capabilities):
    if "elicitation" not in client_capabilities:
        return []
    elicitation = client_capabilities["elicitation"]
    for value in (elicitation, *((elicitation.get(m, {}) for m in ("form", "url")) if type(elicitation) is dict else ())):
        if type(value) is not dict:
            raise RpcError(-32602, f"{value!r} is no capability")
    return [mode for mode in ("form", "url") if mode in (elicitation or {"form"})]


def require_mode(client_capabilities, mode):
    if mode not in elicitation_modes(client_capabilities):
        lacking = {"elicitation": {mode: {}}}
        raise RpcError(-32021, f"{mode} needed", {"requiredCapabilities": lacking})


def words_of(name):
    """Take a name apart: at what is no letter, at each hump, and before the last of capitals."""
    words, word = [], ""
    for before, here, after in zip(" " + name, name, name[1:] + " ", strict=False):
        hump = here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        if hump or not here.isalpha():
            words.append(word)
            word = ""
        if here.isalpha():
            word += here.lower()
    return [each for each in (*words, word) if each]


SINGLE = {"password", "passwd", "passphrase", "passcode", "pin", "secret", "token", "credential"}
SINGLE |= {"cvv", "apikey", "accesskey", "creditcard"}
DOUBLE = {("api", "key"), ("access", "key"), ("private", "key"), ("card", "number")}
DOUBLE |= {("credit", "card")}


def asks_for_secret(name):
    words = words_of(name)
    words = [word[:-1] if word.endswith("s") and word[:-1] in SINGLE | {"key", "card"} else word for word in words]
    return not SINGLE.isdisjoint(words) or not DOUBLE.isdisjoint(zip(words, words[1:], strict=False))


def check_property(name, declared):
    try:
        parse(declared)
    except Unfit as problem:
        raise ValueError(f"{name}: {problem}") from None
    for text in (name, declared.get("title", "")):
        if asks_for_secret(text):
            raise ValueError(f"{name}: no secrets in a form")


def choices(declared):
    try:
        return tuple(parse({k: v for k, v in declared.items() if k != "default"}).options)
    except (Unfit, AttributeError):
        return ()


class Written:
    """What pydantic wrote about a model, with everything in its place."""

    def __init__(self, model):
        try:
            whole = model.model_json_schema()
        except Exception as problem:
            raise ValueError(f"{model.__name__} has no schema") from problem
        self.definitions = whole.get("$defs", {})
        self.whole = self.place(whole)
        if "properties" not in self.whole:
            raise ValueError(f"{model.__name__} has no fields")
        self.fields = {name: self.field(name, each) for name, each in self.whole["properties"].items()}

    def place(self, node):
        reference = node.get("$ref")
        if reference is None:
            return node
        target = self.definitions[reference[len("#/$defs/") :]]
        return {k: v for k, v in (target | node).items() if k != "$ref"}

    def field(self, name, node):
        node = self.listed_const(self.place(node))
        if "items" in node:
            inner = self.listed_const(self.place(node["items"]))
            node = node | {"items": {k: v for k, v in inner.items() if k not in ("title", "description")}}
        check_property(name, node)
        return node

    @staticmethod
    def listed_const(node):
        if type(node.get("const")) is not str:
            return node
        return {k: v for k, v in node.items() if k != "const"} | {"enum": [node["const"]]}

    @property
    def required(self):
        needed = set(self.whole.get("required", ()))
        for name, each in self.fields.items():
            if each.get("default") != "" or parse(each).decides:
                needed.add(name)
        return [name for name in self.fields if name in needed]


def form_schema(model):
    written = Written(model)
    return {"type": "object", "properties": written.fields, "required": written.required}


def elicit(message, model):
    params = dict(mode="form", message=message, requestedSchema=form_schema(model))
    return dict(method="elicitation/create", params=params)


def read_answer(model, input_responses, key):
    if key not in input_responses:
        return Missing()
    response = input_responses[key]
    if type(response) is not dict:
        return Malformed("an answer is an object")
    action = response.get("action")
    if action == "accept":
        return accepted(model, response)
    if action == "decline":
        return Declined()
    return Cancelled() if action == "cancel" else Malformed("no such action")


def accepted(model, response):
    content, written = response.get("content"), Written(model)
    if type(content) is not dict:
        return Malformed("an accept has content")
    for name, value in content.items():
        if name not in written.fields or not parse(written.fields[name]).takes(value):
            return Malformed("a field that does not fit")
    if any(name not in content for name in written.required):
        return Malformed("a field is missing")
    try:
        return Accepted(model.model_validate_json(dumps(content), strict=True))
    except ValidationError:
        return Malformed("the model does not take it")
