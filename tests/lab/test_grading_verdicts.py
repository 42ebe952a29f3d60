"""Every way in which a part can be wrong gets its own words, and none gets a pass."""

from pathlib import Path

import pytest
from tiny_lab import SOLUTION, STUB, tiny_lab

from grading.run import grade
from grading.verdicts import Report, Result

HONEST = "test_a_text_is_refused"
EQUAL_TO_ALL = """
class Everything:
    def __eq__(self, other):
        return True
    __hash__ = None

def double(number):
    return Everything()
"""
A_KIND_OF_INT = """
class Int(int):
    def __eq__(self, other):
        return True
    __hash__ = None

def double(number):
    return Int()
"""
SWALLOWED = """
from kit.todo import todo

def double(number):
    try:
        todo("5.1: Double")
    except Exception:
        return 4
"""
READS_THE_SOLUTION = """
from pathlib import Path

def double(number):
    root = Path(__file__).parents[2]
    name = f"solutions/{Path(__file__).parent.name}/double.py"
    try:
        exec((root / name).read_text(), space := {})
    except PermissionError:
        return "closed"
    return space["double"](number)
"""
READS_THE_CHECKS = READS_THE_SOLUTION.replace("solutions/", "tests/").replace(
    "double.py", "test_checks.py"
)
REPORTS_ITSELF = """
import glob, os

def double(number):
    for name in glob.glob("/tmp/lab-report-*") + [os.environ.get("LAB_REPORT", "")]:
        with open(name + "/report.json", "w") as report:
            report.write('{"results": []}')
    return 0
"""
PARTS = {
    "right": SOLUTION,
    "stub": STUB,
    "syntax": "def double(number)\n    return 4\n",
    "missing": "def twice(number):\n    return number * 2\n",
    "swallowed": SWALLOWED,
    "signature": "def double():\n    return 4\n",
    "exits": "import os\n\ndef double(number):\n    os._exit(0)\n",
    "leaves": "def double(number):\n    raise SystemExit(0)\n",
    "equal": EQUAL_TO_ALL,
    "kind": A_KIND_OF_INT,
    "bug": "def double(number):\n    return {}[number]\n",
    "reads": READS_THE_SOLUTION,
    "checks": READS_THE_CHECKS,
    "report": REPORTS_ITSELF,
    "wrong": "def double(number):\n    print('hello')\n    return 7\n",
    "printing": SOLUTION.replace("    return", "    print('{\"value\": 4}')\n    return"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lab(tmp_path_factory.mktemp("lab"), PARTS)


@pytest.fixture(scope="module")
def report(root: Path) -> Report:
    return grade("lessons", root=root)


def result(report: Report, slug: str, test: str = "test_twice_a_number") -> Result:
    """The verdict on one check of one part."""
    number = list(PARTS).index(slug) + 1
    return next(r for r in report.results if r.step == number and r.test == test)


def test_every_check_has_a_verdict(report: Report) -> None:
    assert report.trouble == ""
    assert len(report.results) == 2 * len(PARTS)
    assert "unproven" not in {each.verdict for each in report.results}


@pytest.mark.parametrize("slug", ["right", "printing"])
def test_a_right_part_passes_even_when_it_prints(report: Report, slug: str) -> None:
    assert {result(report, slug).verdict, result(report, slug, HONEST).verdict} == {"pass"}


@pytest.mark.parametrize("slug", ["stub", "swallowed"])
def test_not_started_is_no_failure_and_cannot_be_swallowed(report: Report, slug: str) -> None:
    assert result(report, slug).verdict == "not started"


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("syntax", "double.py, line 1"),
        ("missing", "double has no double"),
        ("signature", "takes 0 positional arguments"),
        ("exits", "ended the whole process"),
        ("leaves", "end the process with sys.exit"),
        ("equal", "returned a Everything"),
        ("kind", "returned a Int"),
        ("bug", "KeyError"),
        ("bug", "double.py:2"),
        ("reads", "closed"),
        ("checks", "closed"),
        ("report", "Error"),
        ("wrong", "7"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_its_own(report: Report, slug: str, words: str) -> None:
    found = result(report, slug)
    assert found.verdict == "fail"
    assert words in found.text


@pytest.mark.parametrize("slug", ["equal", "wrong", "bug", "exits"])
def test_a_failure_has_four_parts_in_twelve_lines(report: Report, slug: str) -> None:
    lines = result(report, slug).text.splitlines()
    assert len(lines) <= 12
    assert [line.split()[0] for line in lines if line[0] != " "] == ["sent", "got", "rule", "look"]
    assert "double.py:" in lines[-2]
    assert "make hint EXERCISE=" in lines[-1]


def test_the_solutions_pass_in_the_same_lab(root: Path) -> None:
    solutions = grade("solutions", root=root, steps=[1, 12])
    assert {each.verdict for each in solutions.results} == {"pass"}


def test_only_a_value_can_have_the_wrong_form(tmp_path: Path) -> None:
    seven = "def double(number):\n    return 7\n"
    lab = tiny_lab(tmp_path, {"bug": PARTS["bug"], "seven": seven})
    for checks in lab.glob("tests/step*/test_*.py"):
        text = checks.read_text(encoding="utf-8")
        reads = "subject.double(number=number)['twice']"
        checks.write_text(text.replace("subject.double(number=number)", reads), encoding="utf-8")
    report = grade("lessons", root=lab)
    bug, seven = (each.text for each in report.results if each.test == "test_twice_a_number")
    assert "KeyError" in bug and "not the form" not in bug
    assert "7" in seven and "not the form" in seven
