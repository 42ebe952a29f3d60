"""The pytest side of the judge: the `subject` and `rng` fixtures, verdicts, four-part failures."""

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grading.failure import LINES, Comparison, compose, got_lines, place_of, sent_line
from grading.house import House
from grading.judge import Actor, Judge, Trouble, WorkerLost
from grading.player import Player
from grading.subject import NotStartedYet, PartBroken, Subject, WrongUse, signatures_of
from grading.verdicts import FAIL, NOT_RUNNABLE, NOT_STARTED, PASS, UNPROVEN, Result, worst
from kit.registry import Check, Exercise, Step, read_registry


class NotRunnable(Exception):
    """This machine cannot run the check; the message says what is missing."""


def not_runnable(reason: str) -> None:
    """Say in a check that this machine lacks what it needs; counted and printed, never a pass."""
    raise NotRunnable(reason)


class InProcess:
    """A player in this process, for breakpoints (``DEBUG=1``); the same JSON, no confinement."""

    def __init__(self, subject: Path, files: dict[str, Path]) -> None:
        self._player = Player(str(subject), {part: str(path) for part, path in files.items()})

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation."""
        told = json.loads(json.dumps(arguments))
        return dict(json.loads(json.dumps(self._player.play(operation, told))))


class Session:
    """One grading: the lab, the parts, the worker, and what has been found so far."""

    def __init__(self, root: Path, parts: str) -> None:
        self.house = House(root)
        self.lab = read_registry(self.house.registry)
        self.folder = self.house.parts_folder(parts)
        self.seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
        self.debug = os.environ.get("DEBUG") == "1"
        self.cases: dict[tuple[int, str], list[tuple[str, str, float]]] = {}
        self._judge: Judge | None = None
        self._actors: tuple[str, list[Actor]] = ("", [])

    def actors_of(self, check: str) -> list[Actor]:
        """The processes of one check: its cases share them, the next check gets new ones.

        A process that gave no answer is not used again.
        """
        if self._actors[0] != check or any(actor.is_lost for actor in self._actors[1]):
            for actor in self._actors[1]:
                actor.close()
            if self._actors[1]:
                self.start().clear(self._actors[0])
            self._actors = (check, [])
        return self._actors[1]

    def start(self) -> Judge:
        """Return the worker, started if it is not."""
        if self._judge is None:
            subjects = [self.house.subject(step) for step in self.lab.steps]
            folders = [self.folder / step.folder for step in self.lab.steps]
            self._judge = Judge([*subjects, *folders], os.environ.get("CONFINE") != "0")
        return self._judge

    def find(self, item: pytest.Item) -> tuple[Step, Exercise, Check] | None:
        """The registered check behind a test, or None."""
        function = getattr(item, "originalname", item.name)
        for step in self.lab.steps:
            if step.folder == item.path.parent.name:
                for exercise in step.exercises:
                    for check in exercise.checks:
                        if check.test == function:
                            return step, exercise, check
        return None

    def close(self) -> None:
        """End the worker."""
        self.actors_of("")
        if self._judge is not None:
            self._judge.close()


SESSION = pytest.StashKey[Session]()
COMPARISON = pytest.StashKey[Comparison | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--parts`` and ``--lab-root``."""
    parser.addoption("--parts", default=os.environ.get("PARTS", "lessons"))
    parser.addoption("--lab-root", default=str(House().root))


