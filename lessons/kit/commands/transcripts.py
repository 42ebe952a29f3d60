"""``make transcripts``: record the wire transcripts in `outputs/wire` again."""

import importlib
import sys

from kit.parts import ROOT

SUMMARY = "record the wire transcripts in outputs/wire again"
OPTIONS: dict[str, str] = {}


def run(options: dict[str, str]) -> int:
    """Write every transcript; 0."""
    sys.path.insert(0, str(ROOT / "solutions"))
    folder = ROOT / "outputs" / "wire"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in importlib.import_module("transcripts").recorded().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"outputs/wire/{name}")
    return 0
