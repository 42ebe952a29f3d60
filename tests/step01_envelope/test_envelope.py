"""Step 01: what every message carries. Each check proves one rule, refusals with their control."""

import json
import string
from typing import Any

import pytest

from grading.outcomes import RpcFailure, same_json

VERSION = "2026-07-28"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
FORM = {"elicitation": {"form": {}}}
IDS = [7, 0, -3, 2**40, "7", "", "a-b"]
NO_IDS = [None, True, False, 1.5, [7], {"id": 7}]
NOT_A_REQUEST = RpcFailure(-32600)
NOT_JSON = RpcFailure(-32700)
BAD_ENVELOPE = RpcFailure(-32602)


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


def bare(method: str = "tools/call", **members: Any) -> dict[str, Any]:
    """A message without an id, with the members that are given."""
    return {"jsonrpc": "2.0", "method": method, **members}


def meta(version: Any = VERSION, capabilities: Any = None) -> dict[str, Any]:
    """The two keys that every request carries."""
    return {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: capabilities or {}}


def request(method: str = "tools/call", id: Any = 7, **envelope: Any) -> dict[str, Any]:
    """A request with a good envelope, unless `envelope` says otherwise."""
    return bare(method, id=id, params={"_meta": meta(**envelope)})


def without(message: dict[str, Any], key: str) -> dict[str, Any]:
    """The message with one key of its ``_meta`` left out."""
    kept = {name: value for name, value in message["params"]["_meta"].items() if name != key}
    return {**message, "params": {"_meta": kept}}


def nested(levels: int) -> str:
    """So many arrays inside each other."""
    return "[" * levels + "]" * levels


# 1.1


@pytest.mark.parametrize("id", IDS)
def test_a_message_with_an_id_is_a_request(subject: Any, id: Any, rng: Any) -> None:
    assert subject.message_kind(message=bare(word(rng), id=id)) == "request"
    assert subject.message_kind(message=request(id=id)) == "request"


def test_a_message_without_an_id_is_a_notification_whatever_it_names(
    subject: Any, rng: Any
) -> None:
    for method in ("notifications/cancelled", "tools/call", "initialize", word(rng)):
        assert subject.message_kind(message=bare(method)) == "notification"
    assert subject.message_kind(message=bare(params={"_meta": meta()})) == "notification"


@pytest.mark.parametrize("id", NO_IDS)
def test_an_id_of_another_type_is_refused(subject: Any, id: Any) -> None:
    assert subject.message_kind(message=bare(id=1)) == "request"
    assert subject.message_kind(message=bare(id=id)) == NOT_A_REQUEST


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "tools/call",
        {},
        [{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}],
        {"id": 7, "method": "tools/list"},
        {"jsonrpc": "1.0", "id": 7, "method": "tools/list"},
        {"jsonrpc": 2.0, "id": 7, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 7},
        {"jsonrpc": "2.0", "id": 7, "method": None},
        {"jsonrpc": "2.0", "method": ["tools/list"]},
    ],
)
def test_what_is_no_json_rpc_2_message_is_refused(subject: Any, message: Any) -> None:
    control = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    assert subject.message_kind(message=control) == "request"
    assert subject.message_kind(message=message) == NOT_A_REQUEST


def test_a_response_is_refused(subject: Any) -> None:
    assert subject.message_kind(message=bare(id=7)) == "request"
    error = {"code": -32603, "message": "no"}
    assert subject.message_kind(message={"jsonrpc": "2.0", "id": 7, "result": {}}) == NOT_A_REQUEST
    assert subject.message_kind(message={"jsonrpc": "2.0", "id": 7, "error": error}) == (
        NOT_A_REQUEST
    )


# 1.2


def test_json_comes_out_as_it_was_sent(subject: Any, rng: Any) -> None:
    value = {word(rng): [1, -2.5, True, None, "é 📝", {}], "id": 7, "a": {"id": "7"}}
    assert same_json(subject.decode(text=json.dumps(value)), value)
    assert same_json(subject.decode(text=json.dumps(value, ensure_ascii=False)), value)
    assert same_json(subject.decode(text=f" \n{json.dumps(value, indent=2)}\r\n"), value)


