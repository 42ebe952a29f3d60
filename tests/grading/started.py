"""Which exercises a learner has started, told from the text of the files; nothing is run."""

import ast
from collections.abc import Iterable
from pathlib import Path

from grading.part_files import tree_of
from grading.stub_names import Function, find_function
from kit.registry import Exercise


def is_started(exercise: Exercise, part: Path) -> bool:
    """Tell whether the file differs from the stub in any function of the exercise.

    A file that Python cannot read is a started one: its author wants to hear about it. A file that
    is not there is not.
    """
    if not part.is_symlink() and not part.exists():
        return False
    tree = tree_of(part)
    return tree is None or bool(_begun(tree, exercise.functions))


def started(text: str, functions: Iterable[str]) -> list[str]:
    """Return the functions on which somebody has begun to work.

    text: a part as the learner has it. A function that is gone, or a text that is not Python, was
    begun as well: only a body of one ``todo(...)`` was not.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return list(functions)
    return _begun(tree, functions)


def _begun(tree: ast.Module, functions: Iterable[str]) -> list[str]:
    return [name for name in functions if not _only_todo(find_function(tree, name))]


def _only_todo(function: Function | None) -> bool:
    if function is None:
        return False
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [ast.Expr(value=call) | ast.Return(value=call)]:
            return isinstance(call, ast.Call) and ast.unparse(call.func) == "todo"
    return False
