"""Makes strange messages out of ordinary ones: a value, a key, a token, a header or a byte changes.

All randomness comes from the generator that is handed in.
"""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

# What programs stumble over, as values and as texts.
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 10**400, 0.5, -0.0, 1e308),
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "é",
        "e\u0301",
        "\u202e",
        "x" * 5000,
        "../..",
        "%2e%2e",
        "%00",
        "file:///srv/notes/%FF",
    ),
    *("file:///srv/notes/team", "file:///srv/notes/team/../alice", "FILE://LOCALHOST/srv/notes"),
    *(
        "file://host/srv",
        "file:///",
        "draft-1",
        "Draft",
        "__proto__",
        "accept",
        "decline",
        "cancel",
    ),
    *("2026-07-28", "2025-11-25", "tools/call", "resources/read", "initialize", "notes_delete"),
    *([], {}, [[]], {"": None}, {"form": {}}, {"url": {}}, {"elicitation": {}}, ["Draft"]),
)
KEYS = (
    *("id", "method", "params", "_meta", "jsonrpc", "name", "arguments", "uri", "title"),
    *("workspaceUri", "inputResponses", "requestState", "action", "content", "confirm", "note_id"),
    *("delete_choice", "elicitation", "form", "url", "result", "error", "cursor", ""),
)
Place = tuple[Any, Any]


def places(value: Any) -> Iterator[Place]:
    """Every (container, key or index) in a JSON value, from the outside in."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def changed(message: Any, others: list[Any], rng: Random) -> Any:
    """A copy of a JSON message with one to three things changed. others: to take values from."""
    strange = copy.deepcopy(message)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(places(strange))
        if not found:
            return rng.choice(ODD_VALUES)
        rng.choice(CHANGES)(*rng.choice(found), others, rng)
    return strange


def _odd(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    container[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def _gone(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    del container[key]


def _borrowed(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    other, place = rng.choice(list(places(rng.choice(others))) or [(container, key)])
    container[key] = copy.deepcopy(other[place])


def _one_more(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    value = copy.deepcopy(rng.choice((*ODD_VALUES, container[key])))
    if isinstance(container, dict):
        container[rng.choice(KEYS)] = value
    else:
        container.append(value)


def _wrapped(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    for _ in range(rng.choice((1, 2, 70))):
        container[key] = [container[key]] if rng.random() < 0.5 else {"a": container[key]}


def _text(container: Any, key: Any, others: list[Any], rng: Random) -> None:
    if isinstance(container[key], str):
        container[key] = spoilt(container[key], rng)


CHANGES: tuple[Callable[[Any, Any, list[Any], Random], None], ...] = (
    *(_odd, _odd, _gone, _borrowed, _borrowed, _one_more, _wrapped, _text, _text),
)


def spoilt(text: str, rng: Random) -> str:
    """A text with a piece cut, doubled, swapped, escaped or put in."""
    start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    piece = text[start:end]
    odd = rng.choice(
        (".", "/", "%", "é", "\0", "=", "-", "A", "..", "%2F", "%FF", "\u2028", "\ud800")
    )
    put = rng.choice(("", piece * 2, piece[::-1], piece.swapcase(), odd, odd + piece))
    return text[:start] + put + text[end:]


def written(message: Any, rng: Random) -> bytes:
    """The message as bytes; now and then with a key twice, or with bytes changed."""
    raw = json.dumps(message, ensure_ascii=rng.random() < 0.8).encode("utf-8", "surrogatepass")
    if rng.random() < 0.85:
        return raw
    start, end = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    put = rng.choice((b"", raw[start:end] * 2, bytes([rng.randrange(256)]), b'"id":1,', b"NaN,"))
    return raw[:start] + put + raw[end:]