@pytest.mark.parametrize(
    "text", ["", " ", "{", "{'a': 1}", '{"a": 1,}', "[1] [2]", "nul", '"a\nb"', "// a\n1"]
)
def test_what_is_no_json_is_a_parse_error(subject: Any, text: str) -> None:
    assert subject.decode(text='{"a": 1}') == {"a": 1}
    assert subject.decode(text=text) == NOT_JSON


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-32"])
def test_bytes_that_are_not_utf8_are_a_parse_error(subject: Any, encoding: str) -> None:
    text = '{"title": "é"}'
    assert subject.decode_bytes(hexadecimal=text.encode().hex()) == {"title": "é"}
    assert subject.decode_bytes(hexadecimal=text.encode(encoding).hex()) == NOT_JSON


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_json(subject: Any, number: str) -> None:
    assert subject.decode(text=f'{{"a": ["{number}"]}}') == {"a": [number]}
    assert subject.decode(text=f'{{"a": [{number}]}}') == NOT_JSON


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 7, "id": 8}',
        '{"id": 7, "method": "tools/list", "id": 7}',
        '{"params": [{"name": "a", "name": "b"}]}',
        r'{"method": "tools/list", "\u006dethod": "tools/call"}',
    ],
)
def test_an_object_with_a_key_twice_is_refused(subject: Any, text: str) -> None:
    once = {"id": 7, "params": {"id": 7, "a": [{"id": 7}, {"id": 7}]}, "ID": 7}
    assert subject.decode(text=json.dumps(once)) == once
    assert subject.decode(text=text) == NOT_A_REQUEST


@pytest.mark.parametrize("levels", [65, 500, 100_000])
def test_a_message_nested_too_deeply_is_refused(subject: Any, levels: int) -> None:
    assert isinstance(subject.decode(text=nested(64)), list)
    assert subject.decode(text=nested(levels)) == NOT_A_REQUEST
    assert subject.decode(text='{"a":' * levels + "1" + "}" * levels) == NOT_A_REQUEST
    for cut_off in ("[" * levels, nested(levels) + "]", '{"a":' * levels):
        assert subject.decode(text=cut_off) in (NOT_JSON, NOT_A_REQUEST)


def test_only_depth_counts_not_width_and_not_brackets_in_a_text(subject: Any) -> None:
    wide = [[] for _ in range(200)]
    assert subject.decode(text=json.dumps(wide)) == wide
    assert subject.decode(text=json.dumps(nested(200))) == nested(200)
    assert subject.decode(text=f"[{nested(60)}, {nested(60)}]") != NOT_A_REQUEST


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1.5E+309", "9e99999", "-2.5e400"])
def test_a_number_beyond_all_floats_does_not_become_infinity(subject: Any, number: str) -> None:
    assert subject.decode_number(number="1e308") == {"type": "float", "is_finite": True}
    answer = subject.decode_number(number=number)
    kept = {"type": "int", "is_finite": True}
    assert answer in (NOT_JSON, NOT_A_REQUEST, kept)


@pytest.mark.parametrize("digits", [4301, 5000, 100_000])
def test_an_integer_of_very_many_digits_is_no_bug(subject: Any, rng: Any, digits: int) -> None:
    assert subject.decode(text="[-123456789012345678901234567890]") == [-(int("1234567890" * 3))]
    number = f"{rng.choice(['', '-'])}{rng.randrange(1, 10)}" + "7" * (digits - 1)
    kept = {"type": "int", "is_finite": True}
    assert subject.decode_number(number=number) in (NOT_JSON, NOT_A_REQUEST, kept)


# 1.3


def test_a_request_is_read_as_it_was_sent(subject: Any, rng: Any) -> None:
    name, capabilities = word(rng), {"elicitation": {"form": {}}, "experimental": {word(rng): {}}}
    params = {"name": name, "arguments": {"a": [1]}, "_meta": meta(capabilities=capabilities)}
    read = subject.read_request(message=bare("tools/call", id=name, params=params))
    assert same_json(
        read,
        {
            "id": name,
            "method": "tools/call",
            "params": params,
            "client_capabilities": capabilities,
        },
    )


