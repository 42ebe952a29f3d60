"""The server's secrets: generated here, in one ignored file that only its owner can read."""

import base64
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.principal import Principal
from kit.randomness import Randomness


class SecretsUnusable(Exception):
    """The file cannot be used; the message says why and what to do."""


@dataclass
class Secrets:
    """Keys for requestState by id, and principals by the SHA-256 of their bearer token.

    keys: 32 random bytes each. signer: the id that mints. tokens: no token is kept, only hashes.
    """

    keys: dict[str, bytes]
    signer: str
    tokens: dict[str, Principal] = field(default_factory=dict)

    def issue(self, subject: str, scopes: frozenset[str], randomness: Randomness) -> str:
        """Return a new bearer token for `subject`; this is the only time that it is seen."""
        token = base64.urlsafe_b64encode(randomness.token_bytes(32)).rstrip(b"=").decode()
        self.tokens[hashlib.sha256(token.encode()).hexdigest()] = Principal(subject, scopes)
        return token


def load_or_make(path: Path, randomness: Randomness) -> Secrets:
    """Return the secrets in `path`; make them when there are none.

    Errors: SecretsUnusable when the file is broken, or readable by others (SEAL-20).
    """
    if not path.exists():
        made = Secrets({"k1": randomness.token_bytes(32)}, "k1")
        save(path, made)
        return made
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise SecretsUnusable(f"{path} can be read by others: chmod 600 {path}")
    try:
        return _read(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SecretsUnusable(f"{path} is broken: delete it, and new keys are made.") from None


def _read(stored: dict[str, Any]) -> Secrets:
    keys = {
        key_id: base64.b64decode(text, validate=True) for key_id, text in stored["keys"].items()
    }
    tokens = {
        digest: Principal(entry["subject"], frozenset(entry["scopes"]))
        for digest, entry in stored["tokens"].items()
    }
    return Secrets(keys, stored["signer"], tokens)


def save(path: Path, secrets: Secrets) -> None:
    """Write the file with mode 0600 from its first byte on, and put it in place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = {
        "keys": {key_id: base64.b64encode(key).decode() for key_id, key in secrets.keys.items()},
        "signer": secrets.signer,
        "tokens": {
            digest: {"subject": principal.subject, "scopes": sorted(principal.scopes)}
            for digest, principal in secrets.tokens.items()
        },
    }
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(stored, file, indent=2)
    os.replace(fresh, path)
