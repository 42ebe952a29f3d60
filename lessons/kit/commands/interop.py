"""``make interop``: the lab's parts against other people's clients, servers and suites."""

import os
import subprocess
import sys

from kit.parts import ROOT

SUMMARY = "run the official conformance suite against your client half"
OPTIONS = {"PARTS": "lessons tests your own parts where they are finished"}


def run(options: dict[str, str]) -> int:
    """Run tests/interop; what this machine cannot do is skipped with its reason."""
    folder = ROOT / "tests" / "interop"
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(folder)]
    environment = {
        **os.environ,
        "PARTS": options.get("PARTS", "solutions"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(command, cwd=ROOT, env=environment).returncode
