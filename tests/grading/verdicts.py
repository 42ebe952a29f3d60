"""The five verdicts, and how the results of one check's cases become one."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

PASS, FAIL = "pass", "fail"
NOT_STARTED, NOT_RUNNABLE, UNPROVEN = "not started", "not runnable here", "unproven"

# The first of these that any case of a check has is the verdict of the check.
SEVERITY = (FAIL, UNPROVEN, NOT_STARTED, NOT_RUNNABLE, PASS)


@dataclass(frozen=True)
class Result:
    """The verdict on one check.

    check: its id. test: its function. step: number. exercise: id. text: the four parts when it
    failed, a reason otherwise. requirements: ids. seconds: spent. unreadable: why no check can ask
    the part at all, for example a syntax error.
    """

    check: str
    test: str
    step: int
    exercise: str
    verdict: str
    text: str
    requirements: tuple[str, ...]
    seconds: float
    unreadable: str = ""

    def as_json(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return {**asdict(self), "requirements": list(self.requirements)}


@dataclass(frozen=True)
class Report:
    """All results of one grading. missing: what could not be confined. trouble: why it stopped."""

    results: tuple[Result, ...]
    seed: int = 0
    missing: tuple[str, ...] = ()
    trouble: str = ""

    def count(self, verdict: str) -> int:
        """How many checks have this verdict."""
        return sum(result.verdict == verdict for result in self.results)


def worst(verdicts: Iterable[str]) -> str:
    """Return the verdict of a check out of those of its cases; no case at all is unproven."""
    found = set(verdicts)
    return next((verdict for verdict in SEVERITY if verdict in found), UNPROVEN)
