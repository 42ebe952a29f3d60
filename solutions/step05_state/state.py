"""Signed requestState: what the server must remember, carried by a client that must not change it.

Promise: a state opens only for the principal, the method, the tool, the arguments, the question
and the server that it was minted for, only before it expires, and only if not one byte of it has
changed. Attacks it stops: a forged candidate list, another user's approval, the approval of one
deletion used for another, last week's approval.

A signed token is ``version.key id.payload.tag``, all of it ASCII. The tag covers all before it.
Signed is not encrypted: the payload can be read by anyone, so it holds tags and ids, no titles.
"""

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

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

JSON_VALUE: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True)
class KeyRing:
    """The server's secrets, oldest to newest (SEAL-9).

    secrets: by key id; they do not show when the ring is printed (SEAL-24). signer: the id of the
    one that mints; every secret on the ring verifies.
    """

    secrets: dict[str, bytes] = field(repr=False)
    signer: str

    def __post_init__(self) -> None:
        """Refuse a ring that must not serve.

        Errors: ValueError for a signer that is not on the ring, an id that is empty, holds a dot or
        is not ASCII (SEAL-9), and a weak secret (SEAL-20).
        """
        if self.signer not in self.secrets:
            raise ValueError("The signer is not on the ring.")
        if any(not key_id or "." in key_id or not key_id.isascii() for key_id in self.secrets):
            raise ValueError("A key id is ASCII without a dot.")
        if any(is_weak(secret) for secret in self.secrets.values()):
            raise ValueError(f"A secret is at least {SHORTEST_KEY} random bytes.")


@dataclass(frozen=True)
class Origin:
    """The request that a state belongs to (STATE-4).

    principal: its subject. method: for example ``tools/call``. tool: its name. arguments: those
    that decide what is destroyed, as JSON. audience: the server, by a name that all its instances
    share.
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
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Errors: StateRefused("encoding") unless `text` is what `encode` makes of its bytes: no foreign
    character, no ``+`` and ``/``, no padding, no spare bits set (SEAL-2).

    >>> list(decode("-_8"))
    [251, 255]
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise StateRefused("encoding") from None
    if encode(raw) != text:
        raise StateRefused("encoding")
    return raw


def canonical(value: Any) -> bytes:
    """Return the one JSON text of `value`, as bytes.

    Key order does not count; ``1``, ``1.0`` and ``true`` are three texts (SEAL-3). Lists and
    objects keep their borders, so that no two values share a text (SEAL-4). There are no spaces,
    and what is not ASCII is escaped, so that even half a surrogate pair has a text. Two halves side
    by side are the one character that they make; ValueError will do as well.
    Errors: ValueError or TypeError, whichever you like, for what is no JSON: NaN and infinities,
    bytes, sets, an object with a key that is not text. ValueError for what is nested too deeply for
    your encoder (SEAL-8); 50 levels are not. ``JSON_VALUE.validate_python(value)`` raises
    ValueError for all of this but NaN and infinities. It does not take tuples, either.

    >>> canonical({"b": 1.0, "a": [True, 1]})
    b'{"a":[true,1],"b":1.0}'
    """
    json_value = JSON_VALUE.validate_python(value)
    text = json.dumps(json_value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def is_weak(secret: bytes) -> bool:
    """Tell whether a secret must not serve.

    It is weak when it has fewer than SHORTEST_KEY bytes (SEAL-9), and when all of it is ASCII: a
    text or zeros instead of random bytes (SEAL-20). Random bytes of that length are all ASCII once
    in four thousand million times.

    >>> is_weak(b"change-me-before-you-go-to-production")
    True
    """
    return len(secret) < SHORTEST_KEY or secret.isascii()


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    """Return the 32-byte key of one purpose, out of the secret of `key_id` (SEAL-9).

    No other function touches a secret. `sign` and `verify` share a purpose (``sign``); `keyed_tag`
    has its own (``tag``), and so have `seal` and `unseal` (``seal``), so that what leaks of one is
    no key to another. The way is HKDF (RFC 5869) without a salt, the purpose in its `info`. Any
    other way or `info` is as good, if the key depends on all of the secret and all of the purpose,
    does not show the secret, and is the same on every instance.
    purpose: ASCII.
    Errors: StateRefused("key") when the ring has no such key (SEAL-21).
    """
    if key_id not in ring.secrets:
        raise StateRefused("key")
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"requestState/{purpose}".encode())
    return kdf.derive(ring.secrets[key_id])


def token_parts(token: Any, count: int) -> list[str]:
    """Return the parts of a token, of which there are `count`; nothing is decoded yet.

    token: whatever the client sent: any JSON value.
    Errors: StateRefused("size") for more than LONGEST_TOKEN bytes of ASCII, where a character is a
    byte, before anything else is looked at (SEAL-8); StateRefused("encoding") for what is no text,
    or has another number of parts. A text that is not ASCII is refused with either reason, however
    its length was counted.
    """
    if not isinstance(token, str):
        raise StateRefused("encoding")
    if len(token) > LONGEST_TOKEN:
        raise StateRefused("size")
    parts = token.split(".")
    if len(parts) != count or not token.isascii():
        raise StateRefused("encoding")
    return parts


def sign(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the signed token of `payload`: readable by anyone, changeable by nobody.

    The tag is HMAC-SHA256 over version, key id and payload (SEAL-5), under the key that `derive`
    gives for ``sign``. `randomness` is not needed here; `seal` needs it behind the same signature.
    """
    head = f"{SIGNED}.{ring.signer}.{encode(payload)}"
    return f"{head}.{encode(_tag(head, ring, ring.signer))}"


