"""``make serve``: the notes server for any client, over stdio or HTTP on loopback."""

import importlib
import sys
from pathlib import Path

from kit.parts import ROOT

SUMMARY = "serve the notes over HTTP or stdio, for any client"
OPTIONS = {
    "TRANSPORT": "http (default) or stdio",
    "PORT": "TCP port on 127.0.0.1, default 8765",
    "PARTS": "lessons serves your own parts where they are finished",
    "STORE": "memory (default) or sqlite, which survives a restart and is shared by processes",
    "FILE": "the database file for STORE=sqlite, default .lab/notes.db",
    "TOKEN_FOR": "issue a new bearer token for this principal: alice or bob",
}


def run(options: dict[str, str]) -> int:
    """Serve until told to stop; 2 for options that make no sense."""
    transport, port = options.get("TRANSPORT", "http"), options.get("PORT", "8765")
    store = options.get("STORE", "memory")
    if transport not in ("http", "stdio"):
        print(f"TRANSPORT is http or stdio, not {transport!r}.", file=sys.stderr)
        return 2
    if store not in ("memory", "sqlite"):
        print(f"STORE is memory or sqlite, not {store!r}.", file=sys.stderr)
        return 2
    if not (port.isdecimal() and int(port) < 65536):
        print(f"PORT is a number from 0 to 65535, not {port!r}.", file=sys.stderr)
        return 2
    if not (ROOT / "solutions" / "server.py").is_file():
        print("This needs solutions/, which is not here.", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "solutions"))
    hosts = importlib.import_module("hosts")
    file = Path(options["FILE"]) if "FILE" in options else hosts.DATABASE
    choice = hosts.Choice(options.get("PARTS", "solutions"), store, file)
    return int(hosts.main(transport, choice, int(port), options.get("TOKEN_FOR")))
