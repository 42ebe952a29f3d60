"""``make help``: every command with what it does."""

import ast
import sys

from kit.__main__ import COMMANDS, command_names, nearest

SUMMARY = "list the commands, or say more about one with COMMAND=name"
OPTIONS = {"COMMAND": "the command to explain"}

FIRST = ("doctor", "demo", "learn", "test", "hint", "predict", "diff", "reset", "status", "lab")


def run(options: dict[str, str]) -> int:
    """Print the list, or one command with its options; 2 when there is no such command."""
    names = sorted(command_names(), key=lambda name: (name not in FIRST, _rank(name), name))
    wanted = options.get("COMMAND")
    if wanted is not None and wanted not in names:
        suggestion = nearest(wanted, names)
        offer = f"; did you mean {suggestion}?" if suggestion else "."
        print(f"There is no command {wanted}{offer}", file=sys.stderr)
        return 2
    width = max(len(name) for name in names)
    for name in names if wanted is None else [wanted]:
        summary, meanings = described(name)
        print(f"make {name:{width}}  {summary}")
        for option, meaning in meanings.items() if wanted else ():
            print(f"     {option}=...  {meaning}")
    if wanted is None:
        print("\nOptions follow the command, as in: make test STEP=2")
        print("One command in full: make help COMMAND=test")
        print("Without make: python3 -m lessons test STEP=2")
    return 0


def described(name: str) -> tuple[str, dict[str, str]]:
    """Summary and options of a command, read from its source: nothing is imported."""
    tree = ast.parse((COMMANDS / f"{name}.py").read_text(encoding="utf-8"))
    values: dict[str, object] = {}
    for statement in tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id in ("SUMMARY", "OPTIONS"):
                values[target.id] = _literal(statement)
    summary, options = values.get("SUMMARY"), values.get("OPTIONS")
    if not isinstance(options, dict):
        options = {}
    meanings = {str(key): str(value) for key, value in options.items()}
    return (summary if isinstance(summary, str) else ""), meanings


def _literal(statement: ast.stmt) -> object:
    assert isinstance(statement, ast.Assign | ast.AnnAssign)
    try:
        return ast.literal_eval(statement.value) if statement.value is not None else None
    except ValueError:
        return None


def _rank(name: str) -> int:
    return FIRST.index(name) if name in FIRST else 0
