"""What the checks of step 06 can ask of a learner's part; runs in the worker.

Notes, nonces, times and words all come from the judge, so that nothing here can be foreseen.
"""

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from grading.counted import CountedNonce, CountedTime, Looks
from grading.forced_race import race
from kit.clock import FrozenClock
from kit.notes import Note, Notes
from kit.refusals import NonceSpent, StoreFull, ToolRefusal

Json = dict[str, Any]
ROOM = 10  # live nonces, unless the check says otherwise
LEEWAY = 5


class JumpingClock(FrozenClock):
    """A clock that can move while somebody reads it, as the ones outside a check do."""

    _readings, _seconds = 0, 0.0

    def jump(self, readings: int, seconds: float) -> None:
        """Move by so many seconds just before that reading, counted from now on."""
        self._readings, self._seconds = readings, seconds

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        self._readings -= 1
        if self._readings == 0:
            self.advance(self._seconds)
        return super().now()


def transact(parts: Any, *, notes: list[Json], actions: list[list[str]]) -> Json:
    """Do things in one Transaction: find, delete, commit; vanish and look (at the shared notes)."""
    world = _world(notes)
    transaction = parts.replay.Transaction(world)
    told = [_act(transaction, world, *action) for action in actions]
    return {"told": told, "notes": _ids(world)}


def _act(transaction: Any, world: Notes, verb: str, note_id: str = "") -> Any:
    if verb == "look":
        return _ids(world)
    if verb == "find":
        found = transaction.find(note_id)
        return None if found is None else vars(found)
    if verb == "vanish":
        world.delete(note_id)
        return "done"
    try:
        transaction.delete(note_id) if verb == "delete" else transaction.commit()
    except KeyError:
        return "KeyError"
    return "done"


def keep(parts: Any, *, start: float, steps: list[Json]) -> list[Any]:
    """Use one store as a book only: remember, look up, prune, move the clock."""
    clock = FrozenClock(start)
    store = parts.replay.ReplayStore(Notes([]), clock, 1000, LEEWAY)
    return [_keep(store, clock, start, **step) for step in steps]


def _keep(store: Any, clock: FrozenClock, start: float, **step: Any) -> Any:
    if "advance" in step:
        clock.advance(step["advance"])
    elif "remember" in step:
        store.remember(step["remember"], start + step["until"])
    elif "spent" in step:
        return store.is_spent(step["spent"])
    else:
        store.prune()
    return "done"


def play(
    parts: Any,
    *,
    notes: list[Json],
    start: float,
    steps: list[Json],
    capacity: int = ROOM,
    leeway: float = LEEWAY,
) -> Json:
    """Run a script on one store: claims, and moves of the clock."""
    world, clock = _world(notes), JumpingClock(start)
    store = parts.replay.ReplayStore(world, clock, capacity, leeway)
    told = []
    for step in steps:
        if "advance" in step:
            clock.advance(step["advance"])
            told.append("later")
        elif "jump" in step:
            clock.jump(**step["jump"])
            told.append("soon")
        else:
            told.append(_claim(store, world, start, step))
    return {"told": told, "notes": _ids(world)}


def _claim(store: Any, world: Notes, start: float, step: Json) -> Any:
    """One claim: what it was told, in a word, or what its effect returned."""
    try:
        until = start + float(step["until"])
        return store.claim(step["claim"], until, _effect(store, world, start, step))
    except NonceSpent:
        return "spent"
    except StoreFull:
        return "full"
    except ToolRefusal:
        return "refused"
    except KeyboardInterrupt:
        return "interrupted"
    except OSError:
        return "failed"
    except (KeyError, RuntimeError) as raised:
        return type(raised).__name__


def _effect(store: Any, world: Notes, start: float, step: Json) -> Any:
    """An effect that deletes, lets a note vanish, claims and fails as its step says."""

    def effect(transaction: Any) -> Any:
        for note_id in step.get("delete", []):
            transaction.delete(note_id)
        if "vanish" in step and world.find(step["vanish"]):
            world.delete(step["vanish"])
        inner = _claim(store, world, start, step["inner"]) if "inner" in step else None
        if "fail" in step or (inner == "RuntimeError" and step.get("passes_on")):
            raise _failure(step.get("fail", "passed on"))
        return {"seen": _ids(world), "answer": step.get("answer"), "inner": inner}

    return effect


