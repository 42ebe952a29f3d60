"""What a claim costs when many nonces are alive, in memory and in SQLite; and bare inserts."""

import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bench.side_by_side import Repeat, Row, compare
from kit.clock import FrozenClock
from kit.notes import Notes
from kit.parts import load, part_paths

SUMMARY = "one claim, by the number of live nonces"
LIVE = (1_000, 100_000, 1_000_000)
FLAT = 1 / 1.3  # a claim among many may cost 1.3 times of one among few
CLAIM = "2026-07-28 claim {:032d}"


def rows() -> Iterator[Row]:
    """Yield rows for memory, SQLite, and SQLite against the insert that it cannot do without."""
    yield from _growth("memory", lambda folder, live: _in_memory(live))
    yield from _growth("SQLite", _in_sqlite)
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = _in_sqlite(Path(folder), LIVE[0]), _bare_inserts(Path(folder) / "bare.db")
        peer = f"bare inserts, SQLite {sqlite3.sqlite_version}"
        yield Row("claims in SQLite", peer, *compare(ours, bare), least=0.8)


def _growth(kind: str, opened: Any) -> Iterator[Row]:
    for live in LIVE[1:]:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            many, few = opened(Path(one), live), opened(Path(other), LIVE[0])
            what = f"claims in {kind} among {live:,}"
            yield Row(what, f"among {LIVE[0]:,}", *compare(many, few), least=FLAT)


def _claims(store: Any) -> Repeat:
    fresh = count()

    def repeat(times: int) -> None:
        for _ in range(times):
            store.claim(CLAIM.format(next(fresh)), 120.0, lambda transaction: None)

    return repeat


def _in_memory(live: int) -> Repeat:
    store = load(part_paths()["replay"]).ReplayStore(Notes([]), FrozenClock(0.0), 10**9)
    for number in range(live):
        store.claim(f"old {number:032d}", 120.0 + number, lambda transaction: None)
    return _claims(store)


def _in_sqlite(folder: Path, live: int) -> Repeat:
    module, path = load(part_paths()["sqlite_store"]), folder / "notes.db"
    store = module.SqliteStore(path, FrozenClock(0.0), 10**9)
    connection = module.connect(path)
    with module.transaction(connection):
        connection.executemany(
            "INSERT INTO nonces (nonce, until) VALUES (?, ?)",
            ((f"old {number:032d}", 120.0 + number) for number in range(live)),
        )
    connection.close()
    return _claims(store)


def _bare_inserts(path: Path) -> Repeat:
    """One insert in one transaction, by the connection of step 07 (same journal, same sync).

    The table has the index by time, without which nothing could be pruned.
    """
    module, fresh = load(part_paths()["sqlite_store"]), count()
    connection = module.connect(path)
    connection.execute("CREATE TABLE nonces (nonce TEXT NOT NULL PRIMARY KEY, until REAL) STRICT")
    connection.execute("CREATE INDEX nonces_by_until ON nonces (until)")

    def repeat(times: int) -> None:
        for _ in range(times):
            connection.execute("BEGIN IMMEDIATE")
            row = (CLAIM.format(next(fresh)), 120.0)
            connection.execute("INSERT INTO nonces VALUES (?, ?)", row)
            connection.execute("COMMIT")

    return repeat
