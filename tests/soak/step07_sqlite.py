"""Eight processes confirm deletions on one SQLite file; each state is sent by two of them.

At random moments one is killed with SIGKILL and started again. In the end the book of what the
processes were told has to agree with the file, note by note.
"""

import os
import random
import selectors
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kit.clock import SystemClock
from kit.notes import Note
from kit.refusals import NonceSpent, StoreUnavailable
from soak.ledger import Ledger

PART = "sqlite_store"
PROMISE = "one deletion for each approval, whoever is killed, and no approval lost"
EXPIRES_IN = 86_400.0


@dataclass(frozen=True)
class Size:
    """processes; states that each of them sends (every state is sent by two); kills in all."""

    processes: int = 8
    states: int = 2_000
    kills: int = 50


@dataclass
class Worker:
    """A process at work. plan: numbers of the states that it sends. said: lines, as they come."""

    plan: list[int]
    said: bytes = b""
    pid: int = 0
    lines: int = -1

    @property
    def told(self) -> list[str]:
        """What it was told so far, state by state; a line is written in one piece."""
        return self.said.decode().splitlines()

    def listen(self, most: int) -> int:
        """Read what it says; return the number of lines that ended, or -1 at its end."""
        heard = os.read(self.lines, most)
        self.said += heard
        return heard.count(b"\n") if heard else -1


def soak(
    part: ModuleType,
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    size: Size | None = None,
) -> Ledger:
    """Run until everything was sent, or for so many seconds; return the books.

    part: with a SqliteStore and SqliteNotes. seed: of the order of the states and of the kills.
    say: receives a line of progress now and then.
    """
    size, rng = size or Size(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, amount = Path(folder) / "notes.db", size.processes * size.states // 2
        part.SqliteNotes(
            path, [Note(_id(n), "Draft", f"file:///srv/{n}.md") for n in range(amount)]
        )
        workers = [Worker(plan) for plan in _plans(size, amount, rng)]
        kills = _run(part, path, workers, size, rng, time.monotonic() + seconds, say)
        return _balance(path, workers, amount, kills)


def _plans(size: Size, amount: int, rng: random.Random) -> list[list[int]]:
    """Give every state to two neighbouring processes, which meet it at about the same time."""
    plans: list[list[int]] = [[] for _ in range(size.processes)]
    for number in rng.sample(range(amount), amount):
        for offset in (0, 1):
            plans[(number + offset) % size.processes].append(number)
    return plans


def _id(number: int) -> str:
    return f"draft-{number}"


def _run(
    part: ModuleType,
    path: Path,
    workers: list[Worker],
    size: Size,
    rng: random.Random,
    until: float,
    say: Callable[[str], None],
) -> int:
    total = sum(len(worker.plan) for worker in workers)
    moments = sorted(rng.sample(range(1, total), min(size.kills, total - 1)), reverse=True)
    heard = kills = 0
    with selectors.DefaultSelector() as ears:
        for worker in workers:
            _start(part, path, worker, ears)
        while ears.get_map() and time.monotonic() < until:
            for key, _ in ears.select(timeout=0.2):
                worker, lines = key.data, key.data.listen(256)
                heard += max(lines, 0)
                if lines < 0:
                    _bury(worker, ears)
                    if len(worker.told) < len(worker.plan):
                        _start(part, path, worker, ears)
            if moments and heard >= moments[-1] and ears.get_map():
                moments.pop()
                victim = rng.choice([worker for worker in workers if worker.lines >= 0])
                os.kill(victim.pid, signal.SIGKILL)
                kills += 1
                say(f"{heard} of {total} confirmations, {kills} processes killed")
        for worker in workers:
            if worker.lines >= 0:
                os.kill(worker.pid, signal.SIGKILL)
                while worker.listen(65536) >= 0:
                    pass
                _bury(worker, ears)
                kills += 1
    return kills


def _start(part: ModuleType, path: Path, worker: Worker, ears: selectors.BaseSelector) -> None:
    lines, end = os.pipe()
    worker.pid = os.fork()
    if not worker.pid:
        try:
            os.close(lines)
            _confirm(part, path, worker.plan[len(worker.told) :], end)
        finally:
            os._exit(1)
    os.close(end)
    worker.lines = lines
    ears.register(lines, selectors.EVENT_READ, worker)


def _bury(worker: Worker, ears: selectors.BaseSelector) -> None:
    ears.unregister(worker.lines)
    os.close(worker.lines)
    os.waitpid(worker.pid, 0)
    worker.lines = -1


def _confirm(part: ModuleType, path: Path, plan: list[int], end: int) -> None:
    store = part.SqliteStore(path, SystemClock(), capacity=10**9)
    for number in plan:
        os.write(end, _claim(store, number).encode() + b"\n")


def _claim(store: object, number: int) -> str:
    while True:
        try:
            return str(
                store.claim(  # type: ignore[attr-defined]
                    f"nonce-{number}",
                    time.time() + EXPIRES_IN,
                    lambda transaction: (transaction.delete(_id(number)), "deleted")[1],
                )
            )
        except NonceSpent:
            return "spent"
        except StoreUnavailable:
            continue
        except Exception as error:
            return f"crashed:{type(error).__name__}"


def _balance(path: Path, workers: list[Worker], amount: int, kills: int) -> Ledger:
    """Compare what was told with what is in the file."""
    connection = sqlite3.connect(path)
    left = {row[0] for row in connection.execute("SELECT id FROM notes")}
    rows = [row[0] for row in connection.execute("SELECT nonce FROM nonces")]
    connection.close()
    deleted = [
        number
        for worker in workers
        for number, told in zip(worker.plan, worker.told, strict=False)
        if told == "deleted"
    ]
    gone = {number for number in range(amount) if _id(number) not in left}
    spent = {int(nonce.partition("-")[2]) for nonce in rows}
    told = [word for worker in workers for word in worker.told]
    crashes = sorted({word for word in told if word.startswith("crashed")})
    unheard = len(gone - set(deleted))
    ledger = Ledger(
        {
            "confirmations sent": len(told),
            "told that it is deleted": len(deleted),
            "told that it is spent": told.count("spent"),
            "notes gone": len(gone),
            "nonces spent": len(rows),
            "deleted, and killed before saying so": unheard,
            "processes killed": kills,
        }
    )
    ledger.expect(not crashes, f"A claim crashed: {', '.join(crashes)}.")
    ledger.expect(len(deleted) == len(set(deleted)), "Two were told that they deleted one note.")
    ledger.expect(gone == spent, "Notes that are gone and nonces that are spent are not the same.")
    ledger.expect(len(rows) == len(spent), "A nonce has two rows.")
    ledger.expect(set(deleted) <= gone, "A note that was told to be deleted is still there.")
    ledger.expect(unheard <= kills, "More deletions went unheard than processes were killed.")
    return ledger
