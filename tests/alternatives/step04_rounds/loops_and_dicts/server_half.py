from dataclasses import dataclass, field
from typing import Any

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError

ASKING_METHODS = ["tools/call", "resources/read", "prompts/get"]
MAX_ROUNDS = 8
ROOTS_REQUEST = {"method": "roots/list"}


@dataclass
class Retry:
    input_responses: dict[str, Any] = field(default_factory=dict)
    request_state: str | None = None


@dataclass
class Memory:
    round: int = 0
    asked: tuple[str, ...] = ()
    answers: dict[str, Any] = field(default_factory=dict)
    effects: dict[str, Any] = field(default_factory=dict)


class Paused(BaseException):
    def __init__(self, input_requests):
        self.input_requests = input_requests


def invalid(text):
    return RpcError(INVALID_PARAMS, text)


def input_required(method, input_requests=None, request_state=None):
    fields = {"resultType": "input_required"}
    allowed = False
    for name in ASKING_METHODS:
        if name == method:
            allowed = True
    if not allowed:
        raise ValueError("not this method")
    if input_requests is not None:
        for name in input_requests:
            for forbidden in ["jsonrpc", "id"]:
                if forbidden in input_requests[name]:
                    raise ValueError("bare objects only")
            fields["inputRequests"] = input_requests
    if request_state is not None:
        fields["requestState"] = request_state
    if len(fields) == 1:
        raise ValueError("nothing to ask and nothing to echo")
    return fields


def read_retry(params):
    if "inputResponses" in params:
        responses = params["inputResponses"]
        if type(responses) is not dict:
            raise invalid("inputResponses must be an object")
        for key in responses:
            if type(responses[key]) is not dict:
                raise invalid(key + " must be an object")
    else:
        responses = {}
    if "requestState" in params:
        if type(params["requestState"]) is not str:
            raise invalid("requestState must be a string")
        return Retry(responses, params["requestState"])
    return Retry({}, None)


class Conversation:
    def __init__(self, memory):
        self.memory = memory

    def ask(self, input_requests):
        found = {}
        for key in input_requests:
            if key not in self.memory.answers:
                raise Paused(input_requests)
            found[key] = self.memory.answers[key]
        return found

    def once(self, key, effect):
        if key in self.memory.effects:
            return self.memory.effects[key]
        value = effect()
        self.memory.effects[key] = value
        return value

    def defer(self, key):
        if key in self.memory.effects:
            return
        self.memory.effects[key] = True
        raise Paused(None)


def converse(method, params, handler, open_state, mint_state):
    retry = Retry()
    if method in ASKING_METHODS:
        retry = read_retry(params)
    if retry.request_state is None:
        before = Memory()
    else:
        before = open_state(retry.request_state)
    now = Memory(before.round, before.asked, dict(before.answers), dict(before.effects))
    for key in before.asked:
        if key in retry.input_responses:
            now.answers[key] = retry.input_responses[key]
    conversation = Conversation(now)
    try:
        result = handler(conversation)
    except Paused as pause:
        kept = conversation.memory
        if kept.round == MAX_ROUNDS:
            raise invalid("too many rounds") from None
        kept.round = kept.round + 1
        kept.asked = tuple(pause.input_requests or {})
        result = input_required(method, pause.input_requests, mint_state(kept))
    return result


def narrow(granted, roots_result, normalize, contains):
    if type(roots_result) is not dict or type(roots_result.get("roots")) is not list:
        raise invalid("roots must be a list")
    left = []
    granted = list(granted)
    for entry in roots_result["roots"]:
        if type(entry) is not dict or "uri" not in entry:
            raise invalid("a root must be an object with a uri")
        try:
            root = normalize(entry.get("uri"))
        except Exception:
            root = None
        if root is None:
            continue
        for place in granted:
            smaller = None
            if contains(place, root):
                smaller = root
            elif contains(root, place):
                smaller = place
            if smaller is not None and smaller not in left:
                left.append(smaller)
    return left