def _failure(kind: str) -> BaseException:
    kinds = {"refusal": ToolRefusal("not now"), "interrupt": KeyboardInterrupt()}
    return kinds.get(kind) or OSError("disk on fire")


def rivals(
    parts: Any, *, notes: list[Json], start: float, claims: list[Json], capacity: int = ROOM
) -> Json:
    """Two claims, the first one parked at each of its bytecodes in turn.

    Returns all endings: what the two were told (or what their effects answered), and what is left.
    """
    endings: list[list[Any]] = []
    worlds: list[Notes] = []

    def make() -> Any:
        world = _world(notes)
        worlds.append(world)
        store = parts.replay.ReplayStore(world, FrozenClock(start), capacity, LEEWAY)
        one, two = claims
        return (
            lambda: _claim(store, world, start, one),
            lambda: _claim(store, world, start, two),
        )

    for point, ending in enumerate(race(make, Path(parts.replay.__file__), patience=0.01)):
        told = [_word(ending.first), _word(ending.second), _ids(worlds[point])]
        endings += [] if told in endings else [told]
    return {"endings": endings, "points": len(worlds) > 10}


def crowd(parts: Any, *, start: float, nonce: str, words: list[str]) -> list[str]:
    """As many real threads as words with one nonce; what each was told."""
    world = Notes([])
    store = parts.replay.ReplayStore(world, FrozenClock(start), ROOM, LEEWAY)
    told: list[Any] = []
    gate = threading.Barrier(len(words))

    def run(word: str) -> None:
        gate.wait()
        try:
            told.append(_claim(store, world, start, {"claim": nonce, "until": 60, "answer": word}))
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
    return str(told["answer"] if isinstance(told, dict) else told)


def cost_of_keeping(parts: Any, *, start: float, lives: list[float]) -> Json:
    """What it costs to prune one nonce, look one up and remember one, when the others live on.

    lives: seconds, of the nonces that are remembered before; one of them ends before the prune.
    """
    clock = FrozenClock(start)
    store = parts.replay.ReplayStore(Notes([]), clock, len(lives) + 10, LEEWAY)
    for number, life in enumerate(lives):
        store.remember(CountedNonce(f"n{number}"), CountedTime(start + life))
    clock.advance(min(lives) + 2)

    def keep_one() -> None:
        store.prune()
        store.is_spent(CountedNonce("one more"))
        store.remember(CountedNonce("one more"), CountedTime(start + 500))

    return _cost(parts.replay.__file__, keep_one)


def cost_of_a_claim(parts: Any, *, start: float, lives: list[float]) -> Json:
    """What one claim costs when so many nonces are live; one has just ended."""
    clock = FrozenClock(start)
    store = parts.replay.ReplayStore(Notes([]), clock, len(lives) + 10, LEEWAY)

    def claim(name: str, life: float) -> None:
        store.claim(CountedNonce(name), CountedTime(start + life), lambda transaction: None)

    for number, life in enumerate(lives):
        claim(f"n{number}", life)
    clock.advance(min(lives) + LEEWAY + 2)
    return _cost(parts.replay.__file__, lambda: claim("one more", 500))


def _cost(file: str, act: Any) -> Json:
    """Bytecodes of the part that `act` runs, and how often it compares or hashes what it keeps.

    Who switches the counting off has run no bytecode, which is no answer.
    """
    bytecodes, looks = 0, Looks.total

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal bytecodes
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        bytecodes += event == "opcode"
        return trace

    sys._getframe().f_trace_opcodes = True  # before settrace, or Python 3.12.1 traces none
    sys.settrace(trace)
    try:
        act()
        counting = sys.gettrace() is trace
    finally:
        sys.settrace(None)
    return {"bytecodes": bytecodes if counting else 0, "looks": Looks.total - looks}


def _world(notes: list[Json]) -> Notes:
    return Notes(Note(**note) for note in notes)


def _ids(notes: Notes) -> list[str]:
    return [note.id for note in notes]