def verify(token: Any, ring: KeyRing) -> bytes:
    """Return the payload of a signed token, unparsed (SEAL-1).

    token: whatever the client sent: any JSON value.
    Errors: StateRefused with the reason "size" or "encoding" as `token_parts`; "encoding" for a tag
    that is not canonical base64url; "version" for any but SIGNED; "key" as `derive`; "signature"
    for any tag but the right one. "size" comes first; of the others, where two apply, either.
    Whole tags are compared in constant time, by `hmac.compare_digest` or by `verify` or `bytes_eq`
    of `cryptography`, and the answer of that comparison alone decides (SEAL-11).
    """
    version, key_id, payload, tag = token_parts(token, 4)
    if version != SIGNED:
        raise StateRefused("version")
    if not hmac.compare_digest(_tag(f"{version}.{key_id}.{payload}", ring, key_id), decode(tag)):
        raise StateRefused("signature")
    return decode(payload)


def _tag(head: str, ring: KeyRing, key_id: str) -> bytes:
    return hmac.digest(derive(ring, key_id, "sign"), head.encode("ascii"), "sha256")


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    """Return a tag of `value` that nobody can guess without the key (SEAL-12).

    The key is the one that `derive` gives for ``tag``. label: keeps the tags of different things
    apart. value: any JSON value; two values have one tag only if they have one canonical JSON. A
    plain hash of a title such as "Draft" is found by trying words; this is not.
    Errors: as `canonical` and `derive`.
    """
    key = derive(ring, key_id, "tag")
    return encode(hmac.digest(key, canonical([label, value]), "sha256"))


def origin_tag(origin: Origin, ring: KeyRing, key_id: str) -> str:
    """Return the keyed tag of the request: its method, its tool and its arguments.

    Errors: as `keyed_tag`; ValueError, then, for arguments that have no canonical JSON.
    """
    return keyed_tag(ring, key_id, "origin", [origin.method, origin.tool, origin.arguments])


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
    LONGEST_LIFETIME (SEAL-6). randomness: gives the nonce, an ASCII text that holds every bit of
    at least 16 bytes (SEAL-23) and nothing but them. protect: `sign` or `seal`; it gets the
    canonical JSON of `Claims`. Times are whole seconds: the fraction of the clock's time is cut
    off, never rounded up. Principal and origin are inside as keyed tags of the ring's signer, with
    the labels ``principal`` and ``origin``, and in no other form.
    Errors: ValueError for a lifetime that is not a whole number from 1 to LONGEST_LIFETIME, and for
    a token of more than LONGEST_TOKEN bytes, which nobody could bring back; a shorter one is minted
    (SEAL-8). ValueError or TypeError for what makes no `Claims`: a lifetime, a phase, a candidate
    or an audience that is None, a lifetime or a clock that says NaN (SEAL-19).
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
        origin=origin_tag(origin, ring, ring.signer),
        phase=phase,
        principal=keyed_tag(ring, ring.signer, "principal", origin.principal),
    )
    token = protect(canonical(claims.model_dump(mode="json")), ring, randomness)
    if len(token) > LONGEST_TOKEN:
        raise ValueError("This is too much for one state.")
    return token


