"""URL mode with a table for the tickets and trees for the pages.

What may happen to a ticket is said in the WHERE of an UPDATE; the number of rows tells whether it
happened. Pages are built as elements and written out by the standard library, so that escaping is
nobody's job.
"""

import base64
import hashlib
import hmac
import ipaddress
import re
import sqlite3
import string
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote
from xml.etree import ElementTree as Tree

from kit.clock import Clock, ForwardClock
from kit.http_message import HttpRequest, HttpResponse
from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError, StoreFull

PATH, SIGN_IN = "/connect/", "/connect/sign-in"
LIFETIME, KEPT, MOST_SETUPS = 600, 600, 50

STYLE = "body{margin:2rem auto;max-width:32rem;font:1.1rem/1.5 sans-serif}input,button{width:100%}"

SCHEMA = """
    CREATE TABLE setup (
        ticket TEXT PRIMARY KEY, owner TEXT NOT NULL, ends REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting'
    ) WITHOUT ROWID;
    CREATE INDEX by_owner ON setup (owner);
"""
LIVE = "ticket = ? AND owner = ? AND state = 'waiting' AND ends > ?"


class Session(NamedTuple):
    """Who sits in front of the browser."""

    id: str
    principal: str


class Vault:
    """One key for each subject."""

    __slots__ = ("__keys",)

    def __init__(self) -> None:
        self.__keys: dict[str, str] = {}

    def store(self, principal: str, credential: str) -> None:
        """Keep it."""
        self.__keys |= {principal: credential}

    def find(self, principal: str) -> str | None:
        """Give it out."""
        return self.__keys.get(principal)


def is_local(host: str) -> bool:
    """Whether a host, without brackets, is this machine."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def link(base: str, ticket: str) -> str:
    """The page's address."""
    match = re.match(r"(?:https://|http://(\[[^\]]*\]|[^/:?#]*)(?=[:/]|$))", base)
    if match is None or (match[1] is not None and not is_local(match[1].strip("[]"))):
        raise ValueError(base)
    return "".join((base.removesuffix("/"), PATH, ticket))


def ask_to_open(message: str, url: str) -> dict[str, Any]:
    """The question."""
    return dict(method="elicitation/create", params=dict(mode="url", message=message, url=url))


class Tickets:
    """A table in memory, one connection, one thread at a time."""

    def __init__(self, clock: Clock, randomness: Randomness, lifetime: float = LIFETIME) -> None:
        self.clock, self.randomness, self.lifetime = ForwardClock(clock), randomness, lifetime
        self.turn = threading.RLock()
        self.table = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.table.executescript(SCHEMA)

    def open(self, principal: str) -> str:
        """Insert a row, unless there are too many of this owner."""
        ticket = self.randomness.token_bytes(20).hex()
        with self.turn:
            now = self.clock.now()
            self.table.execute("DELETE FROM setup WHERE ends <= ?", (now - KEPT,))
            added = self.table.execute(
                "INSERT INTO setup (ticket, owner, ends) SELECT ?1, ?2, ?3"
                " WHERE (SELECT count(*) FROM setup WHERE owner = ?2) < ?4",
                (ticket, principal, now + self.lifetime, MOST_SETUPS),
            )
            if not added.rowcount:
                raise StoreFull
        return ticket

    def status(self, ticket: str, principal: str) -> Any:
        """One SELECT with the whole decision in it."""
        with self.turn:
            found = self.table.execute(
                "SELECT CASE WHEN owner <> ?2 THEN 'foreign'"
                " WHEN state = 'waiting' AND ends <= ?3 THEN 'expired' ELSE state END"
                " FROM setup WHERE ticket = ?1",
                (ticket, principal, self.clock.now()),
            ).fetchone()
        return found[0] if found else "expired"

    def finish(self, ticket: str, principal: str, effect: Callable[[], object]) -> bool:
        """Update first, then the effect; what it raises takes the update back."""
        with self.turn:
            self.table.execute("BEGIN IMMEDIATE")
            try:
                won = self._move(ticket, principal, "finished")
                if won:
                    effect()
            except BaseException:
                self.table.execute("ROLLBACK")
                raise
            self.table.execute("COMMIT")
        return won

    def void(self, ticket: str, principal: str) -> None:
        """Update, if it applies."""
        with self.turn:
            self._move(ticket, principal, "void")

    def _move(self, ticket: str, principal: str, state: str) -> bool:
        given = (state, ticket, principal, self.clock.now())
        return bool(self.table.execute(f"UPDATE setup SET state = ? WHERE {LIVE}", given).rowcount)


