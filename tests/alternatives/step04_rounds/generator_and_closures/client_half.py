from collections import namedtuple

MAX_ROUNDS = 10

Finished = namedtuple("Finished", "result")
Failed = namedtuple("Failed", "why error", defaults=[None])
Asked = namedtuple("Asked", "input_requests")


def _rounds(method, params, next_id):
    """Yields what to do; is sent responses and answers."""
    extra = {}
    for number_of_round in range(1, MAX_ROUNDS + 1):
        number = next_id()
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **extra}}
        response = yield message
        if response.get("id") != number:
            yield Failed("the id of another request")
            return
        if "error" in response:
            yield Failed("an error", response["error"])
            return
        result = response["result"]
        kind = result.get("resultType", "complete")
        if kind != "input_required":
            yield Finished(result) if kind == "complete" else Failed(f"unknown type {kind}")
            return
        extra = {"requestState": result["requestState"]} if "requestState" in result else {}
        requests = result.get("inputRequests")
        if not requests and not extra:
            yield Failed("asks for nothing")
            return
        if requests and number_of_round < MAX_ROUNDS:
            extra["inputResponses"] = yield Asked(requests)
    yield Failed("asks for ever")


class Exchange:
    def __init__(self, method, params, next_id):
        self._rounds = _rounds(method, params, next_id)
        self._latest = None

    def first(self):
        return next(self._rounds)

    def feed(self, response):
        self._latest = self._rounds.send(response)
        return self._latest

    def answer(self, input_responses):
        if not isinstance(self._latest, Asked):
            raise RuntimeError("nothing to answer")
        self._latest = None
        return self._rounds.send(input_responses)
