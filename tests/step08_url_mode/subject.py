"""What the checks of step 08 can ask of a learner's part; runs in the worker.

A script (`book`, `site`) is a list of steps that one set of tickets goes through. Tickets are
called by names, and the real ones take their places; ``@name`` in a text stands for the real one.
"""

import contextlib
import socket
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from grading.forced_race import race
from kit.clock import FrozenClock
from kit.http_message import HttpRequest
from kit.randomness import SystemRandomness
from kit.refusals import StoreFull

START = 1_790_000_000.0
FORM = "application/x-www-form-urlencoded"


def link(parts: Any, *, base: str, ticket: str) -> str:
    """The URL of the page for a ticket."""
    try:
        return str(parts.url_mode.link(base, ticket))
    except ValueError:
        return "ValueError"


def ask_to_open(parts: Any, *, message: str, url: str) -> Any:
    """The request in URL mode."""
    return parts.url_mode.ask_to_open(message, url)


def book(parts: Any, *, steps: list[list[Any]], lifetime: float = 600) -> list[Any]:
    """Run a script on one Tickets object: open, status, finish, void, read, advance."""
    return [step["told"] for step in _Book(parts, lifetime).run(steps)]


def tickets(parts: Any, *, principals: list[str]) -> list[str]:
    """Fresh tickets, as they are."""
    made = parts.url_mode.Tickets(FrozenClock(START), SystemRandomness())
    return [made.open(principal) for principal in principals]


def bytes_drawn(parts: Any) -> int:
    """How many random bytes a ticket asks for."""
    drawn = _Recorder()
    parts.url_mode.Tickets(FrozenClock(START), drawn).open("alice")
    return sum(drawn.counts)


class _Recorder(SystemRandomness):
    """Randomness that remembers what it was asked for."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def token_bytes(self, count: int) -> bytes:
        """Random bytes."""
        self.counts.append(count)
        return super().token_bytes(count)


class _Book:
    """One Tickets object with the names of its tickets, and what effects did."""

    def __init__(self, parts: Any, lifetime: float) -> None:
        self._part, self._clock = parts.url_mode, FrozenClock(START)
        self.tickets = self._part.Tickets(self._clock, SystemRandomness(), lifetime)
        self.names: dict[str, str] = {}
        self.effects: list[str] = []

    def run(self, steps: list[list[Any]]) -> list[dict[str, Any]]:
        """Each step's answer, in order."""
        return [{"told": self._step(*step)} for step in steps]

    def _step(self, verb: str, *given: Any) -> Any:
        if verb == "advance":
            self._clock.advance(given[0])
            return None
        if verb == "effects":
            return list(self.effects)
        return getattr(self, f"_{verb}")(*given)

    def _open(self, name: str, principal: str) -> str:
        try:
            self.names[name] = self.tickets.open(principal)
        except StoreFull:
            return "full"
        return "opened"

    def _real(self, name: str) -> str:
        return self.names.get(name, name)

    def _status(self, name: str, principal: str) -> Any:
        return self.tickets.status(self._real(name), principal)

    def _finish(self, name: str, principal: str, word: str) -> Any:
        def effect() -> None:
            if word == "fail":
                raise OSError("disk on fire")
            self.effects.append(word)

        try:
            return self.tickets.finish(self._real(name), principal, effect)
        except OSError:
            return "failed"

    def _void(self, name: str, principal: str) -> Any:
        return self.tickets.void(self._real(name), principal)

    def _read(self, name: str, principal: str, response: Any) -> Any:
        return self._part.read_progress(self.tickets, self._real(name), principal, response)


def status_after(parts: Any, *, response: Any) -> Any:
    """How far a waiting setup of alice is after a response, whatever was said to it."""
    book = _Book(parts, 600)
    book.run([["open", "t", "alice"]])
    with contextlib.suppress(Exception):
        book.run([["read", "t", "alice", response]])
    return book.tickets.status(book.names["t"], "alice")


def rivals(parts: Any, *, words: list[str]) -> dict[str, Any]:
    """Two calls of finish for one ticket, the first one parked at each of its bytecodes in turn."""
    endings: list[list[Any]] = []
    worlds: list[list[str]] = []

    def make() -> Any:
        tickets = parts.url_mode.Tickets(FrozenClock(START), SystemRandomness())
        ticket, done = tickets.open("alice"), []
        worlds.append(done)
        acts = [
            lambda word=word: tickets.finish(ticket, "alice", lambda: done.append(word))
            for word in words
        ]
        return tuple(acts)

    for ending in race(make, Path(parts.url_mode.__file__), patience=0.01):
        told = [_flat(ending.first), _flat(ending.second), worlds[-1]]
        endings += [] if told in endings else [told]
    return {"endings": endings, "points": len(worlds)}


