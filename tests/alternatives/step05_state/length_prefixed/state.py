"""Everything that is hashed has its length in front of it; base64url and JSON are written here."""

import hmac
import json
import math
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, NoReturn

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import ConfigDict, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from kit.refusals import RpcError, StateRefused

SIGNED = "rs1"
SEALED = "rs1e"
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
VALUES = {digit: number for number, digit in enumerate(DIGITS)}
DEEPEST = 60


@dataclass(frozen=True)
class KeyRing:
    secrets: dict[str, bytes] = field(repr=False)
    signer: str = field()

    def __post_init__(self) -> None:
        self.secrets[self.signer] if self.signer in self.secrets else _stop("signer")
        for name, secret in self.secrets.items():
            if name == "" or not name.isascii() or "." in name:
                _stop("name")
            if len(secret) < 32 or not any(byte & 128 for byte in secret):
                _stop("secret")


@dataclass(frozen=True)
class Origin:
    principal: str
    method: str
    tool: str
    arguments: dict[str, Any]
    audience: str


@dataclass(frozen=True)
class Interaction:
    phase: str
    candidates: tuple[str, ...]
    nonce: str
    expires_at: int


@checked_dataclass(config=ConfigDict(extra="forbid"))
class Claims:
    audience: StrictStr
    candidates: list[StrictStr]
    expires_at: StrictInt
    issued_at: StrictInt
    nonce: StrictStr
    origin: StrictStr
    phase: StrictStr
    principal: StrictStr


READER = TypeAdapter(Claims)


def _stop(why: str) -> NoReturn:
    raise ValueError(why)


def encode(raw: bytes) -> str:
    bits = "".join(f"{byte:08b}" for byte in raw)
    sixes = [bits[i : i + 6].ljust(6, "0") for i in range(0, len(bits), 6)]
    return "".join(DIGITS[int(six, 2)] for six in sixes)


def decode(text: str) -> bytes:
    if not VALUES.keys() >= set(text):
        raise StateRefused("encoding")
    bits = "".join(f"{VALUES[digit]:06b}" for digit in text)
    spare = len(bits) % 8
    if spare > 4 or "1" in bits[len(bits) - spare :]:
        raise StateRefused("encoding")
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - spare, 8))


def canonical(value: Any) -> bytes:
    return _written(value, 0).encode("ascii")


def _written(value: Any, depth: int) -> str:
    if depth > DEEPEST:
        raise ValueError("deep")
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("not JSON")
        pairs = (f"{json.dumps(k)}:{_written(v, depth + 1)}" for k, v in sorted(value.items()))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_written(each, depth + 1) for each in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not JSON")
    return json.dumps(value)


def _framed(*pieces: bytes) -> bytes:
    return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)


def derive(ring: KeyRing, key_id: str, purpose: str) -> bytes:
    try:
        secret = ring.secrets[key_id]
    except KeyError:
        raise StateRefused("key") from None
    info = b"requestState/" + purpose.encode("ascii")
    return HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(secret)


def _mac(ring: KeyRing, version: str, key_id: str, payload: bytes) -> bytes:
    framed = _framed(version.encode(), key_id.encode(), payload)
    return hmac.new(derive(ring, key_id, "sign"), framed, "sha256").digest()


