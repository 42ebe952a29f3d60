"""Step 13: what HTTP adds to a message. Each check proves one rule, refusals with their control."""

import base64
import hashlib
import itertools
import json
import string
from typing import Any

import pytest

from grading.outcomes import RpcFailure

VERSION = "2026-07-28"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MISMATCH = RpcFailure(-32020)
HOST = "127.0.0.1:8000"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ODD_TEXTS = ["für", "笔记", " edge", "edge ", "a\nb", "=?base64?Zm9v?=", "\ttab"]

Pairs = list[list[str]]


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


def encoded(text: str) -> str:
    """The encoded form of a header value."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def request(method: str = "tools/call", **params: Any) -> dict[str, Any]:
    """A request with a good envelope."""
    meta = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: {}}
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}


def agreeing(message: dict[str, Any], **changes: str | None) -> Pairs:
    """The headers that agree with a request; a change of None leaves one out."""
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": message["method"],
    }
    if field := NAMES.get(message["method"]):
        headers["Mcp-Name"] = message["params"][field]
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    return [[name, value] for name, value in headers.items() if value is not None]


def post(subject: Any, message: Any, **changes: Any) -> dict[str, Any]:
    """What becomes of a good POST of Alice; `changes` say what is different about it."""
    sent = {
        "Host": HOST,
        "Authorization": "Bearer alice-token",
        "Content-Type": "application/json",
    }
    headers = [[name, value] for name, value in sent.items()]
    if isinstance(message, dict) and "id" in message and "params" in message:
        headers += agreeing(message)
    replaced = changes.pop("headers", {})
    small = {name.lower() for name in replaced}
    headers = [pair for pair in headers if pair[0].lower() not in small]
    headers += [[name, value] for name, value in replaced.items() if value is not None]
    told: dict[str, Any] = subject.respond(
        body=message if isinstance(message, str) else json.dumps(message),
        headers=headers,
        hosts=[HOST],
        users={"alice-token": ["alice", ["notes"]], "weak-token": ["eve", []]},
        **{"answer": {"jsonrpc": "2.0", "id": 7, "result": {}}, **changes},
    )
    return told


# 13.1


def test_a_header_is_found_whatever_the_case_of_its_name(subject: Any, rng: Any) -> None:
    value = word(rng).title()
    for name in ("Mcp-Name", "mcp-name", "MCP-NAME"):
        headers = [["Host", "x"], [name, value]]
        assert subject.header(headers=headers, name="Mcp-Name") == value
        assert subject.header(headers=headers, name="mcp-namE") == value
        assert subject.header(headers=headers, name="Mcp-Nam") is None


def test_spaces_and_tabs_around_a_value_are_not_part_of_it(subject: Any, rng: Any) -> None:
    value = f"{word(rng)}  {word(rng)}"
    for around in (f" {value}", f"{value}\t ", f" \t{value} "):
        assert subject.header(headers=[["Mcp-Name", around]], name="Mcp-Name") == value


def test_a_header_that_comes_twice_is_refused(subject: Any, rng: Any) -> None:
    once = [["Mcp-Name", word(rng)], ["Mcp-Method", word(rng)]]
    assert subject.header(headers=once, name="Mcp-Name") == once[0][1]
    for second in (["mcp-name", word(rng)], ["Mcp-Name", once[0][1]]):
        assert subject.header(headers=[*once, second], name="Mcp-Name") == MISMATCH


# 13.2


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_an_encoded_value_says_what_was_encoded(subject: Any, text: str, rng: Any) -> None:
    for told in (text, word(rng) + text, ""):
        assert subject.decode_value(value=encoded(told)) == told


def test_a_plain_value_says_what_it_is(subject: Any, rng: Any) -> None:
    for text in (word(rng), "Two Words", "file:///srv/a%20b", "bm90ZXM=", "=?base64?bm90ZXM="):
        assert subject.decode_value(value=text) == text


def test_broken_base64_and_broken_utf8_are_refused(subject: Any, rng: Any) -> None:
    text = word(rng)
    assert subject.decode_value(value=encoded(text)) == text
    for broken in ("!", "a", "bm90!ZXM=", "bm90 ZXM=", "/w=="):
        assert subject.decode_value(value=f"=?base64?{broken}?=") == MISMATCH


def test_characters_that_are_not_printable_ascii_are_refused(subject: Any, rng: Any) -> None:
    text = word(rng)
    assert subject.decode_value(value=text) == text
    for character in ("ü", "\x00", "\x7f", "\u2028", "ſ"):
        assert subject.decode_value(value=text + character) == MISMATCH


# 13.3


@pytest.mark.parametrize("method", [*NAMES, "tools/list", "server/discover"])
def test_headers_that_say_what_the_body_says_pass(subject: Any, method: str, rng: Any) -> None:
    other = {"name": "uri", "uri": "name"}.get(NAMES.get(method, ""), "name")
    fields = {NAMES.get(method, "uri"): word(rng), other: word(rng)}
    message = request(method, **fields)
    assert subject.check_headers(headers=agreeing(message), message=message) == "passes"


@pytest.mark.parametrize("name", ["MCP_Protocol_Version", "Mcp_Method", "Mcp_Name"])
def test_a_header_that_is_missing_is_refused(subject: Any, name: str, rng: Any) -> None:
    message = request(name=word(rng))
    assert subject.check_headers(headers=agreeing(message), message=message) == "passes"
    headers = agreeing(message, **{name: None})
    assert subject.check_headers(headers=headers, message=message) == MISMATCH


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MCP_Protocol_Version", "2025-11-25"),
        ("Mcp_Method", "tools/list"),
        ("Mcp_Method", "Tools/Call"),
        ("Mcp_Name", "notes_list"),
        ("Mcp_Name", "Notes_Delete"),
        ("Mcp_Name", "notes_delete_all"),
        ("Mcp_Name", ""),
    ],
)
def test_a_header_that_differs_from_the_body_is_refused(
    subject: Any, name: str, value: str
) -> None:
    message = request(name="notes_delete")
    assert subject.check_headers(headers=agreeing(message), message=message) == "passes"
    headers = agreeing(message, **{name: value})
    assert subject.check_headers(headers=headers, message=message) == MISMATCH


@pytest.mark.parametrize("method", NAMES)
def test_a_name_is_compared_after_it_is_decoded(subject: Any, method: str, rng: Any) -> None:
    name = f"für {word(rng)}"
    message = request(method, **{NAMES[method]: name})
    for value, told in ((name, "passes"), (name + "x", MISMATCH)):
        headers = agreeing(message, Mcp_Name=encoded(value))
        assert subject.check_headers(headers=headers, message=message) == told


def test_a_right_header_does_not_make_up_for_a_wrong_one(subject: Any) -> None:
    message = request(name="notes_delete")
    right = agreeing(message)
    assert subject.check_headers(headers=right, message=message) == "passes"
    for wrong in (["Mcp-Name", "notes_list"], ["mcp-method", "ping"]):
        assert subject.check_headers(headers=[wrong, *right], message=message) == MISMATCH
        assert subject.check_headers(headers=[*right, wrong], message=message) == MISMATCH


def test_what_the_body_lacks_is_for_the_server_to_say(subject: Any) -> None:
    message = request(name="notes_delete")
    headers = agreeing(message)
    for params in ({}, {"_meta": {}}, {"_meta": None, "name": 7}):
        lacking = {**message, "params": params}
        assert subject.check_headers(headers=headers, message=lacking) == "passes"
    del message["params"]
    assert subject.check_headers(headers=headers, message=message) == "passes"


# 13.4


def origin_of(subject: Any, headers: Pairs, origins: list[str] | None = None) -> Any:
    """What the part says to headers, on a server that is served under HOST."""
    hosts = [HOST, "localhost:8000"]
    return subject.check_origin(headers=headers, hosts=hosts, origins=origins or [])


@pytest.mark.parametrize(
    "foreign", ["evil.example", "127.0.0.1:8001", "127.0.0.1", f"{HOST}.evil.example", f"x{HOST}"]
)
def test_a_host_on_the_list_is_served_and_no_other(subject: Any, foreign: str) -> None:
    for host in (HOST, "localhost:8000"):
        assert origin_of(subject, [["host", host]]) == "passes"
    assert origin_of(subject, [["Host", foreign]]) == 403
    assert origin_of(subject, []) == 403


def test_no_origin_is_served_and_a_foreign_one_is_not(subject: Any, rng: Any) -> None:
    host = ["Host", HOST]
    assert origin_of(subject, [host]) == "passes"
    for foreign in (f"https://{word(rng)}.example", "null", f"http://{HOST}"):
        assert origin_of(subject, [host, ["Origin", foreign]]) == 403


def test_an_origin_on_the_list_is_served_and_none_that_looks_like_it(subject: Any) -> None:
    host, origins = ["Host", HOST], ["https://app.example", "null"]
    for origin in origins:
        assert origin_of(subject, [host, ["Origin", origin]], origins) == "passes"
    for foreign in (
        "https://app.example.evil.example",
        "http://app.example",
        "https://app.example:444",
        "https://evil.example/https://app.example",
    ):
        assert origin_of(subject, [host, ["Origin", foreign]], origins) == 403


def test_a_right_origin_does_not_make_up_for_a_foreign_host(subject: Any) -> None:
    origin, origins = ["Origin", "https://app.example"], ["https://app.example"]
    assert origin_of(subject, [["Host", HOST], origin], origins) == "passes"
    assert origin_of(subject, [["Host", "evil.example"], origin], origins) == 403
    assert origin_of(subject, [origin], origins) == 403


# 13.5


def caller(
    subject: Any, authorization: str | None, others: Pairs | None = None
) -> tuple[Any, dict[str, Any]]:
    """Whom the part takes a caller for, or the status, and all that it told."""
    headers = [*(others or [])]
    if authorization is not None:
        headers.append(["Authorization", authorization])
    users = {
        "alice-token": ["alice", ["notes", "mail"]],
        "bob-token": ["bob", ["notes"]],
        "weak-token": ["eve", ["mail"]],
    }
    told = subject.authenticate(headers=headers, users=users, scope="notes")
    return told.get("subject", told.get("status")), told


def test_a_known_token_says_who_is_calling(subject: Any) -> None:
    assert caller(subject, "Bearer alice-token")[1] == {
        "subject": "alice",
        "scopes": ["mail", "notes"],
    }
    assert caller(subject, "Bearer bob-token")[0] == "bob"


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer ", "Bearer wrong", "alice-token"]
)
def test_no_token_and_an_unknown_one_are_401_with_a_challenge(
    subject: Any, authorization: str | None
) -> None:
    assert caller(subject, "Bearer alice-token")[0] == "alice"
    for refused in (authorization, "Basic alice-token"):
        status, told = caller(subject, refused)
        assert status == 401
        assert told["headers"].get("www-authenticate", "").lower().startswith("bearer")


def test_what_is_stored_is_no_token(subject: Any) -> None:
    stored = hashlib.sha256(b"alice-token").hexdigest()
    assert caller(subject, "Bearer alice-token")[0] == "alice"
    assert caller(subject, f"Bearer {stored}")[0] == 401


def test_the_scheme_ignores_case_and_the_token_does_not(subject: Any) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert caller(subject, f"{scheme} bob-token")[0] == "bob"
        assert caller(subject, f"{scheme} BOB-TOKEN")[0] == 401


def test_a_token_that_lacks_the_scope_is_403(subject: Any) -> None:
    assert caller(subject, "Bearer bob-token")[0] == "bob"
    status, told = caller(subject, "Bearer weak-token")
    assert status == 403
    assert told["headers"].get("www-authenticate", "").lower().startswith("bearer")


def test_nothing_but_the_token_says_who_is_calling(subject: Any) -> None:
    for name in ("X-User", "X-Forwarded-User", "Mcp-Session-Id", "Cookie", "From"):
        said = [[name, "alice"]]
        assert caller(subject, "Bearer bob-token", said)[0] == "bob"
        assert caller(subject, None, said)[0] == 401


# 13.6


def failed(code: int) -> dict[str, Any]:
    """An answer with an error."""
    return {"jsonrpc": "2.0", "id": 7, "error": {"code": code, "message": "no"}}


@pytest.mark.parametrize(
    ("code", "status"),
    [(-32700, 400), (-32600, 400), (-32601, 404), (-32020, 400), (-32021, 400), (-32022, 400)],
)
def test_an_error_has_the_status_that_is_named_for_it(subject: Any, code: int, status: int) -> None:
    message = None if code == -32700 else request(name="x")
    assert subject.status_for(message=message, answer=failed(code)) == status


@pytest.mark.parametrize("key", [PROTOCOL_VERSION, CLIENT_CAPABILITIES])
def test_invalid_params_are_400_only_when_the_envelope_lacks_a_key(subject: Any, key: str) -> None:
    message = request(name="x")
    assert subject.status_for(message=message, answer=failed(-32602)) == 200
    del message["params"]["_meta"][key]
    assert subject.status_for(message=message, answer=failed(-32602)) == 400
    for params in ({}, None, [], {"_meta": None}):
        without = {**message, "params": params}
        assert subject.status_for(message=without, answer=failed(-32602)) == 400


def test_what_was_dispatched_is_200(subject: Any, rng: Any) -> None:
    message = request(name="x")
    for code in (-32603, -32000 - rng.randrange(1, 10), rng.randrange(1, 999)):
        assert subject.status_for(message=message, answer=failed(code)) == 200
    result = {"jsonrpc": "2.0", "id": 7, "result": {"isError": True}}
    assert subject.status_for(message=message, answer=result) == 200


# 13.7


def test_a_request_reaches_the_server_with_its_principal(subject: Any, rng: Any) -> None:
    message = request(name=word(rng))
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"text": word(rng) + "ü"}}
    told = post(subject, message, answer=answer)
    assert told["status"] == 200
    assert told["body"] == answer
    assert told["headers"]["content-type"].partition(";")[0] == "application/json"
    assert told["calls"] == [{"message": message, "subject": "alice"}]


def test_a_notification_gets_202_and_no_body(subject: Any) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    told = post(subject, message, answer=None)
    assert (told["status"], told["body"]) == (202, None)
    assert post(subject, request(name="x"))["status"] == 200


def test_another_path_is_404_and_another_method_is_405(subject: Any) -> None:
    message = request(name="x")
    assert post(subject, message)["status"] == 200
    for path in ("/", "/mcp/", "/mcp2", "/other/mcp", "/MCP"):
        told = post(subject, message, path=path)
        assert (told["status"], told["calls"]) == (404, [])
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        told = post(subject, message, method=method)
        assert (told["status"], told["calls"]) == (405, [])
        assert told["headers"].get("allow") == "POST"


@pytest.mark.parametrize(
    "media_type", [None, "", "text/plain", "application/jsonp", "text/plain; application/json"]
)
def test_a_body_that_is_not_declared_json_is_415(subject: Any, media_type: str | None) -> None:
    for good in ("application/json", "application/json; charset=utf-8", "Application/JSON"):
        told = post(subject, request(name="x"), headers={"Content-Type": good})
        assert told["status"] == 200
    told = post(subject, request(name="x"), headers={"Content-Type": media_type})
    assert (told["status"], told["calls"]) == (415, [])


FAULTS: dict[str, tuple[dict[str, Any], int]] = {
    "path": ({"path": "/other"}, 404),
    "method": ({"method": "GET"}, 405),
    "host": ({"headers": {"Host": "evil.example"}}, 403),
    "credentials": ({"headers": {"Authorization": "Bearer wrong"}}, 401),
    "media type": ({"headers": {"Content-Type": "text/plain"}}, 415),
    "agreement": ({"headers": {"Mcp-Name": "other"}}, 400),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_turned_away_runs_nothing(subject: Any, fault: str) -> None:
    changes, status = FAULTS[fault]
    assert len(post(subject, request(name="x"))["calls"]) == 1
    told = post(subject, request(name="x"), **changes)
    assert (told["status"], told["calls"]) == (status, [])


def test_the_first_fault_in_the_order_answers(subject: Any) -> None:
    faults = list(FAULTS.values())
    for (first, status), (second, _) in itertools.pairwise(faults):
        headers = {**second.get("headers", {}), **first.get("headers", {})}
        told = post(subject, request(name="x"), **{**second, **first, "headers": headers})
        assert (told["status"], told["calls"]) == (status, [])
    told = post(subject, "{", headers={"Authorization": None})
    assert told["status"] == 401


def test_a_refusal_echoes_the_id_that_could_be_read(subject: Any, rng: Any) -> None:
    message = {**request(name="x"), "id": word(rng)}
    told = post(subject, message, headers={"Mcp-Method": "tools/list"})
    assert (told["status"], told["body"]["id"]) == (400, message["id"])
    assert told["body"]["error"]["code"] == -32020
    told = post(subject, "{")
    assert (told["status"], told["calls"]) == (400, [])
    assert told["body"]["error"]["code"] == -32700
    assert "id" not in told["body"]


def test_the_status_is_the_one_of_the_answer(subject: Any) -> None:
    for code, status in ((-32601, 404), (-32021, 400), (-32603, 200), (-32602, 200)):
        told = post(subject, request(name="x"), answer=failed(code))
        assert (told["status"], told["body"]) == (status, failed(code))
    message = request(name="x")
    del message["params"]["_meta"][CLIENT_CAPABILITIES]
    assert post(subject, message, answer=failed(-32602))["status"] == 400
    for no_request in ("7", "null", "[7]", '"id"'):
        told = post(subject, no_request, answer=failed(-32600))
        assert (told["status"], told["body"]) == (400, failed(-32600))


def test_initialize_needs_no_header_of_the_new_revision(subject: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
    told = post(subject, message, answer=failed(-32022))
    assert (told["status"], told["body"]) == (400, failed(-32022))
    assert len(told["calls"]) == 1
    told = post(subject, {**message, "method": "tools/list"})
    assert (told["status"], told["calls"]) == (400, [])


def test_a_session_is_ignored_and_none_is_issued(subject: Any, rng: Any) -> None:
    message = request(name="x")
    plain = post(subject, message)
    told = post(subject, message, headers={"Mcp-Session-Id": word(rng), "Last-Event-ID": "3"})
    assert told == plain
    assert plain["status"] == 200
    assert "mcp-session-id" not in plain["headers"]


# 13.8


def test_a_plain_text_goes_as_it_is(subject: Any, rng: Any) -> None:
    for text in (word(rng), "Two Words", "file:///srv/a%20b", "=?base64?bm90ZXM=", "?="):
        assert subject.encode_value(text=text) == text


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_other_text_is_encoded(subject: Any, text: str, rng: Any) -> None:
    name = word(rng)
    assert subject.encode_value(text=name) == name
    assert subject.encode_value(text=text) == encoded(text)


def test_a_request_says_its_version_its_method_and_both_answers_it_takes(
    subject: Any, rng: Any
) -> None:
    message = request(f"tools/{word(rng)}")
    message["params"]["_meta"][PROTOCOL_VERSION] = word(rng)
    headers = {n.lower(): v for n, v in subject.headers_for(message=message).items()}
    assert headers["mcp-protocol-version"] == message["params"]["_meta"][PROTOCOL_VERSION]
    assert headers["mcp-method"] == message["method"]
    assert headers["content-type"].partition(";")[0] == "application/json"
    accepted = {each.strip().partition(";")[0] for each in headers["accept"].split(",")}
    assert {"application/json", "text/event-stream"} <= accepted


def test_three_methods_say_a_name_and_no_other_does(subject: Any, rng: Any) -> None:
    for method, field in NAMES.items():
        for name in (word(rng), f"für {word(rng)}"):
            message = request(method, **{"name": "other", "uri": "other", field: name})
            headers = {n.lower(): v for n, v in subject.headers_for(message=message).items()}
            assert headers["mcp-name"] == (name if name.isascii() else encoded(name))
    message = request("tools/list", name=word(rng), uri=word(rng))
    told = {name.lower() for name in subject.headers_for(message=message)}
    assert "mcp-method" in told
    assert "mcp-name" not in told
