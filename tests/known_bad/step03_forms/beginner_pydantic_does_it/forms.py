"""Forms with pydantic. Why write what it can already do?"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from kit.refusals import RpcError

BAD_WORDS = ["password", "passwd", "token", "secret", "api_key", "apikey", "card"]


class Form(BaseModel):
    pass


class Answer:
    def __bool__(self):
        raise TypeError("use isinstance")


@dataclass
class Accepted(Answer):
    value: Any


class Declined(Answer):
    pass


class Cancelled(Answer):
    pass


class Missing(Answer):
    pass


@dataclass
class Malformed(Answer):
    why: str


def elicitation_modes(client_capabilities):
    elicitation = client_capabilities.get("elicitation")
    if elicitation is None:
        return set()
    modes = {mode for mode in ("form", "url") if elicitation.get(mode) is not None}
    return modes or {"form"}


def require_mode(client_capabilities, mode):
    if mode not in elicitation_modes(client_capabilities):
        raise RpcError(-32021, f"needs {mode}", {"requiredCapabilities": ["elicitation"]})


def asks_for_secret(name):
    return any(word in name.lower() for word in BAD_WORDS)


def check_property(name, declared):
    if asks_for_secret(name):
        raise ValueError(f"{name} is a secret")
    if declared["type"] not in ("string", "number", "integer", "boolean", "array"):
        raise ValueError(f"{name} has a type that forms do not have")


def choices(declared):
    options = declared.get("oneOf") or declared.get("items", {}).get("anyOf") or []
    return [option["const"] for option in options]


def form_schema(model):
    schema = model.model_json_schema()
    for name in schema["properties"]:
        if asks_for_secret(name):
            raise ValueError(f"{name} is a secret")
    return schema


def elicit(message, model):
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": form_schema(model)},
    }


def read_answer(model, input_responses, key):
    response = input_responses.get(key)
    if response is None:
        return Missing()
    try:
        if response["action"] == "decline":
            return Declined()
        if response["action"] == "cancel":
            return Cancelled()
        return Accepted(model(**response["content"]))
    except (KeyError, TypeError, ValidationError) as error:
        return Malformed(str(error))
