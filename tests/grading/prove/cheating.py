"""A cheat scores what it honestly solves and nothing else, and the judge survives it."""

from grading.prove.gradings import NO_VERDICT, Verdicts, of_submission
from grading.prove.lab import Lab, checks_of
from grading.prove.outcome import Outcome, Shortfall
from grading.prove.submissions import CHEATS, Rotten, Submission, cheats, unknown_checks
from grading.verdicts import PASS


def cheats_score_nothing(lab: Lab) -> Outcome:
    """No cheat passes a check beyond those that its head calls honest."""
    submissions = cheats(lab)
    running = [(submission, of_submission(lab, submission)) for submission in submissions]
    shortfalls: list[Shortfall] = []
    scored = 0
    for submission, future in running:
        try:
            stolen = _stolen(submission, future.result())
            found = stolen + _unanswered(submission, future.result()) + _misnamed(submission)
        except Rotten as rotten:
            stolen, found = [], [str(rotten)]
        scored += bool(stolen)
        shortfalls += [Shortfall(submission.where, sentence) for sentence in found]
    elsewhere = lab.is_filtered and (lab.root / CHEATS).is_dir() and not submissions
    excuse = "none aims at the chosen steps" if elsewhere else ""
    figures = f"{scored} of {len(submissions)} scored what they did not solve"
    return Outcome(figures, len(submissions), tuple(shortfalls), excuse=excuse)


def _stolen(submission: Submission, verdicts: Verdicts) -> list[str]:
    honest = submission.head.get("honest", [])
    return [
        f"it passes {check} without solving it."
        for check, verdict in verdicts.items()
        if verdict.word == PASS and check not in honest
    ]


def _unanswered(submission: Submission, verdicts: Verdicts) -> list[str]:
    missing = [check for check in checks_of(submission.step) if check not in verdicts]
    return [f"{check} has no verdict: {NO_VERDICT.text}." for check in missing]


def _misnamed(submission: Submission) -> list[str]:
    honest = tuple(submission.head.get("honest", ()))
    return [f"it calls {c} honest, which is no check." for c in unknown_checks(submission, honest)]
