"""Which names of a module are still needed once the exercises' bodies are gone.

Promise: a name is kept exactly when something that stays refers to it, so that a stub neither
imports what it does not use nor carries half of the solution in a private function.
"""

import ast
from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom


def find_function(tree: ast.Module, name: str) -> Function | None:
    """The function of that registered name: ``"f"`` or ``"Class.method"``."""
    body: list[ast.stmt] = tree.body
    *classes, function = name.split(".")
    for owner in classes:
        found = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
        body = found[0].body if found else []
    for node in body:
        if isinstance(node, Function) and node.name == function:
            return node
    return None


def bound_name(alias: ast.alias, statement: Import) -> str:
    """The name that one item of an import statement binds."""
    if alias.asname:
        return alias.asname
    return alias.name if isinstance(statement, ast.ImportFrom) else alias.name.split(".")[0]


def is_private(name: str) -> bool:
    """Private: one leading underscore, and not ``__dunder__``."""
    return name.startswith("_") and not name.startswith("__")


def private_names(statement: ast.stmt) -> list[str]:
    """The names that a statement defines, if it defines private names and nothing else."""
    names: list[str] = []
    if isinstance(statement, Function | ast.ClassDef):
        names = [statement.name]
    elif isinstance(statement, ast.Assign):
        names = [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        names = [statement.target.id]
    return names if names and all(is_private(name) for name in names) else []


def needed_names(tree: ast.Module, emptied: Iterable[Function]) -> set[str]:
    """Every name that the module still refers to, from its public statements onwards.

    emptied: the functions whose bodies will be gone; of them only signature and decorators count.
    """
    gone = {id(node) for node in emptied}
    waiting = [node for node in tree.body if not isinstance(node, Import)]
    needed: set[str] = set()
    while True:
        ready = [node for node in waiting if _stays(node, needed)]
        if not ready:
            return needed
        waiting = [node for node in waiting if not _stays(node, needed)]
        for node in ready:
            needed |= set(_references(node, gone))


def unneeded_methods(tree: ast.Module, emptied: Iterable[Function]) -> list[Function]:
    """Private methods of the classes that hold an exercise, to which nothing refers any more."""
    emptied = list(emptied)
    gone = {id(node) for node in emptied}
    owners = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(member in emptied for member in node.body)
    ]
    private = [m for o in owners for m in o.body if isinstance(m, Function) and is_private(m.name)]
    unneeded = [method for method in private if id(method) not in gone]
    while True:
        left_out = gone | {id(method) for method in unneeded}
        used = {
            node.attr
            for statement in tree.body
            for node in _walk(statement, left_out)
            if isinstance(node, ast.Attribute)
        }
        kept = [method for method in unneeded if method.name in used]
        if not kept:
            return unneeded
        unneeded = [method for method in unneeded if method not in kept]


def _stays(statement: ast.stmt, needed: set[str]) -> bool:
    names = private_names(statement)
    return not names or any(name in needed for name in names)


def _references(statement: ast.stmt, gone: set[int]) -> Iterator[str]:
    for node in _walk(statement, gone):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load | ast.Del):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        yield from _quoted_references(node)


def _quoted_references(node: ast.AST) -> Iterator[str]:
    """Names inside text: annotations in quotes, and the entries of ``__all__``."""
    quoting = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
        quoting.append(node.value)
    for place in filter(None, quoting):
        for child in ast.walk(place):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield from _names_in(child.value)


def _names_in(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return
    yield from (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _walk(node: ast.AST, gone: set[int]) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field == "body" and id(node) in gone:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, gone)
