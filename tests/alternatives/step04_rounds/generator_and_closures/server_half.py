from collections import ChainMap
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError

ASKING_METHODS = frozenset("tools/call resources/read prompts/get".split())
MAX_ROUNDS = 8
ROOTS_REQUEST = MappingProxyType({"method": "roots/list"})
ABSENT = object()


@dataclass(frozen=True)
class Retry:
    input_responses: dict = field(default_factory=dict)
    request_state: str | None = None


@dataclass(frozen=True)
class Memory:
    round: int = 0
    asked: tuple = ()
    answers: dict = field(default_factory=dict)
    effects: dict = field(default_factory=dict)


class Paused(BaseException):
    def __init__(self, input_requests):
        super().__init__()
        self.input_requests = input_requests


def demand(holds, error):
    if not holds:
        raise error


def wrong(text):
    return RpcError(INVALID_PARAMS, text)


def input_required(method, input_requests=None, request_state=None):
    parts = (("inputRequests", input_requests), ("requestState", request_state))
    present = [(name, value) for name, value in parts if value not in (None, {})]
    demand(method in ASKING_METHODS, ValueError(method))
    demand(present, ValueError("empty"))
    embedded = list((input_requests or {}).values())
    demand(not {"id", "jsonrpc"} & set().union(*embedded), ValueError("not bare"))
    return dict([("resultType", "input_required"), *present])


def read_retry(params):
    responses, state = params.get("inputResponses", {}), params.get("requestState", ABSENT)
    objects = isinstance(responses, dict) and all(type(r) is dict for r in responses.values())
    demand(objects, wrong("inputResponses"))
    demand(state is ABSENT or isinstance(state, str), wrong("requestState"))
    return Retry() if state is ABSENT else Retry(responses, state)


class Conversation:
    def __init__(self, memory):
        self.memory = memory

    def _keep(self, key, value):
        self.memory = replace(self.memory, effects=dict(ChainMap({key: value}, self.memory.effects)))

    def ask(self, input_requests):
        demand(input_requests.keys() <= self.memory.answers.keys(), Paused(input_requests))
        return {key: self.memory.answers[key] for key in input_requests}

    def once(self, key, effect):
        if key not in self.memory.effects:
            self._keep(key, effect())
        return self.memory.effects[key]

    def defer(self, key):
        if key not in self.memory.effects:
            self._keep(key, True)
            raise Paused(None)


def converse(method, params, handler, open_state, mint_state):
    retry = read_retry(params if method in ASKING_METHODS else {})
    memory = open_state(retry.request_state) if retry.request_state is not None else Memory()
    fresh = {key: retry.input_responses[key] for key in set(memory.asked) & set(retry.input_responses)}
    conversation = Conversation(replace(memory, answers=dict(ChainMap(fresh, memory.answers))))

    def ask(requests):
        kept = conversation.memory
        demand(kept.round < MAX_ROUNDS, wrong("too many rounds"))
        minted = mint_state(replace(kept, round=kept.round + 1, asked=tuple(requests or ())))
        return input_required(method, requests, minted)

    try:
        return handler(conversation)
    except Paused as pause:
        return ask(pause.input_requests)


def narrow(granted, roots_result, normalize, contains):
    roots = roots_result.get("roots") if isinstance(roots_result, dict) else None
    demand(isinstance(roots, list) and all("uri" in dict(r) if type(r) is dict else False for r in roots), wrong("roots"))
    places = tuple(granted)

    def usable():
        for root in roots:
            try:
                yield normalize(root.get("uri"))
            except Exception:
                pass

    def smaller(place, root):
        return root if contains(place, root) else place if contains(root, place) else None

    pairs = (smaller(place, root) for root in usable() for place in places)
    return list(dict.fromkeys(place for place in pairs if place is not None))
