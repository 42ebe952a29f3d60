"""One grading: the lab, the parts under test, the worker, and what has been found so far."""

import json
import os
import random
from pathlib import Path
from typing import Any

from grading.house import House
from grading.judge import Actor, Judge, Trouble
from grading.part_files import problem_of
from grading.player import Player
from grading.subject import Subject, signatures_of
from kit.registry import Check, Exercise, Step, read_registry

Found = tuple[Step, Exercise, Check]


class InProcess:
    """A player in this process, for breakpoints (``DEBUG=1``); the same JSON, no confinement."""

    def __init__(self, subject: Path, files: dict[str, Path], problems: dict[str, str]) -> None:
        paths = {part: str(path) for part, path in files.items()}
        self._player = Player(str(subject), paths, problems)

    def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation."""
        told = json.loads(json.dumps(arguments))
        return dict(json.loads(json.dumps(self._player.play(operation, told))))


class Session:
    """The state of one run of pytest.

    root: of the lab. parts: what ``PARTS=`` said. patience: seconds for one operation, or None.
    Errors: RegistryBroken, FileNotFoundError.
    """

    def __init__(self, root: Path, parts: str, patience: float | None) -> None:
        self._patience = patience
        self.house = House(root)
        self.lab = read_registry(self.house.registry)
        self.folder = self.house.parts_folder(parts)
        self.seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
        self.debug = os.environ.get("DEBUG") == "1"
        self.told_of = False  # a verdict was given
        self._judge: Judge | None = None
        self._check, self._actors = "", list[Actor]()
        self._loops: dict[str, Trouble] = {}

    def find(self, folder: str, function: str) -> Found | None:
        """The registered check behind a test function of a step's folder, or None."""
        for step in self.lab.steps:
            for exercise in step.exercises if step.folder == folder else ():
                for check in exercise.checks:
                    if check.test == function:
                        return step, exercise, check
        return None

    @property
    def missing(self) -> list[str]:
        """What could not be confined."""
        if self.debug:
            return ["nothing is confined: DEBUG=1"]
        return self._judge.missing if self._judge else []

    def start(self) -> Judge:
        """Return the worker, started if it is not."""
        if self._judge is None:
            confined = os.environ.get("CONFINE") != "0"
            self._judge = Judge(confined=confined, patience=self._patience)
        return self._judge

    def subject(self, found: Found) -> Subject:
        """Return the subject of one case of a check.

        Errors: Trouble when another case of the check has run into an endless loop.
        """
        step, _, check = found
        if check.id in self._loops:
            raise self._loops[check.id]
        path = self.house.subject(step)
        files = {part: self.house.part(self.folder, step, part) for part in step.parts}
        found_problems = {part: problem_of(file, self.folder) for part, file in files.items()}
        problems = {part: problem for part, problem in found_problems.items() if problem}
        if self.debug:
            return Subject(InProcess(path, files, problems), signatures_of(path), None)
        return self._confined(check, path, files, problems)

    def _confined(
        self, check: Check, path: Path, files: dict[str, Path], problems: dict[str, str]
    ) -> Subject:
        """The cases of one check share its processes, the next check gets new ones."""
        judge = self.start()
        if self._check != check.id or any(actor.is_lost for actor in self._actors):
            self._end_check()
            self._check = check.id

        def open_more() -> Actor:
            self._actors.append(judge.actor(path, files, check.id, problems))
            return self._actors[-1]

        first = self._actors[0] if self._actors else open_more()
        first.begin_case()
        return Subject(first, signatures_of(path), open_more)

    def looped(self, check: Check, trouble: Trouble) -> None:
        """Remember a time-out, so that it is not waited for again in the check's other cases."""
        if trouble.kind == "timeout":
            self._loops[check.id] = trouble

    def _end_check(self) -> None:
        for actor in self._actors:
            actor.close()
        if self._actors and self._judge is not None:
            self._judge.clear(self._check)
        self._actors.clear()

    def close(self) -> None:
        """End the worker."""
        self._end_check()
        if self._judge is not None:
            self._judge.close()
