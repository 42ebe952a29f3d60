"""Every requirement id that the lab cites is a row of the requirements, and every check cites one."""

import re

from grading.prove.lab import Lab, checks_of
from grading.prove.outcome import Outcome, Shortfall

REQUIREMENTS = "lessons/requirements.md"
CITING = ("lessons/", "tests/", "solutions/", "notebooks/", "README.md")
KINDS = ["BOX", "BRIDGE", "CACHE", "DEP", "DISC", "EDGE", "ELI", "ENV", "ERR", "FORM", "HTTP", "LEG", "LINK", "MRTR", "ONCE", "RES", "ROOT", "ROUND", "RSRC", "SCALE", "SCOPE", "SEAL", "SQL", "STATE", "STDIO", "TOOL", "URL", "VER", "WRITE"]
_ROW = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* · ", re.MULTILINE)
_CITED = re.compile(rf"\b(?:{'|'.join(KINDS)})-\d+\b")


def requirement_ids_resolve(lab: Lab) -> Outcome:
    """Each cited id has a row; each row is there once; each check of an exercise names an id."""
    rows = _ROW.findall(lab.text(REQUIREMENTS)) if REQUIREMENTS in lab.files() else []
    cited = [(name, line, found) for name in _files(lab) for line, found in _citations(lab, name)]
    shortfalls = [
        Shortfall(f"{name}:{line}", f"cites {found}, which is no row of {REQUIREMENTS}.")
        for name, line, found in cited
        if found not in rows
    ]
    shortfalls += [
        Shortfall(REQUIREMENTS, f"has {row} {rows.count(row)} times.")
        for row in sorted(set(rows))
        if rows.count(row) > 1
    ]
    shortfalls += _checks_without_id(lab)
    figures = f"{len(cited)} citations of {len({i for *_, i in cited})} ids, {len(rows)} rows"
    return Outcome(figures, len(cited), tuple(shortfalls))


def _files(lab: Lab) -> list[str]:
    return [
        name
        for name in lab.files(".py", ".md", ".toml", ".ipynb", ".json", ".jsonl")
        if name.startswith(CITING)
    ]


def _citations(lab: Lab, name: str) -> list[tuple[int, str]]:
    lines = enumerate(lab.text(name).splitlines(), 1)
    return [(number, found) for number, line in lines for found in _CITED.findall(line)]


def _checks_without_id(lab: Lab) -> list[Shortfall]:
    return [
        Shortfall(f"lessons/lab.toml {step.folder}", f"{check} proves no requirement id.")
        for step in lab.all_steps
        for check, ids in checks_of(step).items()
        if not ids
    ]
