from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError

MAX_ROUNDS = 8
ROOTS_REQUEST = {"method": "roots/list"}
Text = Annotated[str, Strict()]
Objects = dict[str, dict[str, Any]]
Method = TypeAdapter(Literal["tools/call", "resources/read", "prompts/get"])


class Retry(BaseModel):
    model_config = ConfigDict(strict=True)
    input_responses: Objects = Field({}, alias="inputResponses")
    request_state: Text | None = Field(None, alias="requestState")


class Root(BaseModel):
    uri: Any


class Roots(BaseModel):
    model_config = ConfigDict(strict=True)
    roots: list["Root"]


class Memory:
    def __init__(self, round=0, asked=(), answers=None, effects=None):
        self.round, self.asked = round, tuple(asked)
        self.answers, self.effects = answers or {}, effects or {}


class Paused(BaseException):
    def __init__(self, input_requests):
        self.input_requests = input_requests


def _valid(model, value):
    try:
        return model.model_validate(value)
    except ValidationError:
        raise RpcError(INVALID_PARAMS, "These params are not valid.") from None


def input_required(method, input_requests=None, request_state=None):
    Method.validate_python(method)  # a ValidationError is a ValueError
    match input_requests or None, request_state:
        case None, None:
            raise ValueError("nothing to send")
        case None, state:
            return {"resultType": "input_required", "requestState": state}
    if any(name in request for request in input_requests.values() for name in ("jsonrpc", "id")):
        raise ValueError("bare objects only")
    asked = {"resultType": "input_required", "inputRequests": input_requests}
    return asked if request_state is None else asked | {"requestState": request_state}


def read_retry(params):
    match params:
        case {"requestState": None}:
            raise RpcError(INVALID_PARAMS, "requestState must be a string.")
    retry = _valid(Retry, params)
    return retry if "requestState" in params else Retry()


class Conversation:
    def __init__(self, memory: Memory):
        self.memory = memory

    def ask(self, input_requests):
        try:
            return {key: self.memory.answers[key] for key in input_requests}
        except KeyError:
            raise Paused(input_requests) from None

    def once(self, key, effect: Callable[[], Any]):
        try:
            return self.memory.effects[key]
        except KeyError:
            return self.memory.effects.setdefault(key, effect())

    def defer(self, key):
        match self.memory.effects.setdefault(key, "now"):
            case "now":
                self.memory.effects[key] = "done"
                raise Paused(None)


def converse(method, params, handler, open_state, mint_state):
    match method:
        case "tools/call" | "resources/read" | "prompts/get":
            retry = read_retry(params)
        case _:
            retry = Retry()
    memory = Memory() if retry.request_state is None else open_state(retry.request_state)
    answered = {k: v for k, v in retry.input_responses.items() if k in memory.asked}
    memory = Memory(memory.round, (), {**memory.answers, **answered}, dict(memory.effects))
    try:
        return handler(Conversation(memory))
    except Paused as pause:
        requests = pause.input_requests
    match memory.round:
        case number if number >= MAX_ROUNDS:
            raise RpcError(INVALID_PARAMS, "Too many rounds.")
        case number:
            memory.round, memory.asked = number + 1, tuple(requests or ())
    return input_required(method, requests, mint_state(memory))


def narrow(granted, roots_result, normalize, contains):
    granted, left = list(granted), {}
    for root in _valid(Roots, roots_result).roots:
        try:
            place = normalize(root.uri)
        except Exception:
            continue
        for grant in granted:
            match contains(grant, place), contains(place, grant):
                case True, _:
                    left[place] = None
                case _, True:
                    left[grant] = None
    return list(left)
