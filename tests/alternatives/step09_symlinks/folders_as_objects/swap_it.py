"""The proof as a table: every swap, every moment, until a moment is not reached any more."""

import os
import shutil
from itertools import count, takewhile
from typing import NamedTuple


class World(NamedTuple):
    root: object
    outside: object


class Seen(NamedTuple):
    told: object
    inside: str
    secret: str
    reached: bool


def leave_alone(world):
    return None


def swap_file(world):
    spare = world.root / "spare"
    os.symlink(os.path.relpath(world.outside / "draft.md", world.root / "old"), spare)
    os.replace(spare, world.root / "old" / "draft.md")


def swap_folder(world):
    shutil.move(world.root / "old", world.root / "older")
    os.symlink("../outside", world.root / "old")


def stays_inside(trial):
    alone = trial(leave_alone, 0)
    seen = [
        each
        for swap in (swap_folder, swap_file)
        for each in takewhile(lambda one: one.reached, (trial(swap, n) for n in count()))
    ]
    if alone.told != alone.inside or any(s.told not in (None, s.inside) for s in seen):
        raise AssertionError("led outside, or no reader at all")
