"""The pytest side of the judge: the `subject` and `rng` fixtures, verdicts, four-part failures."""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grading.failure import Comparison
from grading.house import House
from grading.judge import Trouble
from grading.report_lines import write_line
from grading.session import Found, Session
from grading.subject import Subject, WrongUse
from grading.telling import Case, NotRunnable, unreadable, verdict_on
from grading.verdicts import FAIL, NOT_RUNNABLE, NOT_STARTED, PASS, UNPROVEN

SESSION = pytest.StashKey[Session]()
CASE = pytest.StashKey[Case]()
VERDICT = "verdict"
OUTCOMES = {PASS: "passed", FAIL: "failed", UNPROVEN: "failed"}
LETTERS = {NOT_STARTED: "n", NOT_RUNNABLE: "h", UNPROVEN: "u"}


def not_runnable(reason: str) -> None:
    """Say in a check that this machine lacks what it needs; counted and printed, never a pass."""
    raise NotRunnable(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--parts``, ``--lab-root``, ``--checks`` and ``--patience``."""
    parser.addoption("--parts", default=os.environ.get("PARTS", "lessons"))
    parser.addoption("--lab-root", default=str(House().root))
    parser.addoption("--patience", type=float, help="seconds for one operation")
    parser.addoption("--checks", default="", help="ids of checks, with commas; all by default")


def pytest_configure(config: pytest.Config) -> None:
    """Read the registry before anything is collected; a mistake in it stops the run."""
    try:
        root = Path(config.getoption("--lab-root"))
        parts, patience = config.getoption("--parts"), config.getoption("--patience")
        config.stash[SESSION] = Session(root, parts, patience)
    except (ValueError, FileNotFoundError) as trouble:
        raise pytest.UsageError(str(trouble)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the worker."""
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Tell the grading why a test file could not be read."""
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        write_line({"problem": f"{report.nodeid}: {' '.join((lines or ['?'])[-1][1:].split())}"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen checks; a test in a step's folder that is not registered is a mistake."""
    session = config.stash[SESSION]
    folders = {step.folder for step in session.lab.steps}
    wanted = set(filter(None, config.getoption("--checks").split(",")))
    dropped = []
    for item in list(items):
        found = _found(session, item)
        if found is None and item.path.parent.name in folders:
            write_line({"problem": f"{item.nodeid} is not in lab.toml."})
            raise pytest.UsageError(f"{item.nodeid} is not in lab.toml.")
        if found is not None:
            item.stash[CASE] = Case(found)
        if wanted and (found is None or found[2].id not in wanted):
            items.remove(item)
            dropped.append(item)
    config.hook.pytest_deselected(items=dropped)
    cases = Counter(item.stash[CASE].found[2].id for item in items if CASE in item.stash)
    write_line({"expected": cases})
    if cases and not session.debug:
        session.start()  # it comes up while pytest goes on


def _found(session: Session, item: pytest.Item) -> Found | None:
    return session.find(item.path.parent.name, getattr(item, "originalname", item.name))


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Subject:
    """The learner's parts of this step, behind the operations of the step's subject.py."""
    if CASE not in request.node.stash:
        raise WrongUse("subject is for checks of a registered step.")
    case = request.node.stash[CASE]
    case.subject = request.config.stash[SESSION].subject(case.found)
    return case.subject


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Fresh random cases in each run; ``SEED=`` repeats them."""
    return random.Random(f"{request.config.stash[SESSION].seed}:{request.node.name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Know which case is running, for the comparison that may fail in it."""
    item.config.stash[CASE] = item.stash.get(CASE, Case(("", "", "")))  # type: ignore[arg-type]
    return (yield)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> None:
    """Keep both sides of the comparison that failed."""
    config.stash[CASE].compared = Comparison(op, left, right)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Turn what happened into a verdict and a text for the learner."""
    report = yield
    if CASE not in item.stash or (call.when != "call" and call.excinfo is None):
        return report
    case, session = item.stash[CASE], item.config.stash[SESSION]
    verdict, text = verdict_on(case, call, session)
    check = case.found[2]
    if call.excinfo is not None and isinstance(call.excinfo.value, Trouble):
        session.looped(check, call.excinfo.value)
    told = {"verdict": verdict, "text": text, "seconds": call.duration}
    write_line({"case": check.id, **told, "unreadable": unreadable(call)})
    session.told_of = True
    report.outcome = OUTCOMES.get(verdict, "skipped")
    report.longrepr = (str(item.path), 1, text) if report.outcome == "skipped" else text or None
    report.user_properties.append((VERDICT, verdict))
    return report


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Count each verdict under its own name."""
    verdict = dict(report.user_properties).get(VERDICT)
    return (verdict, LETTERS[verdict], verdict.upper()) if verdict in LETTERS else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what was not confined and how to repeat the random cases; list what is unproven."""
    session = config.stash[SESSION]
    for report in terminalreporter.stats.get(UNPROVEN, []):
        terminalreporter.write_line(f"{report.nodeid}: {report.longrepr}")
    if session.told_of:
        terminalreporter.write_line(f"random cases: SEED={session.seed} repeats them")
    for line in session.missing:
        terminalreporter.write_line(f"not confined: {line}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the report that the grading reads."""
    if SESSION in session.config.stash:
        grading = session.config.stash[SESSION]
        try:
            missing = grading.missing
        except Exception as lost:
            missing = [f"nobody knows: {lost}"]
        write_line({"seed": grading.seed, "missing": missing})


__all__ = ["not_runnable", "rng", "subject"]
