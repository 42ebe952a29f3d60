"""The whole gate: read the registry, make a pool, prove the chosen properties, clean up."""

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grading.prove.lab import Grade, Lab
from grading.prove.outcome import Property
from grading.prove.runner import prove_all
from grading.prove.table import PROPERTIES
from kit.registry import read_registry


class NotUnderstood(Exception):
    """An option that makes no sense; the message is one sentence."""


def prove(
    root: Path,
    grade: Grade,
    *,
    step: str = "",
    only: str = "",
    jobs: int = 2,
    mutants: Property | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Prove the lab at `root`; 0 when every chosen property holds, else 1.

    grade: `grading.run.grade` or a stand-in. step, only: as typed after ``STEP=`` and ``ONLY=``;
    empty means all. jobs: how many programs run at a time. mutants: a property to prove beside
    them. say: takes each line.
    Errors: NotUnderstood, RegistryBroken.
    """
    registry = read_registry(root / "lessons" / "lab.toml")
    properties = chosen_properties(only, (*PROPERTIES, *((mutants,) if mutants else ())))
    steps = registry.steps if not step else (registry.step(number_of(step)),)
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="prove-") as scratch,
        ThreadPoolExecutor(jobs) as pool,
    ):
        lab = Lab(root, registry.steps, steps, grade, pool, Path(scratch).resolve())
        fallen = prove_all(lab, properties, say)
    say(f"took {time.monotonic() - started:.0f} s, {jobs} at a time")
    say(verdict(len(properties), len(fallen)))
    return 1 if fallen else 0


def chosen_properties(only: str, table: Sequence[Property] = PROPERTIES) -> list[Property]:
    """The properties that ``ONLY=`` names, in the order of the table. Errors: NotUnderstood."""
    wanted = {name.strip().replace(" ", "-") for name in only.split(",") if name.strip()}
    names = [item.name for item in table]
    unknown = sorted(wanted.difference(names))
    if unknown:
        raise NotUnderstood(
            f"There is no property {', '.join(unknown)}; there are {', '.join(names)}."
        )
    return [item for item in table if not wanted or item.name in wanted]


def number_of(step: str) -> int:
    """The step in ``STEP=02``. Errors: NotUnderstood."""
    if not step.isdecimal():
        raise NotUnderstood(f"STEP is a number such as 02, not {step}.")
    return int(step)


def verdict(total: int, fallen: int) -> str:
    """The last line."""
    if fallen:
        return f"prove: {fallen} of {total} properties fall short"
    return f"prove: all {total} properties hold"
