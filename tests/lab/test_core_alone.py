"""The core track stands alone: no core check needs a function of a stretch exercise."""

from pathlib import Path

import pytest

from grading.run import grade
from grading.stubs import stub_text
from kit.registry import Step, read_registry

ROOT = Path(__file__).resolve().parents[2]
STEPS = read_registry().steps


def core_part(step: Step, part: str) -> str:
    """The finished part with its stretch exercises as they are given to a learner."""
    source = (ROOT / "solutions" / step.folder / f"{part}.py").read_text(encoding="utf-8")
    stretch = [each for each in step.exercises if each.track == "stretch" and each.part == part]
    left_out = {name: f"{each.id}: {each.title}" for each in stretch for name in each.functions}
    return stub_text(source, left_out)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.slug)
def test_core_checks_pass_without_the_stretch_exercises(step: Step, tmp_path: Path) -> None:
    (tmp_path / step.folder).mkdir()
    for part in step.parts:
        path = tmp_path / step.folder / f"{part}.py"
        path.write_text(core_part(step, part), encoding="utf-8")
    core = [each for each in step.exercises if each.track == "core"]
    checks = [check.test for exercise in core for check in exercise.checks]
    report = grade(tmp_path, steps=[step.number], checks=checks)
    wrong = {each.test: each.text for each in report.results if each.verdict != "pass"}
    assert wrong == {}


def test_the_core_of_the_first_six_steps_takes_four_hours_at_most() -> None:
    core = [e for step in STEPS[:6] for e in step.exercises if e.track == "core"]
    assert sum(exercise.minutes for exercise in core) <= 240


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.slug)
def test_minutes_are_told_alike_everywhere(step: Step) -> None:
    minutes = {
        track: sum(each.minutes for each in step.exercises if each.track == track)
        for track in ("core", "stretch")
    }
    assert step.minutes == minutes["core"]
    path = (ROOT / "lessons" / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in path.splitlines() if f"({step.folder}/README.md)" in line]
    told = [cell.strip() for cell in row.split("|")[3:5]]
    assert told == [f"{minutes[t]} min" if minutes[t] else "" for t in ("core", "stretch")]
    lesson = (ROOT / "lessons" / step.folder / "README.md").read_text(encoding="utf-8")
    for each in step.exercises:
        (row,) = [line for line in lesson.splitlines() if line.startswith(f"| {each.id} |")]
        assert [cell.strip() for cell in row.split("|")[3:5]] == [str(each.minutes), each.track]
