"""Anatomy, lessons, own tests and style: what is missing, drifted, failing or untidy."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
from miniature import SOLUTION, STEP, edit, good_lab, proof, write

from grading.prove.anatomy import rungs_by_exercise

PART = f"lessons/{STEP}/double.py"


@pytest.mark.parametrize(
    "name",
    [
        f"lessons/{STEP}/README.md",
        f"lessons/{STEP}/hints.md",
        f"lessons/{STEP}/attack.py",
        f"notebooks/{STEP}.ipynb",
        f"tests/{STEP}/subject.py",
    ],
)
def test_a_missing_part_of_a_step_is_reported(tmp_path: Path, name: str) -> None:
    (good_lab(tmp_path) / name).unlink()
    status, said = proof(tmp_path, only="anatomy")
    assert status == 1
    assert f"{name}: is missing." in said


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        (f"tests/known_bad/{STEP}/times_3.toml", "has 7 known-bad submissions by edit, not 8"),
        (f"tests/known_bad/{STEP}/zero", "has 1 known-bad submissions by beginner's file, not 2"),
        (f"tests/alternatives/{STEP}/sum", "has 2 alternatives, not 3 or more"),
    ],
)
def test_too_few_submissions_are_reported(tmp_path: Path, gone: str, sentence: str) -> None:
    path = good_lab(tmp_path) / gone
    path.rename(path.with_name("_put_away"))
    status, said = proof(tmp_path, only="anatomy")
    assert status == 1
    assert sentence in said


@pytest.mark.parametrize(
    ("find", "replace", "sentence"),
    [
        ('functions = ["double"]', 'functions = ["treble"]', "has no treble, exercise 1.1."),
        ("points = 2", "points = 0", "1.1 needs minutes, points and a check."),
        ("minutes = 5", "minutes = 9", "the first exercise takes more than 5 minutes."),
        ("minutes = 10", "minutes = 4", "its core exercises take 5 minutes, the step says 4."),
        ("test_two_becomes_four", "test_gone", "test_gone is not written."),
        ("test_two_becomes_four", "test_gone", "test_two_becomes_four is not registered."),
    ],
)
def test_a_registry_that_does_not_fit_the_step_is_reported(
    tmp_path: Path, find: str, replace: str, sentence: str
) -> None:
    edit(good_lab(tmp_path), "lessons/lab.toml", find, replace)
    status, said = proof(tmp_path, only="anatomy")
    assert status == 1
    assert sentence in said


def test_a_page_that_is_too_long_is_reported(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {f"lessons/{STEP}/README.md": "word " * 1501})
    assert "has 1501 words beside its listings" in proof(tmp_path, only="anatomy")[1]


def test_an_exercise_has_three_rungs_of_hints(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), f"lessons/{STEP}/hints.md", "One line, with a star.\n", "")
    said = proof(tmp_path, only="anatomy")[1]
    assert "“## 1.1 Double” has the rungs 1, 2, not ### 1, ### 2 and ### 3." in said
    page = "## 2.1 Read\n\n### 1\na\n\nb\n### 2 Where\nc\n## 2.10 Write\n### 3\n```\nd\n```\n"
    assert rungs_by_exercise(page) == {"2.1 Read": ["1", "2"], "2.10 Write": ["3"]}


@pytest.mark.parametrize(
    ("title", "sentence"),
    [
        ("## 1.1 Treble", "has no section “## 1.1 Double”."),
        ("## 1.2 Double", "“## 1.2 Double” is no exercise of the registry."),
    ],
)
def test_hints_have_the_headings_of_the_registry(tmp_path: Path, title: str, sentence: str) -> None:
    edit(good_lab(tmp_path), f"lessons/{STEP}/hints.md", "## 1.1 Double", title)
    assert sentence in proof(tmp_path, only="anatomy")[1]


def test_a_lesson_that_drifted_from_its_solution_is_reported(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), PART, "numbers only", "numbers alone")
    status, said = proof(tmp_path, only="lessons")
    assert status == 1
    assert f"{PART}: is not the generated stub" in said


def test_a_lesson_that_is_missing_is_reported(tmp_path: Path) -> None:
    (good_lab(tmp_path) / PART).unlink()
    assert proof(tmp_path, only="lessons")[0] == 1


def commit(root: Path) -> None:
    """Put the lab into a repository."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "All"]):
        subprocess.run(["git", *words], cwd=root, check=True)


def test_a_learners_work_is_left_alone_and_the_commit_is_compared(tmp_path: Path) -> None:
    commit(good_lab(tmp_path))
    write(tmp_path, {PART: SOLUTION})
    assert proof(tmp_path, only="lessons,stubs")[0] == 0
    assert (tmp_path / PART).read_text(encoding="utf-8") == SOLUTION


def test_a_drifted_commit_is_reported_behind_a_learners_work(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), PART, "numbers only", "numbers alone")
    commit(tmp_path)
    write(tmp_path, {PART: SOLUTION})
    assert proof(tmp_path, only="lessons")[0] == 1


def test_a_solution_committed_into_lessons_is_a_mistake_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(good_lab(tmp_path), {PART: SOLUTION})
    commit(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    assert "0 of 0 equal the generated stubs, 1 yours" in proof(tmp_path, only="lessons")[1]
    monkeypatch.setenv("CI", "true")
    assert "is not the generated stub" in proof(tmp_path, only="lessons")[1]


def test_files_that_git_ignores_are_not_part_of_the_lab(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {".gitignore": "/notes.md\n", "notes.md": "[a](nowhere.md)\n"})
    assert proof(tmp_path, only="links")[0] == 1
    commit(tmp_path)
    assert proof(tmp_path, only="links")[0] == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def test_truth():\n    assert 1 == 2\n", "::test_truth: assert 1 == 2"),
        ("def truth():\n    pass\n", "no test of it could be run"),
        ("def test_truth(:\n", "collection failure"),
        ("import os\nos._exit(0)\n", "no test of it could be run"),
    ],
)
def test_a_test_of_the_lab_that_fails_or_is_not_run_is_reported(
    tmp_path: Path, text: str, sentence: str
) -> None:
    write(good_lab(tmp_path), {"tests/lab/test_truth.py": text})
    status, said = proof(tmp_path, only="lab-tests")
    assert status == 1
    assert "tests/lab/test_truth.py" in said
    assert sentence in said


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("ruff", "mypy"))), reason="needs the group dev"
)
def test_untidy_code_is_reported_by_tool_and_place(tmp_path: Path) -> None:
    text = SOLUTION.replace("from", "import os\nfrom") + "X: int = 'text'\n"
    write(good_lab(tmp_path), {f"solutions/{STEP}/double.py": text})
    status, said = proof(tmp_path, only="style")
    assert status == 1
    for tool in ("ruff check: F401", "ruff format would change it", "mypy: error: Incompatible"):
        assert tool in said
    assert f"    solutions/{STEP}/double.py" in said


def test_style_without_files_for_types_is_reported(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {"pyproject.toml": ""})
    assert "[tool.mypy] names no files to check." in proof(tmp_path, only="style")[1]
