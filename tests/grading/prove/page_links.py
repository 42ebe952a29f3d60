"""Links lead somewhere: files and anchors exist, and a public source is reached over https."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from grading.prove.lab import Lab
from grading.prove.markdown import anchors, links
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.submissions import known_bad


def links_resolve(lab: Lab) -> Outcome:
    """Each relative link of each page resolves, its anchor too; sources of known-bad are https.

    Pages elsewhere are not fetched: the gate works offline.
    """
    pages = [(name, *found) for name in lab.files(".md") for found in links(lab.text(name))]
    judged = [(f"{name}:{line}", _flaw(lab, name, target)) for name, line, target in pages]
    judged += [
        (submission.where, _flaw_of_source(source))
        for submission in known_bad(lab)
        for source in _sources(submission.head.get("source"))
    ]
    shortfalls = [Shortfall(where, flaw) for where, flaw in judged if flaw]
    return counted(len(judged) - len(shortfalls), len(judged), "links and sources", shortfalls)


def _flaw(lab: Lab, page: str, target: str) -> str:
    address = urlsplit(target.strip("<>"))
    if address.scheme or address.netloc:
        return "" if address.scheme in ("https", "http", "mailto") else f"links to {target}."
    path = _path(page, unquote(address.path))
    if path not in lab.files() and not _is_folder(lab, path):
        return f"links to {target}, which is not there."
    if address.fragment and path.endswith(".md"):
        known = lab.once(f"anchors of {path}", lambda: anchors(lab.text(path)))
        if unquote(address.fragment) not in known:
            return f"links to {target}, and {path} has no such heading."
    return ""


def _path(page: str, target: str) -> str:
    if target.startswith("/"):
        return target.lstrip("/")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page


def _is_folder(lab: Lab, path: str) -> bool:
    return path == "." or any(name.startswith(f"{path}/") for name in lab.files())


def _sources(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list) else [value] if value else []


def _flaw_of_source(source: object) -> str:
    if isinstance(source, str) and source.startswith("https://") and urlsplit(source).hostname:
        return ""
    return f"its source {source!r} is no https address."