def sign(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    tag = _mac(ring, SIGNED, ring.signer, payload)
    return f"{SIGNED}.{ring.signer}.{encode(payload)}.{encode(tag)}"


def verify(token: Any, ring: KeyRing) -> bytes:
    match _split(token):
        case [version, key_id, payload, tag]:
            raw, given = decode(payload), decode(tag)
        case _:
            raise StateRefused("encoding")
    if version != SIGNED:
        raise StateRefused("version")
    if hmac.compare_digest(given, _mac(ring, version, key_id, raw)):
        return raw
    raise StateRefused("signature")


def _split(token: Any) -> list[str]:
    match token:
        case str() if len(token) > 8192:
            raise StateRefused("size")
        case str() if token.isascii():
            return token.split(".")
        case _:
            return []


def _gcm(ring: KeyRing, key_id: str, mode: Any) -> Cipher[Any]:
    return Cipher(algorithms.AES(derive(ring, key_id, "seal")), mode)


def seal(payload: bytes, ring: KeyRing, randomness: Any) -> str:
    nonce = randomness.token_bytes(12)
    encryptor = _gcm(ring, ring.signer, modes.GCM(nonce)).encryptor()
    encryptor.authenticate_additional_data(_framed(SEALED.encode(), ring.signer.encode()))
    text = encryptor.update(payload) + encryptor.finalize()
    return f"{SEALED}.{ring.signer}.{encode(nonce + text + encryptor.tag)}"


def unseal(token: Any, ring: KeyRing) -> bytes:
    match _split(token):
        case [version, key_id, text]:
            raw = decode(text)
        case _:
            raise StateRefused("encoding")
    if version != SEALED:
        raise StateRefused("version")
    derive(ring, key_id, "seal")
    try:
        decryptor = _gcm(ring, key_id, modes.GCM(raw[:12], raw[12:][-16:])).decryptor()
        decryptor.authenticate_additional_data(_framed(version.encode(), key_id.encode()))
        return decryptor.update(raw[12:-16]) + decryptor.finalize()
    except Exception:
        raise StateRefused("signature") from None


def keyed_tag(ring: KeyRing, key_id: str, label: str, value: Any) -> str:
    framed = _framed(label.encode("utf-8", "surrogatepass"), canonical(value))
    return encode(hmac.digest(derive(ring, key_id, "tag"), framed, "sha512")[:32])


def _tags(ring: KeyRing, key_id: str, origin: Origin) -> tuple[str, str]:
    principal, method, tool, arguments, _ = astuple(origin)
    return (
        keyed_tag(ring, key_id, "principal", principal),
        keyed_tag(ring, key_id, "origin", {"m": method, "t": tool, "a": arguments}),
    )


def mint(
    origin: Origin,
    phase: str,
    candidates: tuple[str, ...],
    ring: KeyRing,
    clock: Any,
    randomness: Any,
    lifetime: int = 120,
    protect: Any = sign,
) -> str:
    if not (lifetime % 1 == 0 and 1 <= lifetime <= 600):
        _stop("lifetime")
    principal, request = _tags(ring, ring.signer, origin)
    now = math.floor(clock.now())
    claims = Claims(
        origin.audience,
        list(candidates),
        now + int(lifetime),
        now,
        encode(randomness.token_bytes(24)),
        request,
        phase,
        principal,
    )
    token = str(protect(canonical(asdict(claims)), ring, randomness))
    return token if len(token) <= 8192 else _stop("size")


def open_state(
    token: Any, origin: Origin, phase: str, ring: KeyRing, clock: Any, reveal: Any = verify
) -> Interaction:
    try:
        claims = READER.validate_json(reveal(token, ring), strict=True)
    except ValidationError:
        raise StateRefused("claims") from None
    until, since, now = claims.expires_at, claims.issued_at, clock.now()
    _check("expired", until > now)
    _check("lifetime", until - since <= 600)
    _check("future", since - now <= 5)
    _check("audience", claims.audience == origin.audience)
    key_id = token.split(".")[1]
    principal = keyed_tag(ring, key_id, "principal", origin.principal)
    _check("principal", hmac.compare_digest(claims.principal.encode(), principal.encode()))
    try:
        request = _tags(ring, key_id, origin)[1]
    except (ValueError, RecursionError):
        raise StateRefused("origin") from None
    _check("origin", hmac.compare_digest(claims.origin.encode(), request.encode()))
    _check("phase", claims.phase == phase)
    return Interaction(phase, tuple(claims.candidates), claims.nonce, until)


def _check(reason: str, holds: bool) -> None:
    if not holds:
        raise StateRefused(reason)


def wire_error() -> RpcError:
    return RpcError(-32602, "Invalid or expired requestState", {"reason": "invalid_request_state"})


def add_key(ring: KeyRing, key_id: str, secret: bytes) -> KeyRing:
    secrets = {key_id: secret, **ring.secrets}
    if len(secrets) == len(ring.secrets):
        _stop("there already")
    return KeyRing({**ring.secrets, key_id: secret}, ring.signer)


def sign_with(ring: KeyRing, key_id: str) -> KeyRing:
    return KeyRing(dict(ring.secrets), key_id)


def retire(ring: KeyRing, key_id: str, last_minted: float, clock: Any) -> KeyRing:
    if key_id == ring.signer or key_id not in ring.secrets or clock.now() < last_minted + 600:
        _stop("not yet")
    return KeyRing({k: v for k, v in ring.secrets.items() if k != key_id}, ring.signer)
