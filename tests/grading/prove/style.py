"""Lint, format and types are clean, in a copy of the lab where nothing is the learner's."""

import tomllib
from pathlib import Path

from grading.prove.lab import Lab, imports_of
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.processes import Completed

UNFORMATTED = ": unformatted: "
TOOLS = {
    "ruff check": ["-m", "ruff", "check", "--no-cache", "--quiet", "--output-format=concise"],
    "ruff format": ["-m", "ruff", "format", "--no-cache", "--check", "--output-format=concise"],
    "mypy": ["-m", "mypy", "--no-error-summary", "--hide-error-context"],
}


def style_is_clean(lab: Lab) -> Outcome:
    """``ruff check``, ``ruff format --check`` and ``mypy`` have nothing to say."""
    copy = lab.clean()
    cache = f"--cache-dir={lab.root / '.mypy_cache'}"
    running = {
        tool: lab.start([*argv, cache] if tool == "mypy" else argv, copy, paths=imports_of(copy))
        for tool, argv in TOOLS.items()
        if tool != "mypy" or typed_paths(copy)
    }
    found = {tool: _complaints(tool, future.result()) for tool, future in running.items()}
    shortfalls = [shortfall for complaints in found.values() for shortfall in complaints]
    if "mypy" not in running:
        shortfalls.append(Shortfall("pyproject.toml", "[tool.mypy] names no files to check."))
    clean = sum(not complaints for complaints in found.values())
    return counted(clean, len(TOOLS), f"clean: {', '.join(TOOLS)}", shortfalls)


def typed_paths(root: Path) -> list[str]:
    """What mypy is told to look at."""
    path = root / "pyproject.toml"
    settings = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    files = settings.get("tool", {}).get("mypy", {}).get("files", [])
    return files if isinstance(files, list) else [files]


def _complaints(tool: str, ended: Completed) -> list[Shortfall]:
    if ended.code == 0:
        return []
    if "No module named" in ended.err:
        return [Shortfall(tool, "is not installed (dev group).")]
    said = (ended.out + ended.err).splitlines()
    lines = [line for line in said if line.strip() and ": note: " not in line]
    if tool == "ruff format":
        told = [line.split(UNFORMATTED)[0] for line in lines if UNFORMATTED in line]
        return [Shortfall(name, f"{tool} would change it.") for name in told or lines]
    return [_complaint(tool, line) for line in lines or [ended.last_line()]]


def _complaint(tool: str, line: str) -> Shortfall:
    where, separator, sentence = line.partition(": ")
    return Shortfall(where, f"{tool}: {sentence}") if separator else Shortfall(tool, line)
