"""``python -m kit <command> NAME=value ...``: find the command's module and run it.

Only the standard library is imported here, so that help and refusals work before anything is
installed. A command is a module of `kit.commands` with SUMMARY, OPTIONS and ``run(options)``.
"""

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

COMMANDS = Path(__file__).resolve().parent / "commands"


def main(words: list[str]) -> int:
    """Run the command that `words` name. Returns its exit status; 2 for a wrong command line."""
    try:
        return dispatch(words)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:
        silence_stdout()
        return 141


def dispatch(words: list[str]) -> int:
    """Check command and options, then call the command's ``run``."""
    name = words[0] if words else "help"
    if name in ("-h", "--help"):
        name = "help"
    if name not in command_names():
        return refuse(f"There is no command {name}", nearest(name, command_names()), "make help")
    command = importlib.import_module(f"kit.commands.{name}")
    options: dict[str, str] = {}
    for word in words[1:]:
        option, equals, value = word.partition("=")
        if not equals:
            return refuse(f"An option is written NAME=value, not {word}", None, "make help")
        if option not in command.OPTIONS:
            known = list(command.OPTIONS)
            offer = f"it knows {', '.join(known)}" if known else "it takes none"
            return refuse(
                f"{name} has no option {option} ({offer})", nearest(option.upper(), known), None
            )
        options[option] = value
    status = int(command.run(options))
    sys.stdout.flush()
    return status


def command_names() -> list[str]:
    """The names of all commands, in alphabetical order."""
    return sorted(path.stem for path in COMMANDS.glob("[a-z]*.py"))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, or None when none does."""
    return next(iter(difflib.get_close_matches(name, list(known), 1, 0.55)), None)


def refuse(what: str, suggestion: str | None, instead: str | None) -> int:
    """Say in one sentence what is wrong with the command line. Returns 2."""
    if suggestion:
        what += f"; did you mean {suggestion}?"
    elif instead:
        what += f"; `{instead}` lists what there is."
    else:
        what += "."
    print(what, file=sys.stderr)
    return 2


def silence_stdout() -> None:
    """Give stdout a place to flush to, so that the interpreter ends without a complaint."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
