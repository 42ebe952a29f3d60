"""The benches: what is compared is the same thing, ratios are judged, wrong options are refused."""

import importlib
import importlib.util
from itertools import count

import pytest

from bench.claims import LIVE
from bench.endless import USER, endless_server
from bench.rounds import first, must_have_deleted, second
from bench.side_by_side import Row, compare
from kit.commands import bench as command

PEERS = ("mcp", "itsdangerous")


def test_a_ratio_below_its_promise_does_not_hold() -> None:
    assert Row("claims", "peer", 1.0, 2.0, ratio=0.8, least=0.8).holds
    assert not Row("claims", "peer", 1.0, 2.0, ratio=0.79, least=0.8).holds
    assert Row("claims", "peer", 1.0, 2.0, ratio=0.1).holds


def test_both_sides_take_turns_and_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("bench.side_by_side.time.perf_counter", lambda: float(next(ticks)))
    turns: list[str] = []
    ours, peer, ratio = compare(
        lambda times: turns.append("ours"), lambda times: turns.append("peer"), 3, 8.0
    )
    assert turns[-6:] == ["ours", "peer"] * 3
    assert ours == peer and ratio == 1.0


def test_our_server_deletes_the_same_note_as_often_as_asked() -> None:
    server, _ = endless_server()
    for _ in range(3):
        asked = server.answer_line(first(), USER)
        must_have_deleted(server.answer_line(second(asked), USER))


def test_an_answer_that_deleted_nothing_is_no_round() -> None:
    with pytest.raises(RuntimeError, match="No question came"):
        second(b'{"result": {"resultType": "complete"}}')
    with pytest.raises(RuntimeError, match="Nothing was deleted"):
        must_have_deleted(b"{}")


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in PEERS),
    reason="the peers come with the groups interop and bench",
)
def test_each_bench_names_its_peers_and_gives_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = lambda ours, peer: compare(ours, peer, turns=1, seconds=0.01)  # noqa: E731
    for name in command.BENCHES:
        bench = importlib.import_module(f"bench.{name}")
        monkeypatch.setattr(bench, "compare", quick)
        if name == "claims":
            monkeypatch.setattr(bench, "LIVE", (10, 20, LIVE[0]))
        for row in bench.rows():
            assert row.ours > 0 and row.peer > 0 and row.peer_name


def test_an_unknown_bench_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.run({"BENCH": "nothing"}) == 2
    assert "over_http, in_process, state, claims" in capsys.readouterr().err
