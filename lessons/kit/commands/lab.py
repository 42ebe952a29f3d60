"""``make lab``: JupyterLab on the notebooks, on loopback."""

import subprocess
import sys

from kit.parts import ROOT

SUMMARY = "open the notebooks in JupyterLab"
OPTIONS = {"PORT": "TCP port on 127.0.0.1, default 8888", "BROWSER": "0 opens no browser"}


def run(options: dict[str, str]) -> int:
    """Run JupyterLab until it is closed; 2 for a port that is no number."""
    port = options.get("PORT", "8888")
    if not (port.isdecimal() and int(port) < 65536):
        print(f"PORT is a number from 0 to 65535, not {port!r}.", file=sys.stderr)
        return 2
    flags = [f"--port={port}", "--ip=127.0.0.1", f"--notebook-dir={ROOT / 'notebooks'}"]
    flags += ["--no-browser"] if options.get("BROWSER") == "0" else []
    try:
        return subprocess.run([sys.executable, "-m", "jupyterlab", *flags]).returncode
    except KeyboardInterrupt:
        return 0
