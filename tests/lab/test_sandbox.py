"""The sandbox outside the worker, where loopback and other processes are there to be reached."""

import sys
from pathlib import Path
from typing import Any

import pytest

from kit.landlock import LandlockMissing, Linux
from kit.parts import load, part_paths
from kit.ways_out import GOT_THROUGH, NOT_CONFINED, WAYS, Scene, try_all

PYTHON = [Path(p) for p in (sys.prefix, sys.base_prefix, "/usr/lib", "/lib", "/lib64")]
sandbox: Any = load(part_paths()["sandbox"])
prove_it: Any = load(part_paths()["sandbox"].with_name("prove_it.py"))


def confine(scene: Scene) -> None:
    sandbox.confine(scene.workspace, PYTHON, keep=[0, 1, 2, scene.tells])


def test_every_way_gets_through_when_it_is_free(tmp_path: Path) -> None:
    told = try_all(tmp_path, None)
    closed = {way: ending for way, ending in told.items() if ending != GOT_THROUGH}
    assert set(closed) <= {"set an attribute"}, closed  # some file systems have none


@pytest.mark.skipif(Linux().abi() == 0, reason="this kernel has no Landlock")
def test_what_is_claimed_is_what_holds(tmp_path: Path) -> None:
    free, confined = tmp_path / "free", tmp_path / "confined"
    free.mkdir()
    confined.mkdir()
    prove_it.holds(sandbox.stopped(Linux().abi()), try_all(free, None), try_all(confined, confine))


def test_a_sandbox_that_fails_has_stopped_nothing(tmp_path: Path) -> None:
    def refuse(scene: Scene) -> None:
        raise LandlockMissing("not here")

    told = try_all(tmp_path, refuse, ["read a file"])
    assert told == {"read a file": f"{NOT_CONFINED}: LandlockMissing: not here"}


def test_the_table_names_every_way_and_no_other() -> None:
    assert set(sandbox.STOPPED_BY) == set(WAYS)
