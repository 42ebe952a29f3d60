"""Stubs out of solutions, so that what the learner edits cannot drift from what is graded.

Promise: every exercise's body becomes ``todo("2.1: Title")`` after its docstring; what only those
bodies needed goes (private names, and imports from elsewhere than the kit); everything else stays
byte for byte. Nothing is written unless `write_stubs` is called.
"""

import ast
from collections.abc import Iterable
from pathlib import Path

from grading.stub_lines import SourceLines, empty_body, first_line, last_line, narrow_import
from grading.stub_names import (
    Function,
    Import,
    find_function,
    needed_names,
    private_names,
    unneeded_methods,
)
from kit.registry import Step, read_registry

ROOT = Path(__file__).resolve().parents[2]
STUB_IMPORT = "from kit.todo import todo"


class NoStub(Exception):
    """A solution of which no stub can be made; the message says why in one sentence."""


def stub_text(source: str, exercises: dict[str, str]) -> str:
    """Return the stub of a solution's text.

    exercises: function (``"f"`` or ``"Class.method"``) to what todo() says, ``"2.1: Title"``.
    Errors: NoStub when the text is not Python, a function is not in it, or two statements share a
    line.
    """
    tree = _parse(source)
    lines = SourceLines(source)
    emptied = [_function(tree, name) for name in exercises]
    for function, says in zip(emptied, exercises.values(), strict=True):
        empty_body(lines, function, f"todo({_quoted(says)})")
    _remove_unneeded(tree, lines, emptied)
    if emptied:
        _import_todo(tree, lines)
    return lines.result()


def stub_source(step: Step, part: str, root: Path = ROOT) -> str:
    """Return the stub of one part.

    step: its entry in the registry (`kit.registry`). part: module name. root: a lab's folder, with
    ``solutions/stepNN_slug/<part>.py``.
    Errors: NoStub as `stub_text`; FileNotFoundError when there is no solution.
    """
    path = root / "solutions" / step.folder / f"{part}.py"
    try:
        return stub_text(path.read_text(encoding="utf-8"), exercises_of(step, part))
    except NoStub as refusal:
        raise NoStub(f"{step.folder}/{part}.py: {refusal}") from None


def write_stubs(root: Path = ROOT, steps: Iterable[Step] | None = None) -> list[Path]:
    """Write the stub of every part below ``lessons`` of a lab; return the paths written.

    steps: all of the lab's registry unless given. Whatever stands there is overwritten: ask the
    learner first. Errors: as `stub_source`, before anything is written.
    """
    if steps is None:
        steps = read_registry(root / "lessons" / "lab.toml").steps
    stubs = {
        root / "lessons" / step.folder / f"{part}.py": stub_source(step, part, root)
        for step in steps
        for part in step.parts
    }
    for path, text in stubs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(stubs)


def exercises_of(step: Step, part: str) -> dict[str, str]:
    """Function to ``"2.1: Title"`` for every exercise of that part."""
    return {
        function: f"{exercise.id}: {exercise.title}"
        for exercise in step.exercises
        if exercise.part == part
        for function in exercise.functions
    }


def _parse(source: str) -> ast.Module:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise NoStub(f"line {error.lineno} is not Python: {error.msg}.") from None
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        if last_line(before) == first_line(after):
            raise NoStub(f"line {first_line(after)} holds two statements.")
    return tree


def _function(tree: ast.Module, name: str) -> Function:
    function = find_function(tree, name)
    if function is None:
        raise NoStub(f"the registry names the function {name}, which is not there.")
    return function


def _quoted(says: str) -> str:
    if '"' in says and "'" not in says:
        return f"'{says}'"
    return '"' + says.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _remove_unneeded(tree: ast.Module, lines: SourceLines, emptied: list[Function]) -> None:
    methods = unneeded_methods(tree, emptied)
    needed = needed_names(_without(tree, methods), emptied)
    for node in tree.body:
        names = private_names(node)
        if isinstance(node, Import):
            if not _kit_module(node):  # what the kit offers stays in sight
                narrow_import(lines, node, needed)
        elif names and not needed.intersection(names):
            lines.remove(first_line(node), last_line(node))
    for method in methods:
        lines.remove(first_line(method), last_line(method))


def _without(tree: ast.Module, methods: list[Function]) -> ast.Module:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            node.body = [member for member in node.body if member not in methods]
    return tree


def _import_todo(tree: ast.Module, lines: SourceLines) -> None:
    """Put the import where the sorter would: among the kit's, or in a paragraph of its own."""
    imports = [node for node in tree.body if isinstance(node, Import)]
    kit = [node for node in imports if _kit_module(node)]
    if any(_kit_module(node) == "kit.todo" for node in kit):
        return
    later = [node for node in kit if _kit_module(node) > "kit.todo"]
    if later:
        lines.insert(later[0].lineno, [STUB_IMPORT])
    elif kit:
        lines.insert(last_line(kit[-1]) + 1, [STUB_IMPORT])
    elif imports:
        lines.insert(last_line(imports[-1]) + 1, ["", STUB_IMPORT])
    else:
        _import_alone(tree, lines)


def _import_alone(tree: ast.Module, lines: SourceLines) -> None:
    has_docstring = ast.get_docstring(tree) is not None
    above = last_line(tree.body[0]) if has_docstring else 0
    following = tree.body[1 if has_docstring else 0]
    wanted = 2 if isinstance(following, Function | ast.ClassDef) else 1
    present = 0 if lines.line(above + 1) else 1
    lines.insert(above + 1, ["", STUB_IMPORT, *[""] * (wanted - present)])


def _kit_module(statement: Import) -> str:
    module = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
    return module if module.split(".")[0] == "kit" else ""
