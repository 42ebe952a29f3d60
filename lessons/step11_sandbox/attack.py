"""The exploit that opens step 11: a library inside the tool runs what its attacker likes."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from kit.ways_out import GOT_THROUGH, Scene, try_all

TITLE = "A library that the tool imports was taken over. It runs inside the tool, as the tool."
SUCCEEDED = "The attack succeeds: every path check is still in place, and nobody asked it."
FAILED = "The attack fails: what lies outside the workspace is out of reach, but for what is shown."

# What must be written before your own part is attacked.
NEEDS = (("sandbox", ("known", "allow", "confine", "close_inherited")),)

PYTHON = [Path(folder) for folder in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]
TRIED = [
    "read a file",
    "delete a file",
    "run a program",
    "use a descriptor that was open",
    "connect by TCP",
    "change a mode",
]


def make_naive(parts: Any) -> None:
    """Put the sandbox in place that most tools have: none."""
    parts.sandbox.confine = lambda *arguments, **options: 0


def attack(stage: Any) -> bool:
    """Try some ways out, and look whether the neighbour's file was read, deleted or sent."""

    def confine(scene: Scene) -> None:
        stage.parts.sandbox.confine(scene.workspace, PYTHON, keep=[0, 1, 2, scene.tells])

    with tempfile.TemporaryDirectory() as folder:
        told = try_all(Path(folder), confine, TRIED)
    for way, ending in told.items():
        stage.tape.record("tool", "kernel", {"try to": way})
        stage.tape.record("kernel", "tool", {"it": ending})
    return any(told[way] == GOT_THROUGH for way in TRIED[:-1])
