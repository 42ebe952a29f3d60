"""``make serve``: the notes server for any client, over stdio or HTTP on loopback."""

import importlib
import sys

from kit.parts import ROOT

SUMMARY = "serve the notes over HTTP or stdio, for any client"
OPTIONS = {
    "TRANSPORT": "http (default) or stdio",
    "PORT": "TCP port on 127.0.0.1, default 8765",
    "PARTS": "lessons serves your own parts where they are finished",
    "TOKEN_FOR": "issue a new bearer token for this principal: alice or bob",
}


def run(options: dict[str, str]) -> int:
    """Serve until told to stop; 2 for options that make no sense."""
    transport, port = options.get("TRANSPORT", "http"), options.get("PORT", "8765")
    if transport not in ("http", "stdio"):
        print(f"TRANSPORT is http or stdio, not {transport!r}.", file=sys.stderr)
        return 2
    if not (port.isdecimal() and int(port) < 65536):
        print(f"PORT is a number from 0 to 65535, not {port!r}.", file=sys.stderr)
        return 2
    if not (ROOT / "solutions" / "server.py").is_file():
        print("This needs solutions/, which is not here.", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "solutions"))
    hosts = importlib.import_module("hosts")
    parts, token_for = options.get("PARTS", "solutions"), options.get("TOKEN_FOR")
    return int(hosts.main(transport, parts, int(port), token_for))
