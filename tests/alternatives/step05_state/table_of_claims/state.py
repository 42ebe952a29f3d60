"""Signed state as plain dictionaries: one table says what every claim is."""

import base64
import json
import re
from collections import namedtuple
from functools import partial

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from kit.refusals import RpcError, StateRefused

SIGNED, SEALED = "rs1", "rs1e"
LIFETIME, LONGEST_LIFETIME, CLOCK_SKEW = 120, 600, 5
LONGEST_TOKEN, SHORTEST_KEY = 8192, 32

Origin = namedtuple("Origin", "principal method tool arguments audience")
Interaction = namedtuple("Interaction", "phase candidates nonce expires_at")

LAST = {0: r"", 2: r"[AQgw]", 3: r"[AEIMQUYcgkosw048]"}


def is_text(value):
    return type(value) is str


def is_time(value):
    return type(value) is int and abs(value) < 10**12


def is_list_of_texts(value):
    return type(value) is list and all(map(is_text, value))


CLAIMS = {
    "audience": is_text,
    "candidates": is_list_of_texts,
    "expires_at": is_time,
    "issued_at": is_time,
    "nonce": is_text,
    "origin": is_text,
    "phase": is_text,
    "principal": is_text,
}


class KeyRing(namedtuple("KeyRing", "secrets signer")):
    def __new__(cls, secrets, signer):
        good_names = all(re.fullmatch(r"[\x21-\x2d\x2f-\x7e]+", name) for name in secrets)
        good_keys = all(len(s) >= SHORTEST_KEY and max(s) > 127 for s in secrets.values())
        if not (signer in secrets and good_names and good_keys):
            raise ValueError("not a ring")
        return super().__new__(cls, dict(secrets), signer)

    def __repr__(self):
        return f"<KeyRing of {', '.join(self.secrets)}>"


def refuse(reason):
    raise StateRefused(reason)


def encode(raw):
    return base64.b64encode(raw, b"-_").decode().replace("=", "")


def decode(text):
    rest = len(text) % 4
    body = r"[A-Za-z0-9_-]*"
    if rest == 1 or not re.fullmatch(body, text):
        refuse("encoding")
    if rest and not re.fullmatch(LAST[rest], text[-1]):
        refuse("encoding")
    return base64.b64decode(text + "=" * (4 - rest if rest else 0), b"-_")


def check_names(value):
    if isinstance(value, dict) and not all(map(is_text, value)):
        raise TypeError("JSON has names that are texts")
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            check_names(inner)


def canonical(value):
    try:
        check_names(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError as error:
        raise ValueError("too deep") from error


def derive(ring, key_id, purpose):
    secret = ring.secrets.get(key_id) or refuse("key")
    return HKDF(SHA256(), 32, None, f"requestState/{purpose}".encode()).derive(secret)


def mac(key, message):
    made = HMAC(key, SHA256())
    made.update(message)
    return made


def sign(payload, ring, randomness):
    head = ".".join((SIGNED, ring.signer, encode(payload)))
    key = derive(ring, ring.signer, "sign")
    return head + "." + encode(mac(key, head.encode()).finalize())


def split(token, count):
    if type(token) is not str:
        refuse("encoding")
    if len(token) > LONGEST_TOKEN:
        refuse("size")
    parts = token.split(".")
    if len(parts) != count or not token.isascii():
        refuse("encoding")
    return parts


def verify(token, ring):
    version, key_id, payload, tag = split(token, 4)
    raw_tag = decode(tag)
    if version != SIGNED:
        refuse("version")
    key = derive(ring, key_id, "sign")
    try:
        mac(key, token.rpartition(".")[0].encode()).verify(raw_tag)
    except InvalidSignature:
        refuse("signature")
    return decode(payload)


def seal(payload, ring, randomness):
    label = SEALED + "." + ring.signer
    start = randomness.token_bytes(12)
    made = AESGCM(derive(ring, ring.signer, "seal")).encrypt(start, payload, label.encode())
    return label + "." + encode(start + made)


def unseal(token, ring):
    version, key_id, text = split(token, 3)
    raw = decode(text)
    if version != SEALED:
        refuse("version")
    key = derive(ring, key_id, "seal")
    if len(raw) < 28:
        refuse("signature")
    try:
        return AESGCM(key).decrypt(raw[:12], raw[12:], (version + "." + key_id).encode())
    except InvalidTag:
        refuse("signature")


def keyed_tag(ring, key_id, label, value):
    key = derive(ring, key_id, "tag/" + label.encode().hex())
    return mac(key, canonical(value)).finalize().hex()


def tags(ring, key_id, origin):
    yield "principal", partial(keyed_tag, ring, key_id, "principal", origin.principal)
    request = [origin.method, origin.tool, origin.arguments]
    yield "origin", partial(keyed_tag, ring, key_id, "origin", request)


def mint(origin, phase, candidates, ring, clock, randomness, lifetime=LIFETIME, protect=sign):
    if lifetime not in range(1, LONGEST_LIFETIME + 1):
        raise ValueError("lifetime")
    issued = int(clock.now())
    claims = {name: tag() for name, tag in tags(ring, ring.signer, origin)}
    claims.update(audience=origin.audience, candidates=list(candidates), phase=phase)
    claims.update(issued_at=issued, expires_at=issued + lifetime)
    claims.update(nonce=randomness.token_bytes(32).hex())
    if not all(CLAIMS[name](value) for name, value in claims.items()):
        raise ValueError("claims")
    token = protect(canonical(claims), ring, randomness)
    if len(token) > LONGEST_TOKEN:
        raise ValueError("size")
    return token


def read_claims(payload):
    try:
        claims = json.loads(payload)
        good = claims.keys() == CLAIMS.keys() and all(CLAIMS[n](v) for n, v in claims.items())
    except (ValueError, RecursionError, AttributeError):
        good = False
    return claims if good else refuse("claims")


def open_state(token, origin, phase, ring, clock, reveal=verify):
    claims = read_claims(reveal(token, ring))
    key_id, now = token.split(".", 2)[1], clock.now()
    if not now < claims["expires_at"]:
        refuse("expired")
    if not claims["expires_at"] <= claims["issued_at"] + LONGEST_LIFETIME:
        refuse("lifetime")
    if not claims["issued_at"] <= now + CLOCK_SKEW:
        refuse("future")
    if claims["audience"] != origin.audience:
        refuse("audience")
    for name, tag in tags(ring, key_id, origin):
        try:
            expected = tag()
        except ValueError:
            expected = None
        if claims[name] != expected:
            refuse(name)
    if claims["phase"] != phase:
        refuse("phase")
    return Interaction(phase, tuple(claims["candidates"]), claims["nonce"], claims["expires_at"])


def wire_error():
    return RpcError(-32602, "The state cannot be used.", {"reason": "invalid_request_state"})


def add_key(ring, key_id, secret):
    if key_id in ring.secrets:
        raise ValueError(key_id)
    return KeyRing(ring.secrets | {key_id: secret}, ring.signer)


def sign_with(ring, key_id):
    return KeyRing(ring.secrets, key_id)


def retire(ring, key_id, last_minted, clock):
    if clock.now() - last_minted < LONGEST_LIFETIME:
        raise ValueError("too early")
    left = dict(ring.secrets)
    if left.pop(key_id, None) is None:
        raise ValueError(key_id)
    return KeyRing(left, ring.signer)
