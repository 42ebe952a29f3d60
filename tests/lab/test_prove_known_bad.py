"""Known-bad submissions: one that passes, one that rotted, one that fails for the wrong reason."""

from pathlib import Path

import pytest
from miniature import STEP, edit, good_lab, known_bad, proof, write

from grading import player
from grading.prove.gradings import NOT_LOADED

FIRST = "test_two_becomes_four"
FOLDER = f"tests/known_bad/{STEP}"


def one(root: Path, find: str, replace: str, **head: object) -> str:
    """Write one more known-bad submission by edit, and prove the property."""
    caught_by = head.pop("caught_by", [FIRST])
    text = known_bad(find, replace, caught_by, **head)  # type: ignore[arg-type]
    write(good_lab(root), {f"{FOLDER}/one.toml": text})
    status, said = proof(root, only="known-bad")
    assert status == 1, said
    assert "10 of 11 rejected at the checks they name" in said
    return said


def say(root: Path, text: str) -> None:
    """Let the first check fail with that text."""
    edit(root, f"tests/{STEP}/test_double.py", "== 4", f'== 4, "{text}"')


def test_a_known_bad_submission_that_passes_is_reported(tmp_path: Path) -> None:
    said = one(tmp_path, "number * 2", "2 * number")
    assert f"{FOLDER}/one.toml: {FIRST} should reject it and passes." in said


def test_it_must_fail_every_check_that_it_names(tmp_path: Path) -> None:
    said = one(tmp_path, "* 2", "* 3", caught_by=[FIRST, "test_a_text_is_refused"])
    assert "one.toml: test_a_text_is_refused should reject it and passes." in said


def test_an_edit_that_no_longer_applies_is_reported(tmp_path: Path) -> None:
    assert "no longer applies: “number ** 2” occurs 0 times" in one(tmp_path, "number ** 2", "0")


def test_an_edit_that_applies_twice_is_reported(tmp_path: Path) -> None:
    assert "“ToolRefusal” occurs 3 times, not once" in one(tmp_path, "ToolRefusal", "ValueError")


def test_an_edit_that_changes_nothing_is_reported(tmp_path: Path) -> None:
    assert "its edit changes nothing" in one(tmp_path, "number * 2", "number * 2")


def test_an_edit_that_does_not_compile_is_reported(tmp_path: Path) -> None:
    assert "double.py does not compile" in one(tmp_path, "number * 2", "number *")


def test_a_check_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    said = one(tmp_path, "* 2", "* 3", caught_by=["test_gone"])
    assert "it names test_gone, which is no check of this step." in said


@pytest.mark.parametrize("key", ["title", "why", "source"])
def test_a_head_without_its_reason_is_reported(tmp_path: Path, key: str) -> None:
    assert f"its head has no {key}." in one(tmp_path, "* 2", "* 3", **{key: ""})


def test_a_head_that_is_not_toml_is_reported(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {f"{FOLDER}/one.toml": "title = \n"})
    assert "one.toml is not TOML" in proof(tmp_path, only="known-bad")[1]


def test_a_submission_that_is_not_started_is_not_rejected(tmp_path: Path) -> None:
    stub = 'from kit.todo import todo\n\n\ndef double(number):\n    todo("1.1: Double")\n'
    write(good_lab(tmp_path), {f"{FOLDER}/zero/double.py": stub})
    said = proof(tmp_path, only="known-bad")[1]
    assert f"{FOLDER}/zero: {FIRST} should fail and says “not started”." in said


def test_a_crash_while_loading_counts_only_if_the_head_says_so(tmp_path: Path) -> None:
    text = f"sent 2\\ngot {NOT_LOADED[1]}\\nrule MINI-1\\nlook at double.py:1"
    say(good_lab(tmp_path), text)
    status, said = proof(tmp_path, only="known-bad")
    assert status == 1
    assert f"{FIRST} fails only because the part cannot be loaded" in said


def test_the_judge_still_says_it_in_these_words_when_a_part_cannot_be_loaded(
    tmp_path: Path,
) -> None:
    for name, text in (("a", "def f(:\n"), ("b", "1 / 0\n")):
        write(tmp_path, {f"{name}.py": text})
        with pytest.raises(player.Broken) as broken:
            player.load_part(tmp_path / f"{name}.py", name)
        assert any(phrase in str(broken.value) for phrase in NOT_LOADED)


def test_a_failure_text_without_its_parts_or_too_long_is_reported(tmp_path: Path) -> None:
    long = "sent 2" + "\\n…" * 12
    say(good_lab(tmp_path), long)
    status, said = proof(tmp_path, only="failure-texts")
    assert status == 1
    assert f"times_3.toml: {FIRST} explains itself in 13 lines, not 12 or fewer." in said
    assert f"times_3.toml: {FIRST} explains itself without “got”, “rule”, “look at”." in said


def test_a_check_that_no_submission_names_is_idle(tmp_path: Path) -> None:
    (good_lab(tmp_path) / FOLDER / "any.toml").unlink()
    status, said = proof(tmp_path, only="coverage")
    assert status == 1
    assert f"tests/{STEP}::test_a_text_is_refused: no known-bad submission fails it." in said


def test_a_source_that_is_no_https_address_is_reported(tmp_path: Path) -> None:
    text = known_bad("* 2", "* 3", [FIRST], source=["https://example.org/1", "somebody said so"])
    write(good_lab(tmp_path), {f"{FOLDER}/times_3.toml": text})
    status, said = proof(tmp_path, only="links")
    assert status == 1
    assert "times_3.toml: its source 'somebody said so' is no https address." in said
