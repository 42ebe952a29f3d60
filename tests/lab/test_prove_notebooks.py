"""Notebooks: an output that is no longer true, a cell never run, an output nobody compares."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from miniature import STEP, good_lab, notebook, printed, proof, write

NAME = f"notebooks/{STEP}.ipynb"
HELLO: dict[str, Any] = {"source": 'print("Hello.")', "outputs": [printed("Hello.\n")]}
needs_nbval = pytest.mark.skipif(
    not importlib.util.find_spec("nbval"), reason="needs the group notebook"
)


def rules(root: Path, *cells: dict[str, Any]) -> str:
    """Prove the rules for a lab whose notebook has those cells; what was said."""
    write(good_lab(root), {NAME: notebook(*cells)})
    status, said = proof(root, only="notebook-rules")
    assert status == 1, said
    assert "0 of 1 keep the rules of notebooks" in said
    return said


def tagged(tag: str, **cell: Any) -> dict[str, Any]:
    """The cell that says hello, with a tag."""
    return {**HELLO, "metadata": {"tags": [tag]}, **cell}


@needs_nbval
def test_a_notebook_that_stores_another_output_is_reported(tmp_path: Path) -> None:
    write(good_lab(tmp_path), {NAME: notebook({**HELLO, "outputs": [printed("Good day.\n")]})})
    status, said = proof(tmp_path, only="notebooks")
    assert (status, "0 of 1 re-executed" in said) == (1, True)
    assert f"{NAME}: code cell 1 does not show what it stores" in said


@needs_nbval
def test_a_notebook_that_raises_or_cannot_be_read_is_reported(tmp_path: Path) -> None:
    good_lab(tmp_path)
    write(tmp_path, {NAME: notebook({"source": "1 / 0"}), "notebooks/torn.ipynb": "{"})
    status, said = proof(tmp_path, only="notebooks")
    assert (status, "0 of 2 re-executed" in said) == (1, True)
    assert "ZeroDivisionError: division by zero" in said
    assert "notebooks/torn.ipynb: could not be run" in said


def test_a_notebook_that_was_never_run_is_reported(tmp_path: Path) -> None:
    said = rules(tmp_path, {**HELLO, "execution_count": None})
    assert f"{NAME}: its cells were not run once, from the top." in said


def test_cells_run_in_another_order_are_reported(tmp_path: Path) -> None:
    said = rules(tmp_path, {**HELLO, "execution_count": 2}, {**HELLO, "execution_count": 1})
    assert "were not run once, from the top" in said


@pytest.mark.parametrize("tag", ["nbval-ignore-output", "nbval-skip"])
def test_a_tag_that_hides_an_output_is_reported(tmp_path: Path, tag: str) -> None:
    assert f"code cell 1 has the tag {tag}, which hides" in rules(tmp_path, tagged(tag))


def test_a_comment_that_hides_an_output_is_reported(tmp_path: Path) -> None:
    said = rules(tmp_path, {**HELLO, "source": '# NBVAL_IGNORE_OUTPUT\nprint("Hello.")'})
    assert "says NBVAL_IGNORE_OUTPUT, which hides its output." in said


@pytest.mark.parametrize("source", ["%time 1", "%%html\n<b>b</b>", "!ls", "get_ipython()"])
def test_magics_are_reported(tmp_path: Path, source: str) -> None:
    assert "magic" in rules(tmp_path, {"source": source})


def test_a_cell_that_should_raise_and_did_not_is_reported(tmp_path: Path) -> None:
    said = rules(tmp_path, tagged("raises-exception"))
    assert "has the tag raises-exception and raised nothing." in said


def test_an_error_or_a_word_on_stderr_is_reported(tmp_path: Path) -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
    said = rules(tmp_path, {**HELLO, "outputs": [error, printed("!", "stderr")]})
    assert "code cell 1 raised an exception." in said
    assert "code cell 1 wrote to stderr." in said


@pytest.mark.parametrize(
    "source", ["def double(n): ...", "class double: ...", "double = lambda: 1"]
)
def test_an_answer_in_a_notebook_is_reported(tmp_path: Path, source: str) -> None:
    assert "defines double, which is an exercise." in rules(tmp_path, {"source": source})


def test_a_notebook_without_code_is_reported(tmp_path: Path) -> None:
    assert "it has no code cell." in rules(tmp_path)


def test_a_lab_without_notebooks_has_proved_nothing(tmp_path: Path) -> None:
    (good_lab(tmp_path) / NAME).unlink()
    assert proof(tmp_path, only="notebook-rules")[0] == 1