def read_progress(
    tickets: Tickets, ticket: str, principal: str, response: dict[str, Any] | None
) -> str:
    """The book's word, after a no has been written into it."""
    match response:
        case None | {"action": "accept"}:
            pass
        case {"action": "decline" | "cancel"}:
            tickets.void(ticket, principal)
        case _:
            raise RpcError(INVALID_PARAMS, "This is none of the three actions.")
    match tickets.status(ticket, principal):
        case "waiting":
            return "ask"
        case "finished":
            return "done"
    return "over"


def csrf_token(key: bytes, session_id: str, ticket: str) -> str:
    """A keyed BLAKE2b; the length in front keeps the border."""
    first = session_id.encode("utf-8", "surrogatepass")
    text = len(first).to_bytes(8, "big") + first + ticket.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, key=key, digest_size=24).digest()
    return base64.urlsafe_b64encode(digest).decode()


def is_csrf_token(token: Any, key: bytes, session_id: str, ticket: str) -> bool:
    """Compare as ASCII, or not at all."""
    if not isinstance(token, str) or not token.isascii():
        return False
    return hmac.compare_digest(token, csrf_token(key, session_id, ticket))


ENTITIES = {ord(sign): f"&#{ord(sign)};" for sign in "&<>\"'"}


def fill(template: str, **values: str) -> str:
    """One pass over the template's own places."""
    pieces = []
    for before, name, _, _ in string.Formatter().parse(template):
        pieces += [before, "" if name is None else values[name].translate(ENTITIES)]
    return "".join(pieces)


