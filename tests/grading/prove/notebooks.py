"""Notebooks show what really happens: each one runs again to the outputs that it stores."""

import json
from concurrent.futures import Future
from pathlib import Path

from grading.prove import notebook_run
from grading.prove.lab import Lab, imports_of
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.processes import Completed


def chosen_notebooks(lab: Lab) -> list[str]:
    """The notebooks of the chosen steps, and with no choice made every other one too."""
    chosen = {f"notebooks/{step.folder}.ipynb" for step in lab.steps}
    names = [name for name in lab.files(".ipynb") if name.startswith("notebooks/")]
    return [name for name in names if name in chosen or not lab.is_filtered]


def notebooks_run_again(lab: Lab) -> Outcome:
    """Each notebook, run in a clean copy of the lab, shows exactly what it stores."""
    names = chosen_notebooks(lab)
    copy = lab.clean()
    running = [(name, _start(lab, copy, name)) for name in names]
    found = [(name, _differences(future.result())) for name, future in running]
    equal = sum(not sentences for _, sentences in found)
    shortfalls = [Shortfall(name, text) for name, sentences in found for text in sentences]
    return counted(equal, len(names), "re-executed equal to their stored outputs", shortfalls)


def _start(lab: Lab, copy: Path, name: str) -> "Future[Completed]":
    argv = ["-P", notebook_run.__file__, str(copy / name), str(lab.folder("kernel"))]
    return lab.start(argv, copy / "notebooks", paths=imports_of(copy))


def _differences(ended: Completed) -> list[str]:
    if ended.code != 0:
        return [f"could not be run: {ended.last_line()}"]
    sentences: list[str] = json.loads(ended.out.splitlines()[-1])
    return sentences
