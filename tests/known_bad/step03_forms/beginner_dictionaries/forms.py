"""Forms by hand: a table of Python types, and isinstance for the answers."""

import typing

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from kit.refusals import RpcError

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Form(BaseModel):
    pass


class Answer:
    pass


class Accepted(Answer):
    def __init__(self, value):
        self.value = value


class Declined(Answer):
    pass


class Cancelled(Answer):
    pass


class Missing(Answer):
    pass


class Malformed(Answer):
    def __init__(self, why):
        self.why = why


def elicitation_modes(client_capabilities):
    if "elicitation" not in client_capabilities:
        return []
    if client_capabilities["elicitation"] == {}:
        return ["form"]
    return list(client_capabilities["elicitation"])


def require_mode(client_capabilities, mode):
    if mode not in elicitation_modes(client_capabilities):
        needed = {"elicitation": {mode: {}}}
        raise RpcError(-32021, "missing capability", {"requiredCapabilities": needed})


def asks_for_secret(name):
    return name in ("password", "token", "secret", "api_key")


def check_property(name, declared):
    if declared.get("type") not in TYPES.values() or asks_for_secret(name):
        raise ValueError(name + " cannot be in a form")


def choices(declared):
    return [option["const"] for option in declared.get("oneOf", [])]


def form_schema(model):
    properties, required = {}, []
    for name, field in model.model_fields.items():
        if typing.get_origin(field.annotation) is typing.Literal:
            properties[name] = {"type": "string", "enum": list(typing.get_args(field.annotation))}
        elif field.annotation in TYPES:
            properties[name] = {"type": TYPES[field.annotation]}
        else:
            raise ValueError(name + " cannot be in a form")
        if field.default is PydanticUndefined:
            required.append(name)
        else:
            properties[name]["default"] = field.default
    return {"type": "object", "properties": properties, "required": required}


def elicit(message, model):
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": form_schema(model)},
    }


def read_answer(model, input_responses, key):
    if not input_responses.get(key):
        return Missing()
    response = input_responses[key]
    content = response.get("content")
    if content:
        return read_content(model, content)
    if response.get("action") == "decline":
        return Declined()
    if response.get("action") == "cancel":
        return Cancelled()
    return Malformed("no content")


def read_content(model, content):
    values = {}
    for name, field in model.model_fields.items():
        value = content.get(name, field.default)
        if isinstance(field.annotation, type) and not isinstance(value, field.annotation):
            return Malformed(name + " has the wrong type")
        values[name] = value
    return Accepted(model.model_construct(**values))
