"""A recording of who said what to whom, and its three renderings: text, picture and table.

In a notebook the last expression `tape` shows HTML: an SVG sequence diagram above a table of the
messages. What changed between a request and its retry is marked by a word as well as by colour.
"""

import html
import json
from dataclasses import dataclass, field
from typing import Any

from kit.clock import Clock

LONGEST_TEXT = 44
WIDTH, ROW, MARGIN = 760, 46, 130


@dataclass(frozen=True)
class Entry:
    """One message. at: seconds on the tape's clock. message: JSON, or None for silence."""

    at: float
    sender: str
    receiver: str
    message: Any
    changed: tuple[str, ...] = ()


@dataclass
class Tape:
    """Messages in the order in which they travelled.

    clock: tells the time of each message; a frozen one makes the tape repeatable.
    """

    clock: Clock
    entries: list[Entry] = field(default_factory=list)

    def record(self, sender: str, receiver: str, message: Any) -> Any:
        """Keep `message` and return it, so that recording fits into any call."""
        before = next(
            (
                e.message
                for e in reversed(self.entries)
                if (e.sender, e.receiver) == (sender, receiver)
            ),
            None,
        )
        kept = json.loads(json.dumps(message))
        changed = changed_members(before, kept)
        self.entries.append(Entry(self.clock.now(), sender, receiver, kept, changed))
        return message

    def text(self) -> str:
        """Return the tape as plain text, one line a message."""
        return "\n".join(
            f"{number:>2}  {entry.sender} → {entry.receiver}: {compact(entry.message)}"
            for number, entry in enumerate(self.entries, 1)
        )

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f'<div class="tape">{self.picture()}{self._table()}</div>'

    def picture(self) -> str:
        """Return the tape as an SVG sequence diagram with a title and a description."""
        lanes = list(dict.fromkeys(n for e in self.entries for n in (e.sender, e.receiver)))
        place = {
            n: MARGIN + i * (WIDTH - 2 * MARGIN) // max(1, len(lanes) - 1)
            for i, n in enumerate(lanes)
        }
        height = ROW * (len(self.entries) + 1) + 10
        drawn = [_lane(name, x, height) for name, x in place.items()]
        drawn += [
            _arrow(number, entry, place[entry.sender], place[entry.receiver])
            for number, entry in enumerate(self.entries, 1)
        ]
        told = "; ".join(f"{e.sender} to {e.receiver}: {gist(e.message)}" for e in self.entries)
        return (
            f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" style="max-width:100%;background:#fff;font:13px sans-serif">'
            f"<title>Sequence of {len(self.entries)} messages</title>"
            f"<desc>{html.escape(told)}</desc>{''.join(drawn)}</svg>"
        )

    def _table(self) -> str:
        rows = "".join(_row(number, entry) for number, entry in enumerate(self.entries, 1))
        head = "<tr><th>#</th><th>from → to</th><th>message</th></tr>"
        return f'<table style="text-align:left">{head}{rows}</table>'


def changed_members(before: Any, after: Any) -> tuple[str, ...]:
    """Return the names under ``params`` (or top level) that differ between two requests."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return ()
    if before.get("method") is None or before.get("method") != after.get("method"):
        return ()
    old, new = {**before, **before.get("params", {})}, {**after, **after.get("params", {})}
    names = [name for name in {**old, **new} if name != "params" and old.get(name) != new.get(name)]
    return tuple(names)


def gist(message: Any) -> str:
    """Return a few words for a message: its method, its error code or its result type."""
    if message is None:
        return "no answer"
    if not isinstance(message, dict):
        return "not a message"
    if "error" in message:
        return f"error {message['error'].get('code')}"
    if "result" in message:
        return str(message["result"].get("resultType", "result"))
    retry = " + inputResponses" if "inputResponses" in message.get("params", {}) else ""
    return f"{message.get('method')}{retry}"


def shortened(value: Any) -> Any:
    """Return `value` with the middle of long texts left out."""
    if isinstance(value, dict):
        return {name: shortened(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shortened(member) for member in value]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:20]}…{value[-8:]}"
    return value


def compact(message: Any) -> str:
    """Return a message on one line, long texts shortened."""
    if message is None:
        return "(no answer)"
    return json.dumps(shortened(message), ensure_ascii=False, separators=(", ", ": "))


def _lane(name: str, x: int, height: int) -> str:
    return (
        f'<text x="{x}" y="18" text-anchor="middle" font-weight="bold">{html.escape(name)}</text>'
        f'<line x1="{x}" y1="26" x2="{x}" y2="{height}" stroke="#999" stroke-dasharray="4 4"/>'
    )


def _arrow(number: int, entry: Entry, start: int, end: int) -> str:
    y = ROW * number + 14
    head = -8 if end > start else 8
    label = html.escape(f"{number}. {gist(entry.message)}")
    return (
        f'<text x="{(start + end) // 2}" y="{y - 7}" text-anchor="middle">{label}</text>'
        f'<line x1="{start}" y1="{y}" x2="{end}" y2="{y}" stroke="#246"/>'
        f'<path d="M{end} {y} l{head} -4 v8 z" fill="#246"/>'
    )


def _row(number: int, entry: Entry) -> str:
    marks = "".join(f"<br><mark>changed: {html.escape(name)}</mark>" for name in entry.changed)
    body = (
        "(no answer)"
        if entry.message is None
        else json.dumps(shortened(entry.message), indent=2, ensure_ascii=False)
    )
    route = f"{html.escape(entry.sender)} → {html.escape(entry.receiver)}{marks}"
    return (
        f'<tr style="vertical-align:top"><td>{number}</td>'
        f'<td style="white-space:nowrap">{route}</td>'
        f'<td><pre style="margin:0;white-space:pre-wrap">{html.escape(body)}</pre></td></tr>'
    )
