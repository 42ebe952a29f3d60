"""What happened in a check, as one of the five verdicts and a text for the learner."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grading.failure import Comparison, compose, got_lines, place_of, sent_line
from grading.judge import Actor, Trouble, WorkerLost
from grading.outcomes import Raised
from grading.part_files import tree_of
from grading.session import Found, Session
from grading.stub_names import find_function
from grading.subject import Exchange, NotStartedYet, PartBroken, Subject
from grading.verdicts import FAIL, NOT_RUNNABLE, NOT_STARTED, PASS, UNPROVEN
from kit.registry import Exercise

# What a check meets when an answer is of another form than it reads: answer["error"]["code"].
UNREADABLE = "That has not the form that the check reads."
WRONG_FORM = (AttributeError, TypeError, KeyError, IndexError, ValueError)


class NotRunnable(Exception):
    """This machine cannot run the check; the message says what is missing."""


@dataclass
class Case:
    """One run of a check. subject: with all that was said. compared: what failed, if anything."""

    found: Found
    subject: Subject | None = None
    compared: Comparison | None = None


def verdict_on(case: Case, call: pytest.CallInfo[None], session: Session) -> tuple[str, str]:
    """Return the verdict and its text; whatever the judge does not understand is unproven."""
    if call.excinfo is None:
        return PASS, ""
    error = call.excinfo.value
    if isinstance(error, NotStartedYet):
        return NOT_STARTED, f"not started: {error}"
    if isinstance(error, NotRunnable | pytest.skip.Exception):
        return NOT_RUNNABLE, f"not runnable here: {error}"
    got = _got(case, error)
    if got is None:
        return UNPROVEN, f"unproven: {_cause(error)}"
    if isinstance(error, PartBroken) and error.kind in ("signature", "missing"):
        got += _promised(case, session)
    return FAIL, _told(case, session, [*got, *_printed(case.subject)])


def unreadable(call: pytest.CallInfo[None]) -> str:
    """Return why no check can ask the part at all, "" when that is not what happened."""
    error = call.excinfo.value if call.excinfo else None
    told = isinstance(error, PartBroken) and error.kind in ("syntax", "import")
    return str(error) if told else ""


def _got(case: Case, error: BaseException) -> list[str] | None:
    """The part "got" of a failure, or None when the judge could not decide."""
    last = _last(case.subject)
    if isinstance(error, Trouble | PartBroken):
        return [str(error)]
    if last is None or isinstance(error, WorkerLost):
        return None
    if isinstance(error, AssertionError):
        return got_lines(last.answer, case.compared)
    if isinstance(error, WRONG_FORM):
        told = [] if isinstance(last.answer, Raised) else [UNREADABLE]
        return [*got_lines(last.answer, None), *told]
    return None


def _promised(case: Case, session: Session) -> list[str]:
    """The signatures that the lesson gives, told from the text of the solution."""
    step, exercise, _ = case.found
    tree = tree_of(session.house.part(session.house.root / "solutions", step, exercise.part))
    found = [find_function(tree, name) for name in exercise.functions] if tree else []
    told = [f"{each.name}({ast.unparse(each.args)})" for each in found if each]
    return [f"the lesson says: {', '.join(told)}"[:200]] if told else []


def _cause(error: BaseException) -> str:
    where = ""
    trace = error.__traceback__
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename).name
        where = f" ({name}:{trace.tb_lineno})" if name.startswith("test_") else where
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{where}"


def _last(subject: Subject | None) -> Exchange | None:
    return subject.said[-1] if subject and subject.said else None


def _printed(subject: Subject | None) -> list[str]:
    player: Any = subject.player if subject else None
    printed = player.printed().strip() if isinstance(player, Actor) else ""
    return [f"your code printed: {printed[:150]!r}"] if printed else []


def _told(case: Case, session: Session, got: list[str]) -> str:
    step, exercise, check = case.found
    last = _last(case.subject)
    operation = last.operation if last else ""
    asked = _asked(session.house.subject(step), operation, exercise)
    sent = sent_line(operation, last.arguments) if last else "nothing yet"
    if asked and operation not in asked:
        sent += f" → your {' and '.join(asked)}"
    part = session.house.part(session.folder, step, exercise.part)
    aim = operation if operation in asked or not asked else asked[0]
    place = place_of(exercise, part, aim, session.house.root)
    return compose(sent, got, check, exercise, place, session.house.requirements)


def _asked(subject: Path, operation: str, exercise: Exercise) -> list[str]:
    """The functions of the exercise that an operation of the subject calls, by its text."""
    tree = tree_of(subject)
    names = _names(tree, operation) if tree else set()
    return [name for name in exercise.functions if name.rpartition(".")[2] in names]


def _names(tree: ast.Module, function: str) -> set[str]:
    """Every attribute that a function names, and those that its helpers in this file name."""
    helpers = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    waiting, seen, names = [function], set[str](), set[str]()
    while waiting:
        if (name := waiting.pop()) in seen or name not in helpers:
            continue
        seen.add(name)
        for node in ast.walk(helpers[name]):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Name):
                waiting.append(node.id)
    return names
