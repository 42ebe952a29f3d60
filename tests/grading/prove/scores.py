"""Stubs score nothing, solutions and alternatives score everything."""

from grading.prove.gradings import (
    NO_VERDICT,
    Verdict,
    Verdicts,
    of_submission,
    start_grading,
)
from grading.prove.lab import Lab, checks_of
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.submissions import Rotten, alternatives
from grading.verdicts import NOT_RUNNABLE, NOT_STARTED, PASS


def stubs_pass_nothing(lab: Lab) -> Outcome:
    """No check passes on a generated stub, and each one says that the exercise is not started."""
    lessons = lab.clean() / "lessons"
    running = [(step, start_grading(lab, lessons, step)) for step in lab.steps]
    passed, total, shortfalls = 0, 0, []
    for step, future in running:
        verdicts = future.result()
        for check in checks_of(step):
            verdict = verdicts.get(check, NO_VERDICT)
            total += 1
            passed += verdict.word == PASS
            if verdict.word not in (NOT_STARTED, NOT_RUNNABLE):
                where = f"tests/{step.folder}::{check}"
                shortfalls.append(Shortfall(where, f"on the stub it says “{verdict.word}”."))
    return Outcome(f"{passed} of {total} checks passed", total, tuple(shortfalls))


def solutions_pass_everything(lab: Lab) -> Outcome:
    """Every check passes on the solution, unless it cannot run on this machine."""
    solutions = lab.root / "solutions"
    running = [(step, start_grading(lab, solutions, step)) for step in lab.steps]
    passed, total = 0, 0
    shortfalls: list[Shortfall] = []
    notes: list[str] = []
    for step, future in running:
        verdicts = future.result()
        total += len(checks_of(step))
        passed += sum(verdict.word == PASS for verdict in of_step(verdicts, checks_of(step)))
        shortfalls += rejected(f"tests/{step.folder}", verdicts, checks_of(step))
        notes += not_here(f"tests/{step.folder}", verdicts, checks_of(step))
    return Outcome(f"{passed} of {total} checks passed", total, tuple(shortfalls), tuple(notes))


def alternatives_pass_everything(lab: Lab) -> Outcome:
    """Every right submission in another style passes every check of its step."""
    submissions = alternatives(lab)
    running = [(submission, of_submission(lab, submission)) for submission in submissions]
    accepted = 0
    shortfalls: list[Shortfall] = []
    for submission, future in running:
        try:
            found = rejected(submission.where, future.result(), checks_of(submission.step))
        except Rotten as rotten:
            found = [Shortfall(submission.where, str(rotten))]
        accepted += not found
        shortfalls += found
    return counted(accepted, len(submissions), "accepted by every check", shortfalls)


def of_step(verdicts: Verdicts, checks: dict[str, tuple[str, ...]]) -> list[Verdict]:
    """The verdict on each registered check; unproven where the grader said nothing."""
    return [verdicts.get(check, NO_VERDICT) for check in checks]


def rejected(where: str, verdicts: Verdicts, checks: dict[str, tuple[str, ...]]) -> list[Shortfall]:
    """A shortfall for each check that neither passes nor is impossible on this machine."""
    return [
        Shortfall(where, f"{check} says “{verdict.word}”{_because(verdict)}.")
        for check, verdict in zip(checks, of_step(verdicts, checks), strict=True)
        if verdict.word not in (PASS, NOT_RUNNABLE)
    ]


def not_here(where: str, verdicts: Verdicts, checks: dict[str, tuple[str, ...]]) -> list[str]:
    """A note for each check that cannot run on this machine."""
    return [
        f"{where}: {check} is not runnable here{_because(verdict)}"
        for check, verdict in zip(checks, of_step(verdicts, checks), strict=True)
        if verdict.word == NOT_RUNNABLE
    ]


def _because(verdict: Verdict) -> str:
    lines = [line.strip() for line in verdict.text.splitlines() if line.strip()]
    return f" ({' / '.join(lines[:4])[:240]})" if lines else ""
