"""The lab's own tests pass, file by file."""

from concurrent.futures import Future
from pathlib import Path
from xml.etree import ElementTree

from grading.prove.lab import Lab, imports_of
from grading.prove.outcome import Outcome, Shortfall
from grading.prove.processes import Completed

FOLDER = "tests/lab/"


def lab_tests_pass(lab: Lab) -> Outcome:
    """Every test file of tests/lab holds at least one test, and each of its tests passes."""
    names = [name for name in lab.files(".py") if name.startswith(FOLDER)]
    names = [name for name in names if name.rpartition("/")[2].startswith("test_")]
    copy = lab.clean()
    running = [(name, *_start(lab, copy, name)) for name in names]
    passed = skipped = total = 0
    shortfalls: list[Shortfall] = []
    for name, report, future in running:
        ended = future.result()
        cases = _cases(report)
        total += len(cases)
        bad = [case for case in cases if case.find("failure") is not None or _is_error(case)]
        left_out = [case for case in cases if case.find("skipped") is not None]
        skipped, passed = skipped + len(left_out), passed + len(cases) - len(bad) - len(left_out)
        shortfalls += [Shortfall(f"{name}::{case.get('name')}", _first_line(case)) for case in bad]
        if not cases or (ended.code != 0 and not bad):
            shortfalls.append(Shortfall(name, f"no test of it could be run: {ended.last_line()}"))
    figures = f"{passed} of {total} pass" + (f", {skipped} skipped" if skipped else "")
    return Outcome(figures, total, tuple(shortfalls))


def _start(lab: Lab, copy: Path, name: str) -> "tuple[Path, Future[Completed]]":
    report = lab.folder("junit") / "report.xml"
    argv = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", name]
    return report, lab.start(argv, copy, paths=imports_of(copy))


def _cases(report: Path) -> list[ElementTree.Element]:
    if not report.is_file():
        return []
    return list(ElementTree.parse(report).getroot().iter("testcase"))


def _is_error(case: ElementTree.Element) -> bool:
    return case.find("error") is not None


def _first_line(case: ElementTree.Element) -> str:
    found = case.find("error") if _is_error(case) else case.find("failure")
    message = found.get("message", "") if found is not None else ""
    return " ".join(message.split())[:200] or "failed."