def test_client_info_may_be_left_out(subject: Any) -> None:
    named = request()
    named["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": "a", "version": "1"}
    assert subject.read_request(message=named)["client_capabilities"] == {}
    assert subject.read_request(message=request())["client_capabilities"] == {}


@pytest.mark.parametrize("key", [PROTOCOL_VERSION, CLIENT_CAPABILITIES])
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "server/discover"])
def test_a_missing_key_is_refused_whatever_the_method(subject: Any, key: str, method: str) -> None:
    assert subject.read_request(message=request(method))["method"] == method
    assert subject.read_request(message=without(request(method), key)) == BAD_ENVELOPE


@pytest.mark.parametrize(
    "members", [{}, {"params": None}, {"params": []}, {"params": {}}, {"params": {"_meta": None}}]
)
def test_params_and_meta_must_be_objects(subject: Any, members: dict[str, Any]) -> None:
    assert subject.read_request(message=request())["id"] == 7
    assert subject.read_request(message=bare("tools/list", id=7, **members)) == BAD_ENVELOPE


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (PROTOCOL_VERSION, 20260728),
        (PROTOCOL_VERSION, None),
        (PROTOCOL_VERSION, [VERSION]),
        (CLIENT_CAPABILITIES, None),
        (CLIENT_CAPABILITIES, True),
        (CLIENT_CAPABILITIES, ["elicitation"]),
        (CLIENT_CAPABILITIES, "{}"),
    ],
)
def test_a_key_of_the_wrong_type_is_refused(subject: Any, key: str, value: Any) -> None:
    message = request()
    assert subject.read_request(message=message)["id"] == 7
    message["params"]["_meta"][key] = value
    assert subject.read_request(message=message) == BAD_ENVELOPE


@pytest.mark.parametrize("method", ["tools/call", "server/discover"])
def test_a_version_that_is_not_served_is_named_with_those_that_are(
    subject: Any, method: str, rng: Any
) -> None:
    for version in ("2025-11-25", "1900-01-01", "2099-01-01", VERSION + " ", "", word(rng)):
        data = {"supported": [VERSION], "requested": version}
        message = request(method, version=version)
        assert subject.read_request(message=message) == RpcFailure(-32022, data=data)
        for both in (without(message, CLIENT_CAPABILITIES), request(capabilities=[1], version="")):
            told = subject.read_request(message=both)
            assert told in (BAD_ENVELOPE, RpcFailure(-32022))
    assert subject.read_request(message=request(method))["method"] == method


