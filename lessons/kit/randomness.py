"""Randomness as an argument: unguessable when serving, repeatable when teaching."""

import hashlib
import secrets
from typing import Protocol


class Randomness(Protocol):
    """A source of random bytes."""

    def token_bytes(self, count: int) -> bytes:
        """`count` random bytes."""
        ...


class SystemRandomness:
    """The operating system's generator; the only one fit for serving."""

    def token_bytes(self, count: int) -> bytes:
        """`count` unpredictable bytes."""
        return secrets.token_bytes(count)


class SeededRandomness:
    """The same bytes for the same seed: for notebooks and checks, never for serving.

    seed: any text. The stream is SHA-256 over seed and a counter.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0

    def token_bytes(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""
        stream = b""
        while len(stream) < count:
            self._drawn += 1
            stream += hashlib.sha256(f"{self._seed}:{self._drawn}".encode()).digest()
        return stream[:count]
