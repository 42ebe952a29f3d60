import base64
import hashlib
import hmac
import json
from typing import NamedTuple

from kit.refusals import RpcError, StateRefused

SIGNED, SEALED = "rs1", "rs1e"


class KeyRing:
    def __init__(self, secrets, signer):
        if signer not in secrets:
            raise ValueError("no such signer")
        for secret in secrets.values():
            if len(secret) < 32:
                raise ValueError("secret too short")
        self.secrets = secrets
        self.signer = signer


class Origin(NamedTuple):
    principal: str
    method: str
    tool: str
    arguments: dict
    audience: str


class Interaction(NamedTuple):
    phase: str
    candidates: list
    nonce: str
    expires_at: int


def encode(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text):
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except Exception:
        raise StateRefused("encoding")
    return raw


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def derive(ring, key_id, purpose):
    if key_id not in ring.secrets:
        raise StateRefused("key")
    return hmac.new(ring.secrets[key_id], purpose.encode(), hashlib.sha256).digest()


def tag_of(head, ring, key_id):
    return hmac.new(derive(ring, key_id, "sign"), head.encode(), hashlib.sha256).digest()


def sign(payload, ring, randomness):
    head = SIGNED + "." + ring.signer + "." + encode(payload)
    return head + "." + encode(tag_of(head, ring, ring.signer))


def verify(token, ring):
    parts = token.split(".")
    if len(parts) != 4:
        raise StateRefused("encoding")
    version, key_id, body, tag = parts
    payload = decode(body)
    if version == "none":
        return payload
    if version != SIGNED:
        raise StateRefused("version")
    expected = tag_of(f"{version}.{key_id}.{body}", ring, key_id)
    for mine, theirs in zip(expected, decode(tag)):
        if mine != theirs:
            raise StateRefused("signature")
    return payload


def keyed_tag(ring, key_id, label, value):
    text = label.encode() + b":" + canonical(value)
    return hmac.new(derive(ring, key_id, "tag"), text, hashlib.sha256).hexdigest()


def mint(origin, phase, candidates, ring, clock, randomness, lifetime=120, protect=sign):
    if lifetime > 600:
        raise ValueError("too long")
    now = int(clock.now())
    arguments = [origin.method, origin.tool, origin.arguments]
    claims = {
        "audience": origin.audience,
        "candidates": list(candidates),
        "expires_at": now + lifetime,
        "issued_at": now,
        "nonce": randomness.token_bytes(16).hex(),
        "origin": keyed_tag(ring, ring.signer, "origin", arguments),
        "phase": phase,
        "principal": keyed_tag(ring, ring.signer, "principal", origin.principal),
    }
    return protect(canonical(claims), ring, randomness)


def open_state(token, origin, phase, ring, clock, reveal=verify):
    try:
        claims = json.loads(decode(token.split(".")[2]))
    except Exception:
        raise StateRefused("claims")
    reveal(token, ring)
    key_id = token.split(".")[1]
    if claims.get("expires_at", 0) <= clock.now():
        raise StateRefused("expired")
    if "issued_at" in claims and claims["issued_at"] > clock.now() + 5:
        raise StateRefused("future")
    if "audience" in claims and claims["audience"] != origin.audience:
        raise StateRefused("audience")
    if claims.get("principal") != keyed_tag(ring, key_id, "principal", origin.principal):
        raise StateRefused("principal")
    arguments = [origin.method, origin.tool, origin.arguments]
    if claims.get("origin") != keyed_tag(ring, key_id, "origin", arguments):
        raise StateRefused("origin")
    if "phase" in claims and claims["phase"] != phase:
        raise StateRefused("phase")
    return Interaction(
        claims.get("phase"), claims.get("candidates"), claims.get("nonce"), claims["expires_at"]
    )


def wire_error(reason="expired, forged or of another request"):
    return RpcError(-32602, "Invalid requestState: " + reason, {"reason": reason})
