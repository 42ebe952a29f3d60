"""Step 08: a credential reaches the vault of the user who asked, and nobody and nothing else."""

import base64
import hashlib
import re
import string
from html.parser import HTMLParser
from typing import Any

import pytest

from grading.outcomes import RpcFailure

VALUE_ERROR = "ValueError"
ALICE = ["session-of-alice", "alice"]
BOB = ["session-of-bob", "bob"]
URL_SAFE = set(string.ascii_letters + string.digits + "-_=.~")


def word(rng: Any) -> str:
    """A text that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase + string.digits, k=20))


def get(path: str, session: list[str] | None, method: str = "GET") -> dict[str, Any]:
    """A browser looks at a page."""
    return {"method": method, "path": path, "session": session}


def post(
    name: str, session: list[str] | None, credential: str, token_of: list[str] | None = None
) -> dict[str, Any]:
    """A browser sends the form of a ticket, by default with the token of its own session."""
    own = None if session is None else [session[0], name]
    return {
        "method": "POST",
        "path": f"/connect/@{name}",
        "session": session,
        "form": {"credential": credential},
        "token_of": token_of or own,
    }


def opened(name: str = "t", principal: str = "alice") -> dict[str, Any]:
    """A call starts a setup."""
    return {"book": ["open", name, principal]}


def read(name: str, principal: str, action: str | None) -> dict[str, Any]:
    """The client retries."""
    return {"book": ["read", name, principal, action and {"action": action}]}


def status(name: str = "t", principal: str = "alice") -> dict[str, Any]:
    """How far a setup is."""
    return {"book": ["status", name, principal]}


def vault(principal: str) -> dict[str, Any]:
    """Look into the vault."""
    return {"vault": principal}


def headers_of(pairs: list[list[str]]) -> dict[str, str]:
    """Headers by their names in small letters; no name may come twice."""
    named = {name.lower(): value for name, value in pairs}
    assert len(named) == len(pairs)
    return named


class Shape(HTMLParser):
    """The tags and texts of a page. tags: name and attributes. text: all of it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, *names: str) -> list[dict[str, str | None]]:
        """The attributes of every tag of these names."""
        return [attributes for tag, attributes in self.tags if tag in names]


# 8.1


def test_the_request_has_a_mode_a_message_and_a_url(subject: Any, rng: Any) -> None:
    message, url = word(rng), f"https://notes.example/connect/{word(rng)}"
    asked = subject.ask_to_open(message=message, url=url)
    params = {"mode": "url", "message": message, "url": url}
    assert asked == {"method": "elicitation/create", "params": params}


def test_the_link_is_the_page_of_its_ticket(subject: Any, rng: Any) -> None:
    ticket, host = word(rng), word(rng)
    for base in (f"https://{host}.example", f"https://{host}.example/"):
        url = subject.link(base=base, ticket=ticket)
        assert url == f"https://{host}.example/connect/{ticket}"


@pytest.mark.parametrize("base", ["http://127.0.0.1:8765", "http://[::1]:80", "http://localhost:1"])
def test_a_link_is_https_or_stays_on_this_machine(subject: Any, rng: Any, base: str) -> None:
    ticket = word(rng)
    assert subject.link(base=base, ticket=ticket) == f"{base}/connect/{ticket}"
    for wrong in (
        f"http://{word(rng)}.example",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "ftp://127.0.0.1",
        "127.0.0.1:8765",
    ):
        assert subject.link(base=wrong, ticket=ticket) == VALUE_ERROR


# 8.2


def test_a_ticket_is_unguessable_and_fits_into_a_url(subject: Any) -> None:
    given = subject.tickets(principals=["alice"] * 40)
    assert len(set(given)) == 40
    assert all(set(ticket) <= URL_SAFE and len(ticket) >= 22 for ticket in given)
    assert subject.bytes_drawn() >= 16


