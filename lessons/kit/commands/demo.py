"""``make demo``: the finished server at work, each message printed, each checkpoint judged."""

import importlib
import sys

from kit.parts import ROOT

SUMMARY = "watch the finished server ask before it deletes"
OPTIONS = {
    "CLIENT": "sdk drives it with the official Python client",
    "STORE": "sqlite keeps notes and nonces in a file, and restarts the servers",
}


def run(options: dict[str, str]) -> int:
    """Run the demo; 0 when every checkpoint holds, 1 otherwise, 2 for unknown options."""
    client, store = options.get("CLIENT", "lab"), options.get("STORE", "memory")
    if client not in ("lab", "sdk"):
        print(f"There is no client {client!r}: leave CLIENT out, or say CLIENT=sdk.")
        return 2
    if store not in ("memory", "sqlite") or (client, store) == ("sdk", "sqlite"):
        print("STORE is memory or sqlite; CLIENT=sdk goes with memory only.")
        return 2
    if not (ROOT / "solutions" / "server.py").is_file():
        print("This needs solutions/, which is not here.", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "solutions"))
    if client == "sdk":
        return int(importlib.import_module("demo_sdk").main())
    return int(importlib.import_module("demo").main(store))
