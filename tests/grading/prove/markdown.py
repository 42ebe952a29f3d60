"""As much of Markdown as the gate needs: fenced blocks, comments above them, headings, links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_COMMENT = re.compile(r"^\s*<!--\s*(?P<word>[\w-]+):\s*(?P<value>.*?)\s*-->\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.*?)\s*#*$")
_LINK = re.compile(r"\[(?:[^\]\\`]|\\.|`[^`]*`)*\]\((?P<target>[^()\s]+(?:\([^()]*\))?)[^()]*\)")
_REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s*(?P<target>\S+)")
_ANCHOR = re.compile(r"<a\s[^>]*(?:id|name)=[\"']([^\"']+)[\"']")
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|<[^>]+>")


@dataclass(frozen=True)
class Block:
    """A fenced block. line: of its fence. directives: of the comments right above it."""

    line: int
    language: str
    text: str
    directives: dict[str, str]


@dataclass(frozen=True)
class Line:
    """One line outside fenced blocks."""

    number: int
    text: str


def split(text: str) -> tuple[list[Block], list[Line]]:
    """The fenced blocks of a page, and the lines outside them."""
    blocks: list[Block] = []
    prose: list[Line] = []
    above: list[str] = []
    numbered = enumerate(text.splitlines(), 1)
    for number, line in numbered:
        opening = _FENCE.match(line)
        if opening is None:
            above.append(line)
            prose.append(Line(number, line))
            continue
        body = "\n".join(_until(opening["fence"], numbered, len(opening["indent"])))
        blocks.append(Block(number, opening["language"].lower(), body, _directives(above)))
        above = []
    return blocks, prose


def _until(fence: str, numbered: Iterator[tuple[int, str]], indent: int) -> Iterator[str]:
    for _, line in numbered:
        if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            return
        yield line[indent:] if not line[:indent].strip() else line


def _directives(above: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in reversed(above):
        comment = _COMMENT.match(line)
        if comment:
            found[comment["word"]] = comment["value"]
        elif line.strip():
            break
    return found


def slug(title: str) -> str:
    """The anchor that a heading gets."""
    plain = _MARKUP.sub(r"\1", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Every anchor of a page: its headings and its ``<a id=…>``."""
    found: set[str] = set()
    for line in split(text)[1]:
        found |= set(_ANCHOR.findall(line.text))
        if heading := _HEADING.match(line.text):
            base, number = slug(heading["title"]), 0
            while (anchor := f"{base}-{number}" if number else base) in found:
                number += 1
            found.add(anchor)
    return found


def headings(text: str) -> list[tuple[int, str]]:
    """Line and title of each heading."""
    lines = split(text)[1]
    return [(line.number, found["title"]) for line in lines if (found := _HEADING.match(line.text))]


def links(text: str) -> Iterator[tuple[int, str]]:
    """Line and target of each link outside code."""
    for line in split(text)[1]:
        shown = re.sub(r"(?<!\[)`[^`]*`(?!\])", "``", line.text)
        yield from ((line.number, found["target"]) for found in _LINK.finditer(shown))
        if reference := _REFERENCE.match(line.text):
            yield line.number, reference["target"]


def count_words(text: str) -> int:
    """The words of a page outside fenced blocks and comments."""
    prose = "\n".join(line.text for line in split(text)[1])
    return len(re.sub(r"<!--.*?-->", "", prose, flags=re.DOTALL).split())
