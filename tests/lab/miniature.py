"""A lab of one step and one exercise, whole in every part, for tests that break one thing of it."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from grading.prove.gate import prove
from grading.stubs import write_stubs
from grading.verdicts import FAIL, NOT_STARTED, PASS, UNPROVEN, Report, Result
from kit.todo import NotStarted

STEP = "step01_double"
RULE = "https://example.org/rules"

REGISTRY = """revision = "2026-07-28"

[[step]]
number = 1
slug = "double"
title = "Doubling"
parts = ["double"]
minutes = 10

[[step.exercise]]
id = "1.1"
title = "Double"
part = "double"
functions = ["double"]
track = "core"
minutes = 5
points = 2

[step.exercise.checks]
test_two_becomes_four = ["MINI-1"]
test_a_text_is_refused = ["MINI-2"]
"""

SOLUTION = '''"""Doubles numbers, and numbers only."""

from kit.refusals import ToolRefusal


def double(number: object) -> int:
    """Return twice `number` (MINI-1).

    Errors: ToolRefusal for anything but an integer (MINI-2).
    """
    if not isinstance(number, int):
        raise ToolRefusal("A number, please.")
    return number * 2
'''

CHECKS = '''"""Checks of the miniature step."""


def test_two_becomes_four(double):
    assert double(2) == 4


def test_a_text_is_refused(double):
    assert double("2") == "refused"
'''

README = """# Doubling

