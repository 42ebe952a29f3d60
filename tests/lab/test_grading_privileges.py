"""Whoever grades, root included: a part may do less than a guest on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_lab import SUBJECT

from grading.judge import Actor, Judge

PART = """
import os, socket, time

def double(job):
    if job == "become another":
        os.setuid(12345)
    if job == "name the machine":
        socket.sethostname("mine")
    if job == "many processes":
        made = 0
        try:
            while made < 600:
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
                made += 1
        except OSError:
            pass
        return made
    if job == "sockets":
        return os.listdir("/run")
    if job == "descriptors":
        found = []
        for number in range(64):
            try:
                os.fstat(number)
                found.append(number)
            except OSError:
                pass
        return found
"""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    made = Judge()
    yield made
    made.close()


@pytest.fixture
def actor(judge: Judge, tmp_path: Path) -> Iterator[Actor]:
    for line in judge.missing:
        pytest.skip(f"this machine does not confine everything: {line}")
    (tmp_path / "double.py").write_text(PART)
    (tmp_path / "subject.py").write_text(SUBJECT)
    files = {"double": tmp_path / "double.py"}
    opened = judge.actor(tmp_path / "subject.py", files, "a check")
    yield opened
    opened.close()
    judge.clear("a check")


def ask(actor: Actor, job: str) -> dict[str, Any]:
    """One operation."""
    return actor.ask("double", {"number": job})


@pytest.mark.parametrize("job", ["become another", "name the machine"])
def test_no_privilege_is_left(actor: Actor, job: str) -> None:
    assert ask(actor, job)["raised"]["type"] in ("PermissionError", "OSError")


def test_the_number_of_processes_is_limited(actor: Actor) -> None:
    assert ask(actor, "many processes")["value"] < 600


def test_and_all_of_them_are_gone_for_the_next_check(actor: Actor) -> None:
    assert ask(actor, "many processes")["value"] > 50


def test_the_sockets_of_the_machine_are_out_of_sight(actor: Actor) -> None:
    assert ask(actor, "sockets")["raised"]["type"] == "PermissionError"


def test_nothing_is_open_but_the_wire(actor: Actor) -> None:
    assert len(ask(actor, "descriptors")["value"]) == 4
