"""Lint, format and types are clean, as pyproject.toml sets them."""

from grading.prove.lab import Lab, imports_of
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.processes import Completed

TOOLS = {
    "ruff check": ("-m", "ruff", "check", "--no-cache", "--quiet", "--output-format", "concise"),
    "ruff format": ("-m", "ruff", "format", "--no-cache", "--check", "--quiet"),
    "mypy": ("-m", "mypy", "--no-error-summary", "--hide-error-context"),
}


def style_is_clean(lab: Lab) -> Outcome:
    """Each of the three tools ends without a word."""
    running = {
        tool: lab.start(argv, lab.root, paths=imports_of(lab.root)) for tool, argv in TOOLS.items()
    }
    ended = {tool: future.result() for tool, future in running.items()}
    shortfalls = [found for tool in ended for found in _shortfalls(lab, tool, ended[tool])]
    clean = [tool for tool in ended if ended[tool].code == 0]
    return counted(len(clean), len(TOOLS), f"clean: {', '.join(TOOLS)}", shortfalls)


def _shortfalls(lab: Lab, tool: str, ended: Completed) -> list[Shortfall]:
    if ended.code == 0:
        return []
    if "No module named" in ended.err:
        return [Shortfall(tool, "is not installed (dev group).")]
    if tool == "ruff format":
        return [Shortfall(name, f"{tool} would change it.") for name in _unformatted(ended)]
    told = [line for line in ended.out.splitlines() if line.strip()] or [ended.last_line()]
    return [_shortfall(tool, line.replace(f"{lab.root}/", "")) for line in told]


def _shortfall(tool: str, line: str) -> Shortfall:
    where, separator, sentence = line.partition(": ")
    return Shortfall(where, f"{tool}: {sentence}") if separator else Shortfall(tool, line)


def _unformatted(ended: Completed) -> list[str]:
    lines = [*ended.out.splitlines(), *ended.err.splitlines()]
    return [line.removeprefix("Would reformat: ") for line in lines if line.strip()]
