"""The browser's side of ``notes_connect``: a sign-in, its session cookie, and the page of step 08.

The sign-in takes the token that the operator gave to a principal; a server in earnest would send
the browser to its identity provider here. Tokens are 32 random bytes, so guessing needs no brake.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from connect import SERVICE, Desk
from kit.clock import Clock
from kit.http_message import HttpRequest, HttpResponse
from kit.principal import Principal
from kit.randomness import Randomness

Headers = tuple[tuple[str, str], ...]

SESSION, BEFORE = "notes_session", "notes_before"  # cookies: after the sign-in, and before it
LIFETIME = 1800
MOST_SESSIONS = 1000
SCOPE = "notes"

FORM = """
<h1>Sign in to your notes</h1>
<p>Your assistant cannot sign in for you, and does not see this page.</p>
<p role="alert">{problem}</p>
<form method="post" action="{action}">
<input type="hidden" name="token" value="{token}">
<label for="access">Your access token</label>
<input id="access" name="access" type="password" autocomplete="current-password" required
  aria-describedby="which">
<p id="which">The one that you were given for this notes server.</p>
<button>Sign in</button>
</form>
"""


@dataclass(frozen=True)
class _Kept:
    session: Any
    expires_at: float


class Pages:
    """Answers what a browser asks below ``/connect/``.

    parts: of the server. desk: shared with the tool. tokens: principals by the SHA-256 of their
    token, in hex. key: 32 random bytes for CSRF tokens (URL-6).
    """

    def __init__(
        self,
        parts: Any,
        desk: Desk,
        tokens: Mapping[str, Principal],
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._part, self._tokens = parts.url_mode, tokens
        self._clock, self._randomness = clock, randomness
        self._key = randomness.token_bytes(32)
        self._page = self._part.Page(desk.tickets, desk.vault, self._key, SERVICE)
        self._host = desk.base.partition("://")[2].rstrip("/")
        self._secure = desk.base.startswith("https:")
        self._kept: dict[str, _Kept] = {}

    def takes(self, path: str) -> bool:
        """Tell whether a request for this path is for a browser's page."""
        return path.startswith(self._part.PATH)

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one request of a browser.

        A ``Host`` that is not this server's is refused, as at the edge (EDGE-3): a name that a
        stranger points at 127.0.0.1 would have cookies of its own.
        """
        if [value for name, value in request.headers if name.lower() == "host"] != [self._host]:
            response: HttpResponse = self._part.notice("nowhere")
        elif request.path.partition("?")[0] == self._part.SIGN_IN:
            response = self._sign_in(request)
        else:
            response = self._page.respond(request, self._session(request))
        return response

    def _session(self, request: HttpRequest) -> Any:
        kept = self._kept.get(cookie(request, SESSION) or "")
        return None if kept is None or self._clock.now() >= kept.expires_at else kept.session

    def _sign_in(self, request: HttpRequest) -> HttpResponse:
        queries = parse_qs(request.path.partition("?")[2], max_num_fields=10)
        ticket = quote(queries.get("ticket", [""])[0], safe="")
        if request.method in ("GET", "HEAD"):
            return self._form(ticket)
        if request.method != "POST":
            refusal: HttpResponse = self._part.notice("method", more=(("Allow", "GET, POST"),))
            return refusal
        form, before = self._part.read_form(request), cookie(request, BEFORE)
        # Somebody else's form could sign this browser in as somebody else, who then gets the key.
        if not before or not self._is_own(form.get("token"), before, ticket):
            forged: HttpResponse = self._part.notice("forged")
            return forged
        digest = hashlib.sha256(form.get("access", "").strip().encode()).hexdigest()
        principal = self._tokens.get(digest)
        if principal is None or SCOPE not in principal.scopes:
            return self._form(ticket, "This token is not known here. Look at it once more.")
        return self._welcome(principal.subject, ticket)

    def _is_own(self, token: Any, before: str, ticket: str) -> bool:
        return bool(self._part.is_csrf_token(token, self._key, before, f"sign-in {ticket}"))

    def _form(self, ticket: str, problem: str = "") -> HttpResponse:
        before = self._fresh()
        body = self._part.fill(
            FORM,
            problem=problem,
            action=f"{self._part.SIGN_IN}?ticket={ticket}",
            token=self._part.csrf_token(self._key, before, f"sign-in {ticket}"),
        )
        page: HttpResponse = self._part.html_response(
            403 if problem else 200, "Sign in", body, (self._set(BEFORE, before),)
        )
        return page

    def _welcome(self, subject: str, ticket: str) -> HttpResponse:
        now, name = self._clock.now(), self._fresh()  # a new name: nobody else can have set it
        live = {key: each for key, each in self._kept.items() if now < each.expires_at}
        while len(live) >= MOST_SESSIONS:
            del live[next(iter(live))]
        self._kept = {**live, name: _Kept(self._part.Session(name, subject), now + LIFETIME)}
        headers = (("Location", self._part.PATH + ticket), ("Cache-Control", "no-store"))
        return HttpResponse(303, (*headers, self._set(SESSION, name)))

    def _fresh(self) -> str:
        return base64.urlsafe_b64encode(self._randomness.token_bytes(24)).decode("ascii")

    def _set(self, name: str, value: str) -> tuple[str, str]:
        """A cookie that no script reads, that no other site sends along, for these pages only."""
        parts = (f"{name}={value}", f"Path={self._part.PATH}", f"Max-Age={LIFETIME}")
        guards = ("HttpOnly", "SameSite=Strict", *(("Secure",) if self._secure else ()))
        return "Set-Cookie", "; ".join((*parts, *guards))


def cookie(request: HttpRequest, name: str) -> str | None:
    """Return the value of a cookie; None when it is missing, or is there twice (RFC 6265, 8.6).

    Another server on this machine can set a cookie of this name beside the right one.
    """
    values = []
    for header, text in request.headers:
        for pair in text.split(";") if header.lower() == "cookie" else ():
            key, _, value = pair.strip().partition("=")
            values += [value] if key == name else []
    return values[0] if len(values) == 1 else None


def open_desk(parts: Any, base: str, clock: Clock, randomness: Randomness) -> Desk:
    """Return what tool and page share, with nothing in it yet. base: the server's own address."""
    tickets = parts.url_mode.Tickets(clock, randomness)
    return Desk(tickets, parts.url_mode.Vault(), base)
