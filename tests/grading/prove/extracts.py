"""Pieces of source files by name."""

import ast
import textwrap

from grading.prove.lab import Lab
from grading.stub_lines import first_line, last_line


def extract_flaw(lab: Lab, source: str, shown: str) -> str:
    """Why `shown` is not what `source` holds; empty when it is.

    source: ``path``, ``path#name``, or ``path#name:code`` for the same without docstrings.
    """
    path, _, place = source.partition("#")
    name, _, kind = place.partition(":")
    if kind not in ("", "code"):
        return f"is cut from {source}; after the name comes nothing, or :code."
    if path not in lab.files():
        return f"is cut from {path}, which is not there."
    if path in _learners_files(lab):
        return f"is cut from {path}, which the learner rewrites; cut it from solutions."
    text = lab.text(path)
    wanted = extract(text, name) if name else text
    if wanted is not None and kind == "code":
        wanted = without_docstrings(wanted)
    if wanted is None:
        return f"is cut from {name}, which is not in {path}."
    return "" if same_text(wanted, shown) else f"differs from {source}."


def extract(text: str, name: str) -> str | None:
    """The source of a function, class, method (``Class.method``) or assignment, or None."""
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next((node for node in body if part in _defined(node)), None)
        if found is None:
            return None
        body = found.body if isinstance(found, ast.ClassDef) else []
    if found is None:
        return None
    return textwrap.dedent("\n".join(text.splitlines()[first_line(found) - 1 : last_line(found)]))


def without_docstrings(source: str) -> str:
    """The source of a function or class without docstrings; its methods lose theirs too."""
    lines = source.splitlines()
    gone = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if ast.get_docstring(node) is not None and len(node.body) > 1
        for number in range(first_line(node.body[0]), _next_line(lines, last_line(node.body[0])))
    }
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in gone)


def _next_line(lines: list[str], number: int) -> int:
    """The first line after line `number` that is not empty."""
    number += 1
    while number <= len(lines) and not lines[number - 1].strip():
        number += 1
    return number


def same_text(wanted: str, shown: str) -> bool:
    """Equal but for spaces at the ends of lines and empty lines at both ends."""
    return _trimmed(wanted) == _trimmed(shown)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").rstrip().splitlines()]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _learners_files(lab: Lab) -> set[str]:
    return {f"lessons/{step.folder}/{part}.py" for step in lab.all_steps for part in step.parts}
