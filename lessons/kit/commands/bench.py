"""``make bench``: how fast, always beside somebody else in the same run."""

import importlib
import os
import platform
import sys
from datetime import date
from typing import Any

from kit.parts import ROOT

SUMMARY = "measure speed, as ratios against a peer in the same run"
OPTIONS = {"BENCH": "only this one, for example claims"}
BENCHES = ("over_http", "in_process", "state", "claims")


def run(options: dict[str, str]) -> int:
    """Measure; 0 when every ratio that the lab promises holds, 1 otherwise, 2 for no such bench."""
    chosen = [name for name in BENCHES if name == options.get("BENCH", name)]
    if not chosen:
        print(f"There is no such bench. BENCH is one of {', '.join(BENCHES)}.", file=sys.stderr)
        return 2
    lines = [_machine(), ""]
    print("\n".join(lines), flush=True)
    holds = True
    for name in chosen:
        bench = importlib.import_module(f"bench.{name}")
        lines += _told(f"{bench.SUMMARY} (BENCH={name})")
        for row in bench.rows():
            lines += _told(_line(row))
            holds &= row.holds
        lines += _told("")
    lines += _told("Every promised ratio holds." if holds else "A promised ratio DOES NOT hold.")
    _keep(lines)
    return 0 if holds else 1


def _machine() -> str:
    python = platform.python_version()
    return f"{date.today()}, Python {python}, {platform.system()}, {os.cpu_count()} cores"


def _line(row: Any) -> str:
    promise = "" if row.least is None else f"  at least {row.least:.2f}: "
    promise += "" if row.least is None else ("holds" if row.holds else "DOES NOT HOLD")
    speeds = f"{row.ours:>9,.0f} /s against {row.peer:>9,.0f} /s"
    return f"  {row.what}, against {row.peer_name}\n    {row.ratio:5.2f} x  {speeds}{promise}"


def _told(line: str) -> list[str]:
    print(line, flush=True)
    return [line]


def _keep(lines: list[str]) -> None:
    folder = ROOT / "outputs" / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("Kept in outputs/reports/bench.txt.")
