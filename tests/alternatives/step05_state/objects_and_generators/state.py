"""One codec class for each kind of token; what may be wrong is a generator of reasons."""

import binascii
import hashlib
import hmac
import itertools
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kit.refusals import RpcError, StateRefused

SIGNED, SEALED = "rs1", "rs1e"
TEXTS = ("audience", "nonce", "origin", "phase", "principal")
TIMES = ("expires_at", "issued_at")


class KeyRing:
    """Keys by id."""

    def __init__(self, secrets: dict[str, bytes], signer: str) -> None:
        self.secrets, self.signer = dict(secrets), signer
        faults = [*self._faults()]
        if faults:
            raise ValueError(", ".join(faults))

    def _faults(self) -> Iterator[str]:
        if self.signer not in self.secrets:
            yield "unknown signer"
        for key_id, secret in self.secrets.items():
            if not key_id or set(key_id) & {"."} or max(map(ord, key_id)) > 127:
                yield "bad id"
            if len(secret) < 32 or secret.isascii():
                yield "weak secret"

    def key(self, key_id: str, info: bytes) -> bytes:
        """RFC 5869 for one block, without salt."""
        if key_id not in self.secrets:
            raise StateRefused("key")
        extracted = hmac.digest(bytes(32), self.secrets[key_id], "sha256")
        return hmac.digest(extracted, info + b"\x01", "sha256")


class Origin(SimpleNamespace):
    """The request."""

    principal: str
    method: str
    tool: str
    arguments: dict[str, Any]
    audience: str

    def __init__(self, principal: str, method: str, tool: str, arguments: Any, audience: str):
        super().__init__(
            principal=principal, method=method, tool=tool, arguments=arguments, audience=audience
        )

    def request(self) -> list[Any]:
        return [self.method, self.tool, self.arguments]


class Interaction(SimpleNamespace):
    """The question."""


def encode(raw: bytes) -> str:
    text = binascii.b2a_base64(raw, newline=False).decode()
    return text.translate({ord("+"): "-", ord("/"): "_", ord("="): None})


def decode(text: str) -> bytes:
    back = text.translate({ord("-"): "+", ord("_"): "/", ord("+"): "!", ord("/"): "!"})
    try:
        raw = binascii.a2b_base64(back + "=" * (-len(back) % 4), strict_mode=True) if back else b""
    except (binascii.Error, ValueError):
        raise StateRefused("encoding") from None
    if encode(raw) == text:
        return raw
    raise StateRefused("encoding")


