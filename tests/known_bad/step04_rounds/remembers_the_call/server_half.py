from dataclasses import dataclass, field, replace
from typing import Any

from kit.refusals import RpcError

WAITING = {}


@dataclass
class Retry:
    input_responses: dict = field(default_factory=dict)
    request_state: Any = None


@dataclass
class Memory:
    round: int = 0
    asked: tuple = ()
    answers: dict = field(default_factory=dict)
    effects: dict = field(default_factory=dict)


class Stop(BaseException):
    pass


def input_required(method, input_requests=None, request_state=None):
    return {"resultType": "input_required", "inputRequests": input_requests, "requestState": request_state}


def read_retry(params):
    if params.get("requestState"):
        return Retry(params.get("inputResponses") or {}, params["requestState"])
    return Retry()


class Conversation:
    def __init__(self, memory):
        self.memory = memory

    def ask(self, input_requests):
        for key in input_requests:
            if key not in WAITING:
                raise Stop(input_requests)
        return {key: WAITING[key] for key in input_requests}

    def once(self, key, effect):
        return effect()

    def defer(self, key):
        pass


def converse(method, params, handler, open_state, mint_state):
    retry = read_retry(params)
    memory = open_state(retry.request_state) if retry.request_state else Memory()
    WAITING.update(retry.input_responses)
    try:
        return handler(Conversation(memory))
    except Stop as stop:
        memory = replace(memory, round=memory.round + 1)
        return input_required(method, stop.args[0], mint_state(memory))


def narrow(granted, roots_result, normalize, contains):
    return [normalize(root["uri"]) for root in roots_result["roots"]]
