"""``make notebooks``: run every notebook again and compare with what is stored in it."""

import os
import subprocess
import sys

from kit.parts import ROOT

SUMMARY = "run the notebooks again and compare with their stored outputs"
OPTIONS = {"STEP": "one step, for example 02", "WRITE": "1 stores what they say now (maintainers)"}


def run(options: dict[str, str]) -> int:
    """Compare or store; 0 when all is equal, 1 when not, 2 when there is no such notebook."""
    step = options.get("STEP", "")
    found = sorted((ROOT / "notebooks").glob(f"step{step.zfill(2) if step else ''}*.ipynb"))
    if not found:
        print(f"There is no notebook for STEP={step}.", file=sys.stderr)
        return 2
    names = [str(path) for path in found]
    if options.get("WRITE") == "1":
        return _store(names)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}
    flags = ["-q", "-p", "nbval.plugin", "--nbval", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *flags, *names]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def _store(names: list[str]) -> int:
    import nbformat
    from nbclient import NotebookClient

    for name in names:
        notebook = nbformat.read(name, as_version=4)
        NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
        for number, cell in enumerate(notebook.cells):
            tags = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
            cell.metadata, cell.id = tags, f"cell-{number:02d}"
        nbformat.write(notebook, name)
        print(name)
    return 0
