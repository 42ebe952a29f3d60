"""A million strange messages to the assembled server, guided by the lines that they reach.

Half of them come over stdio, half over HTTP. Whatever comes in, what goes out is silence or a
message of the protocol, nothing is ever "internal", no memory is kept, and a note goes only when
its deletion is told. A message that reached a new line, or a new answer, is kept to be changed
again. ``@state`` in a message stands for the last state that the server handed out, so that
whatever lies behind a signature is reached, too.
"""

import gc
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from grading.prove.wire import Conversation, missing_types
from soak.ledger import Ledger
from soak.lines_seen import LinesSeen
from soak.mutations import changed, written
from soak.whole_server import WholeServer, headers_of, load_parts, ordinary

PROMISE = "any message gets an answer of the protocol, or none"
MESSAGES = 1_000_000
RENEWED = 1_000  # messages after which the world is as at first, and what it remembered is gone
MOST_KEPT, LONGEST_KEPT = 600, 4_000
PLAY = 4_096  # KiB by which the second half may grow: allocators round up
INTERNAL = -32603


def soak(
    paths: dict[str, Path],
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    messages: int = MESSAGES,
) -> Ledger:
    """Send `messages`, or as many as there is time for; return the books.

    paths: of the server's parts. seed: of what is sent.
    """
    run, ends, halfway = _Run(paths, Random(seed)), time.monotonic() + seconds, 0
    while run.sent < messages and time.monotonic() < ends:
        run.send_some(min(RENEWED, messages - run.sent))
        if not halfway and run.sent >= messages // 2:
            halfway = _resident()
        say(f"{run.sent:,} of {messages:,} messages, {run.seen.count:,} lines reached")
    return run.balance(_resident() - halfway if halfway else None)


class _Run:
    """What is sent and what was seen."""

    def __init__(self, paths: dict[str, Path], rng: Random) -> None:
        self._parts, self._rng = load_parts(paths), rng
        self.seen, self.sent = LinesSeen(paths.values()), 0
        self._ordinary, self._kept = ordinary(), ordinary()
        self._told: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()
        self._kinds: set[str] = set()
        self._state, self._judges = "", not missing_types()

    def send_some(self, count: int) -> None:
        """Send `count` messages to a server in a new world."""
        server = WholeServer(self._parts, self._rng.randrange(2**32))
        for _ in range(count):
            self._send(server)
        self._told["notes gone"] += server.notes_gone
        self.sent += count

    def _send(self, server: WholeServer) -> None:
        if self._rng.random() < 0.3:  # honest ones in between, so that there is a state to spoil
            message = self._rng.choice(self._ordinary)
        else:
            message = changed(self._rng.choice(self._kept), self._kept, self._rng)
        raw = written(message, self._rng).replace(b"@state", self._state.encode())
        before = self.seen.count
        try:
            with self.seen:
                answer, kind = self._exchange(server, raw, message)
        except Exception as bug:
            self._wrong[f"{type(bug).__name__} came out, for {raw[:300]!r}"] += 1
            return
        is_news = kind not in self._kinds or self.seen.count > before
        self._kinds.add(kind)
        if is_news and len(raw) < LONGEST_KEPT:
            self._keep(message)
        if answer is not None:
            self._look_at(raw, answer)

    def _exchange(self, server: WholeServer, raw: bytes, message: Any) -> tuple[Any, str]:
        """The answer, and which kind of answer it is."""
        if self._rng.random() < 0.5:
            answer, status = server.answer_line(raw), 0
        else:
            answer, status = server.answer_http(raw, headers_of(message, self._rng))
        error = (answer or {}).get("error", {})
        self._told[f"over HTTP, {status}" if status else "over stdio"] += 1
        return answer, f"{status} {error.get('code')} {error.get('message')}"

    def _keep(self, message: Any) -> None:
        self._kept.append(message)
        if len(self._kept) > MOST_KEPT:
            del self._kept[len(self._ordinary)]

    def _look_at(self, raw: bytes, answer: Any) -> None:
        result = answer.get("result", {})
        if answer.get("error", {}).get("code") == INTERNAL:
            self._wrong[f"an internal error, for {raw[:300]!r}"] += 1
        if self._judges and (flaw := _flaw(raw, answer)):
            self._wrong[f"no message of the protocol: {flaw}"] += 1
        self._state = result.get("requestState", self._state)
        self._told["deletions told"] += "'Deleted " in str(result.get("content"))

    def balance(self, grown: int | None) -> Ledger:
        """The books. grown: KiB in the second half, None when it was not reached."""
        ledger = Ledger({"messages sent": self.sent, "lines reached": self.seen.count})
        ledger.numbers |= {"kinds of answers": len(self._kinds), **dict(sorted(self._told.items()))}
        for sentence, times in self._wrong.most_common(20):
            ledger.wrong.append(f"{times} times: {sentence}")
        told, gone = self._told["deletions told"], self._told["notes gone"]
        ledger.expect(told == gone, f"{told} deletions were told, and {gone} notes are gone.")
        ledger.expect(gone > 0, "Not one message deleted anything: the run has shown little.")
        if not self._judges:
            ledger.numbers["not judged by the protocol's types (interop group)"] = self.sent
        if grown is not None:
            ledger.numbers["KiB grown in the second half"] = grown
            ledger.expect(grown < PLAY, f"The second half kept {grown} KiB.")
        return ledger


def _flaw(raw: bytes, answer: Any) -> str:
    """What the protocol's types say against an answer; a result is judged by its request."""
    talk = Conversation()
    if "result" in answer:
        with suppress(ValueError, RecursionError):
            talk.flaw(json.loads(raw))
    return talk.flaw(answer)


def _resident() -> int:
    """KiB of memory that this process holds, without what Python is about to give back."""
    gc.collect()
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 1024
    return 0  # not Linux: not measured
