"""Signed requestState: what the server must remember, carried by a client that must not change it.

Promise: a state opens only for the principal, the method, the tool, the arguments, the question
and the server that it was minted for, only before it expires, and only if not one byte of it has
changed. Attacks it stops: a forged candidate list, another user's approval, the approval of one
deletion used for another, last week's approval.

A token is ``version.key id.payload.tag``, all of it ASCII. The tag covers everything before it.
Signed is not encrypted: the payload can be read by anyone, so it holds tags and ids, no titles.
"""

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class KeyRing:
    """The server's secrets, oldest to newest (SEAL-9).

    secrets: at least 32 random bytes each, by key id; ids are ASCII without a dot. signer: the id
    that mints. A new key is first added to all instances, then made signer, then the old one is
    dropped when its last state has expired (SEAL-22).
    Errors: ValueError for a short secret, an unknown signer, an id with a dot.
    """

    secrets: dict[str, bytes]
    signer: str

    def __post_init__(self) -> None:
        if self.signer not in self.secrets:
            raise ValueError("The signer is not on the ring.")
        if any(len(secret) < SHORTEST_KEY for secret in self.secrets.values()):
            raise ValueError(f"A secret needs at least {SHORTEST_KEY} bytes.")
        if any("." in key_id or not key_id.isascii() for key_id in self.secrets):
            raise ValueError("A key id is ASCII without a dot.")


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
    """The payload; every claim is required and of exactly this type (SEAL-17, SEAL-19)."""

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
Reveal = Callable[[str, KeyRing], bytes]


def canonical(value: Any) -> bytes:
    """Return the one JSON text of `value`, as bytes.

    Key order does not count; ``1``, ``1.0`` and ``true`` are three texts (SEAL-3). Lists and
    objects keep their borders, so that no two values share a text (SEAL-4).
    Errors: ValueError for NaN and infinities, which are not JSON.

    >>> canonical({"b": 1.0, "a": [True, 1]})
    b'{"a":[true,1],"b":1.0}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def encode(raw: bytes) -> str:
    """Return `raw` in base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Errors: StateRefused("encoding") unless `text` is the one canonical spelling of its bytes: the
    alphabet, no padding, no spare bits set (SEAL-2).
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise StateRefused("encoding") from None
    if encode(raw) != text:
        raise StateRefused("encoding")
    return raw


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    """Return the 32-byte key of one purpose: HKDF-SHA256 over the secret of `key_id` (SEAL-9).

    purpose: ASCII. Two purposes never share a key.
    Errors: StateRefused("key") when the ring has no such key (SEAL-21).
    """
    if key_id not in ring.secrets:
        raise StateRefused("key")
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"requestState/{purpose}".encode())
    return kdf.derive(ring.secrets[key_id])