def _flat(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def csrf_token(parts: Any, *, key: str, session_id: str, ticket: str) -> Any:
    """The token for a form."""
    return parts.url_mode.csrf_token(bytes.fromhex(key), session_id, ticket)


def is_csrf_token(parts: Any, *, token: Any, key: str, session_id: str, ticket: str) -> Any:
    """Whether a token is the one of this form."""
    return parts.url_mode.is_csrf_token(token, bytes.fromhex(key), session_id, ticket)


def fill(parts: Any, *, template: str, values: dict[str, str]) -> Any:
    """A template with its values."""
    return parts.url_mode.fill(template, **values)


def page_headers(parts: Any) -> Any:
    """The headers of every page, with the style that they must let through."""
    headers = [list(pair) for pair in parts.url_mode.page_headers()]
    return {"headers": headers, "style": parts.url_mode.STYLE}


def site(
    parts: Any, *, steps: list[dict[str, Any]], service: str = "archive.example"
) -> dict[str, Any]:
    """Run a script on one page: requests of browsers, retries of clients, moves of the clock."""
    made = _Site(parts, service)
    return {"told": [made.step(**step) for step in steps]}


class _Site(_Book):
    """A page with its tickets and vault."""

    def __init__(self, parts: Any, service: str) -> None:
        super().__init__(parts, 600)
        self.vault = self._part.Vault()
        self.key = SystemRandomness().token_bytes(32)
        self.page = self._part.Page(self.tickets, self.vault, self.key, service)
        self._last = ""

    def step(self, **step: Any) -> Any:
        """One step: a request when it names a method, else a step of the book."""
        if "method" in step:
            return self._request(**step)
        if "vault" in step:
            return self.vault.find(step["vault"])
        if "shown" in step:
            return [repr(each) for each in (self.vault, self.page, self.tickets)]
        return self.run([step["book"]])[0]["told"]

    def _request(
        self,
        method: str,
        path: str,
        session: list[str] | None,
        form: dict[str, str] | None = None,
        kind: str = FORM,
        body: str | None = None,
        token_of: list[str] | None = None,
    ) -> dict[str, Any]:
        """Send one request; `@name` in path and body stands for the ticket.

        token_of: session id and ticket name whose token goes into the form; ["page"] takes over
        what the last page had in its hidden fields.
        """
        fields = dict(form or {})
        if token_of == ["page"]:
            fields, token_of = {**fields, **_hidden(self._last)}, None
        if token_of is not None:
            name = self._real(token_of[1])
            fields["token"] = self._part.csrf_token(self.key, token_of[0], name)
        raw = urlencode(fields).encode() if body is None else self._named(body).encode()
        headers = (("Host", "127.0.0.1"), ("Content-Type", kind)) if method == "POST" else ()
        request = HttpRequest(method, self._named(path), headers, raw if method == "POST" else b"")
        who = None if session is None else self._part.Session(*session)
        answer = self.page.respond(request, who)
        self._last = answer.body.decode("utf-8")
        return {
            "status": answer.status,
            "headers": [list(pair) for pair in answer.headers],
            "text": self._last,
        }

    def _named(self, text: str) -> str:
        for name, ticket in self.names.items():
            text = text.replace(f"@{name}", ticket)
        return text


class _Fields(HTMLParser):
    """The hidden fields of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a hidden field."""
        told = dict(attrs)
        if tag == "input" and told.get("type") == "hidden":
            self.hidden[told.get("name") or ""] = told.get("value") or ""


def _hidden(page: str) -> dict[str, str]:
    reader = _Fields()
    reader.feed(page)
    return reader.hidden


def describe_url(parts: Any, *, url: Any) -> Any:
    """What the user reads before a URL is opened."""
    try:
        seen = parts.url_mode.describe_url(url)
    except ValueError:
        return "ValueError"
    return {
        "parts": [seen.before, seen.host, seen.after],
        "text": seen.text(),
        "warned": bool(seen.warning),
    }


def visit(parts: Any, *, url: Any, action: str) -> dict[str, Any]:
    """What a client does with a URL whose user takes this action, and what it fetched."""
    shown: list[str] = []
    opened: list[str] = []
    events: list[str] = []

    def ask(consent: Any) -> str:
        shown.append(consent.before + consent.host + consent.after)
        events.append("asked")
        return action

    def open_browser(address: str) -> bool:
        opened.append(address)
        events.append("opened")
        return True

    with _Watched() as fetched:
        response = parts.url_mode.visit(url, ask, open_browser)
    return {
        "response": response,
        "shown": shown,
        "opened": opened,
        "events": events,
        "fetched": fetched,
    }


class _Watched:
    """Notes every attempt to reach the network."""

    def __enter__(self) -> list[str]:
        self._attempts: list[str] = []
        self._kept = (socket.socket.connect, socket.getaddrinfo, urllib.request.urlopen)

        def note(*given: Any, **more: Any) -> Any:
            self._attempts.append("network")
            raise OSError("there is no network here")

        socket.socket.connect = note  # type: ignore[method-assign]
        socket.getaddrinfo = note
        urllib.request.urlopen = note
        return self._attempts

    def __exit__(self, *raised: Any) -> None:
        socket.socket.connect, socket.getaddrinfo, urllib.request.urlopen = (  # type: ignore[method-assign]
            self._kept
        )
