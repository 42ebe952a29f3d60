"""URL mode as a log: nothing is ever changed, things happen, and the log says what that means.

The vault encrypts what it keeps, with the principal as associated data, so that a credential that
is moved to another principal cannot be read there.
"""

import base64
import hashlib
import html
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypedDict
from urllib.parse import quote, unquote_to_bytes, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hmac import HMAC

from kit.clock import Clock, ForwardClock
from kit.http_message import HttpRequest, HttpResponse
from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError, StoreFull

Kind = Literal["opened", "finished", "void"]
Pairs = tuple[tuple[str, str], ...]

PATH = "/connect/"
SIGN_IN = "/connect/sign-in"
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]", re.IGNORECASE)
STYLE = ":root{color-scheme:light dark}body{font-family:sans-serif;margin:5vw}button{padding:1em}"


class Event(NamedTuple):
    """Something that happened to a ticket. until: when the setup expires; only of "opened"."""

    kind: Kind
    ticket: str
    principal: str
    until: float = 0.0


class Session(NamedTuple):
    """A browser that has signed in."""

    id: str
    principal: str


class Vault:
    """Ciphertexts by principal, under a key of this process."""

    def __init__(self) -> None:
        self._cipher = AESGCM(AESGCM.generate_key(256))
        self._kept: dict[str, bytes] = {}

    def store(self, principal: str, credential: str) -> None:
        """Encrypt and keep."""
        nonce = secrets.token_bytes(12)
        label = principal.encode("utf-8", "surrogatepass")
        self._kept[principal] = nonce + self._cipher.encrypt(nonce, credential.encode(), label)

    def find(self, principal: str) -> str | None:
        """Look up and decrypt."""
        if principal not in self._kept:
            return None
        kept, label = self._kept[principal], principal.encode("utf-8", "surrogatepass")
        return self._cipher.decrypt(kept[:12], kept[12:], label).decode()


def link(base: str, ticket: str) -> str:
    """Where the page of this ticket is."""
    address = urlsplit(base)
    host = address.netloc.rpartition(":")[0] if address.port else address.netloc
    secure = address.scheme == "https"
    if not secure and not (address.scheme == "http" and LOOPBACK.fullmatch(host)):
        raise ValueError("neither https nor this machine")
    return re.sub("/*$", PATH + ticket, base, count=1)


class Params(TypedDict):
    """Of a request in URL mode."""

    mode: Literal["url"]
    message: str
    url: str


class Asked(TypedDict):
    """A bare request."""

    method: str
    params: Params


def ask_to_open(message: str, url: str) -> Asked:
    """The request in URL mode."""
    return Asked(method="elicitation/create", params=Params(mode="url", message=message, url=url))


class Tickets:
    """The log, and its reading."""

    def __init__(self, clock: Clock, randomness: Randomness, lifetime: float = 600) -> None:
        self._clock, self._random, self._lifetime = ForwardClock(clock), randomness, lifetime
        self._events: list[Event] = []
        self._alone = threading.RLock()

    def open(self, principal: str) -> str:
        """Write "opened"."""
        with self._alone:
            now = self._clock.now()
            self._forget(now - 600)
            mine = [e for e in self._events if (e.kind, e.principal) == ("opened", principal)]
            if len(mine) >= 50:
                raise StoreFull
            ticket = base64.b32encode(self._random.token_bytes(25)).decode().lower()
            self._events.append(Event("opened", ticket, principal, now + self._lifetime))
            return ticket

    def _forget(self, before: float) -> None:
        over = {e.ticket for e in self._events if e.kind == "opened" and e.until <= before}
        self._events = [event for event in self._events if event.ticket not in over]

    def status(self, ticket: str, principal: str) -> Any:
        """Read the log from its beginning."""
        with self._alone:
            told, now = "expired", self._clock.now()
            for event in self._events:
                if event.ticket != ticket:
                    continue
                if event.principal != principal:
                    return "foreign"
                told = event.kind
                if event.kind == "opened":
                    told = "waiting" if now < event.until else "expired"
            return told

    def finish(self, ticket: str, principal: str, effect: Callable[[], object]) -> bool:
        """Write "finished" behind the effect."""
        return self._happens("finished", ticket, principal, effect)

    def void(self, ticket: str, principal: str) -> None:
        """Write "void"."""
        self._happens("void", ticket, principal, lambda: None)

    def _happens(
        self, kind: Kind, ticket: str, principal: str, effect: Callable[[], object]
    ) -> bool:
        with self._alone:
            possible: bool = self.status(ticket, principal) == "waiting"
            if possible:
                effect()
                self._events.append(Event(kind, ticket, principal))
            return possible


def read_progress(
    tickets: Tickets, ticket: str, principal: str, response: Mapping[str, Any] | None
) -> str:
    """What the log says to the client's answer."""
    answers: dict[Any, Callable[[str, str], object]] = {
        "accept": tickets.status,
        "decline": tickets.void,
        "cancel": tickets.void,
    }
    action = "accept" if response is None else response.get("action")
    if not isinstance(action, str) or action not in answers:
        raise RpcError(INVALID_PARAMS, "unknown action")
    answers[action](ticket, principal)
    return {"waiting": "ask", "finished": "done"}.get(tickets.status(ticket, principal), "over")


def _seal(key: bytes, session_id: str, ticket: str) -> HMAC:
    sealed = HMAC(key, hashes.SHA256())
    sealed.update(json.dumps({"session": session_id, "ticket": ticket}).encode())
    return sealed


def csrf_token(key: bytes, session_id: str, ticket: str) -> str:
    """An HMAC over JSON."""
    return base64.b32encode(_seal(key, session_id, ticket).finalize()).decode()