def page_headers() -> tuple[tuple[str, str], ...]:
    """What every page says beside its text."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    nothing = ("default-src", "script-src", "base-uri", "frame-ancestors", "object-src")
    policy = [f"{name} 'none'" for name in nothing]
    policy += [f"style-src 'sha256-{digest}'", "form-action 'self'"]
    return (
        ("content-type", "text/html;charset=UTF-8"),
        ("cache-control", "no-store, private"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", ";".join(policy)),
    )


def element(tag: str, *inside: "Tree.Element | str", **attributes: str) -> Tree.Element:
    """A tree: texts and elements in their order."""
    made = Tree.Element(tag, {name.rstrip("_"): value for name, value in attributes.items()})
    last: Tree.Element | None = None
    for each in inside:
        if not isinstance(each, str):
            made.append(each)
            last = each
        elif last is None:
            made.text = (made.text or "") + each
        else:
            last.tail = (last.tail or "") + each
    return made


def html_response(
    status: int, title: str, *body: Tree.Element, more: tuple[tuple[str, str], ...] = ()
) -> HttpResponse:
    """A whole page."""
    head = element("head", element("title", title), element("style", STYLE))
    tree = element("html", head, element("body", element("h1", title), *body), lang="en")
    text = "<!doctype html>" + Tree.tostring(tree, encoding="unicode", method="html")
    return HttpResponse(status, page_headers() + more, text.encode())


def told(status: int, title: str, text: str, more: Any = ()) -> HttpResponse:
    """A page with one sentence."""
    return html_response(status, title, element("p", text), more=more)


OVER = {"finished": "has been used", "void": "was called off", "expired": "took too long"}


@dataclass
class Visit:
    """One request on its way through the guards."""

    page: "Page"
    request: HttpRequest
    session: Session | None
    ticket: str = ""

    def refusals(self) -> Iterator[HttpResponse | None]:
        """Each guard in turn: a response, or None to go on."""
        path = self.request.path.split("?", 1)[0]
        yield None if path.startswith(PATH) else told(404, "No such page", "Look at the link.")
        known = self.request.method in {"GET", "HEAD", "POST"}
        allowed = (("allow", "GET, HEAD, POST"),)
        yield None if known else told(405, "Not like this", "Nothing was stored.", allowed)
        self.ticket = path[len(PATH) :]
        yield self._sign_in()
        yield self._state()
        yield None if self.request.method == "POST" else self._form(200)

    def answer(self) -> HttpResponse:
        """The first refusal, or what taking the key leads to."""
        return next(filter(None, self.refusals()), None) or self._take()

    def _sign_in(self) -> HttpResponse | None:
        if self.session is not None:
            return None
        where = SIGN_IN + "?ticket=" + quote(self.ticket, safe="")
        return HttpResponse(303, (("Location", where), ("Cache-Control", "no-store")))

    def _state(self) -> HttpResponse | None:
        assert self.session is not None
        state = self.page.tickets.status(self.ticket, self.session.principal)
        if state == "foreign":
            why = "This link was made for another user. Type nothing, and close the page."
            return told(403, "Not your link", f"You are {self.session.principal}. {why}")
        return told(410, "Over", f"This link {OVER[state]}.") if state in OVER else None

    def _form(self, status: int) -> HttpResponse:
        assert self.session is not None
        token = csrf_token(self.page.key, self.session.id, self.ticket)
        form = element(
            "form",
            element("input", type="hidden", name="token", value=token),
            element("label", f"Key for {self.page.service}", for_="key"),
            element("input", type="password", name="credential", id="key", required="required"),
            element("button", f"Connect as {self.session.principal}"),
            method="post",
        )
        warning = element("p", "That was no key.", role="alert")
        return html_response(status, "Connect", *([warning] if status == 400 else []), form)

    def _take(self) -> HttpResponse:
        assert self.session is not None
        fields, principal = self._fields(), self.session.principal
        if not is_csrf_token(fields.get("token"), self.page.key, self.session.id, self.ticket):
            return told(403, "Not from here", "This form is of another page. Nothing was stored.")
        key = fields.get("credential", "").strip()
        if not re.fullmatch(r"[ -~]{1,4096}", key):
            return self._form(400)
        keep = self.page.vault.store
        won = self.page.tickets.finish(self.ticket, principal, lambda: keep(principal, key))
        return told(200, "Done", "Close it.") if won else told(410, "Over", "It has been used.")

    def _fields(self) -> dict[str, str]:
        kinds = {v.split(";")[0] for n, v in self.request.headers if n.lower() == "content-type"}
        if kinds != {"application/x-www-form-urlencoded"}:
            return {}
        try:
            pairs = parse_qsl(self.request.body.decode("ascii"), errors="strict")
        except ValueError:
            return {}
        return {name: value for name, value in pairs if [n for n, _ in pairs].count(name) == 1}


@dataclass
class Page:
    """What the visits share."""

    tickets: Tickets
    vault: Vault
    key: bytes = field(repr=False)
    service: str

    def respond(self, request: HttpRequest, session: Session | None) -> HttpResponse:
        """One visit."""
        return Visit(self, request, session).answer()


class Consent(NamedTuple):
    """Three pieces of a URL, and a warning."""

    before: str
    host: str
    after: str
    warning: str

    def text(self) -> str:
        """The pieces, with the middle one marked."""
        return f"{self.before}[ {self.host} ]{self.after}"


def describe_url(url: Any) -> Consent:
    """Walk along the URL: scheme, host, port, rest."""
    if not isinstance(url, str) or any(not "!" <= sign <= "~" or sign == "\\" for sign in url):
        raise ValueError("characters")
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme.lower() not in ("https", "http"):
        raise ValueError("scheme")
    end = next((place for place, sign in enumerate(rest) if sign in "/?#"), len(rest))
    where = rest[:end]
    host = where[: where.find("]") + 1] if where.startswith("[") else where.split(":")[0]
    port = where[len(host) :]
    letters = string.ascii_letters + string.digits + (":.[]" if host[:1] == "[" else "._-")
    if not host or set(host) - set(letters) or not re.fullmatch(r"(:[0-9]*)?", port):
        raise ValueError("host")
    if scheme.lower() == "http" and not is_local(host.strip("[]")):
        raise ValueError("http")
    odd = any(label[:4].lower() == "xn--" for label in host.split("."))
    warning = "These letters stand for others." if odd else ""
    return Consent(scheme + slashes, host, port + rest[end:], warning)


def visit(
    url: Any, ask: Callable[[Consent], str], open_browser: Callable[[str], object]
) -> dict[str, str]:
    """Show, ask, perhaps open."""
    try:
        shown = describe_url(url)
    except ValueError:
        return {"action": "decline"}
    match ask(shown):
        case "accept":
            open_browser(url)
            return {"action": "accept"}
        case other:
            return {"action": other}
