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
        self.message = {"jsonrpc": "2.0", "id": next_id(), "method": method, "params": dict(params)}
        self.rounds = 0

    def first(self):
        return self.message

    def feed(self, response):
        if "error" in response:
            return Failed("error", response["error"])
        result = response["result"]
        if result.get("resultType") == "input_required":
            self.rounds += 1
            if self.rounds > 10:
                return Failed("too many")
            if result.get("requestState"):
                self.message["params"]["requestState"] = result["requestState"]
            if result.get("inputRequests"):
                return Asked(result["inputRequests"])
            return self.message
        return Finished(result)

    def answer(self, input_responses):
        self.message["params"]["inputResponses"] = input_responses
        return self.message
