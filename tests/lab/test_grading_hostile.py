"""Submissions that try to score without solving, and files that try to stop the judge: no marks."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_lab import SOLUTION, STUB, tiny_lab

from grading.run import grade
from grading.verdicts import FAIL, NOT_STARTED, PASS, UNPROVEN, Report, Result

HONEST = "test_a_text_is_refused"
DOUBLED = "test_twice_a_number"
WRONG = "\n\ndef double(number):\n    return 0\n"

CHEATS = {
    "exits at import": "import os\n\nos._exit(0)\n",
    "leaves at import": "import sys\n\nsys.exit(0)\n",
    "exits at the end": "import atexit, os\n\natexit.register(os._exit, 0)" + WRONG,
    "patches the runner": """
try:
    import _pytest.runner as runner
    runner.call_and_report = lambda *a, **k: None
except ImportError:
    pass
"""
    + WRONG,
    "marks everything passed": """
def pytest_runtest_makereport(item, call):
    return None

def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
    + WRONG,
    "patches the comparison": """
import builtins, hmac
hmac.compare_digest = lambda a, b: True
builtins.isinstance = lambda *a: True
"""
    + WRONG,
    "freezes the time": "import time\n\ntime.time = time.monotonic = lambda: 0.0" + WRONG,
    "imports the solution": "from solutions.step01_right.double import double\n",
    "imports the judge": "import grading.run" + WRONG,
    "reads the other part": """
from pathlib import Path

def double(number):
    other = Path(__file__).parents[1] / "step01_right" / "double.py"
    exec(other.read_text(), space := {})
    return space["double"](number)
""",
    "sniffs the seed": """
import os, random

def double(number):
    seed = os.environ.get("SEED") or open("/proc/1/environ").read()
    return random.Random(f"{seed}:test_twice_a_number").randrange(2, 1000) * 2
""",
    "asks the frames": """
import sys

def double(number):
    frame, found = sys._getframe(), {}
    while frame is not None:
        found |= frame.f_locals
        frame = frame.f_back
    return found.get("wanted", found.get("expected"))
""",
    "writes the report": """
import json, os

line = json.dumps({"case": "1.1::test_twice_a_number", "verdict": "pass", "text": "", "seconds": 0})

def double(number):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, line.encode() + b"\\n")
        except OSError:
            pass
    return 0
""",
    "closes everything": "import os\n\ndef double(number):\n    os.closerange(0, 64)\n",
}


def reply(line: str) -> str:
    """A part that writes this line to every descriptor that it has, before it answers."""
    return f"""
import os

def double(number):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, {line.encode()!r} + b"\\n")
        except OSError:
            pass
    return 0
"""


