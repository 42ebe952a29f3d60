"""Notes and nonces in one SQLite file: what is claimed and what is deleted commit together.

Promise: the store of step 06, kept. Of all processes that claim one nonce exactly one takes
effect, and a process that dies half-way has changed nothing. Attacks it stops: the same approval
sent to another process, sent again after a restart, sent while the first one is under way.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.clock import Clock, ForwardClock
from kit.notes import Note
from kit.refusals import NonceSpent, StoreFull, StoreUnavailable

CAPACITY = 10_000
LEEWAY = 5
PATIENCE = 5.0  # seconds that a writer waits for another one
ATTEMPTS = 20  # to change to WAL while others open the same new file

NOTES_TABLE = """CREATE TABLE IF NOT EXISTS notes (
    id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, uri TEXT NOT NULL, body TEXT NOT NULL
) STRICT"""
# How many nonces are kept, so that nobody has to count them.
COUNT = (
    "CREATE TABLE IF NOT EXISTS kept (amount INTEGER NOT NULL) STRICT",
    "INSERT INTO kept SELECT 0 WHERE NOT EXISTS (SELECT * FROM kept)",
    """CREATE TRIGGER IF NOT EXISTS one_more AFTER INSERT ON nonces
    BEGIN UPDATE kept SET amount = amount + 1; END""",
    """CREATE TRIGGER IF NOT EXISTS one_less AFTER DELETE ON nonces
    BEGIN UPDATE kept SET amount = amount - 1; END""",
)
# For the stretch exercise: what was answered, gone together with the nonce.
OUTCOMES = (
    """CREATE TABLE IF NOT EXISTS outcomes (
        nonce TEXT NOT NULL PRIMARY KEY, asked TEXT NOT NULL, outcome TEXT NOT NULL
    ) STRICT""",
    """CREATE TRIGGER IF NOT EXISTS forget_outcome AFTER DELETE ON nonces
    BEGIN DELETE FROM outcomes WHERE nonce = old.nonce; END""",
)
# What a caller can meet and nobody has programmed: somebody else writes, the disk is full, …
NOT_NOW = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PROTOCOL,
}


class Transaction:
    """What an effect may do to the notes, inside the transaction of its claim.

    connection: with a transaction open.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, note_id: str) -> Note | None:
        """Return the note as it is now, or None; nobody else can change it before the commit."""
        row = self._connection.execute(
            "SELECT id, title, uri, body FROM notes WHERE id = ?", (note_id,)
        ).fetchone()
        return None if row is None else Note(*row)

    def delete(self, note_id: str) -> None:
        """Delete the note. Errors: KeyError unless exactly one row went (SQL-4)."""
        gone = self._connection.execute("DELETE FROM notes WHERE id = ?", (note_id,))
        if gone.rowcount != 1:
            raise KeyError(note_id)


