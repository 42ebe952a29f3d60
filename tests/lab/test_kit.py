"""The kit: secrets stay secret, lines stay lines, the tape escapes what it shows."""

import io
import stat
from pathlib import Path

import pytest

from kit.clock import FrozenClock
from kit.commands import attack, serve
from kit.parts import is_finished
from kit.randomness import SeededRandomness, SystemRandomness
from kit.secrets_file import SecretsUnusable, load_or_make, save
from kit.stdio_loop import LONGEST_LINE, run_stdio
from kit.tape import Tape, changed_members, gist


def test_secrets_are_made_once_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / ".lab" / "server.json"
    made = load_or_make(path, SystemRandomness())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_make(path, SystemRandomness()) == made
    assert len(made.keys[made.signer]) == 32


def test_a_token_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    secrets = load_or_make(path, SystemRandomness())
    token = secrets.issue("alice", frozenset({"notes"}), SystemRandomness())
    save(path, secrets)
    assert token not in path.read_text()
    assert load_or_make(path, SystemRandomness()).tokens == secrets.tokens


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"keys": 3}', '{"keys": {"k": "!"}}', "\x00"])
def test_a_broken_secrets_file_is_named_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SecretsUnusable, match="broken"):
        load_or_make(path, SystemRandomness())
    assert path.read_text() == text


def test_secrets_that_others_can_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    load_or_make(path, SystemRandomness())
    path.chmod(0o644)
    with pytest.raises(SecretsUnusable, match="chmod 600"):
        load_or_make(path, SystemRandomness())


def test_stdio_gives_one_line_for_each_answer_and_skips_silence() -> None:
    source = io.BytesIO(b"one\n\n  \nquiet\ntwo\r\nlast")
    sink = io.BytesIO()
    run_stdio(lambda line: None if line == b"quiet" else line.upper(), source, sink)
    assert sink.getvalue() == b"ONE\nTWO\nLAST\n"


def test_a_line_without_end_does_not_eat_the_next() -> None:
    seen: list[bytes] = []
    source = io.BytesIO(b"x" * (3 * LONGEST_LINE) + b"\nnext\n")
    run_stdio(seen.append, source, io.BytesIO())
    assert len(seen[0]) == LONGEST_LINE and seen[1:] == [b"next"]


def test_a_tape_escapes_what_it_shows() -> None:
    tape = Tape(FrozenClock())
    tape.record("<alice>", "server", {"id": 1, "method": "<script>alert(1)</script>"})
    shown = tape._repr_html_()
    assert "<script>" not in shown and "<alice>" not in shown
    assert "<title>" in shown and "<desc>" in shown


def test_a_tape_says_what_changed_in_words() -> None:
    tape = Tape(FrozenClock())
    call = {"id": 1, "method": "tools/call", "params": {"name": "x"}}
    tape.record("client", "server", call)
    retry = {"id": 2, "method": "tools/call", "params": {"name": "x", "requestState": "s"}}
    tape.record("client", "server", retry)
    assert changed_members(call, retry) == ("id", "requestState")
    assert "changed: requestState" in tape._repr_html_()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (None, "no answer"),
        ([], "not a message"),
        ({"error": {"code": -32602}}, "error -32602"),
        ({"result": {"resultType": "input_required"}}, "input_required"),
        ({"method": "tools/list"}, "tools/list"),
    ],
)
def test_a_message_has_a_gist(message: object, words: str) -> None:
    assert gist(message) == words


def test_seeded_randomness_repeats_and_moves_on() -> None:
    one, two = SeededRandomness("a"), SeededRandomness("a")
    first = one.token_bytes(40)
    assert first == two.token_bytes(40) and len(first) == 40
    assert one.token_bytes(40) != first


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("def f(): return 1", True),
        ("def f(): todo('x')", False),
        ("def (", False),
        ("x = 1", False),
    ],
)
def test_a_part_is_finished_when_nothing_waits_in_it(
    tmp_path: Path, text: str, finished: bool
) -> None:
    path = tmp_path / "part.py"
    path.write_text(text)
    assert is_finished(path, ["f"]) is finished
    assert not is_finished(tmp_path / "none.py")


@pytest.mark.parametrize(
    "options", [{"TRANSPORT": "carrier pigeon"}, {"PORT": "x"}, {"PORT": "70000"}]
)
def test_serve_refuses_options_that_make_no_sense(options: dict[str, str]) -> None:
    assert serve.run(options) == 2


@pytest.mark.parametrize(
    "options", [{}, {"STEP": "99"}, {"STEP": "x"}, {"STEP": "02", "AGAINST": "x"}]
)
def test_attack_refuses_options_that_make_no_sense(options: dict[str, str]) -> None:
    assert attack.run(options) == 2


def test_the_attack_of_step_02_falls_to_the_finished_part() -> None:
    assert attack.run({"STEP": "02", "AGAINST": "naive"}) == 0
    assert attack.run({"STEP": "02", "AGAINST": "solutions"}) == 0
