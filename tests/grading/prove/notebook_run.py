"""Runs one notebook from the top with nbval and says where its outputs differ from the stored ones.

No sanitising file and no ignored output: everything that a reader sees is compared, except
execution counts and tracebacks.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

CELL_SECONDS = 120
SHOWN = 160
_COLOUR = re.compile(r"(?:\x1b|#x1B)\[[0-9;]*m")
_CELL = re.compile(r"Cell (\d+)")
_BEFORE = re.compile(r".*\bTraceback:\s*", re.DOTALL)


def nbval_arguments(notebook: Path, report: Path) -> list[str]:
    """What Python gets to run `notebook`; the result goes to `report` as JUnit XML."""
    return [
        *("-m", "pytest", "-p", "nbval.plugin", "-p", "no:cacheprovider", "-q"),
        *("--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_SECONDS}"),
        *(f"--junitxml={report}", str(notebook)),
    ]


def cells_in(report: Path) -> list[ElementTree.Element]:
    """The cells that were run, as the report has them; none when there is no report."""
    return list(ElementTree.parse(report).getroot().iter("testcase")) if report.is_file() else []


def differences(cells: list[ElementTree.Element]) -> Iterator[str]:
    """One sentence for each cell that shows something else than it stores."""
    for cell in cells:
        for result in [*cell.iter("failure"), *cell.iter("error"), *cell.iter("skipped")]:
            told = _COLOUR.sub("", result.text or result.get("message") or "it says nothing")
            if name := _CELL.fullmatch(cell.get("name", "")):
                which = f"code cell {int(name[1]) + 1} does not show what it stores"
                yield f"{which}: {shown(_cause(told))}."
            else:
                yield f"could not be run: {shown(told.strip().splitlines()[-1])}."


def _cause(told: str) -> str:
    if "caused an exception" in told:
        return told.strip().splitlines()[-1]
    return _BEFORE.sub("", told).replace(" assert reference_output == test_output failed:", ":")


def joined(value: Any) -> Any:
    """Text that a notebook file keeps as a list of lines, as one text."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value


def shown(value: str) -> str:
    """A text short enough for a sentence."""
    text = " ".join(value.split())
    return f"“{text[:SHOWN]}…”" if len(text) > SHOWN else f"“{text}”"