def test_a_ticket_names_no_user(subject: Any, rng: Any) -> None:
    name = word(rng)
    (ticket,) = subject.tickets(principals=[name])
    spellings = [name, name[::-1], name.encode().hex()]
    spellings += [hash_of(name.encode()) for hash_of in map(_hex, ("md5", "sha1", "sha256"))]
    raw = base64.urlsafe_b64decode(ticket.rstrip("=") + "=" * (-len(ticket.rstrip("=")) % 4))
    assert [each for each in spellings if each in ticket or each.encode() in raw] == []


def _hex(algorithm: str) -> Any:
    return lambda raw: hashlib.new(algorithm, raw).hexdigest()[:16]


def test_only_the_principal_who_started_may_know_how_far_a_setup_is(subject: Any, rng: Any) -> None:
    alice, bob = word(rng), word(rng)
    ends = [None, ["finish", "t", alice, "x"], ["void", "t", alice], ["advance", 700]]
    for end in ends:
        steps = [["open", "t", alice], *([end] if end else [])]
        told = subject.book(steps=[*steps, ["status", "t", bob], ["status", "t", alice]])
        assert told[-2] == "foreign"
        assert told[-1] in ("waiting", "finished", "void", "expired")
    assert subject.book(steps=[["open", "t", alice], ["status", "t", alice]])[1] == "waiting"


def test_a_ticket_expires_to_the_second(subject: Any, rng: Any) -> None:
    lifetime = rng.randrange(10, 600)
    for later, wanted in ((lifetime - 0.5, "waiting"), (lifetime, "expired")):
        steps = [["open", "t", "alice"], ["advance", later], ["status", "t", "alice"]]
        assert subject.book(steps=steps, lifetime=lifetime)[2] == wanted


def test_a_clock_that_goes_back_revives_no_ticket(subject: Any) -> None:
    steps = [["open", "t", "alice"], ["status", "t", "alice"], ["advance", 600]]
    steps += [["status", "t", "alice"], ["advance", -30], ["status", "t", "alice"]]
    told = subject.book(steps=steps)
    assert [told[1], told[3], told[5]] == ["waiting", "expired", "expired"]


def test_a_ticket_that_was_never_given_out_is_over(subject: Any, rng: Any) -> None:
    for guess in ("", "sign-in", word(rng), "é"):
        steps = [["open", "t", "alice"], ["status", guess, "alice"], ["status", "t", "alice"]]
        assert subject.book(steps=steps)[1:] == ["expired", "waiting"]


def test_one_principal_cannot_fill_the_book(subject: Any) -> None:
    many = [["open", f"t{number}", "alice"] for number in range(50)]
    one_more = [["open", "more", "alice"], ["open", "bob", "bob"], ["status", "t0", "alice"]]
    told = subject.book(steps=[*many, *one_more])
    assert set(told[:50]) == {"opened"}
    assert told[50:] == ["full", "opened", "waiting"]
    later = [["advance", 1_200], ["open", "more", "alice"], ["status", "t0", "alice"]]
    assert subject.book(steps=[*many, *later])[51:] == ["opened", "expired"]


# 8.3


def test_a_setup_is_finished_once(subject: Any, rng: Any) -> None:
    one, two = word(rng), word(rng)
    steps = [["open", "t", "alice"], ["finish", "t", "alice", one], ["finish", "t", "alice", two]]
    told = subject.book(steps=[*steps, ["effects"], ["status", "t", "alice"]])
    assert told[1:] == [True, False, [one], "finished"]


def test_nobody_else_can_finish_or_void_a_setup(subject: Any, rng: Any) -> None:
    steps = [["open", "t", "alice"], ["finish", "t", "bob", "his"], ["void", "t", "bob"]]
    steps += [["effects"], ["status", "t", "alice"], ["finish", "t", "alice", "hers"], ["effects"]]
    told = subject.book(steps=steps)
    assert [told[1], *told[3:]] == [False, [], "waiting", True, ["hers"]]


