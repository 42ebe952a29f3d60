"""Edits of a source text by whole lines: what is not touched stays byte for byte.

Promise: the result is laid out as the formatter would lay it out if the original was. Between two
survivors stand as many blank lines as the wider of the gaps that met there.
"""

import ast
import io
import tokenize

from grading.stub_names import Function, Import, bound_name

LINE_LENGTH = 100


class SourceLines:
    """A module's lines, numbered from 1, with edits by line number, applied all at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._replaced: dict[int, list[str]] = {}
        self._inserted: dict[int, list[str]] = {}
        self._removed: set[int] = set()

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> str:
        """Line `number`; empty beyond either end."""
        return self._lines[number - 1] if 0 < number <= len(self) else ""

    def replace(self, first: int, last: int, lines: list[str]) -> None:
        """Write `lines` in the place of lines `first` to `last`."""
        numbers = range(first, last + 1)
        self._replaced |= {number: lines if number == first else [] for number in numbers}

    def insert(self, number: int, lines: list[str]) -> None:
        """Write `lines` in front of line `number`, whatever becomes of that line."""
        self._inserted[number] = lines

    def remove(self, first: int, last: int) -> None:
        """Take lines `first` to `last` out, with the comment above if its paragraph is gone."""
        self._removed |= set(range(first, last + 1))

    def result(self) -> str:
        """The edited text."""
        self._remove_orphaned_comments()
        kept: list[str] = []
        gap = widest = 0
        for number in range(1, len(self) + 1):
            for line in self._lines_at(number):
                if line:
                    kept += [""] * max(gap, widest) if kept else []
                    kept.append(line)
                    gap = widest = 0
                else:
                    gap += 1
            if number in self._removed and self.line(number):
                gap, widest = 0, max(gap, widest)
        return "\n".join(kept) + "\n"

    def _lines_at(self, number: int) -> list[str]:
        inserted = self._inserted.get(number, [])
        if number in self._removed:
            return inserted
        return inserted + self._replaced.get(number, [self.line(number)])

    def _remove_orphaned_comments(self) -> None:
        ends = [number for number in self._removed if number + 1 not in self._removed]
        for number in ends:
            if self.line(number + 1):
                continue
            while number in self._removed:
                number -= 1
            while self.line(number).lstrip().startswith("#"):
                self._removed.add(number)
                number -= 1


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt) -> int:
    """The last line of a statement."""
    return node.end_lineno or node.lineno


def empty_body(lines: SourceLines, function: Function, statement: str) -> None:
    """Write `statement` in the place of all that follows the function's docstring."""
    indent = " " * (function.col_offset + 4)
    last = _end_of_body(lines, function)
    if ast.get_docstring(function, clean=False) is not None:
        after_docstring = last_line(function.body[0]) + 1
        lines.replace(after_docstring, last, [])
        lines.insert(after_docstring, _call(indent, statement))
        return
    row, column = _colon(lines.text, function)
    lines.replace(row, last, [lines.line(row)[: column + 1], *_call(indent, statement)])


def _call(indent: str, statement: str) -> list[str]:
    if len(indent + statement) <= LINE_LENGTH:
        return [indent + statement]
    name, argument = statement.removesuffix(")").split("(", 1)
    return [f"{indent}{name}(", f"{indent}    {argument}", f"{indent})"]


def _end_of_body(lines: SourceLines, function: Function) -> int:
    """The last line of the body, comments after its last statement included."""
    last = number = last_line(function)
    while number < len(lines):
        number += 1
        line = lines.line(number)
        indented = len(line) - len(line.lstrip()) > function.col_offset
        if line.lstrip().startswith("#") and indented:
            last = number
        elif line.strip():
            break
    return last


def _colon(text: str, function: Function) -> tuple[int, int]:
    """Row and column of the colon that ends the function's head."""
    depth, started = 0, False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        started = started or token.start >= (function.lineno, function.col_offset)
        if not started or token.type != tokenize.OP:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if token.string == ":" and depth == 0:
            return token.start
    raise ValueError(f"{function.name} has no colon")


def narrow_import(lines: SourceLines, statement: Import, needed: set[str]) -> None:
    """Take the names that nobody needs out of an import statement."""
    kept = [alias for alias in statement.names if _is_kept(alias, statement, needed)]
    if len(kept) == len(statement.names):
        return
    if not kept:
        lines.remove(statement.lineno, last_line(statement))
        return
    tail = lines.line(last_line(statement)).encode()[statement.end_col_offset :].decode()
    lines.replace(statement.lineno, last_line(statement), _rendered(statement, kept, tail))


def _is_kept(alias: ast.alias, statement: Import, needed: set[str]) -> bool:
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    return alias.name == "*" or bound_name(alias, statement) in needed


def _rendered(statement: Import, kept: list[ast.alias], tail: str) -> list[str]:
    names = [f"{a.name} as {a.asname}" if a.asname else a.name for a in kept]
    if isinstance(statement, ast.Import):
        return [f"import {', '.join(names)}{tail}"]
    head = f"from {'.' * statement.level}{statement.module or ''} import "
    if len(head + ", ".join(names)) <= LINE_LENGTH:
        return [head + ", ".join(names) + tail]
    return [f"{head}(", *(f"    {name}," for name in names), f"){tail}"]
