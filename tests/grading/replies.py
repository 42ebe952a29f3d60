"""What may come back from a worker: one JSON object of one known kind, and nothing else.

The learner's code lives in the process that writes these lines, so a line is read as one reads a
stranger's letter. Forging one earns nothing: it is an answer like any other.
"""

import json
from typing import Any, NoReturn

LOADING = "loading"
FIELDS: dict[str, dict[str, type]] = {
    LOADING: {"file": str},
    "refused": {"message": object},
    "rpc": {"code": object, "message": object, "data": object},
    "store": {"kind": str},
    "state": {"reason": object},
    "raised": {"type": str, "message": str, "where": object},
    "not_started": {"exercise": str},
    "broken": {"kind": str, "text": str},
    "odd": {"text": str},
}


class BadReply(Exception):
    """A line that no worker of ours writes."""


def read_reply(line: bytes, number: int) -> dict[str, Any]:
    """Return the reply in a line. number: of the request that it answers. Errors: BadReply."""
    try:
        reply = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadReply from None
    if not isinstance(reply, dict) or reply.pop("number", None) != number or len(reply) != 1:
        raise BadReply
    ((kind, told),) = reply.items()
    if kind != "value" and not _has_fields(told, FIELDS.get(kind)):
        raise BadReply
    return reply


def _has_fields(told: Any, fields: dict[str, type] | None) -> bool:
    if fields is None or not isinstance(told, dict) or told.keys() != fields.keys():
        return False
    return all(isinstance(told[name], kind) for name, kind in fields.items())


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
