"""The report of a run as lines, written while it goes on: what was done when it was killed counts.

The descriptor is of a file without a name, inherited from `run`; no other process can find it. The
first line says how many cases each check has, each case is a line, and the last line closes the
report. A check of which a case is missing has no verdict.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from grading.verdicts import worst

VARIABLE = "LAB_REPORT"


@dataclass(frozen=True)
class Summary:
    """The verdict on one check, out of its cases. unreadable: why its part cannot be asked."""

    verdict: str
    text: str
    seconds: float
    unreadable: str = ""


@dataclass
class Told:
    """What a run has told. closed: it came to its end. problems: what could not be collected."""

    cases: dict[str, list[Summary]] = field(default_factory=dict)
    expected: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seed: int = 0
    missing: list[str] = field(default_factory=list)
    closed: bool = False

    def summary(self, check: str) -> Summary | None:
        """The verdict on a check, or None when not all of its cases were told."""
        cases = self.cases.get(check, [])
        if not cases or len(cases) != self.expected.get(check):
            return None
        verdict = worst(case.verdict for case in cases)
        first = next(case for case in cases if case.verdict == verdict)
        return replace(first, seconds=round(sum(case.seconds for case in cases), 4))


def write_line(line: dict[str, Any]) -> None:
    """Add a line to the report, when a run has asked for one."""
    descriptor = os.environ.get(VARIABLE, "")
    if descriptor.isdecimal():
        os.write(int(descriptor), json.dumps(line).encode() + b"\n")


def read_lines(lines: Iterable[bytes]) -> Told:
    """Return what the lines tell; a last line that was cut off tells nothing."""
    told = Told()
    for line in lines:
        if not line.endswith(b"\n"):
            break
        entry = json.loads(line)
        if "case" in entry:
            told.cases.setdefault(entry["case"], []).append(
                Summary(
                    entry["verdict"], entry["text"], entry["seconds"], entry.get("unreadable", "")
                )
            )
        elif "expected" in entry:
            told.expected = entry["expected"]
        elif "problem" in entry:
            told.problems.append(entry["problem"])
        else:
            told.seed, told.missing, told.closed = entry["seed"], entry["missing"], True
    return told
