"""URL mode out of small values: a state never changes, it is replaced by the next one."""

import hashlib
import hmac
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from ipaddress import ip_address
from operator import attrgetter
from threading import Lock
from urllib.parse import parse_qs, quote_plus, urlsplit, urlunsplit

from kit.clock import ForwardClock
from kit.http_message import HttpResponse
from kit.refusals import RpcError, StoreFull

PATH = "/connect/"
SIGN_IN = PATH + "sign-in"
STYLE = "main { max-width: 30em; margin: auto; } label, input, button { display: block; }"


class Markup(str):
    """Text that is markup already; everything else is escaped when it meets some."""

    def of(self, **values):
        """Put values into the places of this text, in one go."""
        return Markup(
            self.format(
                **{
                    name: it if isinstance(it, Markup) else escape(it)
                    for name, it in values.items()
                }
            )
        )


@dataclass(frozen=True)
class Session:
    id: str
    principal: str


class Vault(dict):
    """Credentials by subject."""

    store = dict.__setitem__
    find = dict.get

    def __repr__(self):
        return f"<a vault of {len(self)}>"


def here(host):
    host = (host or "").strip("[]").lower()
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def link(base, ticket):
    parts = urlsplit(base)
    match parts.scheme, here(parts.hostname):
        case ("https", _) | ("http", True):
            path = parts.path.rstrip("/") + PATH + ticket
            return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    raise ValueError(f"{base!r} is neither https nor local")


def ask_to_open(message, url):
    params = {"url": url, "message": message, "mode": "url"}
    return {"params": params, "method": "elicitation/create"}


@dataclass(frozen=True)
class State:
    """What a ticket is now."""

    owner: str
    ends: float
    name: str = "waiting"

    def seen_by(self, principal, now):
        if principal != self.owner:
            return "foreign"
        return "expired" if (self.name, now >= self.ends) == ("waiting", True) else self.name


NEVER = State("", float("-inf"))


class Tickets:
    """States by ticket; whoever changes one holds the lock of that ticket."""

    def __init__(self, clock, randomness, lifetime=600):
        self.now, self.draw, self.lifetime = (
            ForwardClock(clock).now,
            randomness.token_bytes,
            lifetime,
        )
        self.states, self.locks, self.door = {}, {}, Lock()

    def open(self, principal):
        with self.door:
            now = self.now()
            for old in [each for each, state in self.states.items() if state.ends + 600 <= now]:
                del self.states[old], self.locks[old]
            if Counter(map(attrgetter("owner"), self.states.values()))[principal] > 49:
                raise StoreFull
            ticket = urlsafe_b64encode(self.draw(33)).decode()
            self.locks[ticket], self.states[ticket] = Lock(), State(principal, now + self.lifetime)
        return ticket

    def status(self, ticket, principal):
        state = self.states.get(ticket)
        return "expired" if state is None else state.seen_by(principal, self.now())

    @contextmanager
    def waiting(self, ticket, principal):
        """The state under its lock, or None when it does not wait for this subject."""
        with self.locks.get(ticket) or Lock():
            state = self.states.get(ticket, NEVER)
            yield state if state.seen_by(principal, self.now()) == "waiting" else None

    def finish(self, ticket, principal, effect):
        with self.waiting(ticket, principal) as state:
            if state:
                effect()
                self.states[ticket] = replace(state, name="finished")
        return state is not None

    def void(self, ticket, principal):
        with self.waiting(ticket, principal) as state:
            if state:
                self.states[ticket] = replace(state, name="void")


def read_progress(tickets, ticket, principal, response):
    said = {"action": "accept"} if response is None else response
    if said.get("action") in ("decline", "cancel"):
        tickets.void(ticket, principal)
    elif said.get("action") != "accept":
        raise RpcError(-32602, "There is no such action.")
    status = tickets.status(ticket, principal)
    return "ask" if status == "waiting" else "done" if status == "finished" else "over"


def csrf_token(key, session_id, ticket):
    """Two rounds: the session makes a key, the key signs the ticket."""
    inner = hmac.digest(key, b"session" + session_id.encode("utf-8", "surrogatepass"), "sha512")
    return hmac.new(inner, ticket.encode("utf-8", "surrogatepass"), hashlib.sha3_256).hexdigest()


def is_csrf_token(token, key, session_id, ticket):
    try:
        return hmac.compare_digest(token, csrf_token(key, session_id, ticket))
    except TypeError:  # no text, or not ASCII
        return False


def fill(template, **values):
    return str(Markup(template).of(**values))


