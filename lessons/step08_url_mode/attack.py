"""The exploit that opens step 08: a link that is passed on takes somebody else's key."""

from typing import Any

TITLE = "Bob asks to connect the archive. He sends the link to Alice, who knows this server well."
SUCCEEDED = "The attack succeeds: Alice's key is in Bob's vault, and his assistant works with it."
FAILED = "The attack fails: the page belongs to Bob, Alice is told so, and no key was taken."

KEY = "key-of-alice-for-the-archive"

# What must be written before your own part is attacked.
NEEDS = (
    (
        "url_mode",
        (
            *("link", "ask_to_open", "open", "status", "finish", "void", "read_progress"),
            *("csrf_token", "is_csrf_token", "fill", "page_headers", "respond"),
        ),
    ),
)


def make_naive(parts: Any) -> None:
    """Let the page take everybody who has the link for the user who asked for it."""
    page, session = parts.url_mode.Page, parts.url_mode.Session
    respond = page.respond

    def by_the_link(self: Any, request: Any, signed_in: Any) -> Any:
        ticket = request.path.removeprefix("/connect/")
        return respond(self, request, session("", self.tickets._setups[ticket].principal))

    page.respond = by_the_link


def attack(stage: Any) -> bool:
    """Start a setup as Bob, let Alice open it and type her key, and look whose it is now."""
    asked = stage.send(stage.connect(), "bob").result
    alice = stage.browser("alice")
    page = alice.open(asked["inputRequests"]["connect_page"]["params"]["url"])
    if "<form" in page.text:
        alice.submit(page, credential=KEY)
    stage.retry_connect(asked, {"action": "accept"}, "bob")
    return bool(stage.world.desk.vault.find("bob") == KEY)
