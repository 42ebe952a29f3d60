"""What the checks of step 05 can ask of a learner's part; runs in the worker.

Bytes travel as hexadecimal text, a ring as ``{"secrets": {id: hex}, "signer": id}``. Where the
contract says ValueError, the answer is the text ``ValueError``.
"""

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.clock import FrozenClock
from kit.randomness import Randomness, SeededRandomness, SystemRandomness

NOW = 1_790_000_000
CONSTANT_TIME = {"compare_digest", "bytes_eq", "verify"}


def encode(parts: Any, *, raw: str) -> Any:
    """Bytes as base64url."""
    return parts.state.encode(bytes.fromhex(raw))


def decode(parts: Any, *, text: str) -> str:
    """The bytes of a base64url text."""
    return _hex(parts.state.decode(text))


def canonical(parts: Any, *, value: Any) -> str:
    """The one JSON text of a value."""
    return bytes(parts.state.canonical(value)).decode("utf-8")


def canonical_number(parts: Any, *, number: str) -> Any:
    """The JSON text of a number that JSON itself cannot carry."""
    return _or_value_error(lambda: canonical(parts, value={"n": [float(number)]}))


def canonical_nested(parts: Any, *, levels: int) -> Any:
    """How long the JSON text of that many lists in each other is."""
    return _or_value_error(lambda: len(canonical(parts, value=_nested(levels))))


def make_ring(parts: Any, *, ring: Any) -> str:
    """Put a ring together."""
    return str(_or_value_error(lambda: _ring(parts, ring) and "accepted"))


def derive(parts: Any, *, ring: Any, key_id: str, purpose: str) -> str:
    """The key of one purpose."""
    return _hex(parts.state.derive(_ring(parts, ring), key_id, purpose))


def sign(parts: Any, *, payload: str, ring: Any, version: str | None = None) -> Any:
    """Sign a payload. version: of the format that is written, if another than the part's own."""
    with _format(parts, version):
        return parts.state.sign(bytes.fromhex(payload), _ring(parts, ring), SystemRandomness())


def verify(parts: Any, *, token: Any, ring: Any, version: str | None = None) -> str:
    """The payload of a signed token. version: of the format that is read."""
    with _format(parts, version):
        return _hex(parts.state.verify(token, _ring(parts, ring)))


