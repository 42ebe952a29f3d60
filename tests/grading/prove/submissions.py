"""The wrong and the right submissions that the lab keeps, laid out as folders that can be graded.

Promise: a submission that no longer applies (an edit whose text is gone, a file that does not
compile, a head without a reason) is refused with one sentence and is never graded as something
else.
"""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.prove.lab import Lab, checks_of, step_folder
from kit.registry import Step

KNOWN_BAD, ALTERNATIVES, CHEATS = "tests/known_bad", "tests/alternatives", "tests/cheats"


class Rotten(Exception):
    """A submission that cannot be used; the message is one sentence."""


@dataclass(frozen=True)
class Submission:
    """One kept submission.

    where: its path below the lab's root. head: its ``about.toml``, or the TOML of an edit. step:
    the step whose parts it replaces. source: its folder or TOML file.
    """

    where: str
    step: Step
    source: Path
    head: dict[str, Any]

    @property
    def is_edit(self) -> bool:
        """Whether it is kept as an edit of the solution."""
        return self.source.suffix == ".toml"

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The checks that a known-bad one must fail."""
        return tuple(self.head.get("caught_by", ()))


def known_bad(lab: Lab) -> list[Submission]:
    """Every known-bad submission of the chosen steps."""
    return [found for step in lab.steps for found in _in(lab, KNOWN_BAD, step)]


def alternatives(lab: Lab) -> list[Submission]:
    """Every alternative of the chosen steps."""
    return [found for step in lab.steps for found in _in(lab, ALTERNATIVES, step)]


def cheats(lab: Lab) -> list[Submission]:
    """Every cheat that aims at one of the chosen steps. Errors: Rotten for one without a step."""
    steps = {step.number: step for step in lab.steps}
    every = {step.number for step in lab.all_steps}
    found = []
    for source in _entries(lab.root / CHEATS):
        head = read_head(source / "about.toml")
        if head.get("step") not in every:
            raise Rotten(f"{source.name}: its about.toml must name a step of the registry.")
        if head["step"] in steps:
            found.append(Submission(lab.relative(source), steps[head["step"]], source, head))
    return found


def read_head(path: Path) -> dict[str, Any]:
    """The TOML of a submission: empty when there is none, and ``rotten`` when it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return {"rotten": f"{path.name} is not TOML: {error}."}


def materialise(lab: Lab, submission: Submission) -> Path:
    """Write the submission as a folder of parts, the step's other parts from the solutions.

    Errors: Rotten when it does not apply any more or does not compile.
    """
    if "rotten" in submission.head:
        raise Rotten(submission.head["rotten"])
    target = lab.folder(submission.source.stem)
    own = target / submission.step.folder
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(step_folder(lab, "solutions", submission.step), own, ignore=ignore)
    if submission.is_edit:
        _apply_edits(submission, own)
    else:
        _copy_over(submission, target, own)
    return target


def _in(lab: Lab, top: str, step: Step) -> Iterator[Submission]:
    for source in _entries(step_folder(lab, top, step), ".toml"):
        head = read_head(source if source.suffix == ".toml" else source / "about.toml")
        yield Submission(lab.relative(source), step, source, head)


def _entries(folder: Path, ending: str = "") -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith((".", "_"))
        and (path.is_dir() or (ending and path.suffix == ending))
    )


def _apply_edits(submission: Submission, own: Path) -> None:
    edits = submission.head.get("edit", [])
    if not edits:
        raise Rotten("it has no [[edit]], so it is the solution itself.")
    for edit in edits:
        path = own / f"{edit.get('part')}.py"
        if not path.is_file():
            raise Rotten(f"it edits the part {edit.get('part')}, which this step does not have.")
        path.write_text(_edited(path.read_text(encoding="utf-8"), edit), encoding="utf-8")
    for name in {f"{edit['part']}.py" for edit in edits}:
        _must_compile(own / name)


def _edited(text: str, edit: dict[str, str]) -> str:
    find, replace = edit.get("find", ""), edit.get("replace", "")
    times = text.count(find) if find else 0
    if times != 1:
        raise Rotten(f"its edit no longer applies: {_shown(find)} occurs {times} times, not once.")
    if find == replace:
        raise Rotten(f"its edit changes nothing: {_shown(find)} is replaced by itself.")
    return text.replace(find, replace)


def _copy_over(submission: Submission, target: Path, own: Path) -> None:
    """A folder of bare part files goes into the step's folder, a whole submission over it all."""
    laid_out = (submission.source / "lessons").is_dir() or any(submission.source.glob("step??_*"))
    ignore = shutil.ignore_patterns("about.toml", "__pycache__")
    destination = target if laid_out else own
    shutil.copytree(submission.source, destination, ignore=ignore, dirs_exist_ok=True)
    written = [path for path in submission.source.rglob("*.py") if "__pycache__" not in path.parts]
    if not any(path.stem in submission.step.parts for path in written):
        raise Rotten(f"it brings none of the parts {', '.join(submission.step.parts)}.")
    for path in written:
        _must_compile(path)


def _must_compile(path: Path) -> None:
    try:
        compile(path.read_text(encoding="utf-8"), path.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Rotten(f"{path.name} does not compile: {error}.") from None


def _shown(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return f"“{first[:60]}”"


def unknown_checks(submission: Submission, named: tuple[str, ...]) -> list[str]:
    """The names that are no checks of the submission's step."""
    return [name for name in named if name not in checks_of(submission.step)]
