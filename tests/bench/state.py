"""Mint and open of step 05, against a timed signer and against the SDK's codec."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from bench.peers import named
from bench.side_by_side import Repeat, Row, compare
from kit.clock import SystemClock
from kit.parts import load, part_paths
from kit.randomness import SystemRandomness

SUMMARY = "mint and open one state"


def rows() -> Iterator[Row]:
    """Yield a row for each peer. A peer gets the claims as they are; ours also makes their tags."""
    from itsdangerous import URLSafeTimedSerializer
    from mcp.server.request_state import AESGCMRequestStateCodec

    ours, claims, payload = _ours()
    signer = URLSafeTimedSerializer(b"\xff" + SystemRandomness().token_bytes(31))
    codec = AESGCMRequestStateCodec([b"\xff" + SystemRandomness().token_bytes(31)])
    timed = _repeated(lambda: signer.loads(signer.dumps(claims), max_age=120))
    sealed = _repeated(lambda: json.loads(codec.unseal(codec.seal(payload))))
    yield Row("mint and open", named("itsdangerous"), *compare(ours, timed))
    yield Row("mint and open", f"{named('mcp')}, its codec alone", *compare(ours, sealed))


def _ours() -> tuple[Repeat, Any, bytes]:
    state = load(part_paths()["state"])
    clock, randomness = SystemClock(), SystemRandomness()
    ring = state.KeyRing({"k1": b"\xff" + randomness.token_bytes(31)}, "k1")
    arguments = {"title": "Draft", "workspace": ["srv", "notes", "team"]}
    origin = state.Origin("alice", "tools/call", "notes_delete", arguments, "notes-lab")
    candidates = ("draft-1", "draft-2")

    def both() -> None:
        token = state.mint(origin, "delete_choice", candidates, ring, clock, randomness)
        state.open_state(token, origin, "delete_choice", ring, clock)

    token = state.mint(origin, "delete_choice", candidates, ring, clock, randomness)
    payload = state.verify(token, ring)
    return _repeated(both), json.loads(payload), payload


def _repeated(once: Callable[[], object]) -> Repeat:
    def repeat(times: int) -> None:
        for _ in range(times):
            once()

    return repeat
