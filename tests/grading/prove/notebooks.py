"""Notebooks show what really happens: each one runs again to the outputs that it stores."""

from concurrent.futures import Future
from pathlib import Path

from grading.prove.lab import Lab, imports_of
from grading.prove.notebook_run import cells_in, differences, nbval_arguments
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.processes import Completed


def chosen_notebooks(lab: Lab) -> list[str]:
    """The notebooks of the chosen steps, and with no choice made every other one too."""
    chosen = {f"notebooks/{step.folder}.ipynb" for step in lab.steps}
    names = [name for name in lab.files(".ipynb") if name.startswith("notebooks/")]
    return [name for name in names if name in chosen or not lab.is_filtered]


def notebooks_run_again(lab: Lab) -> Outcome:
    """Each notebook, run in a clean copy of the lab, shows exactly what it stores."""
    copy = lab.clean()
    running = [(name, *_start(lab, copy, name)) for name in chosen_notebooks(lab)]
    found = [(name, _flaws(report, future.result())) for name, report, future in running]
    equal = sum(not flaws for _, flaws in found)
    shortfalls = [Shortfall(name, flaw) for name, flaws in found for flaw in flaws]
    return counted(equal, len(found), "re-executed equal to their stored outputs", shortfalls)


def _start(lab: Lab, copy: Path, name: str) -> "tuple[Path, Future[Completed]]":
    report = lab.folder("nbval") / "report.xml"
    argv = nbval_arguments(copy / name, report)
    return report, lab.start(argv, copy / "notebooks", paths=imports_of(copy))


def _flaws(report: Path, ended: Completed) -> list[str]:
    cells = cells_in(report)
    flaws = list(differences(cells))
    if not cells or (ended.code != 0 and not flaws):
        flaws.append(f"could not be run: {ended.last_line()}")
    return flaws
