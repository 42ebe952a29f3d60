"""The two messages of a confirmation, as any client would send them."""

import json
from itertools import count
from typing import Any

from kit.protocol import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, VERSION

Json = dict[str, Any]

ARGUMENTS: Json = {"workspaceUri": "file:///srv/notes/team", "title": "Draft"}
ANSWER: Json = {
    "delete_choice": {"action": "accept", "content": {"note_id": "draft-1", "confirm": True}}
}
META: Json = {
    PROTOCOL_VERSION: VERSION,
    CLIENT_CAPABILITIES: {"elicitation": {"form": {}}},
    CLIENT_INFO: {"name": "bench", "version": "0.1.0"},
}
_ids = count(1)


def first() -> bytes:
    """The call that will be asked about."""
    return _call({})


def second(answer: bytes) -> bytes:
    """The same call with the user's yes. Errors: RuntimeError when `answer` asks nothing."""
    result = _message(answer).get("result", {})
    if result.get("resultType") != "input_required":
        raise RuntimeError(f"No question came: {answer[:200]!r}")
    return _call({"inputResponses": ANSWER, "requestState": result["requestState"]})


def must_have_deleted(answer: bytes) -> None:
    """Errors: RuntimeError when `answer` is not the end of an accepted confirmation."""
    if b"Deleted draft-1." not in answer:
        raise RuntimeError(f"Nothing was deleted: {answer[:200]!r}")


def _call(more: Json) -> bytes:
    params = {"name": "notes_delete", "arguments": ARGUMENTS, "_meta": META, **more}
    message = {"jsonrpc": "2.0", "id": next(_ids), "method": "tools/call", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def _message(answer: bytes) -> Json:
    """Read a JSON body, or the one event of a stream."""
    if not answer.startswith(b"{"):
        lines = [line for line in answer.splitlines() if line.startswith(b"data: {")]
        answer = lines[-1].removeprefix(b"data: ")
    message: Json = json.loads(answer)
    return message
