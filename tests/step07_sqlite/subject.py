"""What the checks of step 07 can ask of a learner's parts; runs in the worker, on real files."""

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import kit
from grading import parked
from kit.clock import FrozenClock
from kit.notes import Note, example_notes
from kit.refusals import NonceSpent, StoreFull, StoreUnavailable, ToolRefusal
from kit.todo import NotStarted

parked.listen()

START = 1_000_000.0
HASTE = 0.05  # seconds that a writer waits for one who does not let go, and we for a writer
LONG = 2.0  # seconds that a writer waits for one who will let go
WANTED = ("draft-1", "draft-2")


def _file() -> Path:
    return Path(tempfile.mkdtemp(dir=Path.cwd())) / "notes.db"


@contextmanager
def _opened(parts: Any, path: Path, patience: float = HASTE) -> Iterator[sqlite3.Connection]:
    connection = parts.sqlite_store.connect(path, patience)
    try:
        yield connection
    finally:
        connection.close()


def _look(path: Path) -> dict[str, Any]:
    """What is committed: note ids, and the nonces with their number."""
    connection = sqlite3.connect(path, timeout=1.0)
    try:
        notes = [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
        nonces = dict(connection.execute("SELECT nonce, count(*) FROM nonces GROUP BY nonce"))
    finally:
        connection.close()
    return {"notes": notes, "nonces": nonces}


def _file_with_notes(parts: Any, notes: list[list[str]] | None = None) -> Path:
    path = _file()
    given = list(example_notes()) if notes is None else [Note(*each) for each in notes]
    with _opened(parts, path) as connection:
        parts.sqlite_store.create_tables(connection)
        rows = [(note.id, note.title, note.uri, note.body) for note in given]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    return path


# 7.1


def transact(parts: Any, *, notes: list[list[str]], actions: list[list[str]]) -> dict[str, Any]:
    """Find and delete through a Transaction on an open transaction, which then commits."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(parts.sqlite_store.NOTES_TABLE)
    connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", notes)
    connection.execute("BEGIN IMMEDIATE")
    transaction = parts.sqlite_store.Transaction(connection)
    told = [_act(transaction, *action) for action in actions]
    connection.execute("COMMIT")
    left = [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
    return {"told": told, "left": left}


def _act(transaction: Any, verb: str, note_id: str) -> Any:
    if verb == "find":
        found = transaction.find(note_id)
        return None if found is None else [found.id, found.title, found.uri, found.body]
    try:
        transaction.delete(note_id)
    except KeyError:
        return "KeyError"
    return "deleted"


# 7.2


def modes(parts: Any) -> dict[str, Any]:
    """The journal of a new file, and whether a plain INSERT or a SELECT opens a transaction."""
    with _opened(parts, _file()) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (1)")
        after_insert = connection.in_transaction
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("ROLLBACK")
        count = connection.execute("SELECT count(*) FROM t").fetchone()[0]
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        return {"journal": journal, "opened": after_insert, "rows": count}


def patience_of(parts: Any, *, seconds: float) -> int:
    """The busy timeout that a connection has, in milliseconds."""
    with _opened(parts, _file(), seconds) as connection:
        return int(connection.execute("PRAGMA busy_timeout").fetchone()[0])


def open_while_held(parts: Any) -> dict[str, Any]:
    """Connect to a new file that another writer holds until the second statement begins."""
    path = _file()
    holder = parked._connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("CREATE TABLE held (x)")
    heard = 0

    def listener(statement: str) -> None:
        nonlocal heard
        heard += 1
        if heard == 2:
            holder.execute("COMMIT")

    parked.tell(listener)
    try:
        with _opened(parts, path) as connection:
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    except sqlite3.OperationalError as error:
        return {"failed": str(error)}
    finally:
        parked.tell(None)
        holder.close()
    return {"journal": mode, "waited": heard > 1}


# 7.3


def transaction_that(parts: Any, *, does: str, word: str) -> dict[str, Any]:
    """Insert a word in a transaction that does something more; what is left, what was raised.

    does: nothing, refuse, interrupt, look, full, held, nested, nested and caught, wrong.
    """
    path = _file()
    with _opened(parts, path) as connection, _opened(parts, path, 0.0) as other:
        connection.execute("CREATE TABLE t (x TEXT)")
        told: Any = "done"
        seen: list[Any] = []
        try:
            if does == "held":
                other.execute("BEGIN IMMEDIATE")
            with parts.sqlite_store.transaction(connection):
                seen += _first(other, does)
                connection.execute("INSERT INTO t VALUES (?)", (word,))
                seen += _then(parts, connection, other, does)
        except (StoreUnavailable, ToolRefusal, KeyboardInterrupt, RuntimeError, sqlite3.Error) as e:
            told = type(e).__name__
        open_still = connection.in_transaction
        with suppress(sqlite3.Error):
            other.execute("ROLLBACK")
        kept = [row[0] for row in other.execute("SELECT x FROM t")]
        return {"told": told, "kept": kept, "seen": seen, "open": open_still}


def _first(other: sqlite3.Connection, does: str) -> list[str]:
    """Before anything is written: does somebody else get the right to write?"""
    if does != "look":
        return []
    try:
        other.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return ["the other one waits"]
    other.execute("ROLLBACK")
    return ["the other one writes"]


def _then(parts: Any, connection: sqlite3.Connection, other: Any, does: str) -> list[Any]:
    if does == "look":
        return [row[0] for row in other.execute("SELECT x FROM t")]
    if does == "refuse":
        raise ToolRefusal("not now")
    if does == "interrupt":
        raise KeyboardInterrupt
    if does == "full":
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 200_000,))
    if does == "wrong":
        connection.execute("SELECT nothing FROM nowhere")
    if does == "nested and caught":
        with suppress(RuntimeError), parts.sqlite_store.transaction(connection):
            connection.execute("INSERT INTO t VALUES ('inner')")
        return ["still open" if connection.in_transaction else "rolled back"]
    if does == "nested":
        with parts.sqlite_store.transaction(connection):
            connection.execute("INSERT INTO t VALUES ('inner')")
    return []


# 7.4


def nonces_table(parts: Any, *, rows: list[list[Any]]) -> list[str]:
    """Make the tables on a new file and insert rows of nonce and until; how each went."""
    with _opened(parts, _file()) as connection:
        parts.sqlite_store.create_tables(connection)
        return [_insert(connection, row) for row in rows]


def _insert(connection: sqlite3.Connection, row: list[Any]) -> str:
    try:
        connection.execute("INSERT INTO nonces (nonce, until) VALUES (?, ?)", row)
    except sqlite3.IntegrityError:
        return "refused"
    return "taken"


def tables_again(parts: Any, *, nonce: str) -> dict[str, Any]:
    """Make the tables twice on one file, with a nonce in between; what is there afterwards."""
    path = _file_with_notes(parts)
    with _opened(parts, path) as connection:
        connection.execute("INSERT INTO nonces (nonce, until) VALUES (?, 5)", (nonce,))
        parts.sqlite_store.create_tables(connection)
        kept = connection.execute("SELECT amount FROM kept").fetchall()
    return {**_look(path), "kept": kept[0][0], "counters": len(kept)}


def tables_half_made(parts: Any) -> list[str]:
    """Make the tables where the last statement must fail; the tables that are left."""
    path = _file()
    with _opened(parts, path) as connection:
        connection.execute("CREATE VIEW outcomes AS SELECT 1 AS nonce")
        connection.execute("CREATE TABLE forget_outcome (x)")
        with suppress(sqlite3.Error, StoreUnavailable):
            parts.sqlite_store.OUTCOMES += ("THIS IS NO SQL",)
            parts.sqlite_store.create_tables(connection)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return sorted(row[0] for row in names if row[0] in ("notes", "nonces", "kept"))


def opened_by_two(parts: Any) -> list[Any]:
    """Two processes open one new file, the first parked before each statement in turn."""
    parts.sqlite_store.SqliteStore(_file(), FrozenClock(START))
    endings = []
    for point in range(60):
        path = _file()

        def open_it(arm: Callable[[], None], path: Path = path) -> str:
            arm()
            parts.sqlite_store.SqliteStore(path, FrozenClock(START), patience=LONG)
            return "open"

        ending = _rivals(open_it, open_it, point)
        if ending is None:
            return _distinct(endings, point)
        endings.append(ending)
    return ["endless"]


# 7.5


def play(
    parts: Any, *, steps: list[dict[str, Any]], capacity: int = 10, leeway: float = 5
) -> dict[str, Any]:
    """Run a script on one file: claims, moves of the clock, restarts, a second store."""
    path, clock = _file_with_notes(parts), FrozenClock(START)

    def new_store() -> Any:
        return parts.sqlite_store.SqliteStore(path, clock, capacity, leeway, HASTE)

    stores = {"first": new_store(), "second": new_store()}
    told = []
    for step in steps:
        if "advance" in step:
            clock.advance(step["advance"])
            told.append("later")
        elif "restart" in step:
            stores["first"] = new_store()
            told.append("restarted")
        else:
            store = stores[step.get("server", "first")]
            effect = _effect(parts, store, path, step)
            told.append(_claim(store, step["claim"], START + step["until"], effect))
    return {"told": told, **_look(path)}


def _effect(parts: Any, store: Any, path: Path, step: dict[str, Any]) -> Callable[[Any], Any]:
    def effect(transaction: Any) -> Any:
        if "delete" in step:
            transaction.delete(step["delete"])
        if step.get("fail") == "refusal":
            raise ToolRefusal("not now")
        if step.get("fail") == "interrupt":
            raise KeyboardInterrupt
        if step.get("fail") == "bug":
            raise RuntimeError("disk on fire")
        if step.get("fail") == "claims":
            return store.claim(step["claim"], START + step["until"], lambda transaction: "inner")
        return {"seen": _look(path), "answer": step.get("answer")}

    return effect


def _claim(store: Any, nonce: str, until: float, effect: Any) -> Any:
    try:
        return store.claim(nonce, until, effect)
    except NonceSpent:
        return "spent"
    except StoreFull:
        return "full"
    except StoreUnavailable:
        return "unavailable"
    except ToolRefusal:
        return "refused"
    except KeyboardInterrupt:
        return "interrupted"
    except RuntimeError:
        return "failed"
    except KeyError:
        return "no such note"


def waits(parts: Any, *, nonce: str, later: float) -> dict[str, Any]:
    """Claim while another one holds the file; the clock moves just before the transaction begins.

    later: seconds by which it moves, at the statement that begins the claim's transaction.
    """
    path, clock = _file_with_notes(parts), FrozenClock(START)
    store = parts.sqlite_store.SqliteStore(path, clock, 10, 5, LONG)
    moved = False

    def listener(statement: str) -> None:
        nonlocal moved
        if not moved and statement.upper().startswith("BEGIN"):
            moved = True
            clock.advance(later)

    parked.tell(listener)
    try:
        told = _claim(store, nonce, START + 60, lambda tx: (tx.delete("draft-1"), "done")[1])
    finally:
        parked.tell(None)
    if not moved:
        raise parked.NothingHeard("No transaction began.")
    return {"told": told, "notes": _look(path)["notes"]}


def rivals(parts: Any, *, nonce: str) -> dict[str, Any]:
    """Two processes claim one nonce, the first parked before each of its statements in turn."""
    found: list[Any] = []
    for point in range(40):
        path = _file_with_notes(parts)
        before = _look(path)["notes"]
        claims = [_claimer(parts, path, nonce, note) for note in WANTED]
        ending = _rivals(*claims, point)
        if ending is None:
            return {"endings": _distinct(found, 0), "points": point}
        found.append([*ending, _aftermath(path, nonce, before)])
    return {"endings": ["endless"], "points": 40}


def _claimer(parts: Any, path: Path, nonce: str, note: str) -> Callable[[Any], Any]:
    def act(arm: Callable[[], None]) -> Any:
        store = parts.sqlite_store.SqliteStore(path, FrozenClock(START), patience=LONG)
        arm()
        return _claim(store, nonce, START + 60, lambda tx: (tx.delete(note), "deleted")[1])

    return act


def _rivals(first: Any, second: Any, point: int) -> list[Any] | None:
    """Run both, the first one parked before one statement; None when it has fewer.

    The second one is ready before: what it still has to open must not make it wait.
    """
    two = parked.start(second)
    ready, one = two.wait(), parked.start(first, point)
    stopped = one.wait()
    if stopped is None or "parked" not in stopped:
        one.end()
        two.end(kill=True)
        _started([stopped])
        return None
    _started([ready])
    two.release()
    told_two = two.wait(HASTE)  # nothing, where it waits for the first one
    one.release()
    told = [one.wait(), told_two or two.wait()]
    one.end()
    two.end()
    return _started(told)


def _started(told: list[Any]) -> list[Any]:
    """What the processes did, as words. Errors: NotStarted when one met an exercise."""
    words = []
    for each in told:
        if each is not None and str(each.get("raised", "")).startswith("NotStarted"):
            raise NotStarted(each["raised"].partition(": ")[2])
        words.append("no end" if each is None else each.get("did", each.get("raised", "died")))
    return words


def _distinct(endings: list[Any], least: int) -> list[Any]:
    if len(endings) < max(least, 1):
        raise parked.NothingHeard("No statement was heard.")
    distinct: list[Any] = []
    for ending in endings:
        distinct += [] if ending in distinct else [ending]
    return distinct


def _aftermath(path: Path, nonce: str, before: list[str]) -> dict[str, Any]:
    after = _look(path)
    gone = sorted(set(before) - set(after["notes"]))
    return {"gone": gone, "nonces": after["nonces"].get(nonce, 0)}


def killed(parts: Any, *, nonce: str) -> list[Any]:
    """Kill a claiming process before each of its statements; how the next claim then fares.

    Each row: the statement's first word, what was gone after the kill, rows of the nonce, what the
    next claim of the same nonce was told.
    """
    rows = []
    for point in range(40):
        path = _file_with_notes(parts)
        before = _look(path)["notes"]
        victim = parked.start(_claimer(parts, path, nonce, WANTED[0]), point)
        stopped = victim.wait()
        if stopped is None or "parked" not in stopped:
            victim.end()
            _started([stopped])
            return rows
        victim.end(kill=True)
        left = _aftermath(path, nonce, before)
        store = parts.sqlite_store.SqliteStore(path, FrozenClock(START), patience=1.0)
        told = _claim(store, nonce, START + 60, lambda tx: (tx.delete(WANTED[1]), "deleted")[1])
        rows.append([stopped["parked"].split()[0].upper(), left["gone"], left["nonces"], told])
    return rows


def started_together(parts: Any, *, nonce: str, method: str) -> dict[str, Any]:
    """Two processes, forked or new, released at once, claim one nonce; see `prove_it.Aftermath`.

    inherited: how many of them used a connection of their parent.
    """
    path = _file_with_notes(parts)
    before = _look(path)["notes"]
    inherited = parts.sqlite_store.SqliteStore(path, FrozenClock(START))
    _claim(inherited, "warm " + nonce, START + 60, lambda tx: None)
    told = _forked(parts, inherited, nonce) if method == "fork" else _new(parts, path, nonce)
    words = [each[0] if isinstance(each, list) else each for each in told]
    no_own = [each for each in told if isinstance(each, list) and each[1] == 0]
    return {"told": sorted(words), **_aftermath(path, nonce, before), "inherited": len(no_own)}


def _forked(parts: Any, store: Any, nonce: str) -> list[Any]:
    """Children that use the store object of their parent; and the connections that each opened."""

    def act(arm: Callable[[], None], note: str) -> Any:
        arm()
        before = parked.opened
        said = _claim(store, nonce, START + 60, lambda tx: (tx.delete(note), "deleted")[1])
        return [said, parked.opened - before]

    crew = [parked.start(lambda arm, note=note: act(arm, note)) for note in WANTED]
    for member in crew:
        member.wait()
    for member in crew:
        member.release()
    told = [member.wait() for member in crew]
    for member in crew:
        member.end()
    return _started(told)


def _new(parts: Any, path: Path, nonce: str) -> list[Any]:
    """Processes that share nothing with this one but the file."""
    store = f"load(Path({parts.sqlite_store.__file__!r})).SqliteStore(Path({str(path)!r})"
    code = [
        *("import importlib.util as util, sys", "from pathlib import Path"),
        f"spec = util.spec_from_file_location('kit', {kit.__file__!r})",
        *("sys.modules['kit'] = kit = util.module_from_spec(spec)", "spec.loader.exec_module(kit)"),
        *("from kit.clock import FrozenClock", "from kit.parts import load"),
        "from kit.refusals import NonceSpent",
        f"store = {store}, FrozenClock({START}))",
        *("print('ready', flush=True)", "sys.stdin.readline()"),
        "effect = lambda tx: (tx.delete(sys.argv[1]), 'deleted')[1]",
        f"try: print(store.claim({nonce!r}, {START + 60}, effect))",
        "except NonceSpent: print('spent')",
    ]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-I", "-c", "\n".join(code)]
    crew = [subprocess.Popen([*command, note], **pipes) for note in WANTED]
    for member in crew:
        assert member.stdout is not None
        member.stdout.readline()
    told = []
    for member in crew:
        assert member.stdin is not None
        member.stdin.write("go\n")
        member.stdin.flush()
    for member in crew:
        said = member.communicate()[0].strip()
        told.append(said if member.returncode == 0 else "crashed")
    return told


def cost(parts: Any, *, live: int, expired: int) -> dict[str, Any]:
    """One claim when so many nonces are live: steps of the database engine, and full scans."""
    path, clock = _file_with_notes(parts), FrozenClock(START)
    store = parts.sqlite_store.SqliteStore(path, clock, live + expired + 10, 5)
    with _opened(parts, path) as connection:
        rows = [(f"n{n}", START + 3 if n < expired else START + 600) for n in range(live + expired)]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO nonces (nonce, until) VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    clock.advance(10)
    said: list[str] = []
    parked.tell(said.append)
    try:
        store.claim("one more", START + 60, lambda transaction: None)
    finally:
        parked.tell(None)
    left = sum(_look(path)["nonces"].values())
    return {"scans": _scans(path, said), "left": left, "heard": len(said) > 2}


def _scans(path: Path, statements: list[str]) -> list[str]:
    """The statements that read the whole table of nonces."""
    connection = sqlite3.connect(path)
    found = []
    for statement in statements:
        with suppress(sqlite3.Error):
            plan = connection.execute("EXPLAIN QUERY PLAN " + statement).fetchall()
            if any(row[3].startswith("SCAN nonces") for row in plan):
                found.append(statement.split()[0].upper())
    connection.close()
    return found


def busy(parts: Any, *, nonce: str) -> dict[str, Any]:
    """Claim while another connection holds the right to write, and again when it has let go."""
    path = _file_with_notes(parts)
    store = parts.sqlite_store.SqliteStore(path, FrozenClock(START), patience=HASTE)
    holder = parked._connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    told = [_claim(store, nonce, START + 60, lambda tx: tx.delete("draft-1"))]
    left = _look(path)
    holder.execute("ROLLBACK")
    holder.close()
    told.append(_claim(store, nonce, START + 60, lambda tx: (tx.delete("draft-1"), "deleted")[1]))
    return {"told": told, "meanwhile": left["nonces"], "notes": _look(path)["notes"]}


# 7.6


def prove(parts: Any, *, aftermath: dict[str, Any]) -> str:
    """What the learner's proof says of an aftermath: holds, or rejected."""
    part = parts.prove_it
    evidence = part.Aftermath(
        told=tuple(aftermath["told"]),
        wanted=tuple(aftermath["wanted"]),
        before=frozenset(aftermath["before"]),
        after=frozenset(aftermath["after"]),
        nonces=aftermath["nonces"],
    )
    try:
        part.exactly_one_commit(evidence)
    except AssertionError as rejected:
        return "rejected" if str(rejected) else "rejected without a sentence"
    return "holds"


# 7.7


def repeat(parts: Any, *, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Run a script of `claim_or_repeat`, restarts between them; how often the effect ran."""
    path, clock = _file_with_notes(parts), FrozenClock(START)
    ran = 0

    def effect(transaction: Any, step: dict[str, Any]) -> Any:
        nonlocal ran
        ran += 1
        transaction.delete(step["delete"])
        if step.get("fail"):
            raise ToolRefusal("not now")
        return step["answer"]

    told = []
    for step in steps:
        store = parts.sqlite_store.SqliteStore(path, clock, 10, 5)
        if "advance" in step:
            clock.advance(step["advance"])
            told.append("later")
            continue
        try:
            told.append(
                store.claim_or_repeat(
                    step["claim"],
                    START + step.get("until", 60),
                    lambda tx, step=step: effect(tx, step),
                    step["asked"],
                )
            )
        except NonceSpent:
            told.append("spent")
        except ToolRefusal:
            told.append("refused")
    return {"told": told, "ran": ran, **_look(path)}