def test_initialize_is_told_which_versions_are_served(subject: Any) -> None:
    info = {"name": "old", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    refused = subject.read_request(message=bare("initialize", id=0, params=params))
    data = {"supported": [VERSION], "requested": "2025-11-25"}
    assert refused == RpcFailure(-32022, data=data)
    for odd in (bare("initialize", id=0), bare("initialize", id=0, params=[1])):
        assert subject.read_request(message=odd) == RpcFailure(-32022)


def test_an_earlier_request_vouches_for_nothing(subject: Any) -> None:
    rich, plain = request(capabilities=FORM), request(id=8)
    assert subject.read_request(message=rich)["client_capabilities"] == FORM
    assert subject.read_request(message=plain)["client_capabilities"] == {}
    for key in (PROTOCOL_VERSION, CLIENT_CAPABILITIES):
        assert subject.read_request(message=without(plain, key)) == BAD_ENVELOPE


# 1.4


def test_a_complete_result_says_so_and_names_the_server(subject: Any, rng: Any) -> None:
    info = {"name": word(rng), "version": "0.1.0"}
    fields = {"content": [{"type": "text", "text": word(rng)}]}
    result = subject.complete(fields=fields, server_info=info)
    assert same_json(result, {"resultType": "complete", **fields, "_meta": {SERVER_INFO: info}})


def test_other_meta_of_a_result_stays(subject: Any, rng: Any) -> None:
    info, key = {"name": word(rng), "version": "0.1.0"}, f"example.com/{word(rng)}"
    result = subject.complete(fields={"_meta": {key: 1}}, server_info=info)
    assert result["_meta"] == {key: 1, SERVER_INFO: info}


def test_the_fields_handed_in_stay_as_they_are(subject: Any, rng: Any) -> None:
    info = {"name": word(rng), "version": "0.1.0"}
    for fields in ({"content": []}, {"_meta": {"example.com/a": 1}}):
        assert subject.complete(fields=fields, server_info=info)["resultType"] == "complete"
        assert subject.fields_after_complete(fields=fields, server_info=info) == fields


def test_discover_has_versions_capabilities_and_cache_hints(subject: Any, rng: Any) -> None:
    capabilities = {"tools": {}, "experimental": {word(rng): {}}}
    found = subject.discover(capabilities=capabilities)
    assert found["supportedVersions"] == [VERSION]
    assert found["capabilities"] == capabilities
    assert type(found["ttlMs"]) is int
    assert found["ttlMs"] >= 0
    assert found["cacheScope"] in ("public", "private")


def test_the_tools_come_in_one_order_whatever_order_they_had(subject: Any, rng: Any) -> None:
    names = sorted({word(rng) for _ in range(6)})
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    shuffled = rng.sample(tools, len(tools))
    assert subject.list_tools(tools=shuffled)["tools"] == tools
    assert subject.list_tools(tools=tools[::-1])["tools"] == tools
    assert subject.list_tools(tools=[])["tools"] == []


def test_names_that_differ_in_case_have_one_order_too(subject: Any, rng: Any) -> None:
    name = word(rng)
    tools = [{"name": spelled} for spelled in (name, name.upper(), name.title())]
    once = subject.list_tools(tools=tools)["tools"]
    assert len(once) == len(tools)
    assert subject.list_tools(tools=tools[::-1])["tools"] == once


def test_the_tool_list_has_cache_hints(subject: Any) -> None:
    found = subject.list_tools(tools=[{"name": "notes_delete"}])
    assert type(found["ttlMs"]) is int
    assert found["ttlMs"] >= 0
    assert found["cacheScope"] in ("public", "private")


# 1.5


@pytest.mark.parametrize("id", IDS)
def test_a_result_passes_through_under_the_id_of_the_request(
    subject: Any, id: Any, rng: Any
) -> None:
    result = {"resultType": "input_required", "requestState": word(rng), "_meta": {"a/b": 1}}
    said = subject.respond(message=request(id=id), result=result)
    assert same_json(said["answer"], {"jsonrpc": "2.0", "id": id, "result": result})
    assert len(said["calls"]) == 1


def test_the_handler_gets_the_checked_request(subject: Any, rng: Any) -> None:
    message = request("tools/list", id=word(rng), capabilities=FORM)
    said = subject.respond(message=message)
    assert [call["method"] for call in said["calls"]] == ["tools/list"]
    assert said["calls"][0]["id"] == message["id"]
    assert said["calls"][0]["params"] == message["params"]
    assert said["calls"][0]["client_capabilities"] == FORM


@pytest.mark.parametrize("method", ["tools/call", "server/discover", "notifications/cancelled"])
def test_a_notification_runs_nothing_and_gets_no_answer(subject: Any, method: str) -> None:
    assert len(subject.respond(message=request())["calls"]) == 1
    for message in (
        bare(method, params={"_meta": meta()}),
        bare(method, params={"_meta": meta(version="1900-01-01")}),
        bare(method),
    ):
        said = subject.respond(message=message)
        assert said["calls"] == []
        assert said["answer"] is None


@pytest.mark.parametrize("id", IDS)
def test_an_error_echoes_the_id_with_its_type(subject: Any, id: Any) -> None:
    for message in (
        request(id=id, version="1900-01-01"),
        request("no/such", id=id),
        bare(id=id),
        {"jsonrpc": "1.0", "id": id, "method": "tools/list"},
    ):
        answer = subject.respond(message=message)["answer"]
        assert same_json(answer["id"], id)
        assert "result" not in answer


@pytest.mark.parametrize("message", [[], 7, *(bare(id=id) for id in NO_IDS)])
def test_an_error_has_no_id_when_none_could_be_read(subject: Any, message: Any) -> None:
    assert subject.respond(message=request())["answer"]["id"] == 7
    said = subject.respond(message=message)
    assert said["answer"]["error"]["code"] == -32600
    assert "id" not in said["answer"]
    assert said["calls"] == []


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "1.0", "method": "tools/call"},
        {"method": "tools/list"},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": None, "params": {"_meta": meta()}},
    ],
)
def test_a_broken_message_without_an_id_runs_nothing_and_has_no_id_in_its_error(
    subject: Any, message: Any
) -> None:
    assert subject.respond(message=request())["answer"]["id"] == 7
    said = subject.respond(message=message)
    assert said["calls"] == []
    if said["answer"] is not None:
        assert said["answer"]["error"]["code"] == -32600
        assert "id" not in said["answer"]


