"""Every rule that is cited can be looked up, and every check cites one."""

import re
from collections import Counter
from collections.abc import Set

from grading.prove.lab import Lab, checks_of
from grading.prove.outcome import Outcome, Shortfall, counted

PAGE = "lessons/requirements.md"
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "FACT", "LAB")
CITING = ("lessons/", "tests/", "solutions/", "notebooks/", "outputs/")
KINDS = {
    *("BOX", "BRIDGE", "CACHE", "DEP", "DISC", "EDGE", "ELI", "ENV", "ERR", "FORM", "HTTP", "LEG"),
    *("LINK", "MRTR", "ONCE", "RES", "ROOT", "ROUND", "RSRC", "SCALE", "SCOPE", "SEAL", "SQL"),
    *("STATE", "STDIO", "TOOL", "URL", "VER", "WRITE"),
}
_ROW = re.compile(r"^- \*\*(?P<id>[A-Z]+-\d+)\*\*(?P<rest>.*)$")
_CITED = re.compile(r"\b([A-Z]+)-(\d+)\b")


def requirement_ids_resolve(lab: Lab) -> Outcome:
    """Each cited id is a row of requirements.md, each row is complete, each check has an id.

    An id has a prefix of KINDS or of some row, so that ``UTF-8`` is none; what the registry lists
    for a check must be an id whatever its prefix.
    """
    rows = rows_of(lab.text(PAGE))
    known = {row for row, _, _ in rows}
    prefixes = KINDS | {requirement.split("-")[0] for requirement in known}
    cited = [
        (f"{name}:{number}", requirement)
        for name in lab.files(".md", ".py", ".toml", ".ipynb")
        if name.startswith(CITING) or name == "README.md"
        for number, line in enumerate(lab.text(name).splitlines(), 1)
        for requirement in _ids(line, prefixes)
    ]
    unknown = [(where, requirement) for where, requirement in cited if requirement not in known]
    shortfalls = _flaws_of_rows(rows) + _flaws_of_checks(lab, known)
    shortfalls += [
        Shortfall(where, f"cites {requirement}, which is no row of {PAGE}.")
        for where, requirement in unknown
    ]
    good = len(cited) - len(unknown)
    return counted(good, len(cited), f"citations resolve to {len(known)} rules", shortfalls)


def rows_of(page: str) -> list[tuple[str, int, str]]:
    """Id, line number and the rest of each row."""
    lines = enumerate(page.splitlines(), 1)
    return [(row["id"], n, row["rest"]) for n, line in lines if (row := _ROW.match(line))]


def _ids(line: str, prefixes: Set[str]) -> list[str]:
    return [f"{prefix}-{n}" for prefix, n in _CITED.findall(line) if prefix in prefixes]


def _flaws_of_rows(rows: list[tuple[str, int, str]]) -> list[Shortfall]:
    times = Counter(row for row, _, _ in rows)
    flaws = []
    for row, number, rest in rows:
        cells = [cell.strip() for cell in rest.split(" · ")]
        where = f"{PAGE}:{number}"
        if times[row] > 1:
            flaws.append(Shortfall(where, f"{row} comes {times[row]} times."))
        if len(cells) < 5 or cells[1] not in LEVELS:
            flaws.append(Shortfall(where, f"{row} is not “id · level · whom · words · source”."))
        is_decision = "LAB" in cells[1:2] and "](#" in cells[-1]
        if "](https://" not in cells[-1] and not is_decision:
            flaws.append(Shortfall(where, f"{row} names no public source."))
    return flaws


def _flaws_of_checks(lab: Lab, known: set[str]) -> list[Shortfall]:
    flaws = []
    for step in lab.steps:
        for check, ids in checks_of(step).items():
            where = f"lessons/lab.toml ({step.folder}::{check})"
            if not ids:
                flaws.append(Shortfall(where, "cites no rule."))
            unknown = [requirement for requirement in ids if requirement not in known]
            flaws += [Shortfall(where, f"cites {each}, which is no rule.") for each in unknown]
    return flaws
