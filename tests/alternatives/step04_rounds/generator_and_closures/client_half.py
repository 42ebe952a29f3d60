from collections import namedtuple

MAX_ROUNDS = 10

Finished = namedtuple("Finished", "result")
Failed = namedtuple("Failed", "why error", defaults=[None])
Asked = namedtuple("Asked", "input_requests")


def _rounds(method, params, next_id):
    """Yields what to do; is sent responses and answers."""
    extra = {}
    for _ in range(MAX_ROUNDS + 1):
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
        if "inputRequests" in result:
            extra["inputResponses"] = yield Asked(result["inputRequests"])
        elif not extra:
            yield Failed("asks for nothing")
            return
    yield Failed("asks for ever")


class Exchange:
    def __init__(self, method, params, next_id):
        self._rounds = _rounds(method, params, next_id)

    def first(self):
        return next(self._rounds)

    def feed(self, response):
        return self._rounds.send(response)

    def answer(self, input_responses):
        return self._rounds.send(input_responses)