def test_a_setup_that_is_over_cannot_be_finished(subject: Any) -> None:
    finish = [["finish", "t", "alice", "late"], ["effects"]]
    for end in (["void", "t", "alice"], ["advance", 600], ["advance", 10_000]):
        told = subject.book(steps=[["open", "t", "alice"], end, *finish])
        assert told[2:] == [False, []]
    told = subject.book(steps=[["open", "t", "alice"], ["advance", 599], *finish])
    assert told[2:] == [True, ["late"]]


def test_an_effect_that_fails_leaves_the_setup_waiting(subject: Any) -> None:
    steps = [["open", "t", "alice"], ["finish", "t", "alice", "fail"], ["status", "t", "alice"]]
    steps += [["finish", "t", "alice", "good"], ["status", "t", "alice"]]
    assert subject.book(steps=steps)[1:] == ["failed", "waiting", True, "finished"]


def test_what_is_finished_stays_finished(subject: Any) -> None:
    steps = [["open", "t", "alice"], ["finish", "t", "alice", "x"], ["void", "t", "alice"]]
    steps += [["status", "t", "alice"], ["advance", 700], ["status", "t", "alice"]]
    told = subject.book(steps=steps)
    assert [told[3], told[5]] == ["finished", "finished"]
    steps = [["open", "t", "alice"], ["void", "t", "alice"], ["advance", 700]]
    assert subject.book(steps=[*steps, ["status", "t", "alice"]])[3] == "void"


def test_of_two_forms_at_once_one_is_taken(subject: Any, rng: Any) -> None:
    one, two = word(rng), word(rng)
    answer = subject.rivals(words=[one, two])
    assert answer["points"] > 10
    allowed = ([True, False, [one]], [False, True, [two]])
    assert [each for each in answer["endings"] if each not in allowed] == []
    assert allowed[0] in answer["endings"]


# 8.4


def test_an_accept_before_the_page_is_finished_asks_again(subject: Any) -> None:
    accept = ["read", "t", "alice", {"action": "accept"}]
    steps = [["open", "t", "alice"], accept, accept, ["status", "t", "alice"]]
    assert subject.book(steps=steps)[1:] == ["ask", "ask", "waiting"]


def test_a_missing_answer_asks_again(subject: Any) -> None:
    missing = ["read", "t", "alice", None]
    steps = [["open", "t", "alice"], missing, ["finish", "t", "alice", "x"], missing]
    assert subject.book(steps=steps)[1:] == ["ask", True, "done"]