def read_claims(payload: bytes) -> Claims:
    """Return the claims of a payload whose tag was right.

    Errors: StateRefused("claims") for what is not `Claims`: a claim that is missing, unknown, or of
    another type, and what is no JSON at all (SEAL-17, SEAL-19).
    """
    try:
        return Claims.model_validate_json(payload)
    except ValidationError:
        raise StateRefused("claims") from None


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
    Errors: StateRefused with a reason for the log. Where several apply, the first in this order
    wins: those of `reveal`; "claims" as `read_claims`; "expired" from the very second of expiry
    on; "lifetime" for more than LONGEST_LIFETIME (SEAL-6); "future" when issued more than
    CLOCK_SKEW seconds ahead (SEAL-7); "audience" (SEAL-13); "principal" and "origin" (STATE-4),
    the latter also for arguments that have no canonical JSON; "phase" (SEAL-16). Both tags are
    computed with the key that the token names, not with the signer: a question that is open while
    the key rotates stays good (SEAL-22).
    """
    claims = read_claims(reveal(token, ring))
    now, key_id = clock.now(), token.split(".")[1]
    refusals = {
        "expired": now >= claims.expires_at,
        "lifetime": claims.expires_at - claims.issued_at > LONGEST_LIFETIME,
        "future": claims.issued_at > now + CLOCK_SKEW,
        "audience": claims.audience != origin.audience,
        "principal": claims.principal != keyed_tag(ring, key_id, "principal", origin.principal),
        "origin": not _belongs_to(origin, claims, ring, key_id),
        "phase": claims.phase != phase,
    }
    for reason, applies in refusals.items():
        if applies:
            raise StateRefused(reason)
    return Interaction(claims.phase, claims.candidates, claims.nonce, claims.expires_at)


def _belongs_to(origin: Origin, claims: Claims, ring: KeyRing, key_id: str) -> bool:
    try:
        return claims.origin == origin_tag(origin, ring, key_id)
    except ValueError:
        return False


def wire_error() -> RpcError:
    """Return the one answer to every state that is refused, whatever the reason (SEAL-10).

    It has the code INVALID_PARAMS and the data ``{"reason": INVALID_REQUEST_STATE}``, nothing more.
    Its message is a sentence of your own, the same each time.
    """
    data = {"reason": INVALID_REQUEST_STATE}
    return RpcError(INVALID_PARAMS, "This requestState is not valid.", data)


def seal(payload: bytes, ring: KeyRing, randomness: Randomness) -> str:
    """Return the encrypted token of `payload`: AES-256-GCM, readable by this server only (SEAL-14).

    A token is ``SEALED.key id.text``, where the text is the 12-byte GCM nonce and what the cipher
    gives, together in base64url. Version and key id are authenticated with them (SEAL-5). The key
    is the one that `derive` gives for ``seal``.
    randomness: gives the GCM nonce, a new one for every token.
    """
    head, gcm_nonce = f"{SEALED}.{ring.signer}", randomness.token_bytes(12)
    cipher = AESGCM(derive(ring, ring.signer, "seal"))
    return f"{head}.{encode(gcm_nonce + cipher.encrypt(gcm_nonce, payload, head.encode()))}"


def unseal(token: Any, ring: KeyRing) -> bytes:
    """Return the payload of an encrypted token.

    token: whatever the client sent.
    Errors: as `verify`, with three parts and SEALED in place of SIGNED: "encoding" for a text that
    is not canonical base64url, "signature" for one that the cipher does not accept, because it was
    changed, or is too short to hold a GCM nonce and the cipher's tag.
    """
    version, key_id, text = token_parts(token, 3)
    if version != SEALED:
        raise StateRefused("version")
    key, raw = derive(ring, key_id, "seal"), decode(text)
    try:
        return AESGCM(key).decrypt(raw[:12], raw[12:], f"{version}.{key_id}".encode())
    except (InvalidTag, ValueError):
        raise StateRefused("signature") from None


def add_key(ring: KeyRing, key_id: str, secret: bytes) -> KeyRing:
    """Return the ring with one more secret, the newest, which only verifies (SEAL-22).

    The first phase of a rotation: every instance gets this ring before any goes on.
    Errors: ValueError for an id that is on the ring already, and as `KeyRing`.
    """
    if key_id in ring.secrets:
        raise ValueError(f"The key {key_id} is on the ring already.")
    return KeyRing({**ring.secrets, key_id: secret}, ring.signer)


def sign_with(ring: KeyRing, key_id: str) -> KeyRing:
    """Return the ring with another signer; the old one still verifies (SEAL-22).

    The second phase. Errors: ValueError for an id that is not on the ring.
    """
    return KeyRing(ring.secrets, key_id)


def retire(ring: KeyRing, key_id: str, last_minted: float, clock: Clock) -> KeyRing:
    """Return the ring without a secret; its states are refused from now on (SEAL-22).

    The third phase. last_minted: seconds since the epoch, when the last instance minted with it.
    Errors: ValueError for an id that is not on the ring, for the signer, and while a state of this
    key may still be good: before LONGEST_LIFETIME has passed since `last_minted`.
    """
    if key_id not in ring.secrets or key_id == ring.signer:
        raise ValueError("Only a key that is on the ring and does not mint can be retired.")
    if clock.now() < last_minted + LONGEST_LIFETIME:
        raise ValueError("Somebody may still be looking at a question of this key.")
    return KeyRing({name: key for name, key in ring.secrets.items() if name != key_id}, ring.signer)
