"""Runs the official conformance suite, in the version that the lab was checked against."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node@22"  # the suite does not start on Node 20
REVISION = "2026-07-28"
PATIENCE = 300


class SuiteMissing(Exception):
    """The suite cannot be had here; the message says why."""


def npx(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the suite; what npx downloaded once it finds again without a network.

    Errors: SuiteMissing.
    """
    if shutil.which("npx") is None:
        raise SuiteMissing("npx is not installed")
    command = ["npx", "--yes", "--prefer-offline", "-p", NODE, "-p", SUITE, "--", "conformance"]
    environment = {**os.environ, "npm_config_update_notifier": "false"}
    return subprocess.run(
        [*command, *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def probe() -> str:
    """Why the suite cannot run here, or an empty text."""
    try:
        listed = npx("list")
    except SuiteMissing as missing:
        return str(missing)
    except subprocess.TimeoutExpired:
        return f"npx brought no suite within {PATIENCE} s"
    if listed.returncode != 0:
        return f"npx brought no suite: {listed.stderr.strip()[-200:]}"
    return ""


def judged(folder: Path) -> list[dict[str, Any]]:
    """What the suite found and wrote below `folder`, without its mere notes."""
    files = list(folder.rglob("checks.json"))
    found = [check for file in files for check in json.loads(file.read_text(encoding="utf-8"))]
    return [check for check in found if check["status"] not in ("INFO", "SKIPPED")]
