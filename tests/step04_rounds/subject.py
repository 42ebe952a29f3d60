"""What the checks of step 04 can ask of a learner's two halves; runs in the worker."""

import json
from itertools import count
from typing import Any

from kit.refusals import ToolRefusal


def input_required(
    parts: Any, *, method: str, requests: Any = None, state: str | None = None
) -> Any:
    """An asking result, or ``"ValueError"``."""
    try:
        return parts.server_half.input_required(method, requests, state)
    except ValueError:
        return "ValueError"


def read_retry(parts: Any, *, params: dict[str, Any]) -> dict[str, Any]:
    """What a request brings along."""
    retry = parts.server_half.read_retry(params)
    return {"responses": retry.input_responses, "state": retry.request_state}


def one_round(
    parts: Any, *, params: dict[str, Any], script: list[dict[str, Any]], method: str = "tools/call"
) -> dict[str, Any]:
    """One round of a handler that follows a script, on a server that remembers nothing.

    The state is the memory as JSON text, so it is all that gets from one round to the next.
    """
    half, effects = parts.server_half, []

    def open_state(state: str) -> Any:
        stored = json.loads(state)
        asked = tuple(stored["asked"])
        return half.Memory(stored["round"], asked, stored["answers"], stored["effects"])

    def mint_state(memory: Any) -> str:
        kept = {name: getattr(memory, name) for name in ("round", "answers", "effects")}
        return json.dumps({**kept, "asked": list(memory.asked)}, sort_keys=True)

    def handler(conversation: Any) -> dict[str, Any]:
        told: list[Any] = []
        for line in script:
            told.append(_act(conversation, effects, **line))
        return {"content": told}

    result = half.converse(method, params, handler, open_state, mint_state)
    return {"result": result, "effects": effects}


def _act(conversation: Any, effects: list[str], **line: Any) -> Any:
    if "ask" in line:
        try:
            return conversation.ask(line["ask"])
        except Exception:  # what handlers do; it must not swallow the pause
            return "swallowed"
    if "once" in line:
        return conversation.once(line["once"], lambda: _happen(effects, line["once"]))
    return conversation.defer(line["defer"])


def _happen(effects: list[str], name: str) -> str:
    effects.append(name)
    return f"{name} done"


def narrow(parts: Any, *, granted: list[str], answer: Any) -> list[str]:
    """The granted places, narrowed by a client's roots; places are plain paths here."""
    places = [_normalize(place) for place in granted]
    return [
        "/" + "/".join(p) for p in parts.server_half.narrow(places, answer, _normalize, _within)
    ]


def _normalize(uri: Any) -> tuple[str, ...]:
    if not isinstance(uri, str) or not uri.startswith("/"):
        raise ToolRefusal("not a place")
    return tuple(name for name in uri.split("/") if name)


def _within(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    return inner[: len(outer)] == outer


def exchange(
    parts: Any, *, params: dict[str, Any], steps: list[dict[str, Any]], first_id: int = 1
) -> list[Any]:
    """One call of the client half: what it says to each response and each answer.

    A response whose id is "latest" gets the id of the latest message. A step with "other" runs
    another call of the same client in between.
    """
    ids = count(first_id)
    call = parts.client_half.Exchange("tools/call", params, lambda: next(ids))
    said = [call.first()]
    told = [{"send": said[0]}]
    for step in steps:
        if "other" in step:
            told.append(_run(parts.client_half, step["other"], ids))
            continue
        outcome = _drive(call, said[-1], step)
        if isinstance(outcome, dict):
            said.append(outcome)
        told.append(_told(parts.client_half, outcome))
    return told


def _run(half: Any, params: dict[str, Any], ids: Any) -> Any:
    """Another call of the same client, from its first message to its result."""
    call = half.Exchange("tools/call", params, lambda: next(ids))
    response = {"jsonrpc": "2.0", "id": call.first()["id"], "result": {"content": [params]}}
    return _told(half, call.feed(response))


def side_by_side(parts: Any, *, result: dict[str, Any], answers: dict[str, Any]) -> list[Any]:
    """Two calls at once: both are asked, then both are answered."""
    ids = count(1)
    one = parts.client_half.Exchange("tools/call", {"name": "one"}, lambda: next(ids))
    two = parts.client_half.Exchange("tools/call", {"name": "two"}, lambda: next(ids))
    first, second = one.first(), two.first()
    one.feed({"jsonrpc": "2.0", "id": first["id"], "result": result})
    two.feed({"jsonrpc": "2.0", "id": second["id"], "result": {**result, "requestState": "of two"}})
    return [one.answer(answers), two.answer(answers)]


def _drive(call: Any, latest: Any, step: dict[str, Any]) -> Any:
    if "answer" in step:
        try:
            return call.answer(step["answer"])
        except RuntimeError:
            return "RuntimeError"
    response = dict(step["feed"])
    if response.get("id") == "latest":
        response["id"] = latest["id"]
    return call.feed(response)


def _told(half: Any, outcome: Any) -> Any:
    if isinstance(outcome, str):
        return outcome
    if isinstance(outcome, half.Finished):
        return {"finished": outcome.result}
    if isinstance(outcome, half.Failed):
        return {"failed": outcome.error}
    if isinstance(outcome, half.Asked):
        return {"asked": outcome.input_requests}
    return {"send": outcome}
