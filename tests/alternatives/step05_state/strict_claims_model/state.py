"""Signed requestState: what the server must remember, carried by a client that must not change it.

Promise: a state opens only for the principal, the method, the tool, the arguments, the question
and the server that it was minted for, only before it expires, and only if not one byte of it has
changed. Attacks it stops: a forged candidate list, another user's approval, the approval of one
deletion used for another, last week's approval.

A signed token is ``version.key id.payload.tag``, all of it ASCII. The tag covers all before it.
Signed is not encrypted: the payload can be read by anyone, so it holds tags and ids, no titles.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, ValidationError

from kit.clock import Clock
from kit.protocol import INVALID_PARAMS, INVALID_REQUEST_STATE
from kit.randomness import Randomness
from kit.refusals import RpcError, StateRefused

Json = dict[str, Any]

SIGNED, SEALED = "rs1", "rs1e"
LIFETIME = 120
LONGEST_LIFETIME = 600
CLOCK_SKEW = 5
LONGEST_TOKEN = 8192
SHORTEST_KEY = 32

_KEY_BYTES = 32
_NONCE_BYTES = 16
_GCM_NONCE_BYTES, _GCM_TAG_BYTES = 12, 16
_TWO_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True)
class KeyRing:
    """The server's secrets, oldest to newest (SEAL-9).

    secrets: by key id. signer: the id of the one that mints; every secret on the ring verifies.
    """

    secrets: dict[str, bytes] = field(repr=False)
    signer: str

    def __post_init__(self) -> None:
        """Refuse a ring that must not serve.

        Errors: ValueError for a signer that is not on the ring, an id that is empty, holds a dot or
        is not ASCII, a secret of fewer than SHORTEST_KEY bytes (SEAL-9), and one that is text or
        zeros instead of random bytes: all of it ASCII (SEAL-20).
        """
        for key_id, secret in self.secrets.items():
            _require(_is_key_id(key_id), "a key id is ASCII text without a dot, and not empty")
            _require(_is_secret(secret), f"a secret has {SHORTEST_KEY} random bytes or more")
        _require(_is_on(self, self.signer), "the signer is not on the ring")


@dataclass(frozen=True)
class Origin:
    """The request that a state belongs to (STATE-4).

    principal: its subject. method: for example ``tools/call``. tool: its name. arguments: those
    that decide what is destroyed. audience: the server, by a name that all its instances share.
    """

    principal: str
    method: str
    tool: str
    arguments: Json
    audience: str


@dataclass(frozen=True)
class Interaction:
    """One question to one user.

    phase: which question (SEAL-16). candidates: the ids that it offered (SEAL-15). nonce: spent
    when it is answered. expires_at: seconds since the epoch.
    """

    phase: str
    candidates: tuple[str, ...]
    nonce: str
    expires_at: int


class Claims(BaseModel):
    """The payload of a state, as canonical JSON.

    Every claim is required and of exactly this type (SEAL-17, SEAL-19). audience: of the origin.
    candidates, phase, nonce: of the interaction. expires_at, issued_at: seconds since the epoch.
    origin: keyed tag of method, tool and arguments. principal: keyed tag of the subject.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    audience: str
    candidates: tuple[str, ...]
    expires_at: int
    issued_at: int
    nonce: str
    origin: str
    phase: str
    principal: str


Protect = Callable[[bytes, KeyRing, Randomness], str]
Reveal = Callable[[Any, KeyRing], bytes]


