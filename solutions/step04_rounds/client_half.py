"""The client's half of a multi round-trip request, as a machine that messages are fed to.

Promise: each round is a new request with a new id, the state goes back byte for byte or not at
all, and the rounds come to an end. It never waits: while a human thinks, it is simply not fed.

    first() → send it; feed(response) → Finished, Failed, Asked, or the next message to send;
    after Asked: answer(input_responses) → the next message to send.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
MAX_ROUNDS = 10


@dataclass(frozen=True)
class Finished:
    """The request is done. result: as the server sent it."""

    result: Json


@dataclass(frozen=True)
class Failed:
    """The request is over without a result. why: one sentence. error: the server's, if any."""

    why: str
    error: Json | None = None


@dataclass(frozen=True)
class Asked:
    """The server asks. input_requests: bare requests by key."""

    input_requests: Json


class Exchange:
    """One call and all its rounds.

    method, params: of the call, ``_meta`` included; they are repeated in each round (MRTR-12).
    next_id: gives an id that this client has not used yet.
    """

    def __init__(self, method: str, params: Json, next_id: Callable[[], str | int]) -> None:
        self._method, self._params, self._next_id = method, params, next_id
        self._latest: Json = {}
        self._rounds = 0
        self._id: str | int | None = None

    def first(self) -> Json:
        """Return the first message to send."""
        return self._message({})

    def feed(self, response: Json) -> Finished | Failed | Asked | Json:
        """Take the server's response to the latest message.

        Returns Finished for a complete result; an absent ``resultType`` reads as complete (RES-4).
        Failed for an error, another id, an unknown ``resultType`` (RES-3), an asking result
        without requests and state (MRTR-5), and one that would need more than MAX_ROUNDS rounds:
        the tenth message may be answered with a complete result and no longer with an asking one
        (ROUND-3).
        Asked when there are input requests: build the inputs, then call `answer` (MRTR-8). ``{}``
        counts as no requests (ROUND-10).
        The next message, when there is only a state: it goes back at once, without
        ``inputResponses``, since nothing was asked (MRTR-8, MRTR-18).

        >>> from itertools import count
        >>> exchange = Exchange("tools/call", {"name": "x"}, count(1).__next__)
        >>> exchange.first()
        {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'x'}}
        >>> state_alone = {"resultType": "input_required", "requestState": ""}
        >>> exchange.feed({"id": 1, "result": state_alone})["params"]
        {'name': 'x', 'requestState': ''}
        >>> exchange.feed({"id": 2, "result": {"content": []}})
        Finished(result={'content': []})
        """
        self._latest = {}
        if response.get("id") != self._id:
            return Failed("The response has the id of another request.")
        if "error" in response:
            return Failed("The server answered with an error.", response["error"])
        result = response["result"]
        kind = result.get("resultType", "complete")
        if kind == "complete":
            return Finished(result)
        if kind != "input_required":
            return Failed(f"The result has the unknown type {kind}.")
        return self._asked(result)

    def _asked(self, result: Json) -> Failed | Asked | Json:
        requests = result.get("inputRequests")
        if not requests and "requestState" not in result:
            return Failed("The server asks for nothing.")
        if self._rounds >= MAX_ROUNDS:
            return Failed("The server asks for ever.")
        self._latest = result
        return Asked(requests) if requests else self._retry({})

    def answer(self, input_responses: Json) -> Json:
        """Return the message that answers the latest question.

        input_responses: bare results by key (MRTR-13). Decline and cancel are sent like any other
        answer (ROUND-13). There is no hurry: nothing here is open meanwhile, and other calls go on
        (ROUND-12).
        Errors: RuntimeError when no question is open: before one came, after it was answered, and
        when the call is over.

        >>> exchange = Exchange("tools/call", {"name": "x"}, lambda: 7)
        >>> asking = {"resultType": "input_required", "inputRequests": {"ok": {}}}
        >>> exchange.first() and exchange.feed({"id": 7, "result": asking})
        Asked(input_requests={'ok': {}})
        >>> exchange.answer({"ok": {"action": "decline"}})["params"]
        {'name': 'x', 'inputResponses': {'ok': {'action': 'decline'}}}
        """
        if not self._latest.get("inputRequests"):
            raise RuntimeError("No question is open.")
        return self._retry({"inputResponses": input_responses})

    def _retry(self, members: Json) -> Json:
        if "requestState" in self._latest:
            members = {**members, "requestState": self._latest["requestState"]}
        return self._message(members)

    def _message(self, members: Json) -> Json:
        self._id, self._rounds, self._latest = self._next_id(), self._rounds + 1, {}
        params = {**self._params, **members}
        return {"jsonrpc": "2.0", "id": self._id, "method": self._method, "params": params}
