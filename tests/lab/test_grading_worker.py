"""The worker answers or is ended; a part cannot reach files, the network or the next check."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_lab import SUBJECT

from grading.judge import Actor, Judge, Trouble

PART = """
import os, socket, subprocess, sys
seen = []

def double(job):
    if job == "loop":
        while True:
            pass
    if job == "remember":
        seen.append(job)
        return len(seen)
    if job == "swallow":
        return bytearray(2 << 30) and "swallowed"
    if job == "abort":
        os.abort()
    if job == "flood":
        return "x" * (8 << 20)
    if job == "child":
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
        return os.getpid()
    if job == "send":
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    if job.startswith("read "):
        return open(job[5:]).read(1)
    if job.startswith("write "):
        return open(job[6:], "w").write("x")
    if job.startswith("chmod "):
        return os.chmod(job[6:], 0o777)
    if job == "list":
        return sorted(os.listdir())
    if job == "neighbours":
        found = 0
        for number in range(2, os.getpid()):
            try:
                os.kill(number, 0)
                found += 1
            except ProcessLookupError:
                pass
        return found
    if job == "environment":
        return sorted(os.environ)
    if job == "deep":
        value = []
        for _ in range(100_000):
            value = [value]
        return value
"""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    folder = tmp_path_factory.mktemp("parts")
    (folder / "double.py").write_text(PART)
    (folder / "subject.py").write_text(SUBJECT)
    made = Judge([folder])
    yield made
    made.close()


@pytest.fixture
def actor(judge: Judge) -> Iterator[Actor]:
    folder = judge.readable[0]
    opened = judge.actor(folder / "subject.py", {"double": folder / "double.py"}, "a check")
    yield opened
    opened.close()
    judge.clear("a check")


def ask(actor: Actor, job: str) -> dict[str, Any]:
    """One operation."""
    return actor.ask("double", {"number": job})


def test_an_endless_loop_is_ended(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grading.judge.PATIENCE", 0.3)
    with pytest.raises(Trouble, match="endless loop"):
        ask(actor, "loop")


@pytest.mark.parametrize("job", ["abort", "flood"])
def test_a_crash_and_a_flood_are_told(actor: Actor, job: str) -> None:
    with pytest.raises(Trouble):
        ask(actor, job)


@pytest.mark.parametrize("again", [1, 2])
def test_a_check_sees_nothing_of_the_one_before(actor: Actor, again: int) -> None:
    assert ask(actor, "remember") == {"value": 1}


def test_memory_is_limited(actor: Actor) -> None:
    assert ask(actor, "swallow")["raised"]["type"] == "MemoryError"


def test_there_is_no_network(actor: Actor) -> None:
    assert ask(actor, "send")["raised"]["type"] in ("OSError", "PermissionError")


def test_the_lab_cannot_be_read(actor: Actor) -> None:
    root = Path(__file__).resolve().parents[2]
    for name in (__file__, root / "lessons" / "lab.toml", "/proc/1/environ", "/etc/passwd"):
        assert ask(actor, f"read {name}")["raised"]["type"] == "PermissionError"


def test_nothing_outside_its_folder_can_be_written(actor: Actor, tmp_path: Path) -> None:
    assert ask(actor, "write mine.txt") == {"value": 1}
    assert "raised" in ask(actor, f"write {tmp_path / 'yours.txt'}")
    assert not (tmp_path / "yours.txt").exists()


def test_the_environment_is_clean(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_REPORT", "/somewhere")
    assert ask(actor, "environment")["value"] == ["LANG", "PATH", "PYTHONDONTWRITEBYTECODE"]


def test_a_value_nested_without_end_is_told(actor: Actor) -> None:
    reply = ask(actor, "deep")
    assert "value" not in reply


def test_the_worker_goes_on_after_all_that(actor: Actor) -> None:
    assert ask(actor, "remember") == {"value": 1}


def test_attributes_of_files_outside_stay(actor: Actor, judge: Judge, tmp_path: Path) -> None:
    if any("attributes" in line for line in judge.missing):
        pytest.skip("this machine cannot freeze its mounts")
    outside = tmp_path / "outside"
    outside.touch(mode=0o644)
    assert ask(actor, f"chmod {outside}")["raised"]["type"] in ("OSError", "PermissionError")
    assert outside.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("again", [1, 2])
def test_a_file_of_one_check_is_gone_in_the_next(actor: Actor, again: int) -> None:
    assert ask(actor, "list") == {"value": []}
    assert ask(actor, "write mine.txt") == {"value": 1}
    assert ask(actor, "list") == {"value": ["mine.txt"]}


def test_a_child_that_left_its_session_ends_with_its_check(judge: Judge, tmp_path: Path) -> None:
    if any("PID" in line for line in judge.missing):
        pytest.skip("this machine has no PID namespaces")
    folder = judge.readable[0]
    files = {"double": folder / "double.py"}
    first = judge.actor(folder / "subject.py", files, "first")
    assert ask(first, "child")["value"] > 0
    first.close()
    judge.clear("first")
    second = judge.actor(folder / "subject.py", files, "second")
    assert ask(second, "neighbours") == {"value": 0}
    second.close()
    judge.clear("second")