def connect(path: Path, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open the database file in WAL mode; nothing begins or commits a transaction but your words.

    path: of the file; it is made when it is not there. patience: seconds to wait for a writer.
    Python opens and closes transactions behind your back unless it is told not to, and by which
    rules is announced to change: say `isolation_level=None` (SQL-9). The change to WAL fails at
    once where others are opening the same new file, whatever the patience: try again, up to
    ATTEMPTS times (SQL-13). Beginning a write transaction and giving it up waits for the others.
    Errors: sqlite3.Error.
    """
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    for attempt in range(ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if attempt == ATTEMPTS - 1:
                connection.close()
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do what is inside as one transaction: COMMIT at the end, ROLLBACK whatever is raised.

    It begins IMMEDIATE: a writer that looked first and asks to write afterwards can be refused at
    once, and no patience helps (SQL-2). What is raised inside goes through (SQL-15).
    Errors: StoreUnavailable for an sqlite3.Error that `is_not_now` knows, from BEGIN and COMMIT
    as much as from inside (SQL-10). RuntimeError when a transaction is open already: an effect
    must not claim.
    """
    if connection.in_transaction:
        raise RuntimeError("A transaction is open already; an effect must not claim.")
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    except sqlite3.Error as error:
        if is_not_now(error):
            raise StoreUnavailable from error
        raise


def is_not_now(error: sqlite3.Error) -> bool:
    """Tell whether the error is of the machine and its other users, and not of your statements."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in NOT_NOW


def create_tables(connection: sqlite3.Connection) -> None:
    """Make what is missing of the tables: notes, nonces, and the index that pruning needs.

    ``nonces`` is STRICT and has the columns ``nonce``, TEXT NOT NULL and the primary key (SQL-6),
    and ``until``, REAL NOT NULL, seconds since the epoch, with an index of its own (SQL-12).
    NOTES_TABLE makes the notes; the statements of COUNT and OUTCOMES come after the nonces.
    In one transaction, without ``executescript``, which commits what is pending (SQL-7). Two
    processes may do this to a new file at once (SQL-13). Errors: as `transaction`.
    """
    with transaction(connection):
        connection.execute(NOTES_TABLE)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS nonces"
            " (nonce TEXT NOT NULL PRIMARY KEY, until REAL NOT NULL) STRICT"
        )
        connection.execute("CREATE INDEX IF NOT EXISTS nonces_by_until ON nonces (until)")
        for statement in COUNT + OUTCOMES:
            connection.execute(statement)


class SqliteStore:
    """The replay store of step 06 on a database file, for any number of threads and processes.

    path: of the file. clock, capacity, leeway: as in step 06. patience: seconds that a claim waits
    for another one.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        capacity: int = CAPACITY,
        leeway: float = LEEWAY,
        patience: float = PATIENCE,
    ) -> None:
        self._connections = Connections(path, patience)
        self._clock, self._capacity, self._leeway = ForwardClock(clock), capacity, leeway
        create_tables(self._connections.mine())

    def prune(self, connection: sqlite3.Connection, now: float) -> None:
        """Forget the nonces whose `until` is not after `now`, found by the index (SQL-12).

        connection: with the claim's transaction open.
        """
        connection.execute("DELETE FROM nonces WHERE until <= ?", (now,))

    def remember(self, connection: sqlite3.Connection, nonce: str, until: float) -> bool:
        """Insert the nonce and tell whether it is new: the insert is the look (SQL-5).

        connection: with the claim's transaction open.
        """
        added = connection.execute(
            "INSERT INTO nonces (nonce, until) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (nonce, until),
        )
        return added.rowcount == 1

    def claim(self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any]) -> Any:
        """Spend `nonce` and run `effect` in one transaction; return what `effect` returns (SQL-1).

        nonce, expires_at: as in step 06; kept until `expires_at` plus the leeway. The clock is read
        when the transaction has begun: who had to wait for his turn may have become too old.
        effect: takes the Transaction. Whatever is raised goes through, and then nothing has changed
        and the nonce is not spent (SQL-15); so with a commit that fails.
        Errors: NonceSpent for a nonce that is spent, or too old to be remembered: its time is not
        after now; StoreFull when `capacity` others are kept; StoreUnavailable as `transaction`. A
        nonce that is spent is NonceSpent in a full store, too.
        """
        connection, until = self._connections.mine(), expires_at + self._leeway
        with transaction(connection):
            now = self._clock.now()
            self.prune(connection, now)
            if not until > now or not self.remember(connection, nonce, until):
                raise NonceSpent
            kept = connection.execute("SELECT amount FROM kept").fetchone()[0]
            if kept > self._capacity:
                raise StoreFull
            return effect(Transaction(connection))

    def claim_or_repeat(
        self, nonce: str, expires_at: float, effect: Callable[[Transaction], Any], asked: str
    ) -> Any:
        """Claim; or, where this very request was granted before, return its outcome again (SQL-17).

        A client whose answer was lost sends the same request again (HTTP-13), and may be told what
        it was told. asked: names principal and request, a keyed digest, so that nobody else's
        request fits. effect: as for `claim`, runs once; what it returns is JSON, and is kept in
        ``outcomes`` in the claim's transaction, until the nonce is forgotten.
        Errors: as `claim`; NonceSpent when the nonce was spent by something else than `asked`.
        """
        connection = self._connections.mine()

        def noted(transaction: Transaction) -> Any:
            outcome = effect(transaction)
            row = (nonce, asked, json.dumps(outcome))
            connection.execute("INSERT INTO outcomes VALUES (?, ?, ?)", row)
            return outcome

        try:
            return self.claim(nonce, expires_at, noted)
        except NonceSpent:
            row = connection.execute(
                "SELECT outcome FROM outcomes WHERE nonce = ? AND asked = ?", (nonce, asked)
            ).fetchone()
            if row is None:
                raise
            return json.loads(row[0])


class SqliteNotes:
    """The notes of the database file, outside of any claim; stands where `kit.notes.Notes` does.

    path: of the file. start: the notes of a new file; a file with a table of notes keeps its own.
    """

    def __init__(self, path: Path, start: Iterable[Note] = (), patience: float = PATIENCE) -> None:
        self._connections = Connections(path, patience)
        connection = self._connections.mine()
        create_tables(connection)
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                rows = [(note.id, note.title, note.uri, note.body) for note in start]
                connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
                connection.execute("PRAGMA user_version = 1")

    def __iter__(self) -> Iterator[Note]:
        rows = self._connections.mine().execute(
            "SELECT id, title, uri, body FROM notes ORDER BY id"
        )
        return iter([Note(*row) for row in rows.fetchall()])

    def find(self, note_id: str) -> Note | None:
        """Return the note of that id, or None."""
        return Transaction(self._connections.mine()).find(note_id)

    def put(self, note: Note) -> None:
        """Add the note, or replace the one of the same id. Errors: as `transaction`."""
        connection, row = self._connections.mine(), (note.id, note.title, note.uri, note.body)
        with transaction(connection):
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", row)


class Connections:
    """One connection for each thread of each process: none is carried across a fork (SQL-16).

    path, patience: as for `connect`.
    """

    def __init__(self, path: Path, patience: float) -> None:
        self._path, self._patience = path, patience
        self._own = threading.local()

    def mine(self) -> sqlite3.Connection:
        """Return this thread's connection. Errors: StoreUnavailable."""
        if getattr(self._own, "process", None) != os.getpid():
            # A connection from before a fork stays referenced: closing it would take the parent's
            # locks away.
            self._own.left = getattr(self._own, "connection", None)
            self._own.connection = _connect(self._path, self._patience)
            self._own.process = os.getpid()
        connection: sqlite3.Connection = self._own.connection
        return connection


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    try:
        return connect(path, patience)
    except sqlite3.Error as error:
        if is_not_now(error):
            raise StoreUnavailable from error
        raise