def encode(raw: bytes) -> str:
    """Return `raw` in base64url without padding.

    >>> encode(bytes([251, 255]))
    '-_8'
    """
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def decode(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Errors: StateRefused("encoding") unless `text` is what `encode` makes of its bytes: no foreign
    character, no ``+`` and ``/``, no padding, no spare bits set (SEAL-2).

    >>> list(decode("-_8"))
    [251, 255]
    """
    _demand(isinstance(text, str), "encoding")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise StateRefused("encoding") from None
    _demand(encode(raw) == text, "encoding")
    return raw


def canonical(value: Any) -> bytes:
    """Return the one JSON text of `value`, as bytes.

    Key order does not count; ``1``, ``1.0`` and ``true`` are three texts (SEAL-3). Lists and
    objects keep their borders, so that no two values share a text (SEAL-4). What is not ASCII is
    escaped, so that even half a surrogate pair has a text.
    Errors: ValueError for NaN and infinities, which are not JSON, and for what is nested too deeply
    for Python's encoder (SEAL-8).

    >>> canonical({"b": 1.0, "a": [True, 1]})
    b'{"a":[true,1],"b":1.0}'
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, RecursionError):
        raise ValueError("there is no canonical JSON of this value") from None
    _refuse_lookalikes(value)
    return text.encode("ascii")


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    """Return the 32-byte key of one purpose: HKDF-SHA256 over the secret of `key_id` (SEAL-9).

    purpose: ASCII, for example ``sign``; it is part of HKDF's `info`, so two purposes never share
    a key. There is no salt.
    Errors: StateRefused("key") when the ring has no such key (SEAL-21).
    """
    _demand(_is_on(ring, key_id), "key")
    info = b"requestState " + purpose.encode("ascii")
    return HKDF(SHA256(), _KEY_BYTES, salt=None, info=info).derive(ring.secrets[key_id])