FORGED = {
    "another kind": reply('{"number": 1, "pass": true}'),
    "another field": reply('{"number": 1, "refused": {"message": "", "verdict": "pass"}}'),
    "no number": reply('{"value": 4}'),
    "not finite": reply('{"number": 1, "value": NaN}'),
    "nested": reply("[" * 100_000),
    "doubled": reply('{"number": 1, "value": 4, "not_started": {"exercise": "1"}}'),
    "slowly": """
import os

def double(number):
    while True:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b" ")
            except OSError:
                pass
""",
}
BROKEN = {
    "a loop": ("while True:\n    pass\n", "was not loaded within 1 seconds"),
    "deep minus": ("x = " + "-" * 200_000 + "1\n" + SOLUTION, "nested too deeply"),
    "deep names": ("x = a" + ".a" * 100_000 + "\n" + SOLUTION, "nested too deeply"),
    "deep brackets": ("x = " + "(" * 5000 + "\n", "too many nested parentheses"),
    "a null": ("x = 1\0\n" + SOLUTION, "null bytes"),
    "too long": ("#" * (2 << 20) + SOLUTION, "longer than 1024 KiB"),
    "four gigabytes": ("x = bytearray(4 << 30)\n" + SOLUTION, "MemoryError"),
    "a foreign import": ("import left_pad\n" + SOLUTION, "No module named 'left_pad'"),
}
ODD = {
    "async": ("async def double(number):\n    return number * 2\n", "must not be async"),
    "a generator": ("def double(number):\n    yield number * 2\n", "not yield"),
    "a long number": ("def double(number):\n    return 10 ** 10_000\n", "a thousand digits"),
    "a key": ("def double(number):\n    return {1: 2}\n", "a key that is not a str"),
    "an exit": ("def double(number):\n    raise SystemExit\n", "sys.exit, at double.py:2"),
    "os._exit": ("import os\n\ndef double(number):\n    os._exit(0)\n", "as os._exit(0) does"),
    "a signal": ("import os\n\ndef double(number):\n    os.abort()\n", "SIGABRT"),
    "a flood": ("def double(number):\n    while True:\n        print('x' * 99_999)\n", "too large"),
    "a print": ("def double(number):\n    print('ha')\n    return 7\n", "your code printed: 'ha"),
    "a signature": ("def double():\n    return 4\n", "the lesson says: double(number)"),
}
SILENT = {
    "closed": "import sys\n\nsys.stdout.close()\n" + SOLUTION,
    "replaced": "import sys\n\nsys.stdout = None\n" + SOLUTION,
}
TEXTS = (
    {"right": SOLUTION}
    | CHEATS
    | FORGED
    | {name: text for name, (text, _) in (BROKEN | ODD).items()}
    | SILENT
    | {"last": SOLUTION}
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    slugs = {f"s{number}": text for number, text in enumerate(TEXTS.values(), start=1)}
    root = tiny_lab(tmp_path_factory.mktemp("lab"), slugs)
    (root / "lessons" / "step01_s1").rename(root / "lessons" / "step01_right")
    (root / "lessons" / "step01_s1").symlink_to("step01_right")
    return grade("lessons", root=root, patience=1)


def result(report: Report, name: str, test: str = DOUBLED) -> Result:
    """The verdict on one check of one text."""
    number = list(TEXTS).index(name) + 1
    return next(r for r in report.results if r.step == number and r.test == test)


def test_the_judge_has_an_answer_for_each_and_comes_to_its_end(report: Report) -> None:
    assert report.trouble == ""
    assert {each.verdict for each in report.results} == {PASS, FAIL}


@pytest.mark.parametrize("name", ["right", "last", *SILENT])
def test_what_is_right_passes_before_and_after_all_this(report: Report, name: str) -> None:
    assert result(report, name).verdict == result(report, name, HONEST).verdict == PASS


@pytest.mark.parametrize("name", [*CHEATS, *FORGED])
def test_a_cheat_scores_nothing(report: Report, name: str) -> None:
    assert result(report, name).verdict == result(report, name, HONEST).verdict == FAIL


@pytest.mark.parametrize("name", [*BROKEN, *ODD])
def test_what_cannot_be_right_is_told_in_its_own_words(report: Report, name: str) -> None:
    found = result(report, name)
    assert found.verdict == FAIL
    assert (BROKEN | ODD)[name][1] in found.text


def test_every_failure_has_its_four_parts_in_twelve_lines(report: Report) -> None:
    for text in (each.text for each in report.results if each.verdict == FAIL):
        lines = text.splitlines()
        assert len(lines) <= 12
        assert [line.split()[0] for line in lines if line[:1] != " "] == [
            "sent",
            "got",
            "rule",
            "look",
        ]


def link_folder(root: Path) -> None:
    """The step's folder is a link to the solution."""
    folder = root / "lessons" / "step01_x"
    folder.rename(root / "gone")
    folder.symlink_to(root / "solutions" / "step01_x")


def replace(put: Callable[[Path, Path], object]) -> Callable[[Path], None]:
    """Put something else in the place of the part."""

    def act(root: Path) -> None:
        part = root / "lessons" / "step01_x" / "double.py"
        part.unlink()
        put(part, root)

    return act


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (link_folder, "a link to a file outside"),
        (
            replace(lambda part, root: part.symlink_to(root / "solutions/step01_x/double.py")),
            "a link",
        ),
        (replace(lambda part, root: part.symlink_to("/dev/zero")), "a link"),
        (replace(lambda part, root: part.symlink_to(part)), "cannot be read"),
        (replace(lambda part, root: os.mkfifo(part)), "not a file"),
        (replace(lambda part, root: part.mkdir()), "not a file"),
        (replace(lambda part, root: None), "is missing"),
        (replace(lambda part, root: part.write_bytes(b"\xff\xfe")), "not UTF-8"),
    ],
)
def test_what_is_no_file_of_ones_own_is_not_opened(
    tmp_path: Path, change: Callable[[Path], None], words: str
) -> None:
    root = tiny_lab(tmp_path, {"x": SOLUTION, "y": SOLUTION})
    change(root)
    report = grade("lessons", root=root)
    assert [each.verdict for each in report.results] == [FAIL, FAIL, PASS, PASS]
    assert words in report.results[0].text


@pytest.mark.parametrize(
    "name",
    ["conftest.py", "pytest.ini", "lessons/conftest.py", "lessons/pytest.py", "lessons/json.py"],
)
def test_a_planted_file_changes_nothing(tmp_path: Path, name: str) -> None:
    root = tiny_lab(tmp_path, {"right": SOLUTION, "wrong": WRONG, "stub": STUB})
    ini = name.endswith(".ini")
    (root / name).write_text("[pytest]\naddopts = --co\n" if ini else "import os\nos._exit(0)\n")
    verdicts = [each.verdict for each in grade("lessons", root=root).results]
    assert verdicts == [PASS, PASS, FAIL, FAIL, NOT_STARTED, NOT_STARTED]


def test_a_run_that_is_stopped_keeps_what_was_done(tmp_path: Path) -> None:
    loops = "def double(number):\n    while True:\n        pass\n"
    root = tiny_lab(tmp_path, {"right": SOLUTION, "loops": loops})
    report = grade("lessons", root=root, timeout=4, patience=60)
    assert [each.verdict for each in report.results] == [PASS, PASS, UNPROVEN, UNPROVEN]
    assert "not done within 4 seconds" in report.results[2].text


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ("def (:\n", "SyntaxError"),
        ("import left_pad\n", "left_pad"),
        ("def test_other(subject):\n    pass\n", "test_other is not in lab.toml"),
        (
            "def test_twice_a_number(subject):\n    raise RuntimeError('mine')\n",
            "mine (test_x.py:2)",
        ),
        (
            "def test_twice_a_number(subject):\n    subject.triple(number=1)\n",
            "no operation triple",
        ),
        ("def test_a_text_is_refused(subject):\n    pass\n", "No test of this name"),
    ],
)
def test_a_mistake_of_the_lab_is_unproven_and_says_why(
    tmp_path: Path, checks: str, words: str
) -> None:
    root = tiny_lab(tmp_path, {"x": SOLUTION, "y": SOLUTION})
    (root / "tests" / "step01_x" / "test_x.py").write_text(checks)
    found = grade("lessons", root=root).results[0]
    assert found.verdict == UNPROVEN
    assert words in found.text
