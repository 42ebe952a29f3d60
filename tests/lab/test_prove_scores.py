"""Stubs, solutions, alternatives and cheats: what scores although it must not, and the reverse."""

from pathlib import Path

import pytest
from miniature import SOLUTION, STEP, edit, good_lab, proof, write

CHECKS = f"tests/{STEP}/test_double.py"


def test_a_check_that_cannot_fail_is_reported_three_times(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), CHECKS, "assert double(2) == 4", "assert True")
    status, said = proof(tmp_path, only="stubs,known-bad,coverage")
    assert status == 1
    assert "stubs              1 of 2 checks passed" in said
    assert f"tests/{STEP}::test_two_becomes_four: on the stub it says “pass”." in said
    assert "times_3.toml: test_two_becomes_four should reject it and passes." in said
    assert f"tests/{STEP}::test_two_becomes_four: no known-bad submission fails it." in said


def test_a_stub_that_fails_in_place_of_waiting_is_reported(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), CHECKS, "assert double(2) == 4", "assert False")
    _, said = proof(tmp_path, only="stubs")
    assert "test_two_becomes_four: on the stub it says “fail”." in said


def test_a_solution_that_fails_a_check_is_reported_with_its_text(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), f"solutions/{STEP}/double.py", "number * 2", "number * 3")
    status, said = proof(tmp_path, only="solutions")
    assert status == 1
    assert "1 of 2 checks passed" in said
    assert f"tests/{STEP}: test_two_becomes_four says “fail” (sent 2 / got 5" in said


def test_an_alternative_that_is_rejected_is_reported(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), f"tests/alternatives/{STEP}/sum/double.py", "number + number", "0")
    status, said = proof(tmp_path, only="alternatives")
    assert status == 1
    assert f"tests/alternatives/{STEP}/sum: test_two_becomes_four says “fail”" in said
    assert "2 of 3 accepted" in said


def test_an_alternative_without_a_part_of_the_step_is_reported(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {f"tests/alternatives/{STEP}/empty/other.py": ""})
    _, said = proof(tmp_path, only="alternatives")
    assert f"{STEP}/empty: it brings none of the parts double." in said


def test_a_cheat_that_scores_is_reported_unless_it_is_honest(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {"tests/cheats/exits/double.py": SOLUTION})
    status, said = proof(tmp_path, only="cheats")
    assert status == 1
    assert "tests/cheats/exits: it passes test_two_becomes_four without solving it." in said
    honest = 'step = 1\nhonest = ["test_two_becomes_four", "test_a_text_is_refused"]'
    edit(tmp_path, "tests/cheats/exits/about.toml", "step = 1", honest)
    assert proof(tmp_path, only="cheats")[0] == 0


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ("step = 9", "exits: its about.toml must name a step of the registry"),
        ('step = 1\nhonest = ["test_x"]', "it calls test_x honest, which is no check."),
        ("step =", "about.toml must name a step"),
    ],
)
def test_a_cheat_with_a_wrong_head_is_reported(tmp_path: Path, head: str, complaint: str) -> None:
    edit(good_lab(tmp_path), "tests/cheats/exits/about.toml", "step = 1", head)
    status, said = proof(tmp_path, only="cheats")
    assert status == 1
    assert complaint in said


def test_a_lab_without_cheats_has_proved_nothing_about_them(tmp_path: Path) -> None:
    root = good_lab(tmp_path)
    for name in ("about.toml", "double.py"):
        (root / "tests/cheats/exits" / name).unlink()
    (root / "tests/cheats/exits").rmdir()
    status, said = proof(root, only="cheats")
    assert status == 1
    assert "there was nothing to prove" in said