def test_a_retry_after_the_page_is_finished_is_done(subject: Any) -> None:
    for action in ("accept", "decline", "cancel"):
        retry = ["read", "t", "alice", {"action": action}]
        steps = [["open", "t", "alice"], ["finish", "t", "alice", "x"], retry, retry]
        assert subject.book(steps=steps)[2:] == ["done", "done"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_decline_and_a_cancel_end_the_setup(subject: Any, action: str) -> None:
    no, yes = (
        ["read", "t", "alice", {"action": action}],
        ["read", "t", "alice", {"action": "accept"}],
    )
    finish = ["finish", "t", "alice", "x"]
    told = subject.book(steps=[["open", "t", "alice"], yes, no, yes, finish, ["effects"]])
    assert told[1:] == ["ask", "over", "over", False, []]
    assert subject.book(steps=[["open", "t", "alice"], no, ["open", "u", "alice"]])[2] == "opened"


def test_a_setup_of_somebody_else_is_over_and_goes_on(subject: Any) -> None:
    for action in ("accept", "decline", "cancel"):
        steps = [["open", "t", "alice"], ["read", "t", "bob", {"action": action}]]
        told = subject.book(steps=[*steps, ["read", "t", "alice", {"action": "accept"}]])
        assert told[1:] == ["over", "ask"]
        steps = [["open", "t", "alice"], ["finish", "t", "alice", "x"]]
        assert subject.book(steps=[*steps, ["read", "t", "bob", {"action": action}]])[2] == "over"


def test_an_action_that_does_not_exist_is_an_error_and_ends_nothing(subject: Any) -> None:
    for wrong in ({}, {"action": "ok"}, {"action": "Accept"}, {"action": None}, {"action": True}):
        steps = [["open", "t", "alice"], ["read", "t", "alice", wrong]]
        assert subject.book(steps=steps) == RpcFailure(-32602)
        assert subject.status_after(response=wrong) == "waiting"
    assert subject.status_after(response={"action": "decline"}) == "void"


# 8.5


def test_a_token_is_good_for_its_session_and_ticket_only(subject: Any, rng: Any) -> None:
    place = {"key": rng.randbytes(32).hex(), "session_id": word(rng), "ticket": word(rng)}
    token = subject.csrf_token(**place)
    assert subject.is_csrf_token(token=token, **place) is True
    others = {"key": rng.randbytes(32).hex(), "session_id": word(rng), "ticket": word(rng)}
    for name, other in others.items():
        assert subject.is_csrf_token(token=token, **{**place, name: other}) is False


def test_session_and_ticket_keep_their_border(subject: Any, rng: Any) -> None:
    key, text = rng.randbytes(32).hex(), word(rng)
    for border in ("", ".", ":", "|", "\x00", ",", "/", '", "'):
        one = {"session_id": "a" + border + text, "ticket": "b"}
        two = {"session_id": "a", "ticket": text + border + "b"}
        token = subject.csrf_token(key=key, **one)
        assert subject.is_csrf_token(token=token, key=key, **one) is True
        assert subject.is_csrf_token(token=token, key=key, **two) is False


def test_whatever_a_form_brings_is_no_token(subject: Any, rng: Any) -> None:
    place = {"key": rng.randbytes(32).hex(), "session_id": word(rng), "ticket": word(rng)}
    token = subject.csrf_token(**place)
    for wrong in (None, "", "é", "\ud800", token[:-1], token + "0", token[1:], f"{token} ", "None"):
        assert subject.is_csrf_token(token=wrong, **place) is False
    assert subject.is_csrf_token(token=token, **place) is True


def test_a_token_tells_no_secret(subject: Any, rng: Any) -> None:
    key, session, ticket = rng.randbytes(32), word(rng), word(rng)
    place = {"key": key.hex(), "session_id": session, "ticket": ticket}
    token = subject.csrf_token(**place)
    assert isinstance(token, str) and token.isascii() and len(token) >= 22
    guesses = [session, ticket, session + ticket, ticket + session, f"{session}:{ticket}"]
    plain = [hashlib.sha256(guess.encode()).hexdigest() for guess in guesses]
    assert not [told for told in (key.hex(), session, *plain) if told in token]
    assert subject.is_csrf_token(token=token, **place) is True


def test_what_is_filled_in_stays_text(subject: Any, rng: Any) -> None:
    name = word(rng)
    template = "<p title=\"{who}\" lang='{who}'>{who}</p>"
    for odd in (f"<b>{name}</b>", f'" onclick="{name}', f"' id='{name}", f"&lt;{name}", name):
        made = Shape(subject.fill(template=template, values={"who": odd}))
        assert made.tags == [("p", {"title": odd, "lang": odd})]
        assert made.text == odd


def test_a_value_that_looks_like_a_place_is_not_filled(subject: Any, rng: Any) -> None:
    token = word(rng)
    for values in ({"who": "{token}", "token": token}, {"token": token, "who": "{token}"}):
        made = Shape(subject.fill(template="<p>{who}</p><i>{token}</i>", values=values))
        assert made.text == "{token}" + token
    assert Shape(subject.fill(template="{who}", values={"who": "{0.real} {{x}} {"})).text == (
        "{0.real} {{x}} {"
    )


def test_nothing_of_a_page_is_kept_or_passed_on(subject: Any) -> None:
    headers = headers_of(subject.page_headers()["headers"])
    assert "no-store" in headers["cache-control"].lower().replace(" ", "").split(",")
    assert headers["referrer-policy"].lower().split(",")[-1].strip() == "no-referrer"
    assert headers["content-type"].lower().replace(" ", "") == "text/html;charset=utf-8"
    assert headers["x-content-type-options"].lower() == "nosniff"


def test_the_policy_lets_its_own_style_in_and_nothing_else(subject: Any) -> None:
    answer = subject.page_headers()
    policy = _policy(headers_of(answer["headers"])["content-security-policy"])
    digest = base64.b64encode(hashlib.sha256(answer["style"].encode()).digest()).decode()
    assert policy.pop("style-src") == [f"'sha256-{digest}'"]
    assert policy.pop("form-action") == ["'self'"]
    for name in ("default-src", "base-uri", "frame-ancestors"):
        assert policy.pop(name) == ["'none'"]
    assert all(sources == ["'none'"] for sources in policy.values())


def _policy(text: str) -> dict[str, list[str]]:
    """The directives of a policy; of two with one name a browser takes the first."""
    policy: dict[str, list[str]] = {}
    for directive in text.split(";"):
        if words := directive.split():
            policy.setdefault(words[0].lower(), words[1:])
    return policy


# 8.6


def test_the_form_takes_a_credential_into_the_vault_of_who_started(subject: Any, rng: Any) -> None:
    key = word(rng)
    steps = [opened(), get("/connect/@t", ALICE), post("t", ALICE, f" {key} "), status()]
    told = subject.site(steps=[*steps, vault("alice"), vault("bob")])["told"]
    assert [told[1]["status"], told[2]["status"]] == [200, 200]
    assert told[3:] == ["finished", key, None]


def test_the_form_is_sent_with_its_own_token(subject: Any, rng: Any) -> None:
    key = word(rng)
    look = get("/connect/@t", ALICE)
    steps = [opened(), look, post("t", ALICE, key, token_of=["page"]), vault("alice")]
    told = subject.site(steps=steps)["told"]
    fields = {each.get("name"): each.get("value") for each in Shape(told[1]["text"]).all("input")}
    assert set(fields) == {"token", "credential"} and not fields["credential"]
    assert (told[2]["status"], told[3]) == (200, key)
    steps = [opened(), post("t", ALICE, ""), post("t", ALICE, key, token_of=["page"])]
    assert [each["status"] for each in subject.site(steps=steps)["told"][1:]] == [400, 200]


def test_a_link_that_somebody_else_opens_stores_nothing_and_says_why(
    subject: Any, rng: Any
) -> None:
    key, starter, visitor = word(rng), word(rng), word(rng)
    browser = [word(rng), visitor]
    steps = [opened("t", starter), get("/connect/@t", browser), post("t", browser, key)]
    steps += [status("t", starter), vault(visitor), vault(starter)]
    told = subject.site(steps=[*steps, post("t", [word(rng), starter], key), vault(starter)])[
        "told"
    ]
    for refusal in told[1:3]:
        assert refusal["status"] == 403
        assert Shape(refusal["text"]).all("form", "input") == []
        assert visitor in refusal["text"] and starter not in refusal["text"]
        assert len(Shape(refusal["text"]).text) > 40
    assert told[3:6] == ["waiting", None, None]
    assert (told[6]["status"], told[7]) == (200, key)


def test_a_browser_without_a_sign_in_is_sent_to_sign_in(subject: Any, rng: Any) -> None:
    steps = [opened(), get("/connect/@t", None), get("/connect/nobody-has-this", None)]
    told = subject.site(steps=[*steps, post("t", None, word(rng)), status(), vault("alice")])[
        "told"
    ]
    for answer in told[1:4]:
        assert answer["status"] == 303
        assert headers_of(answer["headers"])["location"].startswith("/connect/sign-in?ticket=")
        assert "<form" not in answer["text"]
    assert told[4:] == ["waiting", None]
    odd = subject.site(steps=[get("/connect/a\r\nSet-Cookie: b=c", None)])["told"][0]
    assert not [value for _, value in odd["headers"] if set(value) & set("\r\n")]


def test_looking_at_the_page_uses_nothing_up(subject: Any, rng: Any) -> None:
    key = word(rng)
    looks = [get("/connect/@t", ALICE), get("/connect/@t", ALICE, "HEAD")]
    looks += [get(f"/connect/@t?credential={key}&token=x", ALICE)]
    told = subject.site(steps=[opened(), *looks, status(), vault("alice")])["told"]
    assert [answer["status"] for answer in told[1:4]] == [200, 200, 200]
    assert told[4:] == ["waiting", None] and key not in told[3]["text"]


def test_a_post_without_the_right_token_stores_nothing(subject: Any, rng: Any) -> None:
    key = word(rng)
    foreign = [post("t", ALICE, key, token_of=pair) for pair in (["other", "t"], [ALICE[0], "u"])]
    without = {**post("t", ALICE, key), "token_of": None}
    odd = {**without, "form": {"credential": key, "token": "é"}}
    query = {**without, "path": "/connect/@t?token=x"}
    broken = {**without, "body": "%ff", "kind": "application/x-www-form-urlencoded"}
    plain = {**post("t", ALICE, key), "kind": "text/plain"}
    steps = [opened(), opened("u"), *foreign, without, odd, query, broken, plain]
    steps += [status(), vault("alice"), post("t", ALICE, key), vault("alice")]
    told = subject.site(steps=steps)["told"]
    assert [answer["status"] for answer in told[2:9]] == [403] * 7
    assert told[9:11] == ["waiting", None]
    assert (told[11]["status"], told[12]) == (200, key)


def test_a_link_that_is_over_takes_nothing(subject: Any, rng: Any) -> None:
    key, late = word(rng), word(rng)
    ends = {
        "used": post("t", ALICE, key),
        "voided": {"book": ["void", "t", "alice"]},
        "expired": {"book": ["advance", 600]},
    }
    for how, end in ends.items():
        steps = [opened(), end, get("/connect/@t", ALICE), post("t", ALICE, late), vault("alice")]
        told = subject.site(steps=steps)["told"]
        assert [answer["status"] for answer in told[2:4]] == [410, 410]
        assert told[4] == (key if how == "used" else None)
    told = subject.site(steps=[get("/connect/nobody-has-this", ALICE)])["told"]
    assert told[0]["status"] == 410


def test_a_retry_is_done_after_the_page_and_not_before(subject: Any, rng: Any) -> None:
    before, after = read("t", "alice", "accept"), read("t", "alice", "accept")
    steps = [opened(), get("/connect/@t", ALICE), before, post("t", ALICE, word(rng)), after]
    told = subject.site(steps=steps)["told"]
    assert [told[2], told[4]] == ["ask", "done"]
    steps = [opened(), read("t", "alice", "decline"), post("t", ALICE, word(rng)), vault("alice")]
    told = subject.site(steps=steps)["told"]
    assert (told[2]["status"], told[3]) == (410, None)


def test_what_cannot_be_a_credential_is_asked_for_again_and_not_shown(
    subject: Any, rng: Any
) -> None:
    key = word(rng)
    for wrong in ("", "  ", f"{key}é", f"{key}\n{key}", key * 300, f"\x00{key}"):
        steps = [opened(), post("t", ALICE, wrong), status(), vault("alice")]
        told = subject.site(steps=[*steps, post("t", ALICE, key), vault("alice")])["told"]
        page = told[1]["text"]
        assert told[1]["status"] == 400
        assert key not in page and len(Shape(page).all("form")) == 1
        assert told[2:4] == ["waiting", None]
        assert (told[4]["status"], told[5]) == (200, key)


def test_other_methods_and_paths_change_nothing(subject: Any, rng: Any) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        answer, after = subject.site(steps=[opened(), get("/connect/@t", ALICE, method), status()])[
            "told"
        ][1:]
        assert (answer["status"], after) == (405, "waiting")
        assert {"GET", "POST"} <= set(headers_of(answer["headers"])["allow"].split(", "))
    elsewhere = {**post("t", ALICE, word(rng)), "path": "/mcp/@t"}
    told = subject.site(steps=[opened(), elsewhere, get("/", ALICE), status(), vault("alice")])
    assert [answer["status"] for answer in told["told"][1:3]] == [404, 404]
    assert told["told"][3:] == ["waiting", None]


def test_the_page_escapes_who_is_looking(subject: Any, rng: Any) -> None:
    mark = word(rng)
    odd = f"<script>{mark}</script>\" onclick='{mark}' {{token}}"
    steps = [opened("t", odd), get("/connect/@t", [word(rng), odd]), opened("u", "bob")]
    told = subject.site(steps=[*steps, get("/connect/@u", [word(rng), odd])], service=odd)["told"]
    for answer in (told[1], told[3]):
        shape = Shape(answer["text"])
        assert shape.all("script") == [] and odd in shape.text
        assert not [each for _, each in shape.tags if "onclick" in each]


def test_the_page_has_a_label_for_its_field(subject: Any) -> None:
    shape = Shape(subject.site(steps=[opened(), get("/connect/@t", ALICE)])["told"][1]["text"])
    fields = [each for each in shape.all("input") if each.get("type") != "hidden"]
    labels = [each.get("for") for each in shape.all("label")]
    assert [each["id"] for each in fields] == labels
    assert fields[0]["type"] == "password"
    assert len(shape.all("button")) == 1 and shape.all("html")[0]["lang"]
    assert [each["method"] for each in shape.all("form")] == ["post"]


def test_every_page_carries_the_headers(subject: Any, rng: Any) -> None:
    steps = [opened(), get("/connect/@t", ALICE), get("/connect/@t", BOB), get("/", ALICE)]
    steps += [get("/connect/@t", ALICE, "PUT"), {**post("t", ALICE, "k"), "token_of": None}]
    steps += [post("t", ALICE, ""), post("t", ALICE, word(rng)), get("/connect/@t", ALICE)]
    told = subject.site(steps=steps)["told"][1:]
    wanted = headers_of(subject.page_headers()["headers"])
    assert len({answer["status"] for answer in told}) == 6
    for answer in told:
        assert wanted.items() <= headers_of(answer["headers"]).items()
        assert re.findall(r"<style[^>]*>", answer["text"]) == ["<style>"]


def test_the_credential_is_in_the_vault_and_nowhere_else(subject: Any, rng: Any) -> None:
    key = word(rng)
    steps = [opened(), get("/connect/@t", ALICE), post("t", ALICE, key), {"shown": True}]
    steps += [get("/connect/@t", ALICE), post("t", ALICE, key), post("t", BOB, key)]
    steps += [read("t", "alice", "accept"), {"book": ["open", "u", "alice"]}]
    told = subject.site(steps=[*steps, get("/connect/@u", ALICE), vault("alice")])["told"]
    assert told.pop() == key
    assert key not in repr(told)


# 8.7


@pytest.mark.parametrize("before, host, after", [
    ("https://", "notes.example", "/connect/abc?x=1#y"),
    ("https://", "notes.example", ":8443/a@b"),
    ("HTTPS://", "Notes.Example", ""),
    ("https://", "notes.example.evil.example", "/https://notes.example/"),
    ("http://", "127.0.0.1", ":8765/connect/abc"),
    ("http://", "localhost", ":1/"),
    ("http://", "[::1]", ":80/x"),
])  # fmt: skip
def test_the_whole_url_is_shown_with_its_host_apart(
    subject: Any, before: str, host: str, after: str
) -> None:
    shown = subject.describe_url(url=before + host + after)
    assert shown["parts"] == [before, host, after]
    assert shown["warned"] is False


def test_punycode_is_warned_of(subject: Any) -> None:
    for host in ("xn--pple-43d.example", "www.xn--pple-43d.example", "XN--PPLE-43D.example"):
        shown = subject.describe_url(url=f"https://{host}/x")
        assert shown["warned"] is True and shown["parts"][1] == host
    for host in ("notes.example", "axn--b.example", "notes.example/xn--a"):
        assert subject.describe_url(url=f"https://{host}")["warned"] is False


def test_other_schemes_and_http_to_elsewhere_are_refused(subject: Any, rng: Any) -> None:
    host = f"{word(rng)}.example"
    assert subject.describe_url(url=f"https://{host}/")["parts"][1] == host
    for scheme in ("http", "ftp", "javascript", "file", "data", "httpss", "ssh"):
        assert subject.describe_url(url=f"{scheme}://{host}/") == VALUE_ERROR
    for url in (f"//{host}/", host, "javascript:alert(1)", "http://127.0.0.1.evil.example/"):
        assert subject.describe_url(url=url) == VALUE_ERROR
    for url in ("http://localhost.evil.example/", "https:///path", "https://", ""):
        assert subject.describe_url(url=url) == VALUE_ERROR


def test_a_user_name_in_front_of_the_host_is_refused(subject: Any, rng: Any) -> None:
    host = f"{word(rng)}.example"
    assert subject.describe_url(url=f"https://{host}/@x?a@b#c@d") != VALUE_ERROR
    for user in ("notes.example", "a:b", "", "notes.example%20", "notes.example:443"):
        assert subject.describe_url(url=f"https://{user}@{host}/") == VALUE_ERROR


def test_what_two_readers_read_differently_is_refused(subject: Any, rng: Any) -> None:
    host = f"{word(rng)}.example"
    assert subject.describe_url(url=f"https://{host}/x") != VALUE_ERROR
    for url in (
        f"https://{host}\\@evil.example/",
        f"https://{host}\\.evil.example/",
        f"https://{host}/x\ny",
        f" https://{host}/",
        f"https://{host}/ x",
        f"ht\ttps://{host}/",
        f"https://{host}/\u202e",
        f"https://аpple{host}/",
        f"https://evil%2e{host}/",
        f"https://{host}/x\n",
    ):
        assert subject.describe_url(url=url) == VALUE_ERROR
    for url in (None, 7, {"url": host}, [f"https://{host}/"]):
        assert subject.describe_url(url=url) == VALUE_ERROR


def test_the_browser_opens_after_an_accept_and_not_otherwise(subject: Any, rng: Any) -> None:
    url = f"https://notes.example/connect/{word(rng)}"
    for action in ("accept", "decline", "cancel"):
        done = subject.visit(url=url, action=action)
        assert done["response"] == {"action": action}
        assert done["shown"] == [url]
        assert done["opened"] == ([url] if action == "accept" else [])
        assert done["events"] == (["asked", "opened"] if action == "accept" else ["asked"])


def test_a_url_that_must_not_be_opened_is_declined_unasked(subject: Any) -> None:
    for url in ("http://notes.example/", "javascript:alert(1)", "https://a@b.example/", None):
        done = subject.visit(url=url, action="accept")
        assert (done["response"], done["events"]) == ({"action": "decline"}, [])
    assert subject.visit(url="https://b.example/", action="accept")["events"] == ["asked", "opened"]


def test_nothing_is_fetched_from_a_url(subject: Any, rng: Any) -> None:
    for url in (f"https://{word(rng)}.example/", f"http://127.0.0.1:9/{word(rng)}"):
        done = subject.visit(url=url, action="accept")
        assert (done["fetched"], done["opened"]) == ([], [url])
