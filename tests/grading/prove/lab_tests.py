"""The lab's own tests pass: kit, judge, command line and the assembled server."""

import re

from grading.prove.lab import Lab, imports_of
from grading.prove.outcome import Outcome, Shortfall

_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
_FLAW = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$")
SECONDS = 900.0


def lab_tests_pass(lab: Lab) -> Outcome:
    """Every test in ``tests/lab`` passes; those that were skipped are noted."""
    argv = ["-m", "pytest", "tests/lab", "-q", "-rfEs", "--tb=no", "-p", "no:cacheprovider"]
    ended = lab.start(argv, lab.root, paths=imports_of(lab.root), seconds=SECONDS).result()
    counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(ended.last_line())}
    passed, skipped = counts.get("passed", 0), counts.pop("skipped", 0)
    lines = ended.out.splitlines()
    shortfalls = [Shortfall(m[1], f"{m[2] or 'fails'}.") for m in map(_FLAW.match, lines) if m]
    if ended.code != 0 and not shortfalls:
        shortfalls = [Shortfall("tests/lab", f"pytest ended with {ended.code}: {ended.last_line()}")]
    notes = tuple(line for line in lines if line.startswith("SKIPPED"))
    figures = f"{passed} of {sum(counts.values())} passed" + (f", {skipped} skipped" * bool(skipped))
    return Outcome(figures, passed, tuple(shortfalls), notes)
