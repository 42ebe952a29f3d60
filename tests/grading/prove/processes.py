"""Programs that the gate starts: one clean environment, one time limit, no survivor."""

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 300.0

# What the caller's shell or make may have set and a proof must not depend on.
FOREIGN = (
    "CMD",
    "COLUMNS",
    "DEBUG",
    "FORCE",
    "JOBS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "ONLY",
    "PARTS",
    "PYTEST_ADDOPTS",
    "PYTEST_CURRENT_TEST",
    "PYTEST_PLUGINS",
    "PYTHONDONTWRITEBYTECODE",  # each grading would compile the checks again
    "SEED",
    "STEP",
)
FIXED = {"NO_COLOR": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TZ": "UTC"}


@dataclass(frozen=True)
class Completed:
    """How a program ended. code: its exit status, or None when it was stopped for its time."""

    code: int | None
    out: str
    err: str

    def last_line(self) -> str:
        """The last thing that it said."""
        lines = [line for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return lines[-1].strip() if lines else "it said nothing"


def clean_environment(paths: tuple[Path, ...] = ()) -> dict[str, str]:
    """The environment without the caller's settings; `paths` come first for Python's imports."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, **FIXED, "PYTHONPATH": os.pathsep.join(map(str, paths))}


def run_program(
    argv: list[str], cwd: Path, environment: Mapping[str, str], seconds: float = TIME_LIMIT
) -> Completed:
    """Run a program to its end, or stop it and all that it started after `seconds`."""
    program = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = program.communicate(timeout=seconds)
        return Completed(program.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        out, err = program.communicate()
        return Completed(None, out, err)
