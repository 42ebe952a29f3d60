"""Every check on the reference and every test of the lab, again and again, with new seeds.

A check that fails once in a hundred runs tells one learner in a class of a hundred that a right
answer is wrong. So none may: whatever fails here, or is judged otherwise than the time before, is
named with the seed that did it.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from grading.run import grade
from grading.verdicts import FAIL, UNPROVEN, Report
from kit.parts import ROOT
from soak.ledger import Ledger

PROMISE = "no check and no test fails now and then"
ROUNDS = 100

Judge = Callable[[int], Report]  # from a seed
Tests = Callable[[Path], str]  # the last line of a file's failing run, or "" when all is well


def soak(
    paths: dict[str, Path],
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    rounds: int = ROUNDS,
    judge: Judge | None = None,
    tests: Tests | None = None,
) -> Ledger:
    """Run everything `rounds` times, or as often as there is time for; return the books.

    The first round is run to its end whatever the time. paths: whose parts are judged: the
    reference's, or the learner's where all are from one folder. seed: of the seeds. judge, tests:
    stand-ins for the grader and for pytest on one file.
    """
    ledger, rng, ends = Ledger(), Random(seed), time.monotonic() + seconds
    judge, tests = judge or _judge(paths), tests or _pytest
    files = sorted((ROOT / "tests" / "lab").glob("test_*.py"))
    judged, run, done = 0, 0, 0
    while done < rounds and (not done or time.monotonic() < ends):
        report = judge(rng.randrange(2**32))
        judged += len(report.results)
        _note(ledger, report)
        for path in files:
            if done and time.monotonic() >= ends:
                break
            trouble = tests(path)
            run += 1
            ledger.expect(not trouble, f"{path.name}, in round {done + 1}: {trouble}")
        done += 1
        say(f"{done} of {rounds} rounds, {judged:,} checks judged")
    ledger.numbers |= {"rounds": done, "checks judged": judged, "files of tests run": run}
    return ledger


def _note(ledger: Ledger, report: Report) -> None:
    ledger.expect(not report.trouble, f"the grading came to no end: {report.trouble}")
    for result in report.results:
        failed = result.verdict in (FAIL, UNPROVEN)
        ledger.expect(not failed, f"{result.check} says “{result.verdict}”, SEED={report.seed}")


def _judge(paths: dict[str, Path]) -> Judge:
    folder = next(iter(paths.values())).parents[1]
    return lambda seed: grade(folder, seed=seed)


def _pytest(path: Path) -> str:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", str(path)]
    ended = subprocess.run(
        [sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if ended.returncode == 0 else "; ".join(lines) or f"exit status {ended.returncode}"
