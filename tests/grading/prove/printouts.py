"""What the lab's commands print, each run once in a fresh copy of the lab."""

import re
import shlex
from concurrent.futures import Future

from grading.prove.extracts import same_text
from grading.prove.lab import Lab, imports_of
from grading.prove.notebook_run import shown
from grading.prove.processes import Completed

_EXIT = re.compile(r",\s*exit (\d+)$")
COMMAND_SECONDS = 120.0


class Printouts:
    """Commands by their text, started as they are wanted."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._running: dict[str, Future[Completed]] = {}

    def want(self, directive: str) -> None:
        """Start the command of a directive if it is one that the lab runs."""
        command = _EXIT.sub("", directive)
        arguments = kit_arguments(command)
        if arguments is not None and command not in self._running:
            copy = self._lab.fresh_copy()
            self._running[command] = self._lab.start(
                ["-m", "kit", *arguments], copy, paths=imports_of(copy), seconds=COMMAND_SECONDS
            )

    def flaw(self, directive: str, printed: str) -> str:
        """Why `printed` is not what the command prints; empty when it is."""
        command = _EXIT.sub("", directive)
        if command not in self._running:
            return f"only `make …` and `python3 -m lessons …` can be run, not `{command}`."
        ended = self._running[command].result()
        expected = int(found[1]) if (found := _EXIT.search(directive)) else 0
        if ended.code != expected:
            return f"`{command}` ended with {ended.code}, not {expected}: {ended.last_line()}"
        if same_text(ended.out, _without_prompt(printed, command)):
            return ""
        return f"differs from what `{command}` prints: {_first_difference(ended.out, printed)}."


def kit_arguments(command: str) -> list[str] | None:
    """What ``python -m kit`` gets for a command line of the lab; None for any other."""
    words = shlex.split(command)
    for start in (["make"], ["python3", "-m", "lessons"]):
        if words[: len(start)] == start:
            return words[len(start) :]
    return None


def _without_prompt(printed: str, command: str) -> str:
    first, _, rest = printed.partition("\n")
    return rest if first.strip() == f"$ {command}" else printed


def _first_difference(out: str, printed: str) -> str:
    lines = out.strip().splitlines(), printed.strip().splitlines()
    for now, then in zip(*lines, strict=False):
        if now.rstrip() != then.rstrip():
            return f"{shown(now)} against {shown(then)}"
    return f"{len(lines[0])} lines against {len(lines[1])}"
