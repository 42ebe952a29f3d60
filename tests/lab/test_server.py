"""The assembled server: the demo's promises, broken parts that the demo notices, odd bytes."""

import importlib
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kit.notes import Note
from kit.parts import ROOT, part_paths
from kit.principal import Principal

sys.path.insert(0, str(ROOT / "solutions"))
demo: Any = importlib.import_module("demo")
server: Any = importlib.import_module("server")
stage: Any = importlib.import_module("stage")


@pytest.fixture
def parts() -> Any:
    return server.Parts(part_paths("solutions"))


PLAYS = [(point, store) for point in demo.CHECKPOINTS for store in point.stores]


@pytest.mark.parametrize(
    ("point", "store"), PLAYS, ids=[f"{point.title}, {store}" for point, store in PLAYS]
)
def test_every_checkpoint_holds(parts: Any, point: Any, store: str) -> None:
    holds, shown = demo.hold(point, parts, store)
    assert holds, shown


def prefix(parts: Any) -> None:
    parts.scope.contains = lambda workspace, target: "/".join(target.segments).startswith(
        "/".join(workspace.segments)
    )


def forgetful(parts: Any) -> None:
    parts.replay.ReplayStore.remember = lambda *_: None


def answers_notifications(parts: Any) -> None:
    parts.envelope.message_kind = lambda message: "request"


def believes_the_client(parts: Any) -> None:
    parts.url_mode.read_progress = lambda *_: "done"


def believes_the_link(parts: Any) -> None:
    status = parts.url_mode.Tickets._status
    parts.url_mode.Tickets._status = lambda self, ticket, principal: status(
        self, ticket, self._setups[ticket].principal if ticket in self._setups else principal
    )


def never_ends(parts: Any) -> None:
    parts.url_mode.Tickets._status = lambda self, ticket, principal: "waiting"


def knows_every_form(parts: Any) -> None:
    parts.url_mode.is_csrf_token = lambda *_: True


def shows_the_vault(parts: Any) -> None:
    parts.url_mode.Vault.__repr__ = lambda self: repr(self._credentials)


BREAKS: dict[str, Callable[[Any], None]] = {
    "a sibling whose name": prefix,
    "a replay on": forgetful,
    "decline spends": forgetful,
    "a tools/call without an id": answers_notifications,
    "accept is not completion": believes_the_client,
    "a link that is passed on": believes_the_link,
    "a link ends": never_ends,
    "nobody can sign a browser in": knows_every_form,
    "the key is in the vault": shows_the_vault,
}


@pytest.mark.parametrize("title", BREAKS)
def test_a_broken_part_fails_its_checkpoint(parts: Any, title: str) -> None:
    (point,) = [point for point in demo.CHECKPOINTS if point.title.startswith(title)]
    assert demo.hold(point, parts)[0]
    BREAKS[title](parts)
    assert not demo.hold(point, parts)[0]


def test_a_failed_checkpoint_makes_the_demo_exit_with_1(
    monkeypatch: pytest.MonkeyPatch, parts: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "Parts", lambda paths: (prefix(parts), parts)[1])
    assert demo.main() == 1
    assert "✗ FAILS" in capsys.readouterr().out


def test_any_bytes_on_stdio_get_one_answer_or_none(parts: Any) -> None:
    made = stage.Stage(parts)
    log: list[str] = []
    served = server.NotesServer(parts, made.world, log.append)
    line = json.dumps(made.delete()).encode()
    draw = random.Random(20260728)
    for _ in range(2_000):
        spoiled = bytearray(line)
        for _ in range(draw.randint(1, 6)):
            spoiled[draw.randrange(len(spoiled))] = draw.randrange(256)
        answer = served.answer_line(bytes(spoiled), Principal("alice"))
        if answer is not None:
            told = json.loads(answer)
            assert told["jsonrpc"] == "2.0" and ("result" in told) != ("error" in told)
            assert told.get("error", {}).get("code") != -32603, (bytes(spoiled), log)
    assert len(made.ids()) == 5
    made.close()


def test_a_lone_surrogate_in_any_place_is_no_bug(parts: Any) -> None:
    made = stage.Stage(parts)
    for change in ({"title": "\ud800"}, {"workspace": "file:///srv/\ud800"}):
        assert made.send(made.delete(**change)).error.get("code") != -32603
    made.notes.put(Note("odd-1", "\ud800", "file:///srv/notes/team/odd-1.md"))
    assert made.send(made.delete(title="\ud800")).error.get("code") != -32603
    made.close()


def test_more_notes_than_a_form_can_hold_are_refused(parts: Any) -> None:
    made = stage.Stage(parts)
    for number in range(2_000):
        made.notes.put(Note(f"same-{number}", "Same", f"file:///srv/notes/team/{number}.md"))
    assert made.send(made.delete(title="Same")).result["isError"] is True
    assert "requestState" in made.send(made.delete()).result
    made.close()


def test_the_transcripts_in_outputs_are_what_the_server_says() -> None:
    for name, text in importlib.import_module("transcripts").recorded().items():
        assert (ROOT / "outputs" / "wire" / name).read_text(encoding="utf-8") == text