Read [the rules](../requirements.md#the-rules) and type `make hello`.

<!-- from: solutions/step01_double/double.py#double -->
```python
{double}
```

<!-- run: make hello -->
```console
$ make hello
Hello.
```

<!-- sketch: a shape, not a message -->
```text
number -> number * 2
```

```sh
make hello NAME=you
```
"""

HINTS = """# Hints

## 1.1 Double

### 1

What is twice a number?

### 2

Multiplication is in MINI-1.

### 3

One line, with a star.
"""

REQUIREMENTS = f"""# The rules

- **MINI-1** · LAB · server · Double. · [source]({RULE})
- **MINI-2** · LAB · server · Refuse texts. · [source]({RULE})
"""

KIT = {
    "__init__.py": "",
    "__main__.py": 'print("Hello.")\n',
    "refusals.py": "class ToolRefusal(Exception):\n    pass\n",
    "todo.py": "def todo(exercise):\n    raise SystemExit(exercise)\n",
    "commands/hello.py": 'SUMMARY = "greet"\nOPTIONS = {"NAME": "whom"}\n',
}

PYPROJECT = """[tool.ruff.lint.per-file-ignores]
"lessons/step*/*.py" = ["F401"]

[tool.mypy]
files = ["solutions"]
mypy_path = ["lessons"]
"""


def write(root: Path, files: dict[str, str]) -> None:
    """Write files by their path below `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def known_bad(find: str, replace: str, caught_by: list[str], **head: Any) -> str:
    """The TOML of a known-bad submission by edit."""
    texts = {"title": "A slip", "why": "Easily typed.", "source": RULE, **head}
    lines = [f"{name} = {json.dumps(value)}" for name, value in texts.items()]
    lines += [f"caught_by = {json.dumps(caught_by)}", "", "[[edit]]", 'part = "double"']
    lines += [f"find = {json.dumps(find)}", f"replace = {json.dumps(replace)}"]
    return "\n".join(lines) + "\n"


def notebook(*cells: dict[str, Any]) -> str:
    """A notebook out of code cells: ``source`` and, where they differ, ``outputs`` and the rest."""
    whole = [
        {"cell_type": "code", "id": f"c{n}", "execution_count": n, "metadata": {}, "outputs": []}
        | cell
        for n, cell in enumerate(cells, 1)
    ]
    return json.dumps({"cells": whole, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def printed(text: str, name: str = "stdout") -> dict[str, Any]:
    """The output of a cell that printed `text`."""
    return {"output_type": "stream", "name": name, "text": text}


def good_lab(root: Path) -> Path:
    """Write the miniature at `root` and return it."""
    source = SOLUTION[SOLUTION.index("def double") :].rstrip()
    first, second = ["test_two_becomes_four"], ["test_a_text_is_refused"]
    about = known_bad("", "", first).split("\n\n")[0]
    alternative = SOLUTION.replace("number * 2", "{}").format
    write(
        root,
        {
            "pyproject.toml": PYPROJECT,
            "README.md": f"# Miniature\n\n[The step](lessons/{STEP}/README.md).\n",
            "lessons/lab.toml": REGISTRY,
            "lessons/requirements.md": REQUIREMENTS,
            f"lessons/{STEP}/README.md": README.format(double=source),
            f"lessons/{STEP}/hints.md": HINTS,
            f"lessons/{STEP}/attack.py": '"""None."""\n',
            f"solutions/{STEP}/double.py": SOLUTION,
            f"tests/{STEP}/test_double.py": CHECKS,
            f"tests/{STEP}/subject.py": '"""None."""\n',
            f"notebooks/{STEP}.ipynb": notebook(
                {"source": 'print("Hello.")', "outputs": [printed("Hello.\n")]}
            ),
            "tests/lab/test_truth.py": "def test_truth():\n    assert True\n",
            "tests/cheats/exits/about.toml": 'title = "Leaves"\nwhy = "It can."\nstep = 1\n',
            "tests/cheats/exits/double.py": "def double(number):\n    return None\n",
            **{f"lessons/kit/{name}": text for name, text in KIT.items()},
            **{
                f"tests/known_bad/{STEP}/times_{k}.toml": known_bad("* 2", f"* {k}", first)
                for k in range(3, 10)
            },
            f"tests/known_bad/{STEP}/any.toml": known_bad("int)", "object)", second),
            **{
                f"tests/known_bad/{STEP}/{name}/{file}": text
                for name in ("zero", "none")
                for file, text in (
                    ("about.toml", about),
                    ("double.py", f"def double(number):\n    return {name == 'none' or 0}\n"),
                )
            },
            **{
                f"tests/alternatives/{STEP}/{name}/double.py": alternative(way)
                for name, way in (("sum", "number + number"), ("shift", "number << 1"))
            },
            f"tests/alternatives/{STEP}/left/double.py": alternative("2 * number"),
        },
    )
    write_stubs(root)
    return root


def grade(root: Path, parts: Path, *, steps: list[int], checks: list[str] | None) -> Report:
    """A stand-in for the judge: runs the checks of the miniature in this process."""
    tests = _run(root / f"tests/{STEP}/test_double.py")
    below = parts / "lessons" if (parts / "lessons").is_dir() else parts
    names = [name for name in vars(tests) if name.startswith("test_")]
    chosen = [name for name in names if checks is None or name in checks]
    found = [_verdict(tests, name, below / STEP / "double.py") for name in chosen]
    return Report(tuple(found))


def _run(path: Path) -> ModuleType:
    module = ModuleType("part_double")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return module


def _verdict(tests: ModuleType, name: str, part: Path) -> Result:
    def result(verdict: str, text: str) -> Result:
        return Result(f"1.1::{name}", name, 1, "1.1", verdict, text, ("MINI-1",), 0.0)

    try:
        double = _run(part).double
        getattr(tests, name)(lambda number: _answer(double, number))
    except NotStarted:
        return result(NOT_STARTED, "")
    except AssertionError as failure:
        return result(FAIL, str(failure) or "sent 2\ngot 5\nrule MINI-1\nlook at double.py:1")
    except BaseException as crash:
        return result(UNPROVEN, str(crash))
    return result(PASS, "")


def _answer(double: Callable[[object], object], number: object) -> object:
    try:
        return double(number)
    except Exception as refusal:
        return "refused" if type(refusal).__name__ == "ToolRefusal" else refusal


def proof(root: Path, only: str = "", **options: Any) -> tuple[int, str]:
    """Prove the lab at `root`; the exit status and everything that was said."""
    said: list[str] = []
    status = prove(root, partial(grade, root), only=only, say=said.append, **options)
    return status, "\n".join(said)


def edit(root: Path, name: str, find: str, replace: str) -> None:
    """Change one place of a file of the lab; it must be there."""
    text = (root / name).read_text(encoding="utf-8")
    assert text.count(find) == 1, f"{find!r} is {text.count(find)} times in {name}"
    (root / name).write_text(text.replace(find, replace), encoding="utf-8")
