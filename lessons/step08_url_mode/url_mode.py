"""URL mode: what the client must not see is typed into a page of the server's own.

Promise: a credential goes from the user's browser into the vault of that user and nowhere else; the
page takes it only from the principal who started the call, once, and while the ticket is good.
Attacks it stops: a link that is passed on to somebody else (phishing), a form that another site
fills in (CSRF), a page that shows what it was sent (scripting), a link used a second time. The
client half never opens what its user has not read.

Nothing here reads or writes a socket: a request and a signed-in session go in, a response comes
out.
"""

import base64
import hashlib
import ipaddress
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

from kit.clock import Clock, ForwardClock
from kit.http_message import HttpRequest, HttpResponse
from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError, StoreFull
from kit.todo import todo

Json = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
Status = Literal["waiting", "finished", "void", "expired", "foreign"]
Progress = Literal["ask", "done", "over"]

PATH = "/connect/"
SIGN_IN = "/connect/sign-in"
LIFETIME = 600
KEPT = 600
MOST_SETUPS = 50
LONGEST_CREDENTIAL = 4096
ACTIONS = ("accept", "decline", "cancel")

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --line: #6b6b6b; --go: #0b57a4;
  --wrong: #a3161f; }
@media (prefers-color-scheme: dark) { :root { --ink: #f1f1f1; --paper: #1b1b1d; --line: #9a9a9a;
  --go: #8ec5ff; --wrong: #ffb3ae; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.5 system-ui,
  sans-serif; }
main { max-width: 34rem; margin: 0 auto; padding: 2rem 1.25rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; text-wrap: balance; }
label { display: block; font-weight: 600; margin-top: 1.5rem; }
input, button { display: block; width: 100%; font: inherit; padding: .75rem; margin-top: .5rem;
  border: 2px solid var(--line); border-radius: .4rem; background: var(--paper);
  color: var(--ink); }
button { margin-top: 1rem; background: var(--go); border-color: var(--go); color: var(--paper);
  font-weight: 600; cursor: pointer; }
a { color: var(--go); }
input:focus, button:focus, a:focus { outline: 3px solid var(--go); outline-offset: 2px; }
[role=alert] { border-left: 4px solid var(--wrong); padding-left: .75rem; font-weight: 600; }
[role=alert]:empty { display: none; }
"""
STYLE_HASH = "sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

FORM = """
<h1>Connect {service} to your notes</h1>
<p>You are signed in as <strong>{principal}</strong>. Go on only if you asked for this yourself,
just now. If somebody sent you this link, close the page.</p>
<p role="alert">{problem}</p>
<form method="post">
<input type="hidden" name="token" value="{token}">
<label for="credential">Your key for {service}</label>
<input id="credential" name="credential" type="password" autocomplete="off" required
  aria-describedby="where">
<p id="where">It is kept on this server, for {principal} alone. Your assistant never sees it.</p>
<button>Connect as {principal}</button>
</form>
"""
NOTICE = "<h1>{title}</h1>\n<p>{text}</p>\n"

# Name: status, title, text.
NOTICES = {
    "done": (200, "Connected", "That was all. Close this page and tell your assistant to go on."),
    "finished": (410, "This link has been used", "There is nothing more to do here."),
    "void": (410, "This setup was called off", "Ask your assistant again for a new link."),
    "expired": (410, "This link is over", "Ask your assistant again for a new link."),
    "foreign": (
        403,
        "This link belongs to somebody else",
        "You are signed in as {principal}, and somebody else asked for this setup. Do not enter "
        "anything. If somebody sent you this link, they may want your key.",
    ),
    "forged": (403, "Nothing was stored", "This form is not from this page. Open the link again."),
    "nowhere": (404, "There is no such page", "Use the link that your assistant shows."),
    "method": (405, "Nothing was stored", "This page is read with GET and sent with POST."),
}


@dataclass(frozen=True)
class Session:
    """A browser that has signed in.

    id: random, known to this browser's cookie only. principal: subject of who signed in.
    """

    id: str
    principal: str


@dataclass
class Setup:
    """What a ticket stands for. principal: subject of who started the call. expires_at: seconds."""

    principal: str
    expires_at: float
    status: Status = "waiting"


@dataclass(frozen=True)
class Consent:
    """What a user reads before a URL is opened: all of it, with its host apart (URL-13).

    before, host, after: together the URL, to the letter. warning: a sentence, or empty.
    """

    before: str
    host: str
    after: str
    warning: str = ""

    def text(self) -> str:
        """Return the URL on one line, with brackets around its host."""
        return f"{self.before}[ {self.host} ]{self.after}"


@dataclass(frozen=True)
class Vault:
    """Credentials, each for one principal; printing it shows none of them (URL-2)."""

    _credentials: dict[str, str] = field(default_factory=dict, repr=False)

    def store(self, principal: str, credential: str) -> None:
        """Keep `credential` for this subject alone (URL-14)."""
        self._credentials[principal] = credential

    def find(self, principal: str) -> str | None:
        """Return the credential of this subject, or None."""
        return self._credentials.get(principal)


def is_loopback(host: str | None) -> bool:
    """Tell whether `host` is this machine: ``localhost``, or an address such as ``127.0.0.1``."""
    try:
        return ipaddress.ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return (host or "").lower() == "localhost"


def link(base: str, ticket: str) -> str:
    """Return the URL of the page for `ticket`: `base`, PATH, the ticket, and nothing about a user.

    base: the server's own address, with or without a slash at its end. ticket: of `Tickets.open`.
    Errors: ValueError unless `base` begins with ``https://``, or with ``http://`` and a loopback
    host (ELI-23, URL-16).

    >>> link("https://notes.example/", "q7cv")
    'https://notes.example/connect/q7cv'
    """
    todo("8.1: Ask by a link")


def ask_to_open(message: str, url: str) -> Json:
    """Return the bare ``elicitation/create`` request in URL mode.

    message: why. url: of `link`. Its params are the two and the mode; there is no
    ``elicitationId`` any more (ELI-20).
    """
    todo("8.1: Ask by a link")


class Tickets:
    """Setups under way, by ticket; shared by the server and its page, safe with threads.

    clock: of the server. randomness: gives the tickets. lifetime: seconds that a setup may take.
    """

    def __init__(self, clock: Clock, randomness: Randomness, lifetime: float = LIFETIME) -> None:
        self._clock, self._randomness = ForwardClock(clock), randomness
        self._lifetime = lifetime
        self._lock = threading.Lock()
        self._setups: dict[str, Setup] = {}

    def open(self, principal: str) -> str:
        """Start a setup for this subject and return its ticket.

        The ticket is text of base64url characters out of at least 16 random bytes; it names no user
        and is worth nothing to anybody else (URL-4). Setups that expired KEPT seconds ago are
        forgotten first.
        Errors: StoreFull when MOST_SETUPS of this subject are remembered; others are not affected.
        """
        todo("8.2: Open a setup, tell how far it is")

    def status(self, ticket: str, principal: str) -> Status:
        """Return how far a setup is, as this subject may know it. The first that applies:

        "expired" for a ticket that was never given out or is forgotten; "foreign" for one of
        another subject, however far it is (URL-1); "finished" or "void" when it has ended so;
        "expired" from the very second of expiry on (URL-5); "waiting".
        """
        todo("8.2: Open a setup, tell how far it is")

    def finish(self, ticket: str, principal: str, effect: Callable[[], object]) -> bool:
        """Run `effect` and finish the setup, as one step; tell whether that was done.

        effect: stores the credential. Only a setup that waits for this subject can be finished; for
        any other the answer is False and nothing is run. Of two calls at once one wins (URL-5).
        When `effect` raises, the setup goes on waiting and the exception goes through.
        """
        todo("8.3: Finish once, or call it off")

    def void(self, ticket: str, principal: str) -> None:
        """End a setup that waits for this subject; any other stays as it is (URL-15)."""
        todo("8.3: Finish once, or call it off")


def read_progress(tickets: Tickets, ticket: str, principal: str, response: Json | None) -> Progress:
    """Return what to say to a retry: "ask" again, it is "done", or it is "over".

    ticket: out of the state that was verified. principal: subject of who retries. response: the
    client's answer to the question, or None when it is missing.
    The server's own book decides, not the answer (ELI-21): a setup that is finished is done, one
    that waits is asked for again after an accept (URL-3) or no answer at all, everything else is
    over. A decline or a cancel voids the setup before the book is read (URL-15).
    Errors: RpcError -32602 for an ``action`` that is not one of ACTIONS (MRTR-17).
    """
    todo("8.4: Accept is not completion")


def csrf_token(key: bytes, session_id: str, ticket: str) -> str:
    """Return the token for the form of this ticket in this session (URL-6).

    key: 32 random bytes of the server. The token is ASCII; nobody can make it without the key, and
    it tells neither the session's id nor the key. No two pairs of session and ticket share one.
    """
    todo("8.5: Guard the form")


def is_csrf_token(token: Any, key: bytes, session_id: str, ticket: str) -> bool:
    """Tell whether `token` is the one of this session and ticket.

    token: whatever the form brought, None when it brought none. Compared in constant time.
    """
    todo("8.5: Guard the form")


def fill(template: str, **values: str) -> str:
    """Return the template with ``{name}`` replaced by each value, escaped for HTML (URL-11).

    The values stand between tags and inside quoted attributes. What is inside a value stays text,
    even if it looks like a tag or like a ``{name}``.

    >>> fill("<p>{who}</p>", who="<b>")
    '<p>&lt;b&gt;</p>'
    """
    todo("8.5: Guard the form")


def page_headers() -> Headers:
    """Return the headers of every page.

    ``Content-Type`` with its charset; ``Cache-Control: no-store`` (URL-10); ``Referrer-Policy:
    no-referrer`` (URL-9); ``X-Content-Type-Options: nosniff``; and a ``Content-Security-Policy``
    that allows nothing but the style in STYLE, by its STYLE_HASH, and forms that go to this server:
    no other source, no ``base``, no frame around the page (URL-8). `default-src` does not speak
    for ``base-uri``, ``form-action`` and ``frame-ancestors``.
    """
    todo("8.5: Guard the form")


def html_response(status: int, title: str, body: str, more: Headers = ()) -> HttpResponse:
    """Return a page. title: plain text without markup. body: HTML, made by `fill`."""
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style></head>\n<body><main>{body}</main></body>"
        f"</html>\n"
    )
    return HttpResponse(status, (*page_headers(), *more), text.encode("utf-8"))


def notice(name: str, principal: str = "", more: Headers = ()) -> HttpResponse:
    """Return one of NOTICES. principal: who is told."""
    status, title, text = NOTICES[name]
    body = fill(NOTICE, title=title, text=text.replace("{principal}", principal))
    return html_response(status, title, body, more)


def read_form(request: HttpRequest) -> dict[str, str]:
    """Return the fields of a form that was sent; none when the body is no such form.

    A field that comes twice has no one meaning, and is left out.
    """
    kinds = [value for name, value in request.headers if name.lower() == "content-type"]
    if [kind.partition(";")[0].strip() for kind in kinds] != ["application/x-www-form-urlencoded"]:
        return {}
    try:
        fields = parse_qs(request.body.decode("ascii"), errors="strict", max_num_fields=10)
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def is_credential(text: str) -> bool:
    """Tell whether `text` can be a credential: printable ASCII, at most LONGEST_CREDENTIAL."""
    return 0 < len(text) <= LONGEST_CREDENTIAL and text.isascii() and text.isprintable()


@dataclass(frozen=True)
class Page:
    """The page behind the links.

    tickets, vault: of the server. key: for `csrf_token`. service: the name of what is connected.
    """

    tickets: Tickets
    vault: Vault
    key: bytes = field(repr=False)
    service: str

    def respond(self, request: HttpRequest, session: Session | None) -> HttpResponse:
        """Return the response to one request. session: of the browser, or None.

        The first that applies:

        ==============================  =====================================================
        a path that is not under PATH   404
        neither GET, HEAD nor POST      405 with ``Allow``
        nobody has signed in            303 to SIGN_IN with ``?ticket=``; nothing is told
        the ticket is "foreign"         403, and why (URL-1)
        any other but "waiting"         410 (URL-5)
        GET, HEAD                       200, the form with its token; nothing changes (URL-12)
        POST without the right token    403, nothing is stored (URL-6)
        no `is_credential`              400, the form again, without what was typed (URL-2)
        a rival was faster              410
        POST                            200: stored for this principal, finished (URL-14)
        ==============================  =====================================================

        Every response but the 303 is an `html_response`. The path may carry a query, which says
        nothing. Spaces around a credential are not part of it.
        """
        todo("8.6: The page")


def describe_url(url: Any) -> Consent:
    """Return what the user must read before this URL is opened (ELI-24); fetches nothing.

    url: whatever the server sent. `host` is without the port and stays as it is spelt; one of
    whose labels begins with ``xn--``, in any case, brings a warning: Punycode can look like another
    name.
    Errors: ValueError for what must not be opened: no text, another scheme than ``https``, or
    ``http`` to any host but a loopback one, a user name in front of the host, even an empty one
    (URL-16), no host, and anything that two readers could read differently: characters that are
    not printable ASCII, spaces, a backslash, a ``%`` in the host.

    >>> describe_url("https://notes.example:8443/connect/q7cv").text()
    'https://[ notes.example ]:8443/connect/q7cv'
    """
    todo("8.7: Read the URL before it is opened")


def visit(url: Any, ask: Callable[[Consent], str], open_browser: Callable[[str], object]) -> Json:
    """Return the client's response to a request in URL mode (URL-13).

    url: as for `describe_url`. ask: shows the Consent and returns the user's action, one of
    ACTIONS. open_browser: opens a URL where neither client nor model can see it; called once,
    after an accept, and not otherwise. The response holds the action alone.
    A URL that must not be opened is declined, and the user is not asked.
    """
    todo("8.7: Read the URL before it is opened")
