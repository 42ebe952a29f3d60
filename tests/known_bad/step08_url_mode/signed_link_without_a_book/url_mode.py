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
import hmac
import html
import ipaddress
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, quote, urlsplit

from kit.clock import Clock, ForwardClock
from kit.http_message import HttpRequest, HttpResponse
from kit.protocol import INVALID_PARAMS
from kit.randomness import Randomness
from kit.refusals import RpcError

Json = dict[str, Any]
Headers = tuple[tuple[str, str], ...]
Status = Literal["waiting", "finished", "void", "expired", "foreign"]
Progress = Literal["ask", "done", "over"]

SECRET = b"change me"
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
    host = base.split("//", 1)[-1]
    if (
        base.startswith("https://")
        or host.split("/")[0].rsplit(":", 1)[0] in ("127.0.0.1", "localhost", "[::1]")
        and base.startswith("http://")
    ):
        return base.rstrip("/") + PATH + ticket
    raise ValueError("https, please")


def ask_to_open(message: str, url: str) -> Json:
    return {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": message, "url": url},
    }


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
        claims = json.dumps({"sub": principal, "exp": self._clock.now() + self._lifetime})
        body = base64.urlsafe_b64encode(claims.encode()).decode()
        return body + "." + hmac.new(SECRET, body.encode(), "sha256").hexdigest()

    def status(self, ticket: str, principal: str) -> Status:
        body, _, tag = ticket.partition(".")
        if tag != hmac.new(SECRET, body.encode(), "sha256").hexdigest():
            return "expired"
        claims = json.loads(base64.urlsafe_b64decode(body))
        if claims["sub"] != principal:
            return "foreign"
        return "expired" if self._clock.now() >= claims["exp"] else "waiting"

    def finish(self, ticket: str, principal: str, effect: Callable[[], object]) -> bool:
        if self.status(ticket, principal) != "waiting":
            return False
        effect()
        return True

    def void(self, ticket: str, principal: str) -> None:
        pass  # the link runs out by itself


def read_progress(tickets: Tickets, ticket: str, principal: str, response: Json | None) -> Progress:
    if response is None:
        return "ask"
    if response.get("action") not in ACTIONS:
        raise RpcError(INVALID_PARAMS, "unknown action")
    if response["action"] != "accept":
        return "over"
    return "done" if tickets.status(ticket, principal) == "waiting" else "over"


def csrf_token(key: bytes, session_id: str, ticket: str) -> str:
    return hmac.new(key, f"{session_id}.{ticket}".encode(), "sha256").hexdigest()


def is_csrf_token(token: Any, key: bytes, session_id: str, ticket: str) -> bool:
    return token == csrf_token(key, session_id, ticket)


def fill(template: str, **values: str) -> str:
    for name, value in values.items():
        template = template.replace("{" + name + "}", html.escape(value))
    return template


def page_headers() -> Headers:
    csp = f"default-src 'none'; style-src '{STYLE_HASH}'; form-action 'self'; "
    csp += "base-uri 'none'; frame-ancestors 'none'"
    return (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", csp),
    )


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
        path = request.path.split("?")[0]
        if not path.startswith(PATH):
            return notice("nowhere")
        if request.method not in ("GET", "HEAD", "POST"):
            return notice("method", more=(("Allow", "GET, HEAD, POST"),))
        ticket = path[len(PATH) :]
        if session is None:
            return HttpResponse(303, (("Location", f"{SIGN_IN}?ticket={quote(ticket)}"),))
        who = session.principal
        status = self.tickets.status(ticket, who)
        if status != "waiting":
            return notice(status, who)
        token = csrf_token(self.key, session.id, ticket)
        page = fill(FORM, service=self.service, principal=who, problem="", token=token)
        if request.method != "POST":
            return html_response(200, "Connect", page)
        form = read_form(request)
        if not is_csrf_token(form.get("token"), self.key, session.id, ticket):
            return notice("forged")
        credential = form.get("credential", "").strip()
        if not is_credential(credential):
            return html_response(400, "Connect", page)
        self.tickets.finish(ticket, who, lambda: self.vault.store(who, credential))
        return notice("done")


def describe_url(url: Any) -> Consent:
    if not isinstance(url, str):
        raise ValueError("no text")
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.username is not None or not host:
        raise ValueError("no host, or a user name")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError("https, please")
    before, after = url.split(host, 1)
    return Consent(before, host, after, "Punycode" if "xn--" in host else "")


def visit(url: Any, ask: Callable[[Consent], str], open_browser: Callable[[str], object]) -> Json:
    try:
        consent = describe_url(url)
    except ValueError:
        return {"action": "decline"}
    action = ask(consent)
    if action == "accept":
        open_browser(url)
    return {"action": action}
