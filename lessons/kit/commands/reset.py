"""``make reset STEP=02``: put the stub of a step back, and keep what was there.

``EXERCISE=2.3`` puts back the functions of one exercise and leaves the rest of the file alone.
"""

import ast
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SUMMARY = "start a step or an exercise again; your file is kept under .lab/kept"
OPTIONS = {
    "STEP": "the step, for example 02",
    "EXERCISE": "one exercise of it, for example 2.3",
    "YES": "1 does not ask",
}
TODO = "from kit.todo import todo"


def run(options: dict[str, str]) -> int:
    """Reset; 0 when done, 1 when the learner thought better of it, 2 for a wrong step."""
    from grading.house import House

    return put_back(House(), options, input)


def put_back(house: Any, options: dict[str, str], ask: Callable[[str], str]) -> int:
    """Reset in a house. ask: puts a question and returns the answer. Returns as `run`."""
    from grading.stubs import NoStub
    from kit.registry import RegistryBroken, read_registry

    if len(options.keys() & {"STEP", "EXERCISE"}) != 1:
        print("Which? Write make reset STEP=02, or make reset EXERCISE=2.3.", file=sys.stderr)
        return 2
    try:
        lab = read_registry(house.registry)
        what, fresh = _fresh(house, lab, options)
    except (RegistryBroken, NoStub, OSError, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    changed = {path: text for path, text in fresh.items() if _text(path) != text}
    if not changed:
        print(f"{what} is as it was given to you.")
        return 0
    names = ", ".join(str(path.relative_to(house.root)) for path in changed)
    if options.get("YES") != "1" and not _agrees(ask, f"Put {what} back in {names}? [y/N] "):
        print("Nothing was changed.")
        return 1
    for path, text in changed.items():
        _replace(house.root, path, text)
    print(f"{what} is as it was given to you.")
    return 0


def _fresh(house: Any, lab: Any, options: dict[str, str]) -> tuple[str, dict[Path, str]]:
    """Return what is put back, and the new text of each file."""
    from grading.stubs import stub_source

    if "EXERCISE" in options:
        step, exercise = lab.exercise(options["EXERCISE"])
        path = house.part(house.root / "lessons", step, exercise.part)
        stub = stub_source(step, exercise.part, house.root)
        text = _text(path)
        fresh = stub if text is None else with_stubs(text, stub, exercise.functions)
        return f"Exercise {exercise.id}", {path: fresh}
    if not options["STEP"].isdecimal():
        raise ValueError(f"STEP is a number such as 02, not {options['STEP']!r}.")
    step = lab.step(int(options["STEP"]))
    stubs = {
        house.part(house.root / "lessons", step, part): stub_source(step, part, house.root)
        for part in step.parts
    }
    return f"Step {step.number:02d}", stubs


def with_stubs(text: str, stub: str, functions: Iterable[str]) -> str:
    """Return the text with these functions as the stub has them; all else stays as it is.

    functions: ``f`` or ``Class.method``. Errors: ValueError when Python cannot read the text or a
    function is not in it; then only the whole step can be put back.
    """
    for name in functions:
        lines = text.split("\n")
        first, last = _place(_tree(text), name)
        given_first, given_last = _place(_tree(stub), name)
        lines[first - 1 : last] = stub.split("\n")[given_first - 1 : given_last]
        text = "\n".join(lines)
    return text if _knows_todo(text) else _with_import(text)


def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("Python cannot read your file; reset the whole step instead.") from None


def _place(tree: ast.Module, name: str) -> tuple[int, int]:
    from grading.stub_lines import first_line, last_line
    from grading.stub_names import find_function

    function = find_function(tree, name)
    if function is None:
        raise ValueError(f"Your file has no {name}; reset the whole step instead.")
    return first_line(function), last_line(function)


def _knows_todo(text: str) -> bool:
    imports = [node for node in _tree(text).body if isinstance(node, ast.ImportFrom)]
    return any((name.asname or name.name) == "todo" for node in imports for name in node.names)


def _with_import(text: str) -> str:
    tree = _tree(text)
    has_docstring = ast.get_docstring(tree) is not None
    after = tree.body[0].end_lineno or 0 if has_docstring else 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            after = node.end_lineno or after
    lines = text.split("\n")
    lines[after:after] = ["", TODO] if after else [TODO]
    return "\n".join(lines)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _agrees(ask: Callable[[str], str], question: str) -> bool:
    try:
        return ask(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _replace(root: Path, path: Path, stub: str) -> None:
    relative = path.relative_to(root)
    if path.exists():
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        kept = root / ".lab" / "kept" / moment / relative
        kept.parent.mkdir(parents=True)
        path.replace(kept)
        print(f"Your {relative} is now {kept.relative_to(root)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stub, encoding="utf-8")
