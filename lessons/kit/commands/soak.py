"""``make soak``: long runs with free processes, and the books that have to balance at the end."""

import importlib
import random
import sys
import time
from typing import Any

from kit.parts import ROOT, load, part_paths

SUMMARY = "run the long runs and balance their books"
OPTIONS = {
    "STEP": "only this step, for example 07",
    "SECONDS": "for all of them together, default 600",
    "SEED": "a number, to repeat a run",
    "PARTS": "lessons soaks your own parts where they are finished",
}


def run(options: dict[str, str]) -> int:
    """Soak; 0 when every book balances, 1 otherwise, 2 for a wrong option."""
    names = sorted(path.stem for path in (ROOT / "tests" / "soak").glob("step*.py"))
    step, seconds = options.get("STEP", ""), options.get("SECONDS", "600")
    seed = options.get("SEED", str(random.SystemRandom().randrange(2**32)))
    chosen = [name for name in names if not step or name.startswith(f"step{step.zfill(2)}_")]
    if not chosen:
        print(f"There is no soak of step {step!r}; there is one of {_steps(names)}.")
        return 2
    if not (seconds.isdecimal() and int(seconds) and seed.isdecimal()):
        print("SECONDS is a whole number above 0, SEED a whole number.", file=sys.stderr)
        return 2
    paths, ends = part_paths(options.get("PARTS", "solutions")), time.monotonic() + int(seconds)
    balanced = True
    for left, name in zip(range(len(chosen), 0, -1), chosen, strict=True):
        soak = importlib.import_module(f"soak.{name}")
        print(f"{name}: {soak.PROMISE}. SEED={seed}, {paths[soak.PART].relative_to(ROOT)}")
        share = max(1.0, (ends - time.monotonic()) / left)
        balanced &= _told(soak.soak(load(paths[soak.PART]), share, int(seed), _say))
    return 0 if balanced else 1


def _steps(names: list[str]) -> str:
    return ", ".join(name[4:6] for name in names)


def _say(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{line}   ", end="", file=sys.stderr, flush=True)


def _told(ledger: Any) -> bool:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for name, number in ledger.numbers.items():
        print(f"{number:>12,}  {name}")
    for sentence in ledger.wrong:
        print(f"  WRONG: {sentence}")
    print("  the books balance" if not ledger.wrong else "  the books DO NOT balance")
    return not ledger.wrong
