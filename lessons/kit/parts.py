"""Finds and loads parts: by file path, under a neutral name, the learner's or the finished ones."""

import ast
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]

# part name → folder of its step; the server is assembled from these.
SERVER_PARTS = {
    "envelope": "step01_envelope",
    "scope": "step02_scope",
    "forms": "step03_forms",
    "server_half": "step04_rounds",
    "client_half": "step04_rounds",
    "state": "step05_state",
    "replay": "step06_replay",
    "sqlite_store": "step07_sqlite",
    "url_mode": "step08_url_mode",
    "beneath": "step09_symlinks",
    "safe_write": "step10_safe_write",
    "sandbox": "step11_sandbox",
    "edge": "step13_ship",
}


def load(path: Path, name: str = "") -> ModuleType:
    """Run the module at `path` and return it; it is called ``part_<file name>`` wherever it lies.

    name: what it is called instead.
    Errors: whatever the file raises when it runs; FileNotFoundError.
    """
    name = name or f"part_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def is_finished(path: Path, functions: Iterable[str] | None = None) -> bool:
    """Tell whether the part at `path` exists, parses and has no ``todo(...)`` left; runs nothing.

    functions: look only into these, by default into the whole file.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    wanted = None if functions is None else set(functions)
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    places = [tree] if wanted is None else [node for node in defined if node.name in wanted]
    return len(places) >= len(wanted or ()) and not any(map(_has_todo, places))


def _has_todo(place: ast.AST) -> bool:
    calls = (node.func for node in ast.walk(place) if isinstance(node, ast.Call))
    return any(isinstance(call, ast.Name) and call.id == "todo" for call in calls)


def part_paths(parts: str = "solutions", root: Path = ROOT) -> dict[str, Path]:
    """Return the file of each part that the server is made of.

    parts: ``solutions``, ``lessons`` or a folder with the same layout. A part that is not finished
    there is taken from ``solutions``; compare the paths to see which (`make serve` says so).
    """
    chosen = root / parts
    paths = {}
    for part, folder in SERVER_PARTS.items():
        own = chosen / folder / f"{part}.py"
        paths[part] = own if is_finished(own) else root / "solutions" / folder / f"{part}.py"
    return paths
