"""The server's half of a multi round-trip request: ask by answering, remember nothing.

Promise: a question travels in a result, the answer comes with a new request that repeats the old
one, and all that the server must remember in between goes through ``requestState``. Attacks it
stops: a first call that brings its own yes, answers to a question that was never asked, a loop
that never ends, client roots that widen what the operator granted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kit.protocol import INVALID_PARAMS
from kit.refusals import RpcError, ToolRefusal

Json = dict[str, Any]
Place = TypeVar("Place")

ASKING_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
MAX_ROUNDS = 8
ROOTS_REQUEST: Json = {"method": "roots/list"}


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
    What is None is left out, and so are ``{}`` requests, which ask nothing (ROUND-10). There are
    no cache hints in it (CACHE-4).
    Errors: ValueError, since these are bugs of the server: a method that may not be answered so
    (MRTR-2); neither of the two left (MRTR-5); a request with ``jsonrpc`` or ``id`` (MRTR-3).

    >>> input_required("tools/call", {}, "s")
    {'resultType': 'input_required', 'requestState': 's'}
    """
    if method not in ASKING_METHODS:
        raise ValueError(f"{method} cannot be answered with input_required.")
    requests = input_requests or None
    if requests is None and request_state is None:
        raise ValueError("input_required needs inputRequests or requestState.")
    if any({"jsonrpc", "id"} & set(request) for request in (requests or {}).values()):
        raise ValueError("An input request is a bare object without jsonrpc and id.")
    members = {"inputRequests": requests, "requestState": request_state}
    present = {name: member for name, member in members.items() if member is not None}
    return {"resultType": "input_required", **present}


def read_retry(params: Json) -> Retry:
    """Return what the request brings along from the round before.

    params: of the request. Whether it is a retry is decided by the presence of ``requestState``,
    not by its truth (ROUND-9). Answers without a state answer nothing that was asked: they are
    dropped, and the call is a first call (ROUND-1).
    Errors: RpcError -32602 when ``inputResponses`` is present and no object, one of its values is
    no object, or ``requestState`` is present and no string (MRTR-17, ROUND-8).

    >>> read_retry({"inputResponses": {"ok": {"action": "cancel"}}, "requestState": "s"})
    Retry(input_responses={'ok': {'action': 'cancel'}}, request_state='s')
    >>> read_retry({"inputResponses": {"ok": {"action": "cancel"}}})
    Retry(input_responses={}, request_state=None)
    """
    responses, state = params.get("inputResponses", {}), params.get("requestState")
    if not isinstance(responses, dict) or not all(isinstance(r, dict) for r in responses.values()):
        raise RpcError(INVALID_PARAMS, "inputResponses must be an object of objects.")
    if "requestState" not in params:
        return Retry()
    if not isinstance(state, str):
        raise RpcError(INVALID_PARAMS, "requestState must be a string.")
    return Retry(responses, state)


