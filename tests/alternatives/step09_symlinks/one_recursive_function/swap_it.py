"""Two swaps from one, and a search for the first moment that leads outside."""

import dataclasses


@dataclasses.dataclass
class World:
    root: object
    outside: object


@dataclasses.dataclass
class Seen:
    told: object
    inside: object
    secret: object
    reached: object


def _put_link(entry, target):
    entry.rename(entry.parent / (entry.name + ".gone"))
    entry.symlink_to(target, target_is_directory=target.is_dir())


def leave_alone(world):
    pass


def swap_file(world):
    _put_link(world.root / "old" / "draft.md", world.outside / "draft.md")


def swap_folder(world):
    _put_link(world.root / "old", world.outside)


def stays_inside(trial):
    def leak(swap, moment=0):
        seen = trial(swap, moment)
        if not seen.reached:
            return False
        return seen.told not in {None, seen.inside} or leak(swap, moment + 1)

    quiet = trial(leave_alone, 0)
    assert quiet.told == quiet.inside
    assert not leak(swap_file)
    assert not leak(swap_folder)
