"""What may cross between judge and worker: JSON values of exact types, one line each.

An object that is equal to everything, a string with its own ``__eq__`` or a float that is not a
number never arrives in a check, so no check can be talked into a pass.
"""

import json
import math
from typing import Any

LONGEST_LINE = 4 * 1024 * 1024
DEEPEST = 200
PLAIN = (str, int, bool, type(None))


class NoJson(ValueError):
    """A value that may not cross; the message describes it and never runs its code."""


def encode(value: Any) -> bytes:
    """Return `value` as one line. Errors: NoJson."""
    _require_exact(value, 0)
    try:
        line = json.dumps(value, allow_nan=False).encode("ascii") + b"\n"
    except ValueError as trouble:
        raise NoJson(str(trouble)) from None
    if len(line) > LONGEST_LINE:
        raise NoJson("a value of more than 4 MiB")
    return line


def _require_exact(value: Any, depth: int) -> None:
    kind = type(value)
    if depth > DEEPEST:
        raise NoJson(f"a value nested deeper than {DEEPEST}")
    if kind in PLAIN or (kind is float and math.isfinite(value)):
        return
    if kind is dict and all(type(name) is str for name in value):
        members = list(value.values())
    elif kind is list:
        members = value
    else:
        raise NoJson(_described(kind))
    for member in members:
        _require_exact(member, depth + 1)


def _described(kind: type) -> str:
    if kind is float:
        return "a float that is not finite"
    if kind is dict:
        return "a dict with keys that are not strings"
    plain = [base.__name__ for base in kind.__mro__[1:] if base in (str, int, float, dict, list)]
    name = type.__dict__["__name__"].__get__(kind)
    return f"a {name}" + (f", which is not quite a {plain[0]}" if plain else "")


def decode(line: bytes) -> Any:
    """Return the value on a line. Errors: NoJson."""
    try:
        return json.loads(line, parse_constant=_constant)
    except (ValueError, RecursionError):
        raise NoJson("something that is no JSON") from None


def _constant(name: str) -> None:
    raise ValueError(name)
