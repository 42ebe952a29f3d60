"""A command that a page tells the reader to type is one that the lab has, with options it knows."""

import ast
import re
from collections.abc import Iterator

from grading.prove.lab import Lab
from grading.prove.markdown import split
from grading.prove.outcome import Outcome, Shortfall, counted

COMMANDS = "lessons/kit/commands/"
_SPAN = re.compile(r"`((?:make|python3 -m lessons)(?: [^`]*)?)`")
_LINE = re.compile(r"^\s*(?:\$ )?((?:make|python3 -m lessons)(?: .*)?)$")


def commands_named_exist(lab: Lab) -> Outcome:
    """Every ``make …`` in a page, in a code span or a ``sh`` block, names a command of the kit."""
    known = {name: options(lab.text(f"{COMMANDS}{name}.py")) for name in command_names(lab)}
    named = [
        (f"{page}:{number}", command)
        for page in lab.files(".md")
        for number, command in commands_in(lab.text(page))
    ]
    found = [(where, flaw(command, known)) for where, command in named]
    shortfalls = [Shortfall(where, why) for where, why in found if why]
    return counted(len(named) - len(shortfalls), len(named), "named commands exist", shortfalls)


def command_names(lab: Lab) -> list[str]:
    """The commands of the kit."""
    names = [name for name in lab.files(".py") if name.startswith(COMMANDS)]
    stems = [name.removeprefix(COMMANDS).removesuffix(".py") for name in names]
    return [stem for stem in stems if "/" not in stem and not stem.startswith("_")]


def options(source: str) -> set[str] | None:
    """The names in a command module's OPTIONS; None when they are not written out."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not any(isinstance(target, ast.Name) and target.id == "OPTIONS" for target in targets):
            continue
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Dict):
            return None
        keys = [key.value for key in value.keys if isinstance(key, ast.Constant)]
        return {str(key) for key in keys} if len(keys) == len(value.keys) else None
    return None


def commands_in(text: str) -> Iterator[tuple[int, str]]:
    """Line and command line of each command that a page names."""
    blocks, prose = split(text)
    for line in prose:
        yield from ((line.number, found) for found in _SPAN.findall(line.text))
    for block in blocks:
        if block.language in ("sh", "bash", "shell"):
            for offset, row in enumerate(block.text.splitlines(), 1):
                if found := _LINE.match(row.split("#")[0].rstrip()):
                    yield block.line + offset, found[1]


def flaw(command: str, known: dict[str, set[str] | None]) -> str:
    """What is wrong with a command line, or nothing."""
    words = command.removeprefix("python3 -m lessons").removeprefix("make").split()
    if not words or not words[0][0].isalpha():
        return ""
    name, *arguments = words
    if name not in known:
        return f"there is no command `make {name}`."
    allowed = known[name]
    if allowed is None:
        return ""
    given = [argument.split("=")[0].strip("[]") for argument in arguments if "=" in argument]
    unknown = [option for option in given if option not in allowed]
    return f"`make {name}` has no option {', '.join(unknown)}." if unknown else ""