def sign(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the signed token of `payload`: readable by anyone, changeable by nobody.

    The tag is HMAC-SHA256 over version, key id and payload (SEAL-5). `randomness` is not needed
    here; `seal` needs it behind the same signature.
    """
    body = f"{SIGNED}.{ring.signer}.{encode(payload)}"
    return f"{body}.{encode(_mac(ring, ring.signer, 'sign', body.encode('ascii')))}"


def verify(token: Any, ring: KeyRing) -> bytes:
    """Return the payload of a signed token, unparsed (SEAL-1).

    token: whatever the client sent: any JSON value.
    Errors: StateRefused with the reason "size" for more than LONGEST_TOKEN characters, before
    anything else is looked at (SEAL-8); "encoding" for what is no text, is not ASCII, is not four
    parts, or has a tag that is not canonical base64url; "version" for any but SIGNED;
    "key" as `derive`; "signature" for any other tag. Tags are compared in constant time (SEAL-11).
    """
    version, key_id, payload, tag = _parts_of(token, 4)
    given = decode(tag)
    _demand(version == SIGNED, "version")
    expected = _mac(ring, key_id, "sign", f"{version}.{key_id}.{payload}".encode("ascii"))
    _demand(hmac.compare_digest(given, expected), "signature")
    return decode(payload)


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    """Return a tag of `value` that nobody can guess without the key (SEAL-12).

    label: keeps the tags of different things apart. value: any JSON value; two values have one tag
    only if they have one canonical JSON. A plain hash of a title such as "Draft" is found by trying
    words; this is not.
    Errors: as `canonical` and `derive`.
    """
    return encode(_mac(ring, key_id, "tag", canonical([label, value])))


def mint(
    origin: Origin,
    phase: str,
    candidates: tuple[str, ...],
    ring: KeyRing,
    clock: Clock,
    randomness: Randomness,
    lifetime: int = LIFETIME,
    protect: Protect = sign,
) -> str:
    """Return the state of a new question to the user.

    origin: the request that asks. phase, candidates: of the question. lifetime: seconds, at most
    LONGEST_LIFETIME (SEAL-6). randomness: gives the nonce, at least 16 bytes (SEAL-23). protect:
    `sign` or `seal`; it gets the canonical JSON of `Claims`. Times are whole seconds, fractions cut
    off. Principal and origin are inside as keyed tags of the ring's signer, nothing else.
    Errors: ValueError for a lifetime that is not 1 to LONGEST_LIFETIME, and for a state of more
    than LONGEST_TOKEN characters, which nobody could bring back (SEAL-8).
    """
    _require(
        type(lifetime) is int and 1 <= lifetime <= LONGEST_LIFETIME,
        f"a lifetime is 1 to {LONGEST_LIFETIME} whole seconds",
    )
    issued_at = int(clock.now())
    claims = Claims(
        audience=origin.audience,
        candidates=candidates,
        expires_at=issued_at + lifetime,
        issued_at=issued_at,
        nonce=encode(randomness.token_bytes(_NONCE_BYTES)),
        origin=_origin_tag(ring, ring.signer, origin),
        phase=phase,
        principal=_principal_tag(ring, ring.signer, origin),
    )
    token = protect(canonical(claims.model_dump()), ring, randomness)
    _require(len(token) <= LONGEST_TOKEN, f"a state has at most {LONGEST_TOKEN} characters")
    return token


def open_state(
    token: Any,
    origin: Origin,
    phase: str,
    ring: KeyRing,
    clock: Clock,
    reveal: Reveal = verify,
) -> Interaction:
    """Return the interaction that `token` stands for, if it belongs to this request.

    token: whatever the client sent. origin: the request that brings it back. phase: the question
    that it must be about. reveal: `verify` or `unseal`.
    Errors: StateRefused with a reason for the log, the first that applies: those of `reveal`;
    "claims" for a payload that is not `Claims` (SEAL-17); "expired" from the very second of expiry
    on; "lifetime" for more than LONGEST_LIFETIME (SEAL-6); "future" when issued more than
    CLOCK_SKEW seconds ahead (SEAL-7); "audience" (SEAL-13); "principal" and "origin" (STATE-4),
    the latter also for arguments that have no canonical JSON; "phase" (SEAL-16). Both tags are
    computed with the key that the token names, not with the signer: a question that is open while
    the key rotates stays good (SEAL-22).
    """
    claims = _claims_of(reveal(token, ring))
    key_id = token.split(".")[1]
    _demand_timely(claims, clock.now())
    _demand(claims.audience == origin.audience, "audience")
    _demand(_matches(claims.principal, _principal_tag, ring, key_id, origin), "principal")
    _demand(_matches(claims.origin, _origin_tag, ring, key_id, origin), "origin")
    _demand(claims.phase == phase, "phase")
    return Interaction(claims.phase, claims.candidates, claims.nonce, claims.expires_at)


def wire_error() -> RpcError:
    """Return the one answer to every state that is refused, whatever the reason (SEAL-10)."""
    return RpcError(
        INVALID_PARAMS, "The requestState is not valid.", {"reason": INVALID_REQUEST_STATE}
    )


def seal(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the encrypted token of `payload`: AES-256-GCM, readable by this server only (SEAL-14).

    A token is ``SEALED.key id.text``, where the text is the 12-byte GCM nonce and what the cipher
    gives, together in base64url. Version and key id are authenticated with them (SEAL-5).
    randomness: gives the GCM nonce, a new one for every token.
    """
    head = f"{SEALED}.{ring.signer}"
    nonce = randomness.token_bytes(_GCM_NONCE_BYTES)
    cipher = AESGCM(derive(ring, ring.signer, "seal"))
    return f"{head}.{encode(nonce + cipher.encrypt(nonce, payload, head.encode('ascii')))}"


def unseal(token: Any, ring: KeyRing) -> bytes:
    """Return the payload of an encrypted token.

    token: whatever the client sent. Errors: as `verify`, with three parts and SEALED.
    """
    version, key_id, text = _parts_of(token, 3)
    raw = decode(text)
    _demand(version == SEALED, "version")
    cipher = AESGCM(derive(ring, key_id, "seal"))
    _demand(len(raw) >= _GCM_NONCE_BYTES + _GCM_TAG_BYTES, "signature")
    nonce, sealed = raw[:_GCM_NONCE_BYTES], raw[_GCM_NONCE_BYTES:]
    try:
        return cipher.decrypt(nonce, sealed, f"{version}.{key_id}".encode("ascii"))
    except InvalidTag:
        raise StateRefused("signature") from None


def add_key(ring: KeyRing, key_id: str, secret: bytes) -> KeyRing:
    """Return the ring with one more secret, the newest, which only verifies (SEAL-22).

    The first phase of a rotation: every instance gets this ring before any goes on.
    Errors: ValueError for an id that is on the ring already, and as `KeyRing`.
    """
    _require(not _is_on(ring, key_id), "this key id is on the ring already")
    return KeyRing({**ring.secrets, key_id: secret}, ring.signer)


def sign_with(ring: KeyRing, key_id: str) -> KeyRing:
    """Return the ring with another signer; the old one still verifies (SEAL-22).

    The second phase. Errors: ValueError for an id that is not on the ring.
    """
    return KeyRing(dict(ring.secrets), key_id)


def retire(ring: KeyRing, key_id: str, last_minted: float, clock: Clock) -> KeyRing:
    """Return the ring without a secret; its states are refused from now on (SEAL-22).

    The third phase. last_minted: seconds since the epoch, when the last instance minted with it.
    Errors: ValueError for an id that is not on the ring, for the signer, and while a state of this
    key may still be good: before LONGEST_LIFETIME has passed since `last_minted`.
    """
    _require(_is_on(ring, key_id), "this key id is not on the ring")
    _require(key_id != ring.signer, "the signer cannot be retired")
    _require(clock.now() >= last_minted + LONGEST_LIFETIME, "a state of this key may be good yet")
    left = {other: secret for other, secret in ring.secrets.items() if other != key_id}
    return KeyRing(left, ring.signer)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _demand(holds: bool, reason: str) -> None:
    if not holds:
        raise StateRefused(reason)


def _is_key_id(key_id: Any) -> bool:
    return isinstance(key_id, str) and key_id != "" and key_id.isascii() and "." not in key_id


def _is_secret(secret: Any) -> bool:
    return isinstance(secret, bytes) and len(secret) >= SHORTEST_KEY and not secret.isascii()


def _is_on(ring: KeyRing, key_id: Any) -> bool:
    return isinstance(key_id, str) and key_id in ring.secrets


def _refuse_lookalikes(value: Any) -> None:
    """Refuse what the encoder would write like another value: ``{1: 0}`` is written like
    ``{"1": 0}``, and two halves of a surrogate pair like the one character that they spell.
    """
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            _require(_TWO_HALVES.search(item) is None, "two halves of a pair are one character")
        elif isinstance(item, dict):
            _require(all(isinstance(key, str) for key in item), "keys of an object are text")
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item


def _mac(ring: KeyRing, key_id: str, purpose: str, message: bytes) -> bytes:
    return hmac.digest(derive(ring, key_id, purpose), message, hashlib.sha256)


def _parts_of(token: Any, count: int) -> list[str]:
    _demand(not isinstance(token, str) or len(token) <= LONGEST_TOKEN, "size")
    _demand(isinstance(token, str) and token.isascii(), "encoding")
    parts: list[str] = token.split(".")
    _demand(len(parts) == count, "encoding")
    return parts


def _principal_tag(ring: KeyRing, key_id: str, origin: Origin) -> str:
    return keyed_tag(ring, key_id, "principal", origin.principal)


def _origin_tag(ring: KeyRing, key_id: str, origin: Origin) -> str:
    return keyed_tag(ring, key_id, "origin", [origin.method, origin.tool, origin.arguments])


def _matches(
    claimed: str,
    tag_of: Callable[[KeyRing, str, Origin], str],
    ring: KeyRing,
    key_id: str,
    origin: Origin,
) -> bool:
    try:
        expected = tag_of(ring, key_id, origin)
    except ValueError:
        return False
    return hmac.compare_digest(claimed.encode(), expected.encode())


def _claims_of(payload: bytes) -> Claims:
    try:
        return Claims.model_validate_json(payload)
    except ValidationError:
        raise StateRefused("claims") from None


def _demand_timely(claims: Claims, now: float) -> None:
    """Written positively, so that a clock without a time refuses, too (SEAL-19)."""
    _demand(now < claims.expires_at, "expired")
    _demand(claims.expires_at - claims.issued_at <= LONGEST_LIFETIME, "lifetime")
    _demand(claims.issued_at <= now + CLOCK_SKEW, "future")
