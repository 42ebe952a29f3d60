"""A forced race finds the lost update every time, and lets what is locked alone."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grading.forced_race import Deadlock, NothingTraced, race

RACY = """
class Store:
    def __init__(self):
        self.spent = set()

    def claim(self, nonce):
        return False if nonce in self.spent else (self.spent.add(nonce) or True)
"""
LOCKED = """
import threading

class Store:
    def __init__(self):
        self.spent, self.lock = set(), threading.Lock()

    def claim(self, nonce):
        with self.lock:
            return False if nonce in self.spent else (self.spent.add(nonce) or True)
"""
ATOMIC = """
class Store:
    def __init__(self):
        self.spent = {}

    def claim(self, nonce):
        mine = object()
        return self.spent.setdefault(nonce, mine) is mine
"""


def module(path: Path, text: str) -> ModuleType:
    """The part that this text is."""
    path.write_text(text)
    made = ModuleType("part_store")
    exec(compile(text, str(path), "exec"), made.__dict__)
    return made


def claims(part: ModuleType) -> Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]:
    """Two actors that claim one nonce of a fresh store."""

    def make() -> tuple[Callable[[], Any], Callable[[], Any]]:
        store = part.Store()
        return (lambda: store.claim("n")), (lambda: store.claim("n"))

    return make


def test_a_race_inside_one_line_is_found(tmp_path: Path) -> None:
    part = module(tmp_path / "store.py", RACY)
    endings = list(race(claims(part), tmp_path / "store.py"))
    assert any(ending.first and ending.second for ending in endings)


@pytest.mark.parametrize("text", [LOCKED, ATOMIC], ids=["locked", "atomic"])
def test_a_correct_store_grants_one_claim_at_every_point(tmp_path: Path, text: str) -> None:
    part = module(tmp_path / "store.py", text)
    endings = list(race(claims(part), tmp_path / "store.py"))
    assert len(endings) > 5
    assert all([ending.first, ending.second].count(True) == 1 for ending in endings)


def test_a_lock_shows_as_waiting(tmp_path: Path) -> None:
    part = module(tmp_path / "store.py", LOCKED)
    assert any(ending.waited for ending in race(claims(part), tmp_path / "store.py"))


def test_nothing_traced_is_no_proof(tmp_path: Path) -> None:
    part = module(tmp_path / "store.py", RACY)
    with pytest.raises(NothingTraced):
        list(race(claims(part), tmp_path / "another.py"))


def test_what_an_actor_raises_is_its_ending(tmp_path: Path) -> None:
    part = module(tmp_path / "store.py", "def claim():\n    raise KeyError('n')\n")
    endings = list(race(lambda: (part.claim, part.claim), tmp_path / "store.py"))
    assert all(isinstance(ending.first, KeyError) for ending in endings)


def test_two_that_wait_for_each_other_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grading.forced_race.STUCK", 0.2)
    part = module(tmp_path / "store.py", "def claim(lock):\n    return lock.acquire()\n")
    lock = threading.Lock()
    lock.acquire()
    actors = (lambda: part.claim(lock), lambda: part.claim(lock))
    with pytest.raises(Deadlock):
        list(race(lambda: actors, tmp_path / "store.py"))
