"""What the checks of step 05 can ask of a learner's part; runs in the worker.

Bytes travel as hexadecimal text, a ring as ``{"secrets": {id: hex}, "signer": id}``; a secret may
also be ``{"text": …}`` or ``{"zeros": count}``. Where the contract says ValueError, the answer is
the text ``ValueError``, and where it says ValueError or TypeError, so it is for both. An operation
about one function begins with that function's name.
"""

import ast
import hmac
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hmac as hazmat

from kit.clock import FrozenClock
from kit.randomness import Randomness, SeededRandomness, SystemRandomness
from kit.refusals import StateRefused

NOW = 1_790_000_000


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
    return _or_error(lambda: canonical(parts, value={"n": [float(number)]}))


def canonical_python(parts: Any, *, expression: str, within: str) -> Any:
    """The JSON text of a value that JSON itself cannot carry, inside an object. within: its key."""
    value = {within: [ast.literal_eval(expression)]}
    return _or_error(lambda: canonical(parts, value=value))


def canonical_halves(parts: Any, *, character: str) -> Any:
    """The JSON text of the two surrogate halves of a character, side by side."""
    units = character.encode("utf-16-be")
    halves = [chr(int.from_bytes(units[place : place + 2])) for place in (0, 2)]
    return _or_value_error(lambda: canonical(parts, value="".join(halves)))


def canonical_nested(parts: Any, *, levels: int) -> Any:
    """How long the JSON text of that many lists in each other is."""
    return _or_value_error(lambda: len(canonical(parts, value=_nested(levels))))


def make_ring(parts: Any, *, ring: Any) -> str:
    """Put a ring together."""
    return str(_or_value_error(lambda: _ring(parts, ring) and "accepted"))


def print_ring(parts: Any, *, ring: Any) -> list[str]:
    """What a log says of a ring: by itself, with an object around it, and in a sentence."""
    made = _ring(parts, ring)
    return [repr(made), repr([made]), f"{made}"]


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