def token_of_length(parts: Any, *, length: int) -> dict[str, Any]:
    """A signed token of exactly that many characters, with its ring."""
    secret = bytes(range(100, 164)).hex()
    for key_id in ("k", "kk", "kkk", "kkkk"):
        ring = {"secrets": {key_id: secret}, "signer": key_id}
        for size in range((length - 300) * 3 // 4, length * 3 // 4):
            token = sign(parts, payload="7b" * size, ring=ring)
            if len(token) == length:
                return {"token": token, "ring": ring}
            if len(token) > length:
                break
    return {}


def compares_in_constant_time(parts: Any) -> bool:
    """Whether the source calls a comparison that takes the same time for all tags."""
    ring = {"secrets": {"k": bytes(range(100, 164)).hex()}, "signer": "k"}
    verify(parts, token=sign(parts, payload="7b7d", ring=ring), ring=ring)
    tree = ast.parse(Path(parts.state.__file__).read_text(encoding="utf-8"))
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    attributes = {call.attr for call in called if isinstance(call, ast.Attribute)}
    names = {call.id for call in called if isinstance(call, ast.Name)} - {"verify"}
    return not CONSTANT_TIME.isdisjoint(attributes | names)


def keyed_tag(parts: Any, *, ring: Any, key_id: str, label: str, value: Any) -> Any:
    """A tag of a value."""
    return parts.state.keyed_tag(_ring(parts, ring), key_id, label, value)


def mint(
    parts: Any,
    *,
    ring: Any,
    origin: Any,
    phase: str = "delete_choice",
    candidates: tuple[str, ...] = ("draft-1", "draft-2"),
    now: float = NOW,
    lifetime: int | None = None,
    seed: str | None = None,
    protect: str = "sign",
) -> Any:
    """The state of a new question. lifetime: the part's own unless given. seed: of randomness."""
    randomness = SystemRandomness() if seed is None else SeededRandomness(seed)
    return _mint(parts, ring, origin, phase, candidates, now, lifetime, randomness, protect)


def bytes_drawn(parts: Any, *, ring: Any, origin: Any) -> list[int]:
    """How many random bytes the minting of a signed state asks for, call by call."""
    drawn = _Recorder()
    _mint(parts, ring, origin, "delete_choice", ("draft-1",), NOW, None, drawn, "sign")
    return drawn.counts


def open_state(
    parts: Any,
    *,
    token: Any,
    ring: Any,
    origin: Any,
    phase: str = "delete_choice",
    now: float = NOW,
    reveal: str = "verify",
) -> dict[str, Any]:
    """The interaction that a state stands for."""
    state = parts.state
    asked = state.Origin(**origin)
    clock = FrozenClock(now)
    way = getattr(state, reveal)
    found = state.open_state(token, asked, phase, _ring(parts, ring), clock, way)
    return {
        "phase": found.phase,
        "candidates": list(found.candidates),
        "nonce": found.nonce,
        "expires_at": found.expires_at,
    }


def opens(parts: Any, **asked: Any) -> bool:
    """Whether a state opens; a refusal stays a refusal. asked: as for open_state."""
    return bool(open_state(parts, **asked))


def open_with_deep_arguments(parts: Any, *, token: str, ring: Any, origin: Any) -> Any:
    """The same with arguments that are nested very deeply."""
    deep = {**origin, "arguments": {**origin["arguments"], "deep": _nested(100_000)}}
    return open_state(parts, token=token, ring=ring, origin=deep)


def claims(parts: Any, *, token: str, ring: Any) -> Any:
    """The payload of a signed state."""
    return json.loads(bytes.fromhex(verify(parts, token=token, ring=ring)))


def nonce(parts: Any, *, token: str, ring: Any) -> Any:
    """The nonce in the payload of a signed state."""
    return claims(parts, token=token, ring=ring)["nonce"]


def signed_again(
    parts: Any, *, token: str, ring: Any, changes: dict[str, str], without: str = ""
) -> Any:
    """The state with other claims, signed by the server's own key.

    changes: JSON texts by claim; any text, so that what is no JSON can be said, too.
    """
    kept = claims(parts, token=token, ring=ring)
    texts = {name: json.dumps(value) for name, value in kept.items() if name != without}
    members = ",".join(f'"{name}":{text}' for name, text in {**texts, **changes}.items())
    return sign(parts, payload=f"{{{members}}}".encode().hex(), ring=ring)


def wire_error(parts: Any) -> Any:
    """The answer that the client gets."""
    raise parts.state.wire_error()


def seal(parts: Any, *, payload: str, ring: Any) -> Any:
    """Encrypt a payload."""
    return parts.state.seal(bytes.fromhex(payload), _ring(parts, ring), SystemRandomness())


def unseal(parts: Any, *, token: Any, ring: Any) -> str:
    """The payload of an encrypted token."""
    return _hex(parts.state.unseal(token, _ring(parts, ring)))


def add_key(parts: Any, *, ring: Any, key_id: str, secret: str) -> Any:
    """The ring with one more secret."""
    old = _ring(parts, ring)
    return _or_value_error(lambda: _told(parts.state.add_key(old, key_id, bytes.fromhex(secret))))


def sign_with(parts: Any, *, ring: Any, key_id: str) -> Any:
    """The ring with another signer."""
    old = _ring(parts, ring)
    return _or_value_error(lambda: _told(parts.state.sign_with(old, key_id)))


def retire(parts: Any, *, ring: Any, key_id: str, last_minted: float, now: float) -> Any:
    """The ring without a secret."""
    old, clock = _ring(parts, ring), FrozenClock(now)
    return _or_value_error(lambda: _told(parts.state.retire(old, key_id, last_minted, clock)))


class _Recorder:
    """Randomness that remembers what it was asked for."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def token_bytes(self, count: int) -> bytes:
        self.counts.append(count)
        return SystemRandomness().token_bytes(count)


def _mint(
    parts: Any,
    ring: Any,
    origin: Any,
    phase: str,
    candidates: Any,
    now: float,
    lifetime: int | None,
    randomness: Randomness,
    protect: str,
) -> Any:
    state = parts.state
    made, asked = _ring(parts, ring), state.Origin(**origin)
    more = {} if lifetime is None else {"lifetime": lifetime}
    if protect != "sign":
        more["protect"] = getattr(state, protect)
    given = (asked, phase, tuple(candidates), made, FrozenClock(now), randomness)
    return _or_value_error(lambda: state.mint(*given, **more))


@contextmanager
def _format(parts: Any, version: str | None) -> Iterator[None]:
    own = parts.state.SIGNED
    parts.state.SIGNED = version or own
    try:
        yield
    finally:
        parts.state.SIGNED = own


def _ring(parts: Any, ring: Any) -> Any:
    secrets = {key_id: bytes.fromhex(secret) for key_id, secret in ring["secrets"].items()}
    return parts.state.KeyRing(secrets, ring["signer"])


def _told(ring: Any) -> dict[str, Any]:
    secrets = {key_id: _hex(secret) for key_id, secret in ring.secrets.items()}
    return {"secrets": secrets, "signer": ring.signer}


def _or_value_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError:
        return "ValueError"


def _hex(raw: Any) -> str:
    return bytes(raw).hex()


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value
