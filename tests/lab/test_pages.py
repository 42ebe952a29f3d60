"""The browser's side of the server: sign-in, cookies, and where the tool is offered at all."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.commands import browser as command
from kit.http_message import HttpRequest
from kit.parts import ROOT, load, part_paths
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION, VERSION
from kit.randomness import SystemRandomness
from kit.secrets_file import Secrets

sys.path.insert(0, str(ROOT / "solutions"))
hosts = importlib.import_module("hosts")
pages = importlib.import_module("pages")
server = importlib.import_module("server")
stages = importlib.import_module("stage")


@pytest.fixture
def stage() -> Iterator[Any]:
    made = stages.Stage(server.Parts(part_paths("solutions")))
    yield made
    made.close()


def link_of(stage: Any) -> str:
    asked = stage.send(stage.connect()).result
    return str(asked["inputRequests"]["connect_page"]["params"]["url"])


def with_cookies(*cookies: str) -> HttpRequest:
    return HttpRequest("GET", "/connect/t", tuple(("Cookie", each) for each in cookies))


def test_a_cookie_that_is_there_twice_is_none() -> None:
    assert pages.cookie(with_cookies("a=1; notes_session=x"), "notes_session") == "x"
    for double in (("notes_session=x; notes_session=y",), ("notes_session=x", "notes_session=x")):
        assert pages.cookie(with_cookies(*double), "notes_session") is None
    assert pages.cookie(with_cookies("xnotes_session=y"), "notes_session") is None


def test_a_session_ends(stage: Any) -> None:
    alice = stage.browser("alice")
    assert "<form" in alice.open(link_of(stage)).text
    stage.clock.advance(pages.LIFETIME)
    assert "/sign-in?" in alice.look(link_of(stage)).url


def test_a_sign_in_gives_a_new_name_to_the_browser(stage: Any) -> None:
    alice, url = stage.browser("alice"), link_of(stage)
    alice.cookies["notes_session"] = "chosen-by-the-attacker"
    page = alice.look(url)
    assert "/sign-in?" in page.url
    alice.submit(page, access=stages.TOKENS["alice"])
    assert alice.cookies["notes_session"] != "chosen-by-the-attacker"
    other = stage.browser("bob")
    other.cookies["notes_session"] = "chosen-by-the-attacker"
    assert "/sign-in?" in other.look(url).url


def test_the_form_of_one_sign_in_is_of_no_use_in_another_browser(stage: Any) -> None:
    url, alice, bob = link_of(stage), stage.browser("alice"), stage.browser("bob")
    mine, theirs = alice.look(url), bob.look(url)
    mixed = alice.post(mine.url, **theirs.hidden, access=stages.TOKENS["bob"])
    assert mixed.status == 403 and "notes_session" not in alice.cookies
    assert alice.submit(alice.look(url), access=stages.TOKENS["alice"]).status == 200


@pytest.mark.parametrize("ticket", ["//evil.example", "../../x", "https:evil.example", "a%0d%0ab"])
def test_a_sign_in_leads_nowhere_but_to_the_page(stage: Any, ticket: str) -> None:
    alice = stage.browser("alice")
    page = alice.look(f"{stage.base}/connect/sign-in?ticket={ticket}")
    done = alice.submit(page, access=stages.TOKENS["alice"])
    assert done.status == 410
    assert done.url.startswith(f"{stage.base}/connect/") and "evil.example/" not in done.url


def test_other_methods_get_no_sign_in(stage: Any) -> None:
    answers = {
        method: pages.Pages(
            stage.parts, stage.world.desk, {}, stage.clock, SystemRandomness()
        ).respond(HttpRequest(method, "/connect/sign-in", (("Host", "notes.example"),)))
        for method in ("HEAD", "PUT", "DELETE")
    }
    assert [answer.status for answer in answers.values()] == [200, 405, 405]


def test_a_principal_without_the_scope_cannot_sign_in(stage: Any) -> None:
    secrets = Secrets({}, "k1")
    token = secrets.issue("carol", frozenset({"other"}), SystemRandomness())
    alice = stage.browser("alice")
    page = alice.look(link_of(stage))
    assert alice.submit(page, access=token).status == 403
    assert "notes_session" not in alice.cookies


def test_too_many_sessions_end_the_oldest_one(stage: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(pages, "MOST_SESSIONS", 2)
    url = link_of(stage)
    first, second, third = (stage.browser("alice") for _ in range(3))
    for each in (first, second, third):
        assert each.open(url).status == 200
    assert "/sign-in?" in first.look(url).url
    assert ["/sign-in?" in each.look(url).url for each in (second, third)] == [False, False]


def listed(made: Any) -> list[str]:
    meta = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    tools = made.handle(message, Principal("alice", frozenset({"notes"})))["result"]["tools"]
    return [tool["name"] for tool in tools]


def test_where_there_is_no_page_there_is_no_tool_that_needs_one() -> None:
    secrets = Secrets({"k1": SystemRandomness().token_bytes(32)}, "k1")
    alone, _, none = hosts.build(hosts.Choice(), secrets, "alice")
    both, _, made = hosts.build(hosts.Choice(), secrets, "alice", "http://127.0.0.1:8765")
    assert (listed(alone), none) == (["notes_delete"], None)
    assert listed(both) == ["notes_connect", "notes_delete"] and made is not None


def test_on_https_the_cookie_is_secure_and_on_loopback_it_works(stage: Any) -> None:
    alice = stage.browser("alice")
    alice.look(link_of(stage))
    assert all("Secure" in each.split("; ") for each in alice.set_cookies)
    local = stages.Stage(stage.parts, base="")
    try:
        browser = local.browser("alice")
        assert browser.open(link_of(local)).status == 200
        assert not [each for each in browser.set_cookies if "Secure" in each.split("; ")]
    finally:
        local.close()


def test_no_key_is_in_the_notebook_or_in_the_lesson() -> None:
    key = load(ROOT / "lessons" / "step08_url_mode" / "attack.py").KEY
    texts = [ROOT / "notebooks" / "step08_url_mode.ipynb"]
    texts += (ROOT / "lessons" / "step08_url_mode").glob("*.md")
    assert [text.name for text in texts if key in text.read_text(encoding="utf-8")] == []


def test_photos_need_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run({"PHOTOS": str(tmp_path / "nowhere")}) == 2
    assert "nowhere" in capsys.readouterr().err