def test_a_bad_envelope_reaches_no_handler(subject: Any) -> None:
    assert len(subject.respond(message=request())["calls"]) == 1
    for message, code in (
        (request(version="1900-01-01"), -32022),
        (without(request(), CLIENT_CAPABILITIES), -32602),
        ({**request(), "jsonrpc": "1.0"}, -32600),
    ):
        said = subject.respond(message=message)
        assert said["answer"]["error"]["code"] == code
        assert said["calls"] == []


def test_an_unknown_method_is_told_after_the_envelope_was_found_good(
    subject: Any, rng: Any
) -> None:
    method = f"{word(rng)}/list"
    for message, code in (
        (request(method), -32601),
        (bare(method, id=7), -32602),
        (request(method, version="1900-01-01"), -32022),
    ):
        said = subject.respond(message=message)
        assert said["answer"]["error"]["code"] == code
        assert said["calls"] == []


@pytest.mark.parametrize("data", [{"uri": "file:///a"}, [], {}, 0, False, ""])
def test_a_refusal_of_a_handler_becomes_an_error_with_its_data(
    subject: Any, data: Any, rng: Any
) -> None:
    refusal = {"code": -32602, "message": word(rng), "data": data}
    answer = subject.respond(message=request(), refusal=refusal)["answer"]
    assert same_json(answer, {"jsonrpc": "2.0", "id": 7, "error": refusal})


def test_an_error_without_data_has_no_such_member(subject: Any, rng: Any) -> None:
    refusal = {"code": -32603, "message": word(rng)}
    answer = subject.failure(message=request(), refusal=refusal)
    assert answer == {"jsonrpc": "2.0", "id": 7, "error": refusal}
    told = subject.failure(message=request(), refusal={**refusal, "data": 0})
    assert told["error"] == {**refusal, "data": 0}


@pytest.mark.parametrize("id", NO_IDS)
def test_a_failure_uses_a_valid_id_only(subject: Any, id: Any) -> None:
    refusal = {"code": -32600, "message": "no"}
    assert subject.failure(message=bare(id=0), refusal=refusal)["id"] == 0
    for message in (bare(id=id), bare(), None, [bare(id=7)], "id"):
        answer = subject.failure(message=message, refusal=refusal)
        assert answer == {"jsonrpc": "2.0", "error": refusal}


def test_a_bug_is_an_internal_error_that_tells_nothing(subject: Any, rng: Any) -> None:
    secret, other = word(rng), word(rng)
    first = subject.respond(message=request(), bug=secret)
    assert first["answer"]["error"]["code"] == -32603
    assert first["answer"]["id"] == 7
    assert secret not in json.dumps(first["answer"])
    assert subject.respond(message=request(), bug=other)["answer"] == first["answer"]


def test_a_bug_goes_to_the_log(subject: Any, rng: Any) -> None:
    assert subject.respond(message=request(), bug=word(rng))["log"] != []
