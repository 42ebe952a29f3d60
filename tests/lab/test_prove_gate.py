"""The gate as a whole: a good lab proves clean, and nothing that broke counts as proved."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from miniature import good_lab, grade, proof

from grading.prove.gate import NotUnderstood, chosen_properties, prove, verdict
from grading.prove.lab import Lab
from grading.prove.outcome import Outcome, Property
from grading.prove.runner import judged, prove_all
from grading.prove.table import PROPERTIES
from kit.commands import prove as command

TOOLS = ("nbval", "ruff", "mypy")
needs_tools = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, TOOLS)), reason="needs the groups notebook and dev"
)


@needs_tools
def test_a_good_lab_proves_clean(tmp_path: Path) -> None:
    status, said = proof(good_lab(tmp_path))
    assert status == 0, said
    assert said.endswith(f"prove: all {len(PROPERTIES)} properties hold")


@pytest.mark.parametrize(
    "line",
    [
        "stubs 0 of 2 checks passed ok",
        "solutions 2 of 2 checks passed ok",
        "alternatives 3 of 3 accepted by every check ok",
        "known-bad 10 of 10 rejected at the checks they name ok",
        "coverage 2 of 2 checks catch a known-bad submission ok",
        "failure-texts 10 of 10 failures have four parts ok",
        "cheats 0 of 1 scored what they did not solve ok",
    ],
)
def test_each_property_prints_its_numbers(tmp_path: Path, line: str) -> None:
    _, said = proof(good_lab(tmp_path), only=line.split()[0])
    assert " ".join(said.splitlines()[0].split()) == line


def test_only_runs_what_it_names_in_the_order_of_the_table(tmp_path: Path) -> None:
    status, said = proof(good_lab(tmp_path), only="known-bad, requirement ids ,stubs")
    names = [line.split()[0] for line in said.splitlines()[:3]]
    assert (status, names) == (0, ["stubs", "known-bad", "requirement-ids"])
    assert said.endswith("prove: all 3 properties hold")


def test_an_unknown_property_or_step_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotUnderstood, match="no property stub; there are stubs, solutions"):
        chosen_properties("stub")
    with pytest.raises(NotUnderstood, match="STEP is a number such as 02, not two"):
        prove(good_lab(tmp_path), grade, step="two")
    with pytest.raises(ValueError, match="no step 07"):
        prove(tmp_path, grade, step="7")


def test_the_verdict_counts_what_falls_short() -> None:
    assert verdict(17, 0) == "prove: all 17 properties hold"
    assert verdict(17, 2) == "prove: 2 of 17 properties fall short"


def test_a_property_that_found_nothing_is_not_proved(tmp_path: Path) -> None:
    nothing = Property("nothing", lambda lab: Outcome("0 of 0", 0))
    assert "nothing to prove" in str(judged(nothing, _lab(tmp_path)).shortfalls[0])


def test_a_property_whose_machinery_breaks_is_not_proved(tmp_path: Path) -> None:
    def breaks(lab: Lab) -> Outcome:
        raise FileNotFoundError("lessons/requirements.md")

    [shortfall] = judged(Property("breaks", breaks), _lab(tmp_path)).shortfalls
    assert "FileNotFoundError: lessons/requirements.md" in str(shortfall)


def test_an_interrupt_drops_the_work_that_waits(tmp_path: Path) -> None:
    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        lab = Lab(tmp_path, (), (), grade, pool, tmp_path)
        with pytest.raises(KeyboardInterrupt):
            prove_all(lab, [Property("one", lambda lab: Outcome("1 of 1", 1))], interrupted)
        with pytest.raises(RuntimeError, match="after shutdown"):
            pool.submit(print)


def test_a_judge_that_breaks_is_a_shortfall_of_every_property_that_asks_it(tmp_path: Path) -> None:
    root = good_lab(tmp_path)
    (root / "tests/step01_double/test_double.py").unlink()
    status, said = proof(root, only="stubs,solutions,alternatives,known-bad,cheats")
    assert (status, said.count("FALLS SHORT")) == (1, 5)


@pytest.mark.parametrize("jobs", ["0", "two", "-1"])
def test_the_command_refuses_odd_numbers_of_jobs(
    jobs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run({"JOBS": jobs}) == 2
    assert f"not {jobs}" in capsys.readouterr().err


def test_the_command_refuses_an_unknown_property(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run({"ONLY": "everything"}) == 2
    assert "There is no property everything" in capsys.readouterr().err


def _lab(root: Path) -> Lab:
    return Lab(root, (), (), grade, None, root)  # type: ignore[arg-type]