def sign_to_length(parts: Any, *, length: int, key_id: str, secret: str) -> dict[str, Any]:
    """A signed token of exactly that many characters, with its ring and its payload.

    key_id: grows by up to three letters, since no base64url text has one character too many.
    """
    for name in (key_id, key_id + "a", key_id + "aa", key_id + "aaa"):
        ring = {"secrets": {name: secret}, "signer": name}
        for size in range((length - 300) * 3 // 4, length * 3 // 4):
            token = sign(parts, payload="7b" * size, ring=ring)
            if len(token) == length:
                return {"token": token, "ring": ring, "payload": "7b" * size}
            if len(token) > length:
                break
    return {}


def verify_as_told(parts: Any, *, token: str, ring: Any, equal: bool) -> dict[str, Any]:
    """Verify while every comparison in constant time is told to answer `equal`.

    Answers with ``outcome``, the payload or the reason of the refusal, and ``compared``, what the
    comparisons were given. It has to be the first operation of its process, so that the part finds
    no other comparison when it is loaded.
    """
    with _comparisons():
        made = _ring(parts, ring)
        _TOLD.equal, _TOLD.compared = equal, []
        try:
            outcome = _hex(parts.state.verify(token, made))
        except StateRefused as refusal:
            outcome = refusal.reason
        finally:
            _TOLD.equal = None
    return {"outcome": outcome, "compared": _TOLD.compared}


def keyed_tag_purposes(
    parts: Any, *, ring: Any, token: str, label: str, value: Any
) -> dict[str, list[str]]:
    """The purposes that sign, verify and keyed_tag ask `derive` for. token: signed."""
    state, made = parts.state, _ring(parts, ring)
    return {
        "sign": _purposes(parts, lambda: state.sign(b"{}", made, SystemRandomness())),
        "verify": _purposes(parts, lambda: state.verify(token, made)),
        "keyed_tag": _purposes(parts, lambda: state.keyed_tag(made, made.signer, label, value)),
    }


def seal_purposes(
    parts: Any, *, ring: Any, token: str, label: str, value: Any
) -> dict[str, list[str]]:
    """The same with seal and unseal in place of sign and verify. token: sealed."""
    state, made = parts.state, _ring(parts, ring)
    return {
        "sign": _purposes(parts, lambda: state.sign(b"{}", made, SystemRandomness())),
        "seal": _purposes(parts, lambda: state.seal(b"{}", made, SystemRandomness())),
        "unseal": _purposes(parts, lambda: state.unseal(token, made)),
        "keyed_tag": _purposes(parts, lambda: state.keyed_tag(made, made.signer, label, value)),
    }


def sign_under_other_keys(parts: Any, *, payload: str, ring: Any, purposes: list[str]) -> Any:
    """Sign while `derive` gives other keys for these purposes."""
    with _other_keys(parts, purposes):
        return sign(parts, payload=payload, ring=ring)


def keyed_tag_under_other_keys(
    parts: Any, *, ring: Any, key_id: str, label: str, value: Any, purposes: list[str]
) -> Any:
    """A tag of a value while `derive` gives other keys for these purposes."""
    with _other_keys(parts, purposes):
        return keyed_tag(parts, ring=ring, key_id=key_id, label=label, value=value)


def unseal_under_other_keys(parts: Any, *, token: str, ring: Any, purposes: list[str]) -> Any:
    """The payload of an encrypted token while `derive` gives other keys for these purposes."""
    with _other_keys(parts, purposes):
        return unseal(parts, token=token, ring=ring)


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


def mint_without(parts: Any, *, ring: Any, origin: Any, what: str, instead: str) -> Any:
    """The same when one argument is nothing that makes a state.

    what: ``lifetime``, ``now``, ``phase``, ``candidate`` or ``audience``. instead: as Python writes
    it, ``nan`` and ``inf`` as well.
    """
    value = float(instead) if instead in ("nan", "inf") else ast.literal_eval(instead)
    given = {"phase": "delete_choice", "candidate": "draft-1", "now": NOW, "lifetime": 120}
    given |= {"audience": origin["audience"], what: value}
    request = parts.state.Origin(**{**origin, "audience": given["audience"]})
    clock, ids = FrozenClock(given["now"]), ("draft-2", given["candidate"])
    ring_made, randomness = _ring(parts, ring), SystemRandomness()
    asked = (request, given["phase"], ids, ring_made, clock, randomness, given["lifetime"])
    return _or_error(lambda: parts.state.mint(*asked))


def mint_from(parts: Any, *, ring: Any, origin: Any, streams: list[str]) -> list[Any]:
    """One state for each stream of random bytes; every state is minted from the stream's start."""
    phase, ids = "delete_choice", ("draft-1",)
    drawn = [_Stream(bytes.fromhex(stream)) for stream in streams]
    return [_mint(parts, ring, origin, phase, ids, NOW, None, each, "sign") for each in drawn]


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


def open_state_succeeds(parts: Any, **asked: Any) -> bool:
    """Whether a state opens; a refusal stays a refusal. asked: as for open_state."""
    return bool(open_state(parts, **asked))


def open_state_with_deep_arguments(parts: Any, *, token: str, ring: Any, origin: Any) -> Any:
    """The same with arguments that are nested very deeply."""
    deep = {**origin, "arguments": {**origin["arguments"], "deep": _nested(100_000)}}
    return open_state(parts, token=token, ring=ring, origin=deep)


def mint_wrote(parts: Any, *, token: str, ring: Any) -> Any:
    """The payload of a signed state."""
    return json.loads(bytes.fromhex(verify(parts, token=token, ring=ring)))


def mint_wrote_nonces(parts: Any, *, tokens: list[str], ring: Any) -> list[Any]:
    """The nonces in the payloads of signed states."""
    return [mint_wrote(parts, token=token, ring=ring)["nonce"] for token in tokens]


def signed_again(
    parts: Any, *, token: str, ring: Any, changes: dict[str, str], without: str = ""
) -> Any:
    """The state with other claims, signed by the server's own key.

    changes: JSON texts by claim; any text, so that what is no JSON can be said, too.
    """
    kept = mint_wrote(parts, token=token, ring=ring)
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


class _Stream:
    """Randomness that was decided beforehand; zeros when it is used up."""

    def __init__(self, left: bytes) -> None:
        self._left = left

    def token_bytes(self, count: int) -> bytes:
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn.ljust(count, b"\0")


class _Told:
    """What comparisons have to answer, None for the truth, and what they were given."""

    def __init__(self) -> None:
        self.equal: bool | None = None
        self.compared: list[list[str]] = []

    def answer(self, left: Any, right: Any) -> bool:
        self.compared.append([_seen(left), _seen(right)])
        return bool(self.equal)


_TOLD = _Told()
_OWN_DIGEST, _OWN_HMAC = hmac.compare_digest, hazmat.HMAC


def _compare_digest(left: Any, right: Any, /) -> bool:
    return _OWN_DIGEST(left, right) if _TOLD.equal is None else _TOLD.answer(left, right)


class _Hmac:
    """The HMAC of `cryptography`, whose verify does as it is told."""

    def __init__(self, *given: Any, made: Any = None, **named: Any) -> None:
        self._made = made or _OWN_HMAC(*given, **named)

    def update(self, data: bytes) -> None:
        self._made.update(data)

    def finalize(self) -> bytes:
        return bytes(self._made.finalize())

    def copy(self) -> "_Hmac":
        return _Hmac(made=self._made.copy())

    def verify(self, signature: bytes) -> None:
        if _TOLD.equal is None:
            self._made.verify(signature)
        elif not _TOLD.answer(self._made.finalize(), signature):
            raise InvalidSignature


@contextmanager
def _comparisons() -> Iterator[None]:
    """Put comparisons that do as they are told in place of those that take constant time."""
    hmac.compare_digest = secrets.compare_digest = _compare_digest
    hazmat.HMAC = _Hmac  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        hmac.compare_digest = secrets.compare_digest = _OWN_DIGEST
        hazmat.HMAC = _OWN_HMAC  # type: ignore[misc]


@contextmanager
def _other_keys(parts: Any, purposes: list[str]) -> Iterator[set[str]]:
    """Let `derive` give other keys for these purposes; gives the set of all that it is asked for.

    The part calls `derive` by its name (its docstring says so), so another one may stand there.
    """
    own, asked = parts.state.derive, set[str]()

    def derive(ring: Any, key_id: str, purpose: str) -> bytes:
        asked.add(purpose)
        key: bytes = own(ring, key_id, purpose)
        return bytes(255 - byte for byte in key) if purpose in purposes else key

    parts.state.derive = derive
    try:
        yield asked
    finally:
        parts.state.derive = own


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
    made = {key_id: _secret(told) for key_id, told in ring["secrets"].items()}
    return parts.state.KeyRing(made, ring["signer"])


def _secret(told: Any) -> bytes:
    if isinstance(told, str):
        return bytes.fromhex(told)
    return told["text"].encode() if "text" in told else bytes(told["zeros"])


def _seen(compared: Any) -> str:
    return compared if isinstance(compared, str) else bytes(compared).hex()


def _told(ring: Any) -> dict[str, Any]:
    told = {key_id: _hex(secret) for key_id, secret in ring.secrets.items()}
    return {"secrets": told, "signer": ring.signer}


def _or_value_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError:
        return "ValueError"


def _or_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ValueError, TypeError):
        return "ValueError"


def _hex(raw: Any) -> str:
    return bytes(raw).hex()


def _purposes(parts: Any, call: Callable[[], Any]) -> list[str]:
    with _other_keys(parts, []) as asked:
        call()
    return sorted(asked)


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value
