"""Every known-bad submission fails where it says so, readably, and every check catches one."""

from concurrent.futures import Future
from itertools import chain

from grading.prove.gradings import NO_VERDICT, Verdict, Verdicts, of_submission
from grading.prove.lab import Lab, checks_of
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.submissions import Rotten, Submission, known_bad, unknown_checks
from grading.verdicts import FAIL, NOT_RUNNABLE, PASS

LONGEST_FAILURE = 12
FAILURE_PARTS = ("sent", "got", "rule", "look at")


def known_bad_is_rejected(lab: Lab) -> Outcome:
    """Each known-bad submission fails every check that it names."""
    submissions = known_bad(lab)
    running = [(submission, _grading(lab, submission)) for submission in submissions]
    found = [_shortfalls(submission, future) for submission, future in running]
    untried = [note for submission, future in running for note in _untried(submission, future)]
    rejected = sum(not shortfalls for shortfalls in found) - len(untried)
    figures = f"{rejected} of {len(submissions)} rejected at the checks they name"
    shortfalls = tuple(chain.from_iterable(found))
    return Outcome(figures, len(submissions), shortfalls, tuple(untried))


def every_check_catches_one(lab: Lab) -> Outcome:
    """Each check is named and failed by at least one known-bad submission; else it is idle."""
    caught: set[tuple[int, str]] = set()
    for submission, verdicts in _graded(lab):
        for check in submission.caught_by:
            if verdicts.get(check, NO_VERDICT).word in (FAIL, NOT_RUNNABLE):
                caught.add((submission.step.number, check))
    every = [(step, check) for step in lab.steps for check in checks_of(step)]
    idle = [(step, check) for step, check in every if (step.number, check) not in caught]
    shortfalls = [
        Shortfall(f"tests/{step.folder}::{check}", "no known-bad submission fails it.")
        for step, check in idle
    ]
    good = len(every) - len(idle)
    return counted(good, len(every), "checks catch a known-bad submission", shortfalls)


def failure_texts_teach(lab: Lab) -> Outcome:
    """Each failure has at most 12 lines and its four parts: sent, got, rule, look at."""
    texts = [
        (submission, check, verdicts[check].text)
        for submission, verdicts in _graded(lab)
        for check in submission.caught_by
        if verdicts.get(check, NO_VERDICT).word == FAIL
    ]
    shortfalls = [
        Shortfall(submission.where, f"{check} {flaw}.")
        for submission, check, text in texts
        for flaw in _flaws(text, _may_crash(submission))
    ]
    flawed = {(s.where, s.sentence.split()[0]) for s in shortfalls}
    return counted(len(texts) - len(flawed), len(texts), "failures have four parts", shortfalls)


def _grading(lab: Lab, submission: Submission) -> "Future[Verdicts]":
    return of_submission(lab, submission, submission.caught_by)


def _graded(lab: Lab) -> list[tuple[Submission, Verdicts]]:
    running = [(submission, _grading(lab, submission)) for submission in known_bad(lab)]
    return [(found, future.result()) for found, future in running if not _is_rotten(future)]


def _is_rotten(future: "Future[Verdicts]") -> bool:
    return isinstance(future.exception(), Rotten)


def _may_crash(submission: Submission) -> bool:
    return bool(submission.head.get("crashes"))


def _shortfalls(submission: Submission, future: "Future[Verdicts]") -> list[Shortfall]:
    sentences = _flaws_of_head(submission)
    try:
        verdicts = future.result()
    except Rotten as rotten:
        return [Shortfall(submission.where, sentence) for sentence in [*sentences, str(rotten)]]
    for check in submission.caught_by:
        sentences += _flaw_of_verdict(check, verdicts.get(check, NO_VERDICT), submission)
    return [Shortfall(submission.where, sentence) for sentence in sentences]


def _untried(submission: Submission, future: "Future[Verdicts]") -> list[str]:
    """A note when it is in order, but a check that it names cannot run on this machine."""
    if _shortfalls(submission, future):
        return []
    verdicts = future.result()
    words = {check: verdicts[check].word for check in submission.caught_by}
    untried = [check for check, word in words.items() if word == NOT_RUNNABLE]
    return [f"{submission.where}: not runnable here: {', '.join(untried)}"] if untried else []


def _flaws_of_head(submission: Submission) -> list[str]:
    missing = [
        key for key in ("title", "why", "source", "caught_by") if not submission.head.get(key)
    ]
    flaws = [f"its head has no {key}." for key in missing]
    unknown = unknown_checks(submission, submission.caught_by)
    return flaws + [f"it names {check}, which is no check of this step." for check in unknown]


def _flaw_of_verdict(check: str, verdict: Verdict, submission: Submission) -> list[str]:
    if verdict.word == PASS:
        return [f"{check} should reject it and passes."]
    if verdict.word not in (FAIL, NOT_RUNNABLE):
        return [f"{check} should fail and says “{verdict.word}”."]
    if verdict.crashed and not _may_crash(submission):
        return [
            f"{check} fails only because the part cannot be loaded; its head has no crashes = true."
        ]
    return []


def _flaws(text: str, may_crash: bool) -> list[str]:
    flaws = []
    lines = text.strip().splitlines()
    if len(lines) > LONGEST_FAILURE:
        flaws.append(f"explains itself in {len(lines)} lines, not {LONGEST_FAILURE} or fewer")
    begun = tuple(line.strip().lower() for line in lines)
    missing = [part for part in FAILURE_PARTS if not any(b.startswith(part) for b in begun)]
    if missing and not may_crash:
        flaws.append(f"explains itself without “{'”, “'.join(missing)}”")
    return flaws
