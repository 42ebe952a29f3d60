"""The server's half of a multi round-trip request: ask by answering, remember nothing.

Promise: a question travels in a result, the answer comes with a new request that repeats the old
one, and all that the server must remember in between goes through ``requestState``. Attacks it
stops: a first call that brings its own yes, answers to a question that was never asked, a loop
that never ends, client roots that widen what the operator granted.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError

Json = dict[str, Any]
Place = TypeVar("Place")

ASKING_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
MAX_ROUNDS = 8
ROOTS_REQUEST: Json = {"method": "roots/list"}

# What `defer` remembers lies among the effects, under keys that no result of `once` will have.
DEFERRED = "\x00deferred "


@dataclass(frozen=True)
class Retry:
    """What a request brings along from the round before.

    input_responses: by the key of the question. request_state: None on a first call.
    """

    input_responses: Json = field(default_factory=dict)
    request_state: str | None = None


def input_required(
    method: str, input_requests: Json | None = None, request_state: str | None = None
) -> Json:
    """Return the fields of an ``InputRequiredResult``.

    method: of the request that it answers. input_requests: bare requests by key, or None.
    request_state: the state to be echoed, or None; ``""`` is a state (ROUND-9).
    What is None is left out. There are no cache hints in it (CACHE-4).
    Errors: ValueError, since these are bugs of the server: a method that may not be answered so
    (MRTR-2); neither of the two present (MRTR-5); a request with ``jsonrpc`` or ``id`` (MRTR-3).
    """
    if method not in ASKING_METHODS:
        raise ValueError(f"{method} may not be answered with a question")
    if not input_requests and request_state is None:
        # An empty object asks nothing; the client would count it as absent (ROUND-10).
        raise ValueError("a result that asks needs requests, a state or both")
    result: Json = {"resultType": "input_required"}
    if input_requests:
        for key, request in input_requests.items():
            if not isinstance(request, dict) or "jsonrpc" in request or "id" in request:
                raise ValueError(f"the request {key!r} is not a bare object")
        result["inputRequests"] = dict(input_requests)
    if request_state is not None:
        result["requestState"] = request_state
    return result


def read_retry(params: Json) -> Retry:
    """Return what the request brings along from the round before.

    params: of the request. Whether it is a retry is decided by the presence of ``requestState``,
    not by its truth (ROUND-9). Answers without a state answer nothing that was asked: they are
    dropped, and the call is a first call (ROUND-1).
    Errors: RpcError -32602 when ``inputResponses`` is present and no object, one of its values is
    no object, or ``requestState`` is present and no string (MRTR-17, ROUND-8).
    """
    responses: Json = {}
    if "inputResponses" in params:
        responses = params["inputResponses"]
        if not isinstance(responses, dict):
            raise RpcError(INVALID_PARAMS, "inputResponses must be an object.")
        for response in responses.values():
            if not isinstance(response, dict):
                raise RpcError(INVALID_PARAMS, "Each of the inputResponses must be an object.")
    if "requestState" not in params:
        return Retry()
    state = params["requestState"]
    if not isinstance(state, str):
        raise RpcError(INVALID_PARAMS, "requestState must be a string.")
    return Retry(dict(responses), state)


@dataclass(frozen=True)
class Memory:
    """What a conversation remembers from round to round; it travels inside ``requestState``.

    round: questions put so far. asked: keys of the latest question. answers: by key, of all
    rounds (MRTR-14). effects: results of `once`, by key. All JSON values.
    """

    round: int = 0
    asked: tuple[str, ...] = ()
    answers: Json = field(default_factory=dict)
    effects: Json = field(default_factory=dict)


class Paused(BaseException):
    """The handler cannot go on before the client answers; no ``except Exception`` stops it."""

    def __init__(self, input_requests: Json | None) -> None:
        super().__init__()
        self.input_requests = input_requests


class Conversation:
    """What a handler sees: it runs from the top in each round and asks as if it could wait.

    memory: of the rounds before.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def ask(self, input_requests: Json) -> Json:
        """Return the answers to these questions, by key; pause when one is missing (MRTR-16)."""
        answers = self.memory.answers
        missing = {key: input_requests[key] for key in input_requests if key not in answers}
        if missing:
            # What has been answered is not asked again: it is in the memory (MRTR-14).
            raise Paused(missing)
        return {key: deepcopy(answers[key]) for key in input_requests}

    def once(self, key: str, effect: Callable[[], Any]) -> Any:
        """Return the result of `effect`, run in the first round that gets here only (ROUND-4).

        effect: returns a JSON value, which is remembered under `key`.
        """
        if key not in self.memory.effects:
            result = effect()
            self._remember(key, result)
        return deepcopy(self.memory.effects[key])

    def defer(self, key: str) -> None:
        """Answer this round with a state alone; in the next one, go on (MRTR-18).

        key: remembers that this has been done. The client comes back at once and asks nobody, so
        another instance can take over long work.
        """
        mark = DEFERRED + key
        if mark not in self.memory.effects:
            self._remember(mark, True)
            raise Paused(None)

    def _remember(self, key: str, result: Any) -> None:
        # A new dict, since the one in the memory belongs to whoever opened the state; and a copy
        # of the result, since the handler may go on to change its own.
        self.memory = replace(
            self.memory, effects={**self.memory.effects, key: deepcopy(result)}
        )


