"""A lab with one step per way of writing its part, so that one grading judges all of them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = f"""[tool.pytest.ini_options]
pythonpath = ["{ROOT / "lessons"}", "{ROOT / "tests"}"]
"""
HEAD = 'revision = "2026-07-28"\n'
STEP = """
[[step]]
number = {number}
slug = "{slug}"
title = "Doubling"
parts = ["double"]
minutes = 5
[[step.exercise]]
id = "{number}.1"
title = "Double"
part = "double"
functions = ["double"]
track = "core"
minutes = 5
points = 1
[step.exercise.checks]
test_twice_a_number = ["MINI-1"]
test_a_text_is_refused = ["MINI-2"]
"""
SOLUTION = '''"""Doubles numbers."""

from kit.refusals import ToolRefusal


def double(number):
    """Return twice `number`."""
    if type(number) is not int:
        raise ToolRefusal("A number, please.")
    return number * 2
'''
STUB = '''from kit.todo import todo


def double(number):
    """Return twice `number`."""
    todo("1.1: Double")
'''
SUBJECT = '''"""What the checks can ask."""


def double(parts, *, number):
    """Double something."""
    return parts.double.double(number)
'''
CHECKS = """
from grading.outcomes import Refused


def test_twice_a_number(subject, rng):
    number = rng.randrange(2, 1000)
    assert subject.double(number=number) == number * 2


def test_a_text_is_refused(subject):
    assert subject.double(number="2") == Refused()
"""
RULES = """
- **MINI-1** · LAB · server · Double it. · [source](https://example.org/rules)
- **MINI-2** · LAB · server · Refuse texts. · [source](https://example.org/rules)
"""


def tiny_lab(root: Path, parts: dict[str, str]) -> Path:
    """Write a lab whose step of each name has this text as the learner's part; return its root."""
    steps = [STEP.format(number=n, slug=slug) for n, slug in enumerate(parts, start=1)]
    files = {
        "lessons/lab.toml": HEAD + "".join(steps),
        "lessons/requirements.md": RULES,
        "pyproject.toml": PYPROJECT,
        "tests/conftest.py": 'pytest_plugins = ["grading.plugin"]\n',
    }
    for number, (slug, text) in enumerate(parts.items(), start=1):
        folder = f"step{number:02d}_{slug}"
        files[f"lessons/{folder}/double.py"] = text
        files[f"solutions/{folder}/double.py"] = SOLUTION
        files[f"tests/{folder}/subject.py"] = SUBJECT
        files[f"tests/{folder}/test_{slug}.py"] = CHECKS
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
