"""Single-point mutants of a part: one comparison, one constant, one statement is another.

A mutant has a name that survives an edit elsewhere in the file: the function, what stood there and
what stands there now. Prose (texts with spaces), docstrings, annotations and decorators are left
alone: no check may depend on them.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SWAPPED_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
SWAPPED_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.FloorDiv: ast.Mult(),
    ast.Div: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.BitOr: ast.BitAnd(),
    ast.BitAnd: ast.BitOr(),
}
NAME_LENGTH = 70
Change = tuple[ast.AST, str]  # a node, and the text in its place


@dataclass(frozen=True)
class Mutant:
    """name: function, old and new. function: its outermost one, or "". text: the whole file."""

    name: str
    function: str
    text: str


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a file, in its order. Errors: SyntaxError."""
    tree, names, found = ast.parse(source), Counter[str](), []
    offsets = _offsets(source)
    for function, change in _changes(tree, ""):
        node, new = change
        old = ast.unparse(node)
        text = _replaced(source, offsets, node, new)
        name = f"{function or 'top'}: {_short(old)} → {_short(new)}"
        names[name] += 1
        if names[name] > 1:
            name += f" ({names[name]})"
        if _compiles(text):
            found.append(Mutant(name, function.split(".")[0], text))
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _offsets(source: str) -> list[int]:
    """Where each line begins, in bytes: the tree counts bytes."""
    offsets = [0]
    for line in source.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return offsets


def _replaced(source: str, offsets: list[int], node: ast.AST, new: str) -> str:
    raw = source.encode()
    start = offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    end = offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    put = new if isinstance(node, ast.stmt) else f"({new})"
    return (raw[:start] + put.encode() + raw[end:]).decode()


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, Change]]:
    """Every change below a node, with the name of the function that it is in."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "format_spec"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_docstring(child):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef | ast.ClassDef) or not isinstance(
                node, ast.JoinedStr
            ):
                yield from ((inner, change) for change in _of(child))
            yield from _changes(child, inner)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _of(node: ast.AST) -> Iterator[Change]:
    """The changes at one node itself."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            swapped = SWAPPED_COMPARISONS[type(operator)]
            yield node, ast.unparse(ast.Compare(left, [swapped], [right]))
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, ast.unparse(ast.BoolOp(other, values))
            for dropped in range(len(values)):
                rest = values[:dropped] + values[dropped + 1 :]
                yield node, ast.unparse(ast.BoolOp(operator, rest) if rest[1:] else rest[0])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, ast.unparse(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPPED_OPERATORS:
            yield node, ast.unparse(ast.BinOp(left, SWAPPED_OPERATORS[type(operator)], right))
        case ast.Constant(value=value):
            yield from ((node, repr(new)) for new in _other_values(value))
        case ast.Call(func=function, args=given, keywords=keywords):
            for dropped in range(len(keywords)):
                kept = keywords[:dropped] + keywords[dropped + 1 :]
                yield node, ast.unparse(ast.Call(function, given, kept))
        case (
            ast.If(test=ast.expr() as test)
            | ast.IfExp(test=ast.expr() as test)
            | ast.While(test=ast.expr() as test)
        ) if not isinstance(test, ast.Compare | ast.UnaryOp):  # those have a swap of their own
            yield test, f"not ({ast.unparse(test)})"
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Raise() | ast.Expr() | ast.AugAssign() | ast.Delete():
            yield node, "pass"
        case ast.Break():
            yield node, "continue"
        case ast.Continue():
            yield node, "break"


def _other_values(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str) and value and not any(c.isspace() for c in value):
        yield f"X{value}"
    elif isinstance(value, bytes) and value:
        yield b"X" + value
