"""``make browser``: the page of step 08 in a real Chromium, with and without a mouse."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from kit.parts import ROOT

SUMMARY = "walk through the page of step 08 in a real browser, where one is installed"
OPTIONS = {
    "PARTS": "lessons shows your own parts where they are finished",
    "PHOTOS": "a folder that gets pictures of the page",
}
TESTS = ROOT / "tests" / "browser"


class _Count:
    """Counts what pytest reports: tests by outcome, and why some were skipped."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []
        self.reasons: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test that was called, or that did not get that far."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes.append(report.outcome)
        if report.outcome == "skipped":
            self.reasons.add(str(report.longrepr[2]).removeprefix("Skipped: "))

    def pytest_collectreport(self, report: Any) -> None:
        """Count a file that could not be read."""
        if report.outcome == "skipped":
            self.outcomes.append("skipped")
            self.reasons.add(str(report.longrepr[2]).removeprefix("Skipped: "))


def run(options: dict[str, str]) -> int:
    """Run the tests; 0 when none failed, 1 otherwise, 2 for a folder that is not there."""
    photos = Path(options.get("PHOTOS", ROOT))
    if not photos.is_dir():
        print(f"PHOTOS is a folder, and {photos} is none.", file=sys.stderr)
        return 2
    os.environ["PARTS"] = options.get("PARTS", "solutions")
    if "PHOTOS" in options:
        os.environ["LAB_PHOTOS"] = str(photos.absolute())
    count = _Count()
    words = ["-q", "--no-header", "-p", "no:cacheprovider", str(TESTS)]
    status = importlib.import_module("pytest").main(words, plugins=[count])
    told = {name: count.outcomes.count(name) for name in ("passed", "failed", "skipped")}
    for reason in sorted(count.reasons):
        print(f"skipped: {reason}")
    print(f"browser: {told['passed']} passed, {told['failed']} failed, {told['skipped']} skipped")
    return 0 if told["failed"] == 0 and int(status) in (0, 5) else 1
