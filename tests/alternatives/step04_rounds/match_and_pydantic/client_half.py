from typing import Any, NamedTuple

MAX_ROUNDS = 10


class Finished(NamedTuple):
    result: Any


class Failed(NamedTuple):
    why: str
    error: Any = None


class Asked(NamedTuple):
    input_requests: Any


class Exchange:
    def __init__(self, method, params, next_id):
        self.method, self.params, self.next_id = method, params, next_id
        self.echo, self.left, self.id, self.asked = {}, MAX_ROUNDS, None, None

    def _send(self, **more):
        self.id, self.asked = self.next_id(), None
        params = self.params | more | self.echo
        return {"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": params}

    def first(self):
        return self._send()

    def feed(self, response):
        self.asked = None
        match response:
            case {"id": number} if number != self.id:
                return Failed("stray")
            case {"error": error}:
                return Failed("error", error)
            case {"result": {"resultType": "input_required", **fields}}:
                self.echo = {k: v for k, v in fields.items() if k == "requestState"}
                self.left -= 1
                return self._next(fields)
            case {"result": {"resultType": kind}} if kind != "complete":
                return Failed(f"unknown type {kind}")
            case {"result": result}:
                return Finished(result)
        return Failed("no response")

    def _next(self, fields):
        match fields:
            case _ if self.left <= 0:
                return Failed("too many rounds")
            case {"inputRequests": requests} if requests:
                self.asked = Asked(requests)
                return self.asked
            case {"requestState": _}:
                return self._send()
        return Failed("nothing asked")

    def answer(self, input_responses):
        match self.asked:
            case None:
                raise RuntimeError("nothing asked")
        return self._send(inputResponses=input_responses)
