MAX_ROUNDS = 10


class Finished:
    def __init__(self, result):
        self.result = result


class Failed:
    def __init__(self, why, error=None):
        self.why = why
        self.error = error


class Asked:
    def __init__(self, input_requests):
        self.input_requests = input_requests


class Exchange:
    def __init__(self, method, params, next_id):
        self.method = method
        self.params = params
        self.next_id = next_id
        self.waiting_for = None
        self.asked = False
        self.state = []
        self.rounds = 0

    def first(self):
        return self.send(dict(self.params))

    def send(self, params):
        self.asked = False
        self.rounds += 1
        self.waiting_for = self.next_id()
        return {
            "jsonrpc": "2.0",
            "id": self.waiting_for,
            "method": self.method,
            "params": params,
        }

    def feed(self, response):
        self.asked = False
        if "id" not in response or response["id"] != self.waiting_for:
            return Failed("not my response")
        if "error" in response:
            return Failed("error", response["error"])
        result = response["result"]
        if "resultType" not in result or result["resultType"] == "complete":
            return Finished(result)
        if result["resultType"] != "input_required":
            return Failed("unknown type")
        self.state = []
        if "requestState" in result:
            self.state = [result["requestState"]]
        if self.rounds == MAX_ROUNDS:
            return Failed("too many rounds")
        if "inputRequests" in result and len(result["inputRequests"]) > 0:
            self.asked = True
            return Asked(result["inputRequests"])
        if self.state:
            return self.retry(None)
        return Failed("asks for nothing")

    def answer(self, input_responses):
        if not self.asked:
            raise RuntimeError("nothing was asked")
        return self.retry(input_responses)

    def retry(self, input_responses):
        params = dict(self.params)
        if input_responses is not None:
            params["inputResponses"] = input_responses
        for state in self.state:
            params["requestState"] = state
        return self.send(params)
