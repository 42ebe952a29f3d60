"""What every property gets to see: files, registry, and a pool in which the work is done."""

import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from grading.prove.processes import TIME_LIMIT, Completed, clean_environment, run_program
from grading.prove.tree import clean_copy, listed_files
from kit.registry import Step

Grade = Callable[..., Any]
T = TypeVar("T")


@dataclass
class Lab:
    """A lab under proof.

    root: its folder. all_steps: of the registry. steps: those chosen with ``STEP=``. grade:
    `grading.run.grade` or a stand-in. pool: where programs and gradings are started and awaited.
    scratch: an empty folder that is removed afterwards.
    """

    root: Path
    all_steps: tuple[Step, ...]
    steps: tuple[Step, ...]
    grade: Grade
    pool: Executor
    scratch: Path
    _once: dict[str, Any] = field(default_factory=dict)
    _folders: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def is_filtered(self) -> bool:
        """Whether ``STEP=`` left some steps out."""
        return len(self.steps) < len(self.all_steps)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` returned the first time that this name was asked for."""
        with self._lock:
            if name not in self._once:
                self._once[name] = make()
            return cast(T, self._once[name])

    def files(self, *endings: str) -> list[str]:
        """The lab's files relative to its root, those with one of the endings if any are given."""
        names = self.once("files", lambda: listed_files(self.root))
        return [name for name in names if not endings or name.endswith(endings)]

    def text(self, name: str) -> str:
        """The text of one file."""
        return (self.root / name).read_text(encoding="utf-8")

    def folder(self, name: str) -> Path:
        """A fresh folder below scratch."""
        number = self._count()
        path = self.scratch / f"{number:03}-{name}"
        path.mkdir(parents=True)
        return path

    def _count(self) -> int:
        with self._lock:
            self._folders += 1
            return self._folders

    def fresh_copy(self) -> Path:
        """A copy of the lab as a new learner gets it, to run things in."""
        names = self.files()
        return clean_copy(self.root, names, self.all_steps, self.folder("copy"))

    def clean(self) -> Path:
        """One such copy, shared by those who only read."""
        return self.once("clean copy", self.fresh_copy)

    def start(
        self, argv: Iterable[str], cwd: Path, *, paths: Iterable[Path], seconds: float = TIME_LIMIT
    ) -> "Future[Completed]":
        """Run ``python argv…`` in the pool. paths: where Python looks first."""
        environment = clean_environment(tuple(paths))
        return self.pool.submit(run_program, [sys.executable, *argv], cwd, environment, seconds)

    def relative(self, path: Path) -> str:
        """A path as it is written in a shortfall."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )


def imports_of(copy: Path) -> tuple[Path, Path]:
    """The two folders from which a copy of the lab imports."""
    return copy / "lessons", copy / "tests"


def checks_of(step: Step) -> dict[str, tuple[str, ...]]:
    """Requirement ids by check, for every exercise of a step."""
    return {check.test: check.requirements for check in step.checks}


def step_folder(lab: Lab, top: str, step: Step) -> Path:
    """``tests/known_bad/step02_scope`` for top ``tests/known_bad``."""
    return lab.root / top / step.folder
