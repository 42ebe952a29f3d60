"""Links lead somewhere: relative ones to a file and anchor of the lab, sources to a public page."""

import posixpath
from urllib.parse import unquote

from grading.prove.lab import Lab
from grading.prove.markdown import anchors, links
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.submissions import known_bad

_ELSEWHERE = ("https://", "http://", "mailto:", "file://")


def links_resolve(lab: Lab) -> Outcome:
    """Each relative link of a page resolves; each known-bad submission names https sources."""
    found = [
        (f"{page}:{number}", _flaw(lab, page, unquote(target)))
        for page in lab.files(".md")
        for number, target in links(lab.text(page))
        if not target.startswith(_ELSEWHERE)
    ]
    sources = [(bad.where, source) for bad in known_bad(lab) for source in _sources(bad.head)]
    found += [(where, _flaw_of_source(source)) for where, source in sources]
    shortfalls = [Shortfall(where, why) for where, why in found if why]
    return counted(
        len(found) - len(shortfalls), len(found), "links and sources resolve", shortfalls
    )


def _flaw(lab: Lab, page: str, target: str) -> str:
    path, _, anchor = target.partition("#")
    name = (
        page
        if not path
        else posixpath.normpath(
            path[1:] if path.startswith("/") else posixpath.join(posixpath.dirname(page), path)
        )
    )
    names = lab.once("names and folders", lambda: _with_folders(lab.files()))
    if name not in names:
        return f"links to {target}, which is not there."
    if anchor and name.endswith(".md") and anchor not in anchors(lab.text(name)):
        return f"links to {target}, which has no such heading."
    return ""


def _with_folders(files: list[str]) -> set[str]:
    names = {"."} | set(files)
    for name in files:
        while name := posixpath.dirname(name):
            names.add(name)
    return names


def _sources(head: dict[str, object]) -> list[object]:
    source = head.get("source", [])
    return source if isinstance(source, list) else [source]


def _flaw_of_source(source: object) -> str:
    if isinstance(source, str) and source.startswith("https://") and " " not in source:
        return ""
    return f"its source {source!r} is no https address."