def sign(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the signed token of `payload`: readable by anyone, changeable by nobody.

    The tag is HMAC-SHA256 over version, key id and payload (SEAL-5). `randomness` is not needed
    here; `seal` needs it behind the same signature.
    """
    head = f"{SIGNED}.{ring.signer}.{encode(payload)}"
    return f"{head}.{encode(_tag(head, ring, ring.signer))}"


def verify(token: str, ring: KeyRing) -> bytes:
    """Return the payload of a signed token, unparsed (SEAL-1).

    Errors: StateRefused with reason "size" for more than LONGEST_TOKEN characters (SEAL-8),
    "encoding" for any other form than four parts in canonical base64url, "version", "key",
    "signature". The tags are compared in constant time (SEAL-11).
    """
    version, key_id, payload, tag = _parts(token, 4)
    if version != SIGNED:
        raise StateRefused("version")
    if not hmac.compare_digest(_tag(f"{version}.{key_id}.{payload}", ring, key_id), decode(tag)):
        raise StateRefused("signature")
    return decode(payload)


def _tag(head: str, ring: KeyRing, key_id: str) -> bytes:
    return hmac.digest(derive(ring, key_id, "sign"), head.encode("ascii"), "sha256")


def _parts(token: str, count: int) -> list[str]:
    if len(token) > LONGEST_TOKEN:
        raise StateRefused("size")
    parts = token.split(".")
    if len(parts) != count or not token.isascii():
        raise StateRefused("encoding")
    return parts


def seal(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the encrypted token of `payload`: AES-256-GCM, readable by this server only (SEAL-14).

    randomness: gives the 12-byte GCM nonce. Version and key id are authenticated with it.
    """
    head, gcm_nonce = f"{SEALED}.{ring.signer}", randomness.token_bytes(12)
    cipher = AESGCM(derive(ring, ring.signer, "seal"))
    return f"{head}.{encode(gcm_nonce + cipher.encrypt(gcm_nonce, payload, head.encode()))}"


def unseal(token: str, ring: KeyRing) -> bytes:
    """Return the payload of an encrypted token. Errors: as `verify`."""
    version, key_id, text = _parts(token, 3)
    if version != SEALED:
        raise StateRefused("version")
    key, raw = derive(ring, key_id, "seal"), decode(text)
    try:
        return AESGCM(key).decrypt(raw[:12], raw[12:], f"{version}.{key_id}".encode())
    except (InvalidTag, ValueError):
        raise StateRefused("signature") from None


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    """Return a tag of `value` that nobody can guess without the key (SEAL-12).

    label: keeps the tags of different things apart. value: any JSON value. A plain hash of a title
    such as "Draft" is found by trying words; this is not.
    """
    key = derive(ring, key_id, "tag")
    return encode(hmac.digest(key, canonical([label, value]), "sha256"))


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
    LONGEST_LIFETIME (SEAL-6). protect: `sign` or `seal`. The nonce has 128 random bits (SEAL-23).
    Principal and origin are inside as keyed tags only.
    Errors: ValueError for a lifetime that is not 1 to LONGEST_LIFETIME.
    """
    if not 0 < lifetime <= LONGEST_LIFETIME:
        raise ValueError(f"A state lives 1 to {LONGEST_LIFETIME} seconds.")
    now = int(clock.now())
    claims = Claims(
        audience=origin.audience,
        candidates=candidates,
        expires_at=now + lifetime,
        issued_at=now,
        nonce=encode(randomness.token_bytes(16)),
        origin=_origin_tag(origin, ring, ring.signer),
        phase=phase,
        principal=keyed_tag(ring, ring.signer, "principal", origin.principal),
    )
    return protect(canonical(claims.model_dump()), ring, randomness)


def _origin_tag(origin: Origin, ring: KeyRing, key_id: str) -> str:
    return keyed_tag(ring, key_id, "origin", [origin.method, origin.tool, origin.arguments])


def open_state(
    token: str,
    origin: Origin,
    phase: str,
    ring: KeyRing,
    clock: Clock,
    reveal: Reveal = verify,
) -> Interaction:
    """Return the interaction that `token` stands for, if it belongs to this request.

    origin: the request that brings it back. phase: the question that it must be about.
    reveal: `verify` or `unseal`.
    Errors: StateRefused, with the reason for the log: those of `reveal`; "claims" (SEAL-17);
    "expired" from the very second of expiry on; "lifetime" for more than LONGEST_LIFETIME
    (SEAL-6); "future" when issued more than CLOCK_SKEW seconds ahead (SEAL-7); "audience"
    (SEAL-13); "principal", "origin" (STATE-4); "phase" (SEAL-16).
    """
    claims = _claims(reveal(token, ring))
    key_id = token.split(".")[1]
    refusals = {
        "expired": clock.now() >= claims.expires_at,
        "lifetime": claims.expires_at - claims.issued_at > LONGEST_LIFETIME,
        "future": claims.issued_at > clock.now() + CLOCK_SKEW,
        "audience": claims.audience != origin.audience,
        "principal": claims.principal != keyed_tag(ring, key_id, "principal", origin.principal),
        "origin": claims.origin != _origin_tag(origin, ring, key_id),
        "phase": claims.phase != phase,
    }
    for reason, applies in refusals.items():
        if applies:
            raise StateRefused(reason)
    return Interaction(claims.phase, claims.candidates, claims.nonce, claims.expires_at)


def _claims(payload: bytes) -> Claims:
    try:
        return Claims.model_validate_json(payload)
    except ValidationError:
        raise StateRefused("claims") from None


def wire_error() -> RpcError:
    """Return the one answer to every state that is refused, whatever the reason (SEAL-10)."""
    data = {"reason": INVALID_REQUEST_STATE}
    return RpcError(INVALID_PARAMS, "This requestState is not valid.", data)
