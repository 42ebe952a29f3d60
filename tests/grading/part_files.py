"""A learner's file as the judge may touch it: it looks, it never runs, and it is not led astray.

A submission can hold anything: a link to the solution, a pipe that never ends, a text so deeply
nested that Python's own parser gives up. None of them may reach or stop the judge.
"""

import ast
import stat
from pathlib import Path

LONGEST = 1 << 20  # bytes


def problem_of(path: Path, folder: Path) -> str:
    """Return why the part at `path` cannot be graded, in one sentence; "" when it can.

    folder: the folder of parts that it must lie in, links followed.
    """
    try:
        status = path.stat()
        inside = path.resolve().is_relative_to(folder.resolve())
    except FileNotFoundError:
        return f"{path.name} is missing: it belongs at {path.parent.name}/{path.name}."
    except (OSError, RuntimeError) as trouble:
        return f"{path.name} cannot be read: {getattr(trouble, 'strerror', None) or trouble}."
    if not inside:
        return f"{path.name} is a link to a file outside the folder that is graded."
    if not stat.S_ISREG(status.st_mode):
        return f"{path.name} is not a file."
    if status.st_size > LONGEST:
        return f"{path.name} is longer than {LONGEST >> 10} KiB."
    return ""


def tree_of(path: Path) -> ast.Module | None:
    """Return the syntax tree of a part, or None when it cannot be read."""
    if problem_of(path, path.parent):
        return None
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
