"""``make demo``: the finished server at work, each message printed, each checkpoint judged."""

import importlib
import sys

from kit.parts import ROOT

SUMMARY = "watch the finished server ask before it deletes"
OPTIONS = {"CLIENT": "sdk drives it with the official Python client"}


def run(options: dict[str, str]) -> int:
    """Run the demo; 0 when every checkpoint holds, 1 otherwise, 2 for an unknown client."""
    client = options.get("CLIENT", "lab")
    if client not in ("lab", "sdk"):
        print(f"There is no client {client!r}: leave CLIENT out, or say CLIENT=sdk.")
        return 2
    if not (ROOT / "solutions" / "server.py").is_file():
        print("This needs solutions/, which is not here.", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "solutions"))
    demo = importlib.import_module("demo_sdk" if client == "sdk" else "demo")
    return int(demo.main())
