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
    "WHAT": "messages sends strange ones to the whole server; flakes runs every check again",
    "SECONDS": "for all of them together, default 600",
    "SEED": "a number, to repeat a run",
    "PARTS": "lessons soaks your own parts where they are finished",
}

WHOLE = ("messages", "flakes")  # soaks of everything at once
ASKED_FOR = ("flakes",)  # one round takes longer than most people wait


def run(options: dict[str, str]) -> int:
    """Soak; 0 when every book balances, 1 otherwise, 2 for a wrong option."""
    seconds = options.get("SECONDS", "600")
    seed = options.get("SEED", str(random.SystemRandom().randrange(2**32)))
    chosen = _chosen(options.get("STEP", ""), options.get("WHAT", ""))
    if not chosen:
        print(f"There is no such soak. STEP is one of {_steps()}; WHAT is {', '.join(WHOLE)}.")
        return 2
    if not (seconds.isdecimal() and int(seconds) and seed.isdecimal()):
        print("SECONDS is a whole number above 0, SEED a whole number.", file=sys.stderr)
        return 2
    paths, ends = part_paths(options.get("PARTS", "solutions")), time.monotonic() + int(seconds)
    balanced = True
    for left, name in zip(range(len(chosen), 0, -1), chosen, strict=True):
        soak = importlib.import_module(f"soak.{name}")
        of = "the whole server" if name in WHOLE else paths[soak.PART].relative_to(ROOT)
        print(f"{name}: {soak.PROMISE}. SEED={seed}, {of}", flush=True)
        share = max(1.0, (ends - time.monotonic()) / left)
        subject = paths if name in WHOLE else load(paths[soak.PART])
        balanced &= _told(soak.soak(subject, share, int(seed), _say))
    return 0 if balanced else 1


def _names() -> list[str]:
    return sorted(path.stem for path in (ROOT / "tests" / "soak").glob("step*.py"))


def _chosen(step: str, what: str) -> list[str]:
    """The modules of `tests/soak` to run: one step's, one of the whole server, or all."""
    if what:
        return [name for name in WHOLE if name == what and not step]
    steps = [name for name in _names() if not step or name.startswith(f"step{step.zfill(2)}_")]
    return steps if step else [*steps, *(name for name in WHOLE if name not in ASKED_FOR)]


def _steps() -> str:
    return ", ".join(name[4:6] for name in _names())


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
