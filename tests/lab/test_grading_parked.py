"""Parked processes: stopped before each statement, let go, killed, never waited for in vain."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grading import parked


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", parked._told_connect)


def three_statements(path: Path) -> Callable[[Callable[[], None]], str]:
    def act(arm: Callable[[], None]) -> str:
        connection = sqlite3.connect(path, isolation_level=None)
        arm()
        for statement in ("BEGIN", "CREATE TABLE t (x)", "COMMIT"):
            connection.execute(statement)
        return "done"

    return act


def tables(path: Path) -> int:
    connection = parked._connect(path)
    found = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    connection.close()
    return int(found)


@pytest.mark.parametrize(("point", "statement"), [(0, "BEGIN"), (2, "COMMIT")])
def test_a_process_stops_before_the_statement_and_goes_on(
    tmp_path: Path, point: int, statement: str
) -> None:
    process = parked.start(three_statements(tmp_path / "db"), point)
    assert process.wait() == {"parked": statement}
    assert tables(tmp_path / "db") == 0
    process.release()
    assert process.wait() == {"did": "done"}
    process.end()
    assert tables(tmp_path / "db") == 1


def test_a_process_with_fewer_statements_ends_by_itself(tmp_path: Path) -> None:
    process = parked.start(three_statements(tmp_path / "db"), 3)
    assert process.wait() == {"did": "done"}
    process.end()


def test_a_killed_process_has_committed_nothing(tmp_path: Path) -> None:
    process = parked.start(three_statements(tmp_path / "db"), 2)
    assert process.wait() == {"parked": "COMMIT"}
    process.end(kill=True)
    assert tables(tmp_path / "db") == 0


def test_what_a_process_raises_is_told_and_not_printed(tmp_path: Path, capfd: Any) -> None:
    def act(arm: Callable[[], None]) -> None:
        raise ValueError("no")

    process = parked.start(act, 0)
    assert process.wait() == {"raised": "ValueError: no"}
    process.end()
    assert capfd.readouterr().err == ""


def test_a_process_that_says_nothing_is_not_waited_for(tmp_path: Path) -> None:
    process = parked.start(three_statements(tmp_path / "db"), 1)
    assert process.wait() == {"parked": "CREATE TABLE t (x)"}
    assert process.wait(patience=0.01) is None
    process.end(kill=True)
