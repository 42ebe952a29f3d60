"""Runs one notebook from the top and says where its outputs differ from the stored ones.

A program of its own: ``python -P notebook_run.py <notebook> <empty folder>`` prints a JSON list
of sentences. Execution counts and tracebacks are not compared; everything that a reader sees is.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

CELL_SECONDS = 120
SHOWN = 160


def differences(path: Path, kernels: Path) -> list[str]:
    """Run the notebook in its own folder; one sentence for each cell that shows something else.

    kernels: an empty folder for what Jupyter writes beside.
    """
    import nbformat
    from nbclient import NotebookClient

    os.environ |= {"JUPYTER_RUNTIME_DIR": str(kernels), "IPYTHONDIR": str(kernels)}
    os.environ |= {"JUPYTER_PREFER_ENV_PATH": "1"}
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    fresh = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(fresh, timeout=CELL_SECONDS, allow_errors=True, resources=resources).execute()
    pairs = zip(stored.cells, fresh.cells, strict=True)
    code = [(old, new) for old, new in pairs if old.cell_type == "code"]
    return [
        f"code cell {number} {how}"
        for number, (old, new) in enumerate(code, 1)
        if (how := difference(visible(old.outputs), visible(new.outputs)))
    ]


def visible(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs as a reader sees them: streams joined, counts and tracebacks left out."""
    seen: list[dict[str, Any]] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            kept = {"stream": output["name"], "text": joined(output["text"])}
            if seen and seen[-1].get("stream") == kept["stream"]:
                seen[-1]["text"] += kept["text"]
                continue
        elif kind == "error":
            kept = {"error": output["ename"], "text": output["evalue"]}
        else:
            kept = {name: joined(value) for name, value in output["data"].items()}
        seen.append(kept)
    return seen


def joined(value: Any) -> Any:
    """Text that a notebook file keeps as a list of lines, as one text."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value


def difference(stored: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> str:
    """How two lists of outputs differ, as the end of a sentence; empty when they do not."""
    if stored == fresh:
        return ""
    for old, new in zip(stored, fresh, strict=False):
        for key in [*old, *(key for key in new if key not in old)]:
            if old.get(key) != new.get(key):
                return f"stored {shown(old.get(key))} and now shows {shown(new.get(key))}."
    return f"stored {len(stored)} outputs and now shows {len(fresh)}: {shown((stored, fresh))}."


def shown(value: Any) -> str:
    """A value short enough for a sentence."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return f"“{text[:SHOWN]}…”" if len(text) > SHOWN else f"“{text}”"


if __name__ == "__main__":
    print(json.dumps(differences(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))))