def converse(
    method: str,
    params: Json,
    handler: Callable[[Conversation], Json],
    open_state: Callable[[str], Memory],
    mint_state: Callable[[Memory], str],
) -> Json:
    """Run one round of `handler` and return the fields of its result.

    handler: takes the Conversation; returns the fields of a complete result. open_state: verifies
    a state and returns what it remembers. mint_state: the reverse.
    Only answers to the questions of the latest round count; others are ignored (MRTR-15,
    ROUND-7). When the handler pauses, the result asks, with the memory in a fresh state.
    Errors: as `read_retry`; whatever `open_state` raises; RpcError -32602 when the handler would
    ask more than MAX_ROUNDS times (ROUND-2).
    """
    # On a method that has no rounds, the fields of a retry change nothing (ROUND-14).
    retry = read_retry(params) if method in ASKING_METHODS else Retry()
    memory = Memory()
    if retry.request_state is not None:
        memory = open_state(retry.request_state)
        answers = dict(memory.answers)
        for key in memory.asked:
            if key in retry.input_responses:
                answers[key] = retry.input_responses[key]
        memory = replace(memory, answers=answers)

    conversation = Conversation(memory)
    try:
        return handler(conversation)
    except Paused as pause:
        questions = pause.input_requests or None

    memory = conversation.memory
    # Going on elsewhere asks nobody, but it has to come to an end as well.
    if memory.round >= MAX_ROUNDS:
        raise RpcError(INVALID_PARAMS, "This call has taken too many rounds.")
    memory = replace(memory, round=memory.round + 1, asked=tuple(questions or ()))
    # Judge the result before a state is minted, so that a refused one leaves none behind.
    result = input_required(method, questions, "")
    result["requestState"] = mint_state(memory)
    return result


def narrow(
    granted: Iterable[Place],
    roots_result: Any,
    normalize: Callable[[Any], Place],
    contains: Callable[[Place, Place], bool],
) -> list[Place]:
    """Return the granted places, narrowed to the roots that a client still sends (ROUND-5).

    granted: from the operator. roots_result: the client's answer to `ROOTS_REQUEST` (ROOT-5).
    normalize, contains: of step 02; `normalize` raises for a URI that it refuses.
    A root inside a granted place narrows it; a root around one leaves it as it is; a root beside
    them, or one that is refused, adds nothing. No roots leave nothing.
    Errors: RpcError -32602 when the answer is not ``{"roots": [{"uri": ...}, ...]}`` (MRTR-17).
    """
    if not isinstance(roots_result, dict) or not isinstance(roots_result.get("roots"), list):
        raise RpcError(INVALID_PARAMS, "The answer to roots/list must have a list of roots.")
    uris = []
    for root in roots_result["roots"]:
        if not isinstance(root, dict) or not isinstance(root.get("uri"), str):
            raise RpcError(INVALID_PARAMS, "Each root must be an object with a uri.")
        uris.append(root["uri"])

    roots = []
    for uri in uris:
        try:
            roots.append(normalize(uri))
        except Exception:  # whatever it raises, this root is refused
            continue

    narrowed: list[Place] = []
    for place in granted:
        if any(contains(root, place) for root in roots):
            found = [place]
        else:
            found = [root for root in roots if contains(place, root)]
        for one in found:
            if one not in narrowed:
                narrowed.append(one)
    return narrowed
