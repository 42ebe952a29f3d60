"""The one registry, `lessons/lab.toml`, as values: steps, exercises, checks, questions.

It is read before anything is graded, so a mistake in it stops the run with a sentence and never
becomes a check that silently counts for nothing.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAB_TOML = Path(__file__).resolve().parents[1] / "lab.toml"
TRACKS = ("core", "stretch")


class RegistryBroken(ValueError):
    """The registry cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Check:
    """One graded check. id: exercise id and test name. requirements: ids of requirements.md."""

    id: str
    test: str
    requirements: tuple[str, ...]


@dataclass(frozen=True)
class Exercise:
    """One thing to write. functions: names in the part, methods as ``Class.method``."""

    id: str
    title: str
    part: str
    functions: tuple[str, ...]
    track: str
    minutes: int
    points: int
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Question:
    """One question of a step's quiz."""

    ask: str
    answer: str


@dataclass(frozen=True)
class Step:
    """One step. parts: module names. minutes: for the core track."""

    number: int
    slug: str
    title: str
    parts: tuple[str, ...]
    minutes: int
    exercises: tuple[Exercise, ...]
    questions: tuple[Question, ...] = ()

    @property
    def folder(self) -> str:
        """The name of the step's folder, the same in lessons, solutions and tests."""
        return f"step{self.number:02d}_{self.slug}"

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all its exercises."""
        return tuple(check for exercise in self.exercises for check in exercise.checks)


@dataclass(frozen=True)
class Lab:
    """The whole registry. revision: of the protocol that the lab teaches."""

    revision: str
    steps: tuple[Step, ...]

    def step(self, number: int) -> Step:
        """The step of that number. Errors: RegistryBroken when there is none."""
        for step in self.steps:
            if step.number == number:
                return step
        known = ", ".join(f"{step.number:02d}" for step in self.steps)
        raise RegistryBroken(f"There is no step {number:02d}; there are {known}.")

    def exercise(self, exercise_id: str) -> tuple[Step, Exercise]:
        """The exercise of that id, with its step. Errors: RegistryBroken when there is none."""
        for step in self.steps:
            for exercise in step.exercises:
                if exercise.id == exercise_id:
                    return step, exercise
        raise RegistryBroken(f"There is no exercise {exercise_id}.")


def read_registry(path: Path = LAB_TOML) -> Lab:
    """Return the registry in `path`.

    Errors: RegistryBroken for a file that is missing or no TOML, for a key that is missing, unknown
    or of the wrong type, for a name or number that comes twice, and for an exercise without checks.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as trouble:
        raise RegistryBroken(f"{path}: {trouble}") from None
    steps = tuple(_step(table) for table in _list(tables, "step", "lab.toml"))
    _unique([step.number for step in steps], "step number")
    _unique([exercise.id for step in steps for exercise in step.exercises], "exercise id")
    return Lab(_text(tables, "revision", "lab.toml"), steps)


def _step(table: dict[str, Any]) -> Step:
    number = _number(table, "number", "a step")
    where = f"step {number:02d}"
    _known(table, {*Step.__dataclass_fields__, "exercise", "question"}, where)
    step = Step(
        number=number,
        slug=_text(table, "slug", where),
        title=_text(table, "title", where),
        parts=_texts(table, "parts", where),
        minutes=_number(table, "minutes", where),
        exercises=tuple(_exercise(each, number) for each in _list(table, "exercise", where)),
        questions=tuple(
            Question(_text(each, "ask", where), _text(each, "answer", where))
            for each in table.get("question", [])
        ),
    )
    _unique([check.test for check in step.checks], f"check of {where}")
    for exercise in step.exercises:
        if exercise.part not in step.parts:
            raise RegistryBroken(f"{exercise.id}: {exercise.part} is no part of {where}.")
    return step


def _exercise(table: dict[str, Any], step: int) -> Exercise:
    exercise_id = _text(table, "id", f"an exercise of step {step:02d}")
    _known(table, set(Exercise.__dataclass_fields__), exercise_id)
    if not re.fullmatch(rf"{step}\.\d+", exercise_id):
        raise RegistryBroken(f"{exercise_id} is no exercise id of step {step:02d}.")
    track = _text(table, "track", exercise_id)
    if track not in TRACKS:
        raise RegistryBroken(f"{exercise_id}: track is core or stretch, not {track}.")
    return Exercise(
        id=exercise_id,
        title=_text(table, "title", exercise_id),
        part=_text(table, "part", exercise_id),
        functions=_texts(table, "functions", exercise_id),
        track=track,
        minutes=_number(table, "minutes", exercise_id),
        points=_number(table, "points", exercise_id),
        checks=_checks(table, exercise_id),
    )


def _checks(table: dict[str, Any], exercise_id: str) -> tuple[Check, ...]:
    checks = table.get("checks")
    if not isinstance(checks, dict) or not checks:
        raise RegistryBroken(f"{exercise_id} has no checks.")
    return tuple(
        Check(f"{exercise_id}::{test}", test, _texts(checks, test, exercise_id)) for test in checks
    )


def _known(table: dict[str, Any], names: set[str], where: str) -> None:
    for name in set(table) - names:
        raise RegistryBroken(f"{where}: the key {name} means nothing here.")


def _text(table: dict[str, Any], name: str, where: str) -> str:
    if not isinstance(table.get(name), str) or not table[name]:
        raise RegistryBroken(f"{where}: {name} must be a text.")
    return str(table[name])


def _number(table: dict[str, Any], name: str, where: str) -> int:
    if type(table.get(name)) is not int or table[name] < 0:
        raise RegistryBroken(f"{where}: {name} must be a whole number.")
    return int(table[name])


def _texts(table: dict[str, Any], name: str, where: str) -> tuple[str, ...]:
    texts = table.get(name)
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise RegistryBroken(f"{where}: {name} must be a list of texts.")
    return tuple(texts)


def _list(table: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    tables = table.get(name)
    if not isinstance(tables, list) or not tables:
        raise RegistryBroken(f"{where} has no [[{name}]].")
    return tables


def _unique(names: list[Any], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise RegistryBroken(f"The {what} {name} comes twice.")
