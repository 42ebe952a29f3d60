"""What the checks of step 06 can ask of a learner's part; runs in the worker."""

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from grading.forced_race import race
from kit.clock import FrozenClock
from kit.notes import Notes, example_notes
from kit.refusals import NonceSpent, StoreFull, ToolRefusal

START = 1_000_000.0


def transact(parts: Any, *, actions: list[list[str]]) -> dict[str, Any]:
    """Do things in one Transaction: find, delete, commit, look (at the shared notes)."""
    notes = example_notes()
    transaction = parts.replay.Transaction(notes)
    told = [_act(transaction, notes, *action) for action in actions]
    return {"told": told, "notes": _ids(notes)}


def _act(transaction: Any, notes: Notes, verb: str, note_id: str = "") -> Any:
    if verb == "find":
        found = transaction.find(note_id)
        return None if found is None else found.id
    if verb == "delete":
        try:
            transaction.delete(note_id)
        except KeyError:
            return "KeyError"
    if verb == "commit":
        transaction.commit()
    return _ids(notes) if verb == "look" else "done"


def play(
    parts: Any, *, steps: list[dict[str, Any]], capacity: int = 10, leeway: float = 5
) -> dict[str, Any]:
    """Run a script on one store: claims, moves of the clock, a second server on the same store."""
    notes, clock = example_notes(), FrozenClock(START)
    store = parts.replay.ReplayStore(notes, clock, capacity, leeway)
    told = [_step(store, notes, clock, **step) for step in steps]
    return {"told": told, "notes": _ids(notes)}


def _step(store: Any, notes: Notes, clock: FrozenClock, **step: Any) -> Any:
    if "advance" in step:
        clock.advance(step["advance"])
        return "later"
    return _claim(store, step["claim"], START + step["until"], _effect(notes, step))


def _effect(notes: Notes, step: dict[str, Any]) -> Any:
    def effect(transaction: Any) -> Any:
        if "delete" in step:
            transaction.delete(step["delete"])
        if step.get("fail") == "refusal":
            raise ToolRefusal("not now")
        if step.get("fail") == "interrupt":
            raise KeyboardInterrupt
        if step.get("fail"):
            raise RuntimeError("disk on fire")
        return {"seen": _ids(notes), "answer": step.get("answer")}

    return effect


def _claim(store: Any, nonce: str, until: float, effect: Any) -> Any:
    try:
        return store.claim(nonce, until, effect)
    except NonceSpent:
        return "spent"
    except StoreFull:
        return "full"
    except ToolRefusal:
        return "refused"
    except KeyboardInterrupt:
        return "interrupted"
    except RuntimeError:
        return "failed"
    except KeyError:
        return "no such note"


def work(parts: Any, *, live: int) -> int:
    """How many bytecodes of the part one claim runs when so many nonces are live."""
    notes, clock = example_notes(), FrozenClock(START)
    store = parts.replay.ReplayStore(notes, clock, live + 10, 5)
    for number in range(live):
        store.claim(f"n{number}", START + 60, lambda transaction: None)
    counted = 0
    file = parts.replay.__file__

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal counted
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return trace

    sys._getframe().f_trace_opcodes = True  # before settrace, or Python 3.12.1 traces none
    sys.settrace(trace)
    try:
        store.claim("one more", START + 60, lambda transaction: None)
    finally:
        sys.settrace(None)
    return counted


def rivals(parts: Any, *, nonce: str, words: list[str]) -> dict[str, Any]:
    """Two claims of one nonce, the first one parked at each of its bytecodes in turn.

    words: what the effects return; the first one deletes draft-1, the second one draft-2.
    """
    endings: list[list[Any]] = []
    points, worlds = 0, []

    def make() -> Any:
        notes, clock = example_notes(), FrozenClock(START)
        worlds.append(notes)
        store = parts.replay.ReplayStore(notes, clock, 10, 5)

        def claim(note_id: str, word: str) -> Any:
            return _claim(store, nonce, START + 60, lambda tx: (tx.delete(note_id), word)[1])

        return (lambda: claim("draft-1", words[0])), (lambda: claim("draft-2", words[1]))

    for ending in race(make, Path(parts.replay.__file__), patience=0.01):
        told = [_word(ending.first), _word(ending.second), _ids(worlds[points])]
        endings += [] if told in endings else [told]
        points += 1
    return {"endings": endings, "points": points > 10}


def crowd(parts: Any, *, nonce: str, words: list[str]) -> list[str]:
    """As many real threads as words with one nonce; what each was told."""
    notes, clock = example_notes(), FrozenClock(START)
    store = parts.replay.ReplayStore(notes, clock, 10, 5)
    told: list[Any] = []
    gate = threading.Barrier(len(words))

    def run(word: str) -> None:
        gate.wait()
        try:
            told.append(_claim(store, nonce, START + 60, lambda transaction: word))
        except BaseException as raised:
            told.append(raised)

    crew = [threading.Thread(target=run, args=(word,)) for word in words]
    for member in crew:
        member.start()
    for member in crew:
        member.join()
    return sorted(map(_word, told))


def _word(told: Any) -> str:
    """What a thread was told; what it raised is raised here, where the worker sees it."""
    if isinstance(told, BaseException):
        raise told
    return str(told)


def _ids(notes: Notes) -> list[str]:
    return [note.id for note in notes]