def is_csrf_token(token: Any, key: bytes, session_id: str, ticket: str) -> bool:
    """Let the library compare."""
    try:
        raw = base64.b32decode(token)
        _seal(key, session_id, ticket).verify(raw)
    except (TypeError, ValueError, AttributeError, InvalidSignature):
        return False
    return base64.b32encode(raw).decode() == token


def fill(template: str, **values: str) -> str:
    """One substitution for all places."""
    return re.sub(r"\{(\w+)\}", lambda place: html.escape(values[place[1]]), template)


def page_headers() -> Pairs:
    """The same for every page."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; img-src 'none'; connect-src 'none'"
    )
    return (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", policy),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    )


WHOLE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Notes</title>
<style>%s</style><body>%s</body></html>"""
ASK = """<h1>{service}</h1><p>{problem}</p><form method="post">
<label for="it">Key, for {who}</label>
<input type="password" name="credential" id="it"><input type="hidden" name="token" value="{token}">
<button type="submit">Store it</button></form>"""
TEXTS = {
    "404": "<p>There is nothing at this address.</p>",
    "405": "<p>Only GET and POST are understood here.</p>",
    "foreign": "<p>{who}, this setup is not yours. Type no key: somebody may be after it.</p>",
    "over": "<p>This link is over. Your assistant can ask for a new one.</p>",
    "forged": "<p>This form came from elsewhere. Nothing has been stored.</p>",
    "done": "<p>Stored. You can close this page.</p>",
}


def shown(status: int, template: str, more: Iterable[tuple[str, str]] = (), **values: str) -> Any:
    """A response with a page."""
    text = WHOLE % (STYLE, fill(template, **values))
    return HttpResponse(status, (*page_headers(), *more), text.encode())


class Page:
    """One function, from top to bottom."""

    def __init__(self, tickets: Tickets, vault: Vault, key: bytes, service: str) -> None:
        self._tickets, self._vault, self._key, self._service = tickets, vault, key, service

    def respond(self, request: HttpRequest, session: Session | None) -> HttpResponse:
        """Look at the request from outside to inside."""
        found = re.fullmatch(r"/connect/([^?]*)(?:\?.*)?", request.path, re.DOTALL)
        if found is None:
            return shown(404, TEXTS["404"])
        if request.method not in ("GET", "HEAD", "POST"):
            return shown(405, TEXTS["405"], [("Allow", "GET, POST, HEAD")])
        ticket, problem = found[1], ""
        if session is None:
            return HttpResponse(303, (("Location", f"{SIGN_IN}?ticket={quote(ticket, '')}"),))
        name, who = session
        match self._tickets.status(ticket, who):
            case "foreign":
                return shown(403, TEXTS["foreign"], who=who)
            case "expired" | "finished" | "void":
                return shown(410, TEXTS["over"])
        if request.method == "POST":
            form = dict(fields(request))
            if not is_csrf_token(form.get("token"), self._key, name, ticket):
                return shown(403, TEXTS["forged"])
            given = form.get("credential", "").strip()
            if re.fullmatch("[\x20-\x7e]{1,4096}", given):
                if self._tickets.finish(ticket, who, lambda: self._vault.store(who, given)):
                    return shown(200, TEXTS["done"])
                return shown(410, TEXTS["over"])
            problem = "This is no key."
        values = {"service": self._service, "problem": problem, "who": who}
        token = csrf_token(self._key, name, ticket)
        return shown(400 if problem else 200, ASK, token=token, **values)


def fields(request: HttpRequest) -> Iterable[tuple[str, str]]:
    """The fields of a form, of which none may come twice."""
    kinds = [value for name, value in request.headers if name.lower() == "content-type"]
    if len(kinds) != 1 or not kinds[0].startswith("application/x-www-form-urlencoded"):
        return ()
    pairs = [piece.partition(b"=")[::2] for piece in request.body.replace(b"+", b" ").split(b"&")]
    try:
        told = [[unquote_to_bytes(half).decode() for half in pair] for pair in pairs]
    except UnicodeDecodeError:
        return ()
    names = [name for name, _ in told]
    return () if len(names) > len(set(names)) else [(name, value) for name, value in told]


class Consent(NamedTuple):
    """A URL in three."""

    before: str
    host: str
    after: str
    warning: str | None

    def text(self) -> str:
        """On one line."""
        return f"{self.before}[ {self.host} ]{self.after}"


URL = re.compile(
    r"""
    (?P<before> (?P<secure> https) :// | http :// )
    (?P<host> [a-z0-9._-]+ | \[ [0-9a-f:.]* \] )
    (?P<after> (?: : \d* )? (?: [/?#] [\x21-\x5b\x5d-\x7e]* )? )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


def describe_url(url: Any) -> Consent:
    """What the regular expression found."""
    found = URL.fullmatch(url) if isinstance(url, str) else None
    if not found or not (found["secure"] or LOOPBACK.fullmatch(found["host"])):
        raise ValueError("not to be opened")
    strange = re.search(r"(?:^|\.)xn--", found["host"], re.IGNORECASE)
    warning = "This host is written in Punycode." if strange else None
    return Consent(found["before"], found["host"], found["after"], warning)


def visit(
    url: Any, ask: Callable[[Consent], str], open_browser: Callable[[str], object]
) -> dict[str, str]:
    """Ask about what may be opened."""
    action = "decline"
    try:
        seen = describe_url(url)
    except ValueError:
        return {"action": action}
    action = ask(seen)
    {"accept": open_browser}.get(action, lambda _: None)(url)
    return {"action": action}
