"""The soaks: a right store balances its books, wrong ones do not, wrong options are refused."""

import tomllib
from pathlib import Path

import pytest

from grading.verdicts import Report, Result
from kit.commands import soak as command
from kit.parts import ROOT, load, part_paths
from soak import flakes, messages
from soak import step07_sqlite as sqlite
from soak import step09_symlinks as symlinks
from soak.ledger import Ledger

SMALL = sqlite.Size(processes=4, states=60, kills=6)


def books(part: Path, seconds: float = 60.0) -> Ledger:
    return sqlite.soak(load(part), seconds, 7, lambda line: None, SMALL)


def wrong_store(name: str, folder: Path) -> Path:
    """A kept known-bad store, as a file."""
    return wrong_part("sqlite_store", name, folder)


def wrong_part(part: str, name: str, folder: Path) -> Path:
    """A kept known-bad part, as a file."""
    right = part_paths()[part]
    kept = ROOT / "tests" / "known_bad" / right.parent.name / f"{name}.toml"
    text = right.read_text(encoding="utf-8")
    for edit in tomllib.loads(kept.read_text(encoding="utf-8"))["edit"]:
        text = text.replace(edit["find"], edit["replace"])
    (folder / f"{part}.py").write_text(text, encoding="utf-8")
    return folder / f"{part}.py"


def test_the_books_of_the_reference_balance() -> None:
    ledger = books(part_paths()["sqlite_store"])
    assert ledger.wrong == []
    assert ledger.numbers["confirmations sent"] == 240
    assert ledger.numbers["notes gone"] == ledger.numbers["nonces spent"] == 120
    assert ledger.numbers["processes killed"] == 6


def test_a_soak_that_is_cut_short_balances_too() -> None:
    assert books(part_paths()["sqlite_store"], 0.01).wrong == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("set_in_the_process", "A claim crashed: crashed:KeyError."),
        ("insert_or_replace", "A claim crashed: crashed:KeyError."),
    ],
)
def test_wrong_stores_do_not_balance(tmp_path: Path, name: str, sentence: str) -> None:
    assert sentence in books(wrong_store(name, tmp_path)).wrong


@pytest.mark.parametrize(
    "options", [{"STEP": "99"}, {"STEP": "07", "SECONDS": "0"}, {"STEP": "07", "SEED": "x"}]
)
def test_wrong_options_are_refused(options: dict[str, str], capsys: pytest.CaptureFixture) -> None:
    assert command.run(options) == 2
    assert "Traceback" not in "".join(capsys.readouterr())


def test_the_command_prints_the_books(capsys: pytest.CaptureFixture) -> None:
    assert command.run({"STEP": "7", "SECONDS": "1", "SEED": "1"}) == 0
    said = capsys.readouterr().out
    assert "the books balance" in said and "processes killed" in said


def test_nothing_leads_the_reference_outside_and_the_swapper_is_quick_enough() -> None:
    ledger = symlinks.soak(load(part_paths()["beneath"]), 10.0, 7, lambda line: None)
    assert ledger.wrong == []
    assert ledger.numbers["checks first: led outside"] > 0


def test_a_walk_that_guards_the_last_name_only_is_led_outside(tmp_path: Path) -> None:
    last = load(wrong_part("beneath", "only_the_last_name_is_guarded", tmp_path), "guards_last")
    wrong = symlinks.soak(last, 10.0, 7, lambda line: None).wrong
    assert any(sentence.startswith("walk, no links: something") for sentence in wrong)


def strange_messages(parts: dict[str, Path]) -> Ledger:
    return messages.soak(parts, 60.0, 7, lambda line: None, 3_000)


def test_strange_messages_get_answers_of_the_protocol() -> None:
    ledger = strange_messages(part_paths())
    assert ledger.wrong == []
    assert ledger.numbers["messages sent"] == 3_000
    assert ledger.numbers["notes gone"] == ledger.numbers["deletions told"] > 0


@pytest.mark.parametrize(
    ("part", "find", "replace", "sentence"),
    [
        ("scope", "if isinstance(uri, str) else None", "", "an internal error"),
        ("envelope", '"id" in message and not _is_id(message["id"])', "False", "no message"),
    ],
)
def test_a_server_that_trusts_its_input_is_found_out(
    tmp_path: Path, part: str, find: str, replace: str, sentence: str
) -> None:
    right = part_paths()[part]
    assert find in right.read_text(encoding="utf-8")
    spoilt = right.read_text(encoding="utf-8").replace(find, replace)
    (tmp_path / f"{part}.py").write_text(spoilt, encoding="utf-8")
    wrong = strange_messages({**part_paths(), part: tmp_path / f"{part}.py"}).wrong
    assert any(sentence in each for each in wrong), wrong


def judged(seed: int, flaky: str = "") -> Report:
    """A report on three checks; the flaky one fails for an odd seed."""
    names = ("one", "two", "three")
    verdicts = {name: "fail" if name == flaky and seed % 2 else "pass" for name in names}
    results = [Result(n, n, 1, "1.1", verdicts[n], "", (), 0.0) for n in names]
    return Report(tuple(results), seed)


def test_every_round_has_a_seed_of_its_own_and_runs_every_file_of_tests() -> None:
    seeds: list[int] = []
    files: list[Path] = []

    def judge(seed: int) -> Report:
        seeds.append(seed)
        return judged(seed)

    def tests(path: Path) -> str:
        files.append(path)
        return ""

    ledger = flakes.soak(part_paths(), 60.0, 7, lambda line: None, 3, judge, tests)
    assert ledger.wrong == [] and len(set(seeds)) == 3
    assert ledger.numbers == {"rounds": 3, "checks judged": 9, "files of tests run": len(files)}
    assert {path.name for path in files} == {p.name for p in Path(__file__).parent.glob("test_*")}


def test_a_check_that_fails_now_and_then_is_named_with_its_seed() -> None:
    ledger = flakes.soak(
        part_paths(), 60.0, 7, lambda line: None, 8, lambda seed: judged(seed, "two"), lambda p: ""
    )
    assert 0 < len(ledger.wrong) < 8
    assert all(sentence.startswith("two says “fail”, SEED=") for sentence in ledger.wrong)


def test_a_file_of_tests_that_fails_is_named_with_what_failed() -> None:
    ledger = flakes.soak(
        part_paths(), 60.0, 7, lambda line: None, 1, judged, lambda path: "FAILED test_x"
    )
    assert "test_soak.py, in round 1: FAILED test_x" in ledger.wrong


def test_what_takes_long_runs_only_when_it_is_asked_for() -> None:
    assert command._chosen("", "flakes") == ["flakes"]
    assert "flakes" not in command._chosen("", "") and "messages" in command._chosen("", "")