@dataclass(frozen=True)
class Memory:
    """What a conversation remembers from round to round; it travels inside ``requestState``.

    round: rounds so far that ended in a pause, whether with a question or with a state alone.
    asked: keys of the latest question. answers: by key, of all rounds (MRTR-14). effects: results
    of `once`, and what `defer` remembers, by key. All JSON values.
    """

    round: int = 0
    asked: tuple[str, ...] = ()
    answers: Json = field(default_factory=dict)
    effects: Json = field(default_factory=dict)

    def paused(self, input_requests: Json | None) -> "Memory":
        """Return what to remember after a round that paused with these requests."""
        return replace(self, round=self.round + 1, asked=tuple(input_requests or ()))


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
        """Return the answers to these questions, by key; raise Paused when one is missing.

        input_requests: bare requests by key. The pause carries all of them, or those that are
        still missing: both are right (MRTR-16).

        >>> conversation = Conversation(Memory(answers={"which": {"action": "accept"}}))
        >>> conversation.ask({"which": {"method": "elicitation/create"}})
        {'which': {'action': 'accept'}}
        """
        if not set(input_requests) <= set(self.memory.answers):
            raise Paused(input_requests)
        return {key: self.memory.answers[key] for key in input_requests}

    def once(self, key: str, effect: Callable[[], Any]) -> Any:
        """Return the result of `effect`, run in the first round that gets here only (ROUND-4).

        effect: returns a JSON value, which is remembered under `key`. Each key of a handler is
        for one `once` or one `defer`; they share the place where they are kept.

        >>> conversation = Conversation(Memory())
        >>> conversation.once("backup", lambda: "run first")
        'run first'
        >>> conversation.once("backup", lambda: "never run")
        'run first'
        """
        if key not in self.memory.effects:
            effects = {**self.memory.effects, key: effect()}
            self.memory = replace(self.memory, effects=effects)
        return self.memory.effects[key]

    def defer(self, key: str) -> None:
        """Answer this round with a state alone; in the next one, go on (MRTR-18).

        key: remembers that this has been done. The client comes back at once and asks nobody, so
        another instance can take over long work.
        """
        if key not in self.memory.effects:
            self.memory = replace(self.memory, effects={**self.memory.effects, key: True})
            raise Paused(None)


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
    ROUND-7). When the handler pauses, the result is that of `input_required`, with the
    conversation's memory in a fresh state: fresh also where it asks for the same again, since that
    is one round more (ROUND-6). On a method that has no rounds, the retry fields change nothing
    (ROUND-14).
    Errors: on the methods that have rounds, as `read_retry`; whatever `open_state` raises; RpcError
    -32602, without a state, when the handler pauses and MAX_ROUNDS rounds have paused before, with
    a question or without (ROUND-2). As `input_required`, when it pauses on another method.

    >>> def handler(conversation):
    ...     return {"told": conversation.ask({"ok": {"method": "roots/list"}})["ok"]}
    >>> import json
    >>> mint = lambda memory: json.dumps([memory.round, memory.asked, memory.answers])
    >>> open_it = lambda state: Memory(*json.loads(state))
    >>> converse("tools/call", {}, handler, open_it, mint)["requestState"]
    '[1, ["ok"], {}]'
    >>> retry = {"inputResponses": {"ok": {"roots": []}}, "requestState": '[1, ["ok"], {}]'}
    >>> converse("tools/call", retry, handler, open_it, mint)
    {'told': {'roots': []}}
    """
    retry = read_retry(params) if method in ASKING_METHODS else Retry()
    memory = Memory() if retry.request_state is None else open_state(retry.request_state)
    known = {
        key: retry.input_responses[key] for key in memory.asked if key in retry.input_responses
    }
    conversation = Conversation(replace(memory, answers={**memory.answers, **known}))
    try:
        return handler(conversation)
    except Paused as pause:
        requests = pause.input_requests
    if conversation.memory.round >= MAX_ROUNDS:
        raise RpcError(INVALID_PARAMS, "This request has gone through too many rounds.")
    return input_required(method, requests, mint_state(conversation.memory.paused(requests)))


def narrow(
    granted: Iterable[Place],
    roots_result: Any,
    normalize: Callable[[Any], Place],
    contains: Callable[[Place, Place], bool],
) -> list[Place]:
    """Return the granted places, narrowed to the roots that a client still sends (ROUND-5).

    granted: from the operator. roots_result: the client's answer to `ROOTS_REQUEST` (ROOT-5).
    normalize, contains: of step 02. ``normalize(uri)`` raises ToolRefusal for a URI that it
    refuses; ``contains(outer, inner)`` tells whether the second place is the first or inside it.
    A root inside a granted place narrows it; a root around one leaves it as it is; a root beside
    them, or one that is refused, adds nothing. No roots leave nothing. No place is in the list
    twice; the order is yours, and a place inside another one of the list may be left out.
    Errors: RpcError -32602 when the answer is not ``{"roots": [{"uri": ...}, ...]}`` (MRTR-17).

    >>> inside = lambda outer, inner: inner.startswith(outer)
    >>> narrow(["/team/", "/alice/"], {"roots": [{"uri": "/team/old/"}]}, str, inside)
    ['/team/old/']
    >>> narrow(["/team/", "/alice/"], {"roots": [{"uri": "/"}]}, str, inside)
    ['/team/', '/alice/']
    """
    places = list(granted)
    narrowed: list[Place] = []
    for root in _usable(_root_uris(roots_result), normalize):
        narrowed += [root for place in places if contains(place, root)]
        narrowed += [place for place in places if contains(root, place)]
    return list(dict.fromkeys(narrowed))


def _root_uris(roots_result: Any) -> list[Any]:
    roots = roots_result.get("roots") if isinstance(roots_result, Mapping) else None
    if not isinstance(roots, list) or not all(isinstance(r, dict) and "uri" in r for r in roots):
        raise RpcError(INVALID_PARAMS, "roots must be a list of objects with a uri.")
    return [root["uri"] for root in roots]


def _usable(uris: Iterable[Any], normalize: Callable[[Any], Place]) -> Iterable[Place]:
    for uri in uris:
        try:
            yield normalize(uri)
        except ToolRefusal:
            continue