class Writer(json.JSONEncoder):
    """The one text of a value."""

    def __init__(self) -> None:
        super().__init__(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> bytes:
    level, depth = [value], 0
    while level and depth < 100:
        inner = [(v.values() if isinstance(v, dict) else v) for v in level if _is_container(v)]
        if not all(isinstance(name, str) for v in level if isinstance(v, dict) for name in v):
            raise ValueError("a name is a text")
        level, depth = list(itertools.chain.from_iterable(inner)), depth + 1
    if level:
        raise ValueError("too deep")
    return Writer().encode(value).encode()


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    return ring.key(key_id, f"requestState/{purpose}".encode())


class Codec:
    """What signing and sealing share."""

    count: int
    purpose: str

    @property
    def version(self) -> str:
        raise NotImplementedError

    def open(self, token: Any, ring: KeyRing) -> bytes:
        if not isinstance(token, str):
            raise StateRefused("encoding")
        if len(token) > 8192:
            raise StateRefused("size")
        parts = token.encode("ascii", "replace").decode().split(".")
        if not token.isascii() or len(parts) != self.count:
            raise StateRefused("encoding")
        raws = [decode(part) for part in reversed(parts[2:])]
        if parts[0] != self.version:
            raise StateRefused("version")
        return self._open(".".join(parts[:-1]), raws, derive(ring, parts[1], self.purpose))

    def _open(self, label: str, raws: list[bytes], key: bytes) -> bytes:
        raise NotImplementedError


class Signed(Codec):
    """HMAC."""

    count, purpose = 4, "sign"

    @property
    def version(self) -> str:
        return SIGNED

    def make(self, payload: bytes, ring: KeyRing, randomness: Any) -> str:
        label = ".".join([self.version, ring.signer, encode(payload)])
        key = derive(ring, ring.signer, self.purpose)
        return label + "." + encode(hmac.digest(key, label.encode(), hashlib.sha256))

    def _open(self, label: str, raws: list[bytes], key: bytes) -> bytes:
        tag, payload = raws
        if not hmac.compare_digest(hmac.digest(key, label.encode(), hashlib.sha256), tag):
            raise StateRefused("signature")
        return payload


class Sealed(Codec):
    """AES-GCM."""

    count, purpose = 3, "seal"

    @property
    def version(self) -> str:
        return SEALED

    def make(self, payload: bytes, ring: KeyRing, randomness: Any) -> str:
        label, nonce = f"{self.version}.{ring.signer}", randomness.token_bytes(12)
        box = AESGCM(derive(ring, ring.signer, self.purpose))
        return f"{label}.{encode(nonce + box.encrypt(nonce, payload, label.encode()))}"

    def _open(self, label: str, raws: list[bytes], key: bytes) -> bytes:
        (raw,) = raws
        try:
            return AESGCM(key).decrypt(raw[:12], raw[12:], label.encode())
        except (InvalidTag, ValueError):
            raise StateRefused("signature") from None


def sign(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    return Signed().make(payload, ring, randomness)


def verify(token: Any, ring: KeyRing) -> bytes:
    return Signed().open(token, ring)


def seal(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    return Sealed().make(payload, ring, randomness)


def unseal(token: Any, ring: KeyRing) -> bytes:
    return Sealed().open(token, ring)


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    inner = hashlib.blake2b(canonical({"label": label, "value": value})).digest()
    return hmac.new(derive(ring, key_id, "tag"), inner, "sha256").hexdigest()


def mint(
    origin: Origin,
    phase: str,
    candidates: Any,
    ring: KeyRing,
    clock: Any,
    randomness: Any,
    lifetime: int = 120,
    protect: Any = sign,
) -> str:
    if lifetime not in range(1, 601):
        raise ValueError("lifetime")
    start = int(clock.now())
    claims = {
        "phase": phase,
        "candidates": [*candidates],
        "nonce": randomness.token_bytes(16).hex(),
        "audience": origin.audience,
        "issued_at": start,
        "expires_at": start + lifetime,
        "principal": keyed_tag(ring, ring.signer, "principal", origin.principal),
        "origin": keyed_tag(ring, ring.signer, "origin", origin.request()),
    }
    if not _is_good(claims):
        raise ValueError("claims")
    token: str = protect(canonical(claims), ring, randomness)
    if len(token) > 8192:
        raise ValueError("too long")
    return token


def _is_good(claims: Any) -> bool:
    if type(claims) is not dict or set(claims) != {*TEXTS, *TIMES, "candidates"}:
        return False
    ids = claims["candidates"]
    texts = [claims[name] for name in TEXTS] + (ids if type(ids) is list else [None])
    return all(type(t) is str for t in texts) and all(type(claims[n]) is int for n in TIMES)


def _reasons(c: dict[str, Any], o: Origin, phase: str, tag: Any, now: float) -> Iterator[str]:
    if now >= c["expires_at"]:
        yield "expired"
    if c["expires_at"] - c["issued_at"] > 600:
        yield "lifetime"
    if c["issued_at"] > now + 5:
        yield "future"
    if c["audience"] != o.audience:
        yield "audience"
    if c["principal"] != tag("principal", o.principal):
        yield "principal"
    if c["origin"] != tag("origin", o.request()):
        yield "origin"
    if c["phase"] != phase:
        yield "phase"


def open_state(
    token: Any, origin: Origin, phase: str, ring: KeyRing, clock: Any, reveal: Any = verify
) -> Interaction:
    payload = reveal(token, ring)
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        claims = None
    if not _is_good(claims):
        raise StateRefused("claims")

    def tag(label: str, value: Any) -> str | None:
        try:
            return keyed_tag(ring, token.split(".")[1], label, value)
        except ValueError:
            return None

    for reason in _reasons(claims, origin, phase, tag, clock.now()):
        raise StateRefused(reason)
    wanted = ("phase", "nonce", "expires_at")
    return Interaction(candidates=tuple(claims["candidates"]), **{n: claims[n] for n in wanted})


def wire_error() -> RpcError:
    return RpcError(-32602, "Ask again.", {"reason": "invalid_request_state"})


def add_key(ring: KeyRing, key_id: str, secret: bytes) -> KeyRing:
    if ring.secrets.get(key_id):
        raise ValueError("taken")
    return KeyRing(ring.secrets | {key_id: secret}, ring.signer)


def sign_with(ring: KeyRing, key_id: str) -> KeyRing:
    return KeyRing(ring.secrets, key_id)


def retire(ring: KeyRing, key_id: str, last_minted: float, clock: Any) -> KeyRing:
    left = KeyRing({n: s for n, s in ring.secrets.items() if n != key_id}, ring.signer)
    if len(left.secrets) == len(ring.secrets) or clock.now() - last_minted < 600:
        raise ValueError("not now")
    return left
