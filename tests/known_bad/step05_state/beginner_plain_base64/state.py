import base64
import hashlib
import json
import time
from dataclasses import dataclass

from kit.refusals import RpcError, StateRefused

SIGNED, SEALED = "rs1", "rs1e"
LIFETIME = 120
LONGEST_LIFETIME = 600


@dataclass
class KeyRing:
    secrets: dict
    signer: str

    def __post_init__(self):
        if len(self.secrets[self.signer]) < 32:
            raise ValueError("key too short")


@dataclass
class Origin:
    principal: str
    method: str
    tool: str
    arguments: dict
    audience: str


@dataclass
class Interaction:
    phase: str
    candidates: tuple
    nonce: str
    expires_at: int


def encode(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode(text):
    try:
        return base64.urlsafe_b64decode(text + "==")
    except Exception:
        raise StateRefused("encoding")


def canonical(value):
    return json.dumps(value, sort_keys=True).encode()


def derive(ring, key_id, purpose):
    return hashlib.sha256(ring.secrets[key_id] + purpose.encode()).digest()


def checksum(text):
    return hashlib.sha256(text.encode()).hexdigest()


def sign(payload, ring, randomness):
    body = encode(payload)
    return f"{SIGNED}.{ring.signer}.{body}.{checksum(body)}"


def verify(token, ring):
    try:
        version, key_id, body, tag = token.split(".")
    except ValueError:
        raise StateRefused("encoding")
    if checksum(body) != tag:
        raise StateRefused("signature")
    return decode(body)


def keyed_tag(ring, key_id, label, value):
    return checksum(label + "|" + str(value))


def mint(origin, phase, candidates, ring, clock, randomness, lifetime=LIFETIME, protect=sign):
    claims = {
        "principal": origin.principal,
        "method": origin.method,
        "tool": origin.tool,
        "arguments": "|".join(f"{k}={v}" for k, v in sorted(origin.arguments.items())),
        "audience": origin.audience,
        "phase": phase,
        "candidates": list(candidates),
        "nonce": str(time.time()),
        "issued_at": int(clock.now()),
        "expires_at": int(clock.now()) + lifetime,
        "origin": keyed_tag(ring, ring.signer, "origin", origin.method),
    }
    return protect(json.dumps(claims).encode(), ring, randomness)


def open_state(token, origin, phase, ring, clock, reveal=verify):
    claims = json.loads(reveal(token, ring))
    if claims["principal"] != origin.principal:
        raise StateRefused("principal")
    arguments = "|".join(f"{k}={v}" for k, v in sorted(origin.arguments.items()))
    if claims["tool"] != origin.tool or claims["arguments"] != arguments:
        raise StateRefused("origin")
    if claims["phase"] != phase:
        raise StateRefused("phase")
    return Interaction(
        claims["phase"], tuple(claims["candidates"]), claims["nonce"], claims["expires_at"]
    )


def wire_error():
    return RpcError(-32602, "Invalid requestState", {"reason": "invalid_request_state"})
