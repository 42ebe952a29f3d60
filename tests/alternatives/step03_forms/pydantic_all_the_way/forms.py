"""Forms with pydantic all the way: it reads capabilities, properties, responses and values."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PydanticUserError,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
    create_model,
)

from kit.protocol import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
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


class Capability(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class Elicitation(Capability):
    form: Capability = None
    url: Capability = None


class Client(Capability):
    elicitation: Elicitation = None


class Property(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    title: str = ""
    description: str = ""
    default: Any = None

    def options(self):
        return ()


class Option(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    const: str
    title: str


Options = Annotated[list[Option], Field(min_length=1)]
Texts = Annotated[list[str], Field(min_length=1)]


class Text(Property):
    type: Literal["string"]
    minLength: int = None
    maxLength: int = None
    format: Literal["email", "uri", "date", "date-time"] = None

    def answer(self):
        text = Annotated[str, Field(strict=True, min_length=self.minLength, max_length=self.maxLength)]
        return Annotated[text, AfterValidator(FORMATS[self.format])]


class Number(Property):
    type: Literal["number"]
    minimum: FiniteFloat = None
    maximum: FiniteFloat = None

    def answer(self):
        number = Annotated[FiniteFloat, Field(strict=True)]
        return Annotated[number, Field(ge=self.minimum, le=self.maximum)]


class Integer(Property):
    type: Literal["integer"]
    minimum: FiniteFloat = None
    maximum: FiniteFloat = None

    def answer(self):
        integer = Annotated[StrictInt, Field(gt=-(2**1024), lt=2**1024)]
        return Annotated[integer, Field(ge=self.minimum, le=self.maximum)]


class YesNo(Property):
    type: Literal["boolean"]

    def answer(self):
        return StrictBool


class Enum(Property):
    type: Literal["string"]
    enum: Texts
    enumNames: Texts = None

    def answer(self):
        return Literal[tuple(self.enum)]


class Titled(Property):
    type: Literal["string"]
    oneOf: Options

    def options(self):
        return tuple(option.const for option in self.oneOf)

    def answer(self):
        return Literal[self.options()]


class Plain(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    type: Literal["string"]
    enum: Texts


class Named(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    anyOf: Options


class Several(Property):
    type: Literal["array"]
    items: Plain | Named
    minItems: int = None
    maxItems: int = None

    def options(self):
        if isinstance(self.items, Plain):
            return tuple(self.items.enum)
        return tuple(option.const for option in self.items.anyOf)

    def answer(self):
        one = Literal[self.options()]
        size = Field(strict=True, min_length=self.minItems, max_length=self.maxItems)
        return Annotated[list[one], size]


ANY_KIND = TypeAdapter(Text | Number | Integer | YesNo | Enum | Titled | Several)


def shaped(pattern, parse=str):
    def judge(text):
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError("another format")
        parse(text)
        return text

    return judge


FORMATS = {
    None: str,
    "email": shaped(r"[^\s@]+@[^\s@]+"),
    "uri": shaped(r"[A-Za-z][\w+.-]*:\S+"),
    "date": shaped(r"\d{4}-\d\d-\d\d", date.fromisoformat),
    "date-time": shaped(r"[\d-]+T[\d:.]+(Z|[+-]\d\d:\d\d)", datetime.fromisoformat),
}


def elicitation_modes(client_capabilities):
    try:
        declared = Client.model_validate(client_capabilities).elicitation
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{error.error_count()} capabilities are wrong") from None
    if declared is None:
        return frozenset()
    if not declared.model_fields_set and not declared.model_extra:
        return frozenset({"form"})
    return frozenset(declared.model_fields_set) & {"form", "url"}


def require_mode(client_capabilities, mode):
    if mode not in elicitation_modes(client_capabilities):
        required = Client(elicitation=Elicitation(**{mode: Capability()}))
        data = {"requiredCapabilities": required.model_dump(exclude_unset=True)}
        raise RpcError(MISSING_CLIENT_CAPABILITY, "The client cannot be asked.", data)


WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z]|[^A-Za-z]|$)|[A-Z]?[a-z]+")
SECRETS = re.compile(
    r"(^| )(passwd|pass ?(word|phrase|code)|pin|cvv|\w*(token|secret|password|credential)|"
    r"(api|access|private) ?key|card ?number|credit ?card)s?( |$)"
)


def asks_for_secret(name):
    return bool(SECRETS.search(" ".join(map(str.lower, WORD.findall(name)))))


def known(name, declared):
    try:
        found = ANY_KIND.validate_python(declared)
        if "default" in declared:
            TypeAdapter(found.answer()).validate_python(declared["default"])
    except ValidationError:
        raise ValueError(f"{name} is no property of a form") from None
    if isinstance(found, Enum) and found.enumNames and len(found.enum) != len(found.enumNames):
        raise ValueError(f"{name} has names for other options")
    return found


def check_property(name, declared):
    found = known(name, declared)
    if asks_for_secret(name) or asks_for_secret(found.title):
        raise ValueError(f"{name} would ask for a secret")


def choices(declared):
    try:
        return known("", declared).options()
    except ValueError:
        return ()


def without_references(node, definitions):
    if isinstance(node, list):
        return [without_references(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    node = dict(node)
    if isinstance(node.get("$ref"), str):
        target = definitions[node.pop("$ref").split("/")[-1]]
        if target.get("type") == "object":
            return {"type": "object"}
        node = {**{key: target[key] for key in target if key != "title"}, **node}
    if "const" in node and "type" in node:
        node["enum"] = [node.pop("const")]
    if isinstance(node.get("items"), dict):
        node["items"] = without_references(node["items"], definitions)
        node["items"].pop("description", None)
    return node


def form_schema(model):
    try:
        schema = model.model_json_schema()
    except (PydanticUserError, KeyError) as error:
        raise ValueError(f"{model.__name__} has no schema: {error}") from None
    if "$ref" in schema:
        schema = {**schema["$defs"][model.__name__], "$defs": schema["$defs"]}
    if "properties" not in schema:
        raise ValueError(f"{model.__name__} has no fields")
    form = {"type": "object", "properties": {}, "required": []}
    for name, declared in schema["properties"].items():
        form["properties"][name] = without_references(declared, schema.get("$defs", {}))
        check_property(name, form["properties"][name])
        as_known = known(name, form["properties"][name])
        optional = isinstance(as_known, Text) and declared.get("default") == ""
        if name in schema.get("required", []) or not optional:
            form["required"].append(name)
    return form


def elicit(message, model):
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": form_schema(model)},
    }


class Response(BaseModel):
    model_config = ConfigDict(strict=True)

    action: Literal["accept", "decline", "cancel"]
    content: Any = None


def shown(model):
    """A second model: of what the form showed."""
    form = form_schema(model)
    fields = {}
    for number, (name, declared) in enumerate(form["properties"].items()):
        default = ... if name in form["required"] else None
        answer = known(name, declared).answer()
        fields[f"field{number}"] = (answer, Field(default, alias=name))
    return create_model("Shown", __config__=ConfigDict(strict=True, extra="forbid"), **fields)


def read_answer(model, input_responses, key):
    try:
        response = Response.model_validate(input_responses[key])
        if response.action != "accept":
            return {"decline": Declined, "cancel": Cancelled}[response.action]()
        content = shown(model).model_validate(response.content)
        sent = content.model_dump_json(by_alias=True, exclude_unset=True)
        return Accepted(model.model_validate_json(sent, strict=True))
    except KeyError:
        return Missing()
    except ValueError as error:
        return Malformed(f"{type(error).__name__} in the answer")
