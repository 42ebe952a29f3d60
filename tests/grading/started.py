"""Which exercises a learner has started, told from the text of the files; nothing is run."""

import ast
from pathlib import Path

from grading.part_files import tree_of
from kit.registry import Exercise


def is_started(exercise: Exercise, part: Path) -> bool:
    """Tell whether the file differs from the stub in any function of the exercise.

    A file that Python cannot read is a started one: its author wants to hear about it. A file that
    is not there is not.
    """
    if not part.is_symlink() and not part.exists():
        return False
    tree = tree_of(part)
    return tree is None or not set(exercise.functions) <= _waiting(tree, "")


def _waiting(tree: ast.AST, owner: str) -> set[str]:
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            names |= _waiting(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _only_todo(node):
            names.add(owner + node.name)
    return names


def _only_todo(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Expr | ast.Return):
        return False
    call = body[0].value
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "todo"
