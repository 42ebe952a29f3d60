"""The client's half of a multi round-trip request, as a machine that messages are fed to.

Promise: each round is a new request with a new id, the state goes back byte for byte or not at
all, and the rounds come to an end. It never waits: while a human thinks, it is simply not fed.

    first() → send it; feed(response) → Finished, Failed, Asked, or the next message to send;
    after Asked: answer(input_responses) → the next message to send.
"""

from collections.abc import Callable
from copy import deepcopy
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
        self._method, self._params, self._next_id = method, deepcopy(params), next_id
        self._latest: Json = {}
        self._rounds = 0
        self._id: str | int | None = None

    def first(self) -> Json:
        """Return the first message to send."""
        return self._message(deepcopy(self._params))

    def feed(self, response: Json) -> Finished | Failed | Asked | Json:
        """Take the server's response to the latest message.

        Returns Finished for a complete result; an absent ``resultType`` reads as complete (RES-4).
        Failed for an error, another id, an unknown ``resultType`` (RES-3), an asking result
        without requests and state (MRTR-5), and after MAX_ROUNDS rounds (ROUND-3).
        Asked when there are input requests: build the inputs, then call `answer` (MRTR-8).
        The next message, when there is only a state: it goes back at once, without
        ``inputResponses``, since nothing was asked (MRTR-8, MRTR-18).
        """
        self._latest = {}
        if not isinstance(response, dict):
            return Failed("The response is not an object.")
        if "id" not in response and "error" in response:
            # The server could not read our id, so its error has none (ENV-4).
            return _failed_by_server(response["error"])
        if self._id is None or not _same_id(response.get("id"), self._id):
            return Failed("The response answers another request.")
        if "error" in response:
            return _failed_by_server(response["error"])
        result = response.get("result")
        if not isinstance(result, dict):
            return Failed("The response has neither a result nor an error.")

        kind = result.get("resultType", "complete")
        if kind == "complete":
            return Finished(result)
        if kind != "input_required":
            return Failed("The result is of an unknown type.")

        requests = result.get("inputRequests", {})
        if not isinstance(requests, dict):
            return Failed("The input requests are not an object.")
        for request in requests.values():
            if not isinstance(request, dict):
                return Failed("An input request is not an object.")
        if "requestState" in result and not isinstance(result["requestState"], str):
            return Failed("The request state is not a string.")
        if not requests and "requestState" not in result:
            return Failed("The server asks for input, but brings neither a question nor a state.")
        if self._rounds >= MAX_ROUNDS:
            return Failed(f"The server has not come to an end in {MAX_ROUNDS} rounds.")

        self._latest = deepcopy(result)
        if requests:
            return Asked(requests)
        return self._retry()

    def answer(self, input_responses: Json) -> Json:
        """Return the message that answers the latest question.

        input_responses: bare results by key (MRTR-13). Decline and cancel are sent like any other
        answer (ROUND-13).
        """
        if not self._latest.get("inputRequests"):
            raise RuntimeError("there is no question to answer")
        return self._retry({"inputResponses": deepcopy(input_responses)})

    def _retry(self, answers: Json | None = None) -> Json:
        """Build the next round: the call again, the answers, and the latest state if any."""
        params = deepcopy(self._params)
        # Neither belongs to the call; only the latest result says what goes back (MRTR-9).
        params.pop("inputResponses", None)
        params.pop("requestState", None)
        params.update(answers or {})
        if "requestState" in self._latest:
            params["requestState"] = self._latest["requestState"]
        return self._message(params)

    def _message(self, params: Json) -> Json:
        self._id = self._next_id()
        self._rounds += 1
        self._latest = {}
        return {"jsonrpc": "2.0", "id": self._id, "method": self._method, "params": params}


def _same_id(one: Any, other: Any) -> bool:
    """Tell whether two ids are equal and of one type: to Python, True and 1.0 equal 1 (ENV-2)."""
    return type(one) is type(other) and one == other


def _failed_by_server(error: Any) -> Failed:
    if not isinstance(error, dict):
        return Failed("The server answered with an error that cannot be read.")
    return Failed("The server answered with an error.", error)
