"""Gradings as futures: each submission is graded once, however many properties ask about it."""

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from grading.prove.lab import Grade, Lab, checks_of
from grading.prove.submissions import Rotten, Submission, materialise
from grading.verdicts import UNPROVEN
from kit.registry import Step


@dataclass(frozen=True)
class Verdict:
    """What one check said.

    word: pass, fail, not started, not runnable here, unproven. text: as the learner reads it.
    crashed: the part could not even be loaded.
    """

    word: str
    text: str = ""
    crashed: bool = False


Verdicts = dict[str, Verdict]
NO_VERDICT = Verdict(UNPROVEN, "the grader gave no verdict on this check")

# How the player says that a part could not even be loaded.
NOT_LOADED = ("Python cannot read your file", "Your file stops while it is loaded")


def grade_folder(grade: Grade, parts: Path, step: int, checks: tuple[str, ...] | None) -> Verdicts:
    """Grade one step of one folder; the judge runs in a process of its own."""
    report = grade(parts, steps=[step], checks=None if checks is None else list(checks))
    return {
        result.test: Verdict(result.verdict, result.text, _was_not_loaded(result.text))
        for result in report.results
    }


def _was_not_loaded(text: str) -> bool:
    return any(phrase in text for phrase in NOT_LOADED)


def start_grading(
    lab: Lab, parts: Path, step: Step, checks: Iterable[str] | None = None
) -> "Future[Verdicts]":
    """Queue the grading of one step of a folder of parts; all its checks unless some are named."""
    chosen = None if checks is None else tuple(checks)
    return lab.pool.submit(grade_folder, lab.grade, parts, step.number, chosen)


def of_submission(
    lab: Lab, submission: Submission, checks: Iterable[str] | None = None
) -> "Future[Verdicts]":
    """The grading of a kept submission; `.result()` raises Rotten when it does not apply."""
    return lab.once(f"grading of {submission.where}", lambda: _started(lab, submission, checks))


def _started(lab: Lab, submission: Submission, checks: Iterable[str] | None) -> "Future[Verdicts]":
    try:
        parts = materialise(lab, submission)
        if checks is not None and not set(checks) & set(checks_of(submission.step)):
            raise Rotten("it names no check of its step, so nothing rejects it.")
        return start_grading(lab, parts, submission.step, checks)
    except Rotten as rotten:
        failed: Future[Verdicts] = Future()
        failed.set_exception(rotten)
        return failed
