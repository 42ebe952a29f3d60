"""A browser without a window: keeps cookies, follows redirects, fills in forms."""

import http.client
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urlsplit

from kit.tape import Tape

MOST_REDIRECTS = 5


@dataclass(frozen=True)
class Seen:
    """What a browser shows. url: of the last redirect. headers: of the last response."""

    status: int
    url: str
    headers: dict[str, str]
    text: str

    @property
    def title(self) -> str:
        """The text of the page's ``h1``."""
        return self.text.partition("<h1>")[2].partition("</h1>")[0]

    @property
    def hidden(self) -> dict[str, str]:
        """The hidden fields of its form."""
        reader = _Hidden()
        reader.feed(self.text)
        return reader.fields


class _Hidden(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a hidden field."""
        told = dict(attrs)
        if tag == "input" and told.get("type") == "hidden":
            self.fields[told.get("name") or ""] = told.get("value") or ""


class Browser:
    """One user's browser, with one server.

    port: where the server listens on 127.0.0.1. base: the address by which it is known. who: whose
    browser it is. token: what this user signs in with. tape: gets methods, paths, statuses and
    titles; neither cookies nor what is typed into forms.
    """

    def __init__(self, port: int, base: str, who: str, token: str, tape: Tape) -> None:
        self._port, self._base, self._who, self._token, self._tape = port, base, who, token, tape
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []

    def open(self, url: str) -> Seen:
        """Look at a page of this server; where it asks for a sign-in, sign in."""
        seen = self._go("GET", url)
        if "/sign-in?" in seen.url:
            seen = self.submit(seen, access=self._token)
        return seen

    def look(self, url: str) -> Seen:
        """Look at a page, and sign in nowhere."""
        return self._go("GET", url)

    def submit(self, seen: Seen, **fields: str) -> Seen:
        """Send the form of a page with these fields and with its hidden ones."""
        return self._go("POST", seen.url, {**seen.hidden, **fields})

    def post(self, url: str, **fields: str) -> Seen:
        """Send a form that no page of this server has shown."""
        return self._go("POST", url, fields)

    def _go(self, method: str, url: str, fields: dict[str, str] | None = None) -> Seen:
        seen = self._once(method, url, fields)
        for _ in range(MOST_REDIRECTS):
            if seen.status != 303:
                return seen
            seen = self._once("GET", self._base + seen.headers["location"], None)
        return seen

    def _once(self, method: str, url: str, fields: dict[str, str] | None) -> Seen:
        address = urlsplit(url)
        path = address.path + (f"?{address.query}" if address.query else "")
        line = http.client.HTTPConnection("127.0.0.1", self._port)
        headers = {"Host": address.netloc}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={it}" for name, it in self.cookies.items())
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = None if fields is None else urlencode(fields)
        self._tape.record(f"{self._who}'s browser", "page", {method: path})
        line.request(method, path, body, headers)
        response = line.getresponse()
        text = response.read().decode("utf-8")
        line.close()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                self.set_cookies.append(value)
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        told = {name.lower(): value for name, value in response.getheaders()}
        seen = Seen(response.status, url, told, text)
        said: dict[str, Any] = {"status": seen.status}
        said |= {"goto": told["location"]} if "location" in told else {"page": seen.title}
        self._tape.record("page", f"{self._who}'s browser", said)
        return seen