def page_headers():
    digest = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return (
        (
            "Content-Security-Policy",
            f"base-uri 'none'; form-action 'self'; default-src 'none'; "
            f"frame-ancestors 'none'; style-src 'sha256-{digest}'",
        ),
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-store, max-age=0"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    )


FRAME = Markup("""<!doctype html><html lang="en"><title>{title}</title><style>{style}</style>
<main><h1>{title}</h1>{inside}</main></html>""")
SENTENCE = Markup("<p>{text}</p>")
FORM = Markup("""<p>For {who} only.</p><form method="post" autocomplete="off">
<input name="token" type="hidden" value="{token}"><label for="c">Key of {service}</label>
<input id="c" name="credential" type="password"><p>{problem}</p><button>Go on</button></form>""")


def page(status, title, inside, *more):
    text = FRAME.of(title=title, style=Markup(STYLE), inside=inside)
    return HttpResponse(status, page_headers() + more, text.encode())


def sentence(status, title, text, *more):
    return page(status, title, SENTENCE.of(text=text), *more)


class Page:
    def __init__(self, tickets, vault, key, service):
        self.tickets, self.vault, self.service, self.token = (
            tickets,
            vault,
            service,
            (lambda session, ticket: csrf_token(key, session.id, ticket)),
        )
        self.is_own = lambda token, session, ticket: is_csrf_token(token, key, session.id, ticket)

    def __repr__(self):
        return f"<the page of {self.service}>"

    def respond(self, request, session):
        head, found, ticket = request.path.split("?")[0].partition(PATH)
        if head or not found:
            return sentence(404, "Nothing here", "This address has no page.")
        act = {"GET": self.show, "HEAD": self.show, "POST": self.take}.get(request.method)
        if act is None:
            allow = ("Allow", "GET, HEAD, POST")
            return sentence(405, "Not so", "Nothing was changed by this.", allow)
        if session is None:
            return HttpResponse(303, (("Location", f"{SIGN_IN}?ticket={quote_plus(ticket)}"),))
        match self.tickets.status(ticket, session.principal):
            case "waiting":
                return act(request, session, ticket)
            case "foreign":
                text = f"{session.principal} did not ask for this. Somebody may want your key."
                return sentence(403, "Somebody else's link", text)
            case ended:
                return sentence(410, "Too late", f"This link is {ended}.")

    def show(self, request, session, ticket, problem=""):
        inside = FORM.of(
            who=session.principal,
            token=self.token(session, ticket),
            service=self.service,
            problem=problem,
        )
        return page(400 if problem else 200, "Connect", inside)

    def take(self, request, session, ticket):
        fields = form_of(request)
        if not self.is_own(fields.get("token"), session, ticket):
            return sentence(403, "Not stored", "The form did not come from this page.")
        credential = fields.get("credential", "").strip()
        if not (0 < len(credential) < 4097 and all(" " <= sign < "\x7f" for sign in credential)):
            return self.show(request, session, ticket, "This is no key.")
        owner = session.principal
        if self.tickets.finish(ticket, owner, lambda: self.vault.store(owner, credential)):
            return sentence(200, "Stored", "You can close this page.")
        return sentence(410, "Too late", "Another form was faster.")


def form_of(request):
    headers = dict((name.lower(), value) for name, value in request.headers)
    if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    try:
        fields = parse_qs(request.body.decode("ascii"), errors="strict")
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


@dataclass(frozen=True)
class Consent:
    before: str
    host: str
    after: str
    warning: str = ""

    def text(self):
        return f"{self.before}[ {self.host} ]{self.after}"


HOST = set("abcdefghijklmnopqrstuvwxyz0123456789.-_")


def describe_url(url):
    """Believe urlsplit only where nobody could read anything else."""
    if not isinstance(url, str) or not all("!" <= sign <= "~" for sign in url) or "\\" in url:
        raise ValueError("a sign that does not belong into a URL")
    parts = urlsplit(url)
    if "@" in parts.netloc or not parts.hostname:
        raise ValueError("a user name, or no host")
    if not set(parts.hostname) <= HOST and not ("[" in parts.netloc and ip_address(parts.hostname)):
        raise ValueError("an odd host")
    if parts.scheme != "https" and (parts.scheme != "http" or not here(parts.hostname)):
        raise ValueError("an odd scheme")
    before, after = url[: len(parts.scheme) + 3], url[len(parts.scheme) + 3 :]
    if not before.endswith("://"):
        raise ValueError("no two slashes")
    size = len(parts.hostname) + 2 * after.startswith("[")
    host, after = after[:size], after[size:]
    if after[:1] not in ("", ":", "/", "?", "#") or (after[:1] == ":" and parts.port == -1):
        raise ValueError("something behind the host")
    odd = {"xn--"} & {label[:4] for label in parts.hostname.split(".")}
    return Consent(before, host, after, "Mind the host: it is spelt in Punycode." * len(odd))


def visit(url, ask, open_browser):
    try:
        action = ask(describe_url(url))
    except ValueError:
        return {"action": "decline"}
    if action == "accept":
        open_browser(url)
    return {"action": action}