def pytest_configure(config: pytest.Config) -> None:
    """Read the registry before anything is collected; a mistake in it stops the run."""
    try:
        root = Path(config.getoption("--lab-root"))
        config.stash[SESSION] = Session(root, config.getoption("--parts"))
    except (ValueError, FileNotFoundError) as trouble:
        raise pytest.UsageError(str(trouble)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the worker."""
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test in a step's folder that is not in the registry is a mistake in the lab."""
    session = config.stash[SESSION]
    folders = {step.folder for step in session.lab.steps}
    for item in items:
        if item.path.parent.name in folders and session.find(item) is None:
            raise pytest.UsageError(f"{item.nodeid} is not in lab.toml.")
    if not session.debug and any(session.find(item) for item in items):
        session.start()  # it comes up while pytest goes on


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The learner's parts of this step, behind the operations of the step's subject.py."""
    session = request.config.stash[SESSION]
    found = session.find(request.node)
    if found is None:
        raise WrongUse("subject is for checks of a registered step.")
    step, house = found[0], session.house
    path = house.subject(step)
    files = {part: house.part(session.folder, step, part) for part in step.parts}
    opened = session.actors_of(found[2].id)

    def open_more() -> Actor:
        opened.append(session.start().actor(path, files, found[2].id))
        return opened[-1]

    player = InProcess(path, files) if session.debug else (opened[0] if opened else open_more())
    front = Subject(player, signatures_of(path), None if session.debug else open_more)
    request.node.subject = front
    yield front


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Fresh random cases in each run; ``SEED=`` repeats them."""
    return random.Random(f"{request.config.stash[SESSION].seed}:{request.node.nodeid}")


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: Any, right: Any) -> None:
    """Keep both sides of the comparison that failed."""
    config.stash[COMPARISON] = Comparison(op, left, right)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn what happened into a verdict and a text for the learner."""
    outcome: Any = yield
    report = outcome.get_result()
    session = item.config.stash[SESSION]
    found = session.find(item)
    if found is None or (call.when != "call" and call.excinfo is None):
        return
    verdict, text = _verdict(item, call, session, found)
    session.cases.setdefault((found[0].number, found[2].test), []).append(
        (verdict, text, call.duration)
    )
    report.outcome = {PASS: "passed", FAIL: "failed", UNPROVEN: "failed"}.get(verdict, "skipped")
    report.longrepr = (str(item.path), 1, text) if report.outcome == "skipped" else text or None
    item.config.stash[COMPARISON] = None


def _verdict(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    session: Session,
    found: tuple[Step, Exercise, Check],
) -> tuple[str, str]:
    if call.excinfo is None:
        return PASS, ""
    error = call.excinfo.value
    if isinstance(error, NotStartedYet):
        return NOT_STARTED, f"not started: {error}"
    if isinstance(error, NotRunnable):
        return NOT_RUNNABLE, f"not runnable here: {error}"
    if isinstance(error, Trouble | PartBroken):
        return FAIL, _told(item, session, found, [str(error), *_printed(item)])
    if isinstance(error, AssertionError):
        said = _last(item)
        compared = item.config.stash.get(COMPARISON, None)
        return FAIL, _told(item, session, found, got_lines(said.answer if said else None, compared))
    if isinstance(error, AttributeError | TypeError | KeyError | IndexError) and _last(item):
        answer = _last(item).answer
        return FAIL, _told(
            item,
            session,
            found,
            [*got_lines(answer, None), "That has not the form the check reads."],
        )
    return UNPROVEN, f"unproven: {type(error).__name__}: {error}"


def _last(item: pytest.Item) -> Any:
    said = getattr(getattr(item, "subject", None), "said", [])
    return said[-1] if said else None


def _printed(item: pytest.Item) -> list[str]:
    player = getattr(getattr(item, "subject", None), "player", None)
    printed = player.printed().strip() if isinstance(player, Actor) else ""
    return [f"your code printed: {printed[:150]!r}"] if printed else []


def _told(
    item: pytest.Item, session: Session, found: tuple[Step, Exercise, Check], got: list[str]
) -> str:
    step, exercise, check = found
    said = _last(item)
    sent = sent_line(said.operation, said.arguments) if said else "nothing yet"
    part = session.house.part(session.folder, step, exercise.part)
    place = place_of(exercise, part, said.operation if said else "")
    text = compose(sent, got, check, exercise, place, session.house.requirements)
    return "\n".join(text.splitlines()[:LINES])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report that the grading reads, whole or not at all."""
    path = os.environ.get("LAB_REPORT")
    if not path or SESSION not in session.config.stash:
        return
    grading = session.config.stash[SESSION]
    results = [
        _result(step, exercise, check, grading.cases.get((step.number, check.test)))
        for step in grading.lab.steps
        for exercise in step.exercises
        for check in exercise.checks
        if (step.number, check.test) in grading.cases
    ]
    missing = grading._judge.missing if grading._judge else []
    told = {"results": [r.as_json() for r in results], "seed": grading.seed, "missing": missing}
    fresh = f"{path}.{time.monotonic_ns()}"
    Path(fresh).write_text(json.dumps(told), encoding="utf-8")
    os.replace(fresh, path)


def _result(step: Step, exercise: Exercise, check: Check, cases: Any) -> Result:
    verdict = worst(case[0] for case in cases)
    text = next((case[1] for case in cases if case[0] == verdict), "")
    seconds = round(sum(case[2] for case in cases), 4)
    return Result(
        check.id, check.test, step.number, exercise.id, verdict, text, check.requirements, seconds
    )


__all__ = ["WorkerLost", "not_runnable", "rng", "subject"]
