"""Step 04: ask by answering, remember nothing. Each refusal has its positive control."""

from typing import Any

import pytest

from grading.outcomes import RpcFailure

FORM = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}
ROOTS = {"method": "roots/list"}
YES = {"action": "accept", "content": {"confirm": True}}
NO = {"action": "decline"}
ASKING = ("tools/call", "resources/read", "prompts/get")


def word(rng: Any) -> str:
    """A text that no solution can have foreseen."""
    return f"{rng.getrandbits(48):012x}"


# 4.1


@pytest.mark.parametrize("method", ASKING)
def test_three_methods_may_be_answered_with_a_question(subject: Any, method: str) -> None:
    result = subject.input_required(method=method, requests={"ok": FORM}, state="s")
    assert result["resultType"] == "input_required"
    assert result["inputRequests"] == {"ok": FORM} and result["requestState"] == "s"


@pytest.mark.parametrize(
    "method", ["tools/list", "server/discover", "resources/list", "Tools/Call"]
)
def test_no_other_method_may(subject: Any, method: str) -> None:
    assert subject.input_required(method="tools/call", state="s")["requestState"] == "s"
    assert subject.input_required(method=method, requests={"ok": FORM}) == "ValueError"


def test_one_of_requests_and_state_is_enough_and_none_is_an_error(subject: Any, rng: Any) -> None:
    state = word(rng)
    only_state = subject.input_required(method="tools/call", state=state)
    assert only_state == {"resultType": "input_required", "requestState": state}
    only_requests = subject.input_required(method="tools/call", requests={"r": ROOTS})
    assert only_requests == {"resultType": "input_required", "inputRequests": {"r": ROOTS}}
    assert subject.input_required(method="tools/call") == "ValueError"


def test_an_empty_object_asks_nothing(subject: Any, rng: Any) -> None:
    state = word(rng)
    with_state = subject.input_required(method="tools/call", requests={}, state=state)
    assert with_state == {"resultType": "input_required", "requestState": state}
    assert subject.input_required(method="tools/call", requests={}) == "ValueError"


def test_an_empty_state_is_a_state(subject: Any) -> None:
    assert subject.input_required(method="tools/call", state="")["requestState"] == ""


@pytest.mark.parametrize("extra", [{"id": 1}, {"jsonrpc": "2.0"}])
def test_an_input_request_is_a_bare_object(subject: Any, extra: dict[str, Any]) -> None:
    assert "resultType" in subject.input_required(method="tools/call", requests={"r": ROOTS})
    wrong = {"r": {**ROOTS, **extra}}
    assert subject.input_required(method="tools/call", requests=wrong) == "ValueError"


# 4.2


def test_a_retry_brings_answers_and_state(subject: Any, rng: Any) -> None:
    state = word(rng)
    params = {"name": "x", "inputResponses": {"ok": YES}, "requestState": state}
    assert subject.read_retry(params=params) == {"responses": {"ok": YES}, "state": state}


def test_answers_without_a_state_answer_nothing(subject: Any) -> None:
    with_state = {"inputResponses": {"ok": YES}, "requestState": "s"}
    assert subject.read_retry(params=with_state)["responses"] == {"ok": YES}
    first_call = {"responses": {}, "state": None}
    assert subject.read_retry(params={"inputResponses": {"ok": YES}}) == first_call
    assert subject.read_retry(params={"name": "x"}) == first_call


def test_a_state_without_answers_and_an_empty_state_are_retries(subject: Any, rng: Any) -> None:
    state = word(rng)
    assert subject.read_retry(params={"requestState": state}) == {"responses": {}, "state": state}
    empty = {"inputResponses": {"ok": YES}, "requestState": ""}
    assert subject.read_retry(params=empty) == {"responses": {"ok": YES}, "state": ""}


@pytest.mark.parametrize(
    "responses", [[], "x", 7, None, True, {"ok": "yes"}, {"ok": None}, {"ok": []}]
)
def test_answers_that_are_no_objects_are_invalid(subject: Any, responses: Any) -> None:
    assert subject.read_retry(params={"inputResponses": {}, "requestState": "s"})["state"] == "s"
    params = {"inputResponses": responses, "requestState": "s"}
    assert subject.read_retry(params=params) == RpcFailure(-32602)


@pytest.mark.parametrize("state", [None, 7, {}, [], False])
def test_a_state_that_is_no_text_is_invalid(subject: Any, state: Any) -> None:
    assert subject.read_retry(params={"requestState": "s"})["state"] == "s"
    assert subject.read_retry(params={"requestState": state}) == RpcFailure(-32602)


# 4.3


def start(subject: Any, script: list[Any], **params: Any) -> dict[str, Any]:
    """The first round of a script."""
    return subject.one_round(params={"name": "x", **params}, script=script)


def go_on(
    subject: Any, script: list[Any], before: dict[str, Any], **answers: Any
) -> dict[str, Any]:
    """The next round, with the state of the one before."""
    state = before["result"]["requestState"]
    params = {"name": "x", "inputResponses": answers, "requestState": state}
    return subject.one_round(params=params, script=script)


def test_a_handler_that_asks_is_answered_in_the_next_round(subject: Any) -> None:
    script = [{"ask": {"ok": FORM}}]
    asked = start(subject, script)
    assert asked["result"]["resultType"] == "input_required"
    assert asked["result"]["inputRequests"] == {"ok": FORM}
    assert go_on(subject, script, asked, ok=YES)["result"] == {"content": [{"ok": YES}]}


def test_a_handler_that_does_not_ask_is_done_at_once(subject: Any) -> None:
    assert start(subject, [])["result"] == {"content": []}


def test_retry_fields_change_nothing_where_there_are_no_rounds(subject: Any) -> None:
    odd = {"inputResponses": [], "requestState": 7}
    elsewhere = subject.one_round(method="resources/list", params=odd, script=[])
    assert elsewhere["result"] == {"content": []}
    assert subject.one_round(method="prompts/get", params=odd, script=[]) == RpcFailure(-32602)


def test_a_first_call_with_an_answer_is_asked_all_the_same(subject: Any) -> None:
    script = [{"ask": {"ok": FORM}}]
    asked = start(subject, script, inputResponses={"ok": YES})
    assert asked["result"]["inputRequests"] == {"ok": FORM}
    assert "content" in go_on(subject, script, asked, ok=YES)["result"]


def test_a_missing_answer_is_asked_for_again(subject: Any) -> None:
    script = [{"ask": {"ok": FORM}}]
    again = go_on(subject, script, start(subject, script))
    assert again["result"]["inputRequests"] == {"ok": FORM}
    assert go_on(subject, script, again, ok=NO)["result"] == {"content": [{"ok": NO}]}


def test_answers_that_nobody_asked_for_are_ignored(subject: Any) -> None:
    script = [{"ask": {"first": FORM}}, {"ask": {"second": ROOTS}}]
    asked = start(subject, script)
    second = go_on(subject, script, asked, first=YES, second={"roots": []}, third=NO)
    assert second["result"]["inputRequests"] == {"second": ROOTS}
    done = go_on(subject, script, second, second={"roots": ["real"]})
    assert done["result"]["content"][1] == {"second": {"roots": ["real"]}}


def test_earlier_answers_come_with_the_state_and_cannot_be_changed(subject: Any) -> None:
    script = [{"ask": {"first": FORM}}, {"ask": {"second": FORM}}]
    second = go_on(subject, script, start(subject, script), first=NO)
    done = go_on(subject, script, second, first=YES, second=YES)
    assert done["result"]["content"] == [{"first": NO}, {"second": YES}]


def test_several_questions_go_in_one_round(subject: Any) -> None:
    script = [{"ask": {"ok": FORM, "where": ROOTS}}]
    asked = start(subject, script)
    assert asked["result"]["inputRequests"] == {"ok": FORM, "where": ROOTS}
    half = go_on(subject, script, asked, ok=YES)
    assert half["result"]["resultType"] == "input_required"
    both = go_on(subject, script, asked, ok=YES, where={"roots": []})
    assert both["result"]["content"] == [{"ok": YES, "where": {"roots": []}}]


def test_the_rounds_come_to_an_end(subject: Any) -> None:
    script = [{"ask": {"ok": FORM}}]
    answer = start(subject, script)
    for _ in range(7):
        answer = go_on(subject, script, answer)
        assert answer["result"]["resultType"] == "input_required"
    assert go_on(subject, script, answer, ok=YES)["result"] == {"content": [{"ok": YES}]}
    assert go_on(subject, script, answer) == RpcFailure(-32602)


# 4.4


def test_an_effect_happens_once_in_all_rounds(subject: Any, rng: Any) -> None:
    name = word(rng)
    script = [{"once": name}, {"ask": {"a": FORM}}, {"once": "late"}, {"ask": {"b": FORM}}]
    first = start(subject, script)
    second = go_on(subject, script, first, a=YES)
    third = go_on(subject, script, second, b=YES)
    assert [first["effects"], second["effects"], third["effects"]] == [[name], ["late"], []]
    assert third["result"]["content"][0] == f"{name} done"


def test_a_deferred_call_sends_a_state_and_no_question(subject: Any) -> None:
    script = [{"once": "x"}, {"defer": "d"}, {"once": "y"}]
    first = start(subject, script)
    assert set(first["result"]) == {"resultType", "requestState"}
    second = subject.one_round(
        params={"requestState": first["result"]["requestState"]}, script=script
    )
    assert second["result"]["content"] == ["x done", None, "y done"]
    assert [first["effects"], second["effects"]] == [["x"], ["y"]]


def test_rounds_without_a_question_count_as_well(subject: Any) -> None:
    for deferrals in (7, 8):
        script: list[Any] = [{"defer": str(number)} for number in range(deferrals)]
        script.append({"ask": {"ok": FORM}})
        answer = start(subject, script)
        for _ in range(deferrals):
            assert "inputRequests" not in answer["result"]
            answer = go_on(subject, script, answer)
        asked = deferrals == 7 and answer["result"]["inputRequests"] == {"ok": FORM}
        assert asked or answer == RpcFailure(-32602)


# 4.5


@pytest.mark.parametrize(
    ("roots", "left"),
    [
        (["/srv/a/deep"], ["/srv/a/deep"]),
        (["/srv"], ["/srv/a", "/srv/b"]),
        (["/"], ["/srv/a", "/srv/b"]),
        (["/srv/b", "/srv/a"], ["/srv/b", "/srv/a"]),
        (["/etc"], []),
        (["/srv/a-evil"], []),
        (["nonsense", "/srv/a"], ["/srv/a"]),
        (["/srv/a/deep", "/srv/a/deep"], ["/srv/a/deep"]),
        (["/srv", "/"], ["/srv/a", "/srv/b"]),
        ([], []),
    ],
)
def test_roots_narrow_and_never_widen(subject: Any, roots: list[str], left: list[str]) -> None:
    answer = {"roots": [{"uri": root} for root in roots]}
    found = subject.narrow(granted=["/srv/a", "/srv/b"], answer=answer)
    assert sorted(found) == sorted(left)


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, *({"roots": roots} for roots in (None, {}, ["uri"], [["uri"]], [{}]))],
)
def test_roots_of_another_form_are_invalid(subject: Any, answer: Any) -> None:
    assert subject.narrow(granted=["/srv/a"], answer={"roots": [{"uri": "/srv/a"}]}) == ["/srv/a"]
    assert subject.narrow(granted=["/srv/a"], answer=answer) == RpcFailure(-32602)


# 4.6, 4.7

PARAMS = {"name": "notes_delete", "arguments": {"title": "Draft"}, "_meta": {"v": 1}}


def result(**fields: Any) -> dict[str, Any]:
    """A response to the latest message."""
    return {"feed": {"jsonrpc": "2.0", "id": "latest", "result": fields}}


def asking(state: str | None = "s", **requests: Any) -> dict[str, Any]:
    """A response that asks."""
    told = {} if state is None else {"requestState": state}
    return result(resultType="input_required", inputRequests=requests or {"ok": FORM}, **told)


def test_a_call_begins_with_its_own_params(subject: Any, rng: Any) -> None:
    number = rng.randrange(1000)
    (first,) = subject.exchange(params=PARAMS, steps=[], first_id=number)
    assert first["send"] == {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": PARAMS,
    }


def test_a_retry_repeats_the_call_under_a_new_id(subject: Any, rng: Any) -> None:
    state = word(rng) + ' "\\u00e9" ' + word(rng)
    told = subject.exchange(params=PARAMS, steps=[asking(state), {"answer": {"ok": NO}}])
    assert told[1] == {"asked": {"ok": FORM}}
    retry = told[2]["send"]
    assert retry["id"] != told[0]["send"]["id"]
    assert retry["params"] == {**PARAMS, "inputResponses": {"ok": NO}, "requestState": state}


def test_no_state_is_sent_when_the_latest_result_had_none(subject: Any) -> None:
    steps = [asking("old"), {"answer": {"ok": YES}}, asking(None), {"answer": {"ok": YES}}]
    told = subject.exchange(params=PARAMS, steps=steps)
    assert told[2]["send"]["params"]["requestState"] == "old"
    assert "requestState" not in told[4]["send"]["params"]


def test_an_empty_state_is_echoed(subject: Any) -> None:
    told = subject.exchange(params=PARAMS, steps=[asking(""), {"answer": {"ok": YES}}])
    assert told[2]["send"]["params"]["requestState"] == ""


def test_only_the_latest_questions_are_answered(subject: Any) -> None:
    steps = [
        asking("1", a=FORM),
        {"answer": {"a": YES}},
        asking("2", b=FORM),
        {"answer": {"b": NO}},
    ]
    told = subject.exchange(params=PARAMS, steps=steps)
    assert told[4]["send"]["params"]["inputResponses"] == {"b": NO}


def test_a_state_alone_is_sent_back_at_once(subject: Any, rng: Any) -> None:
    state = word(rng)
    steps = [asking("old"), {"answer": {"ok": YES}}]
    steps += [result(resultType="input_required", requestState=state)]
    told = subject.exchange(params=PARAMS, steps=steps)
    steps += [result(resultType="input_required", inputRequests={}, requestState="new")]
    told = subject.exchange(params=PARAMS, steps=steps)
    assert told[3]["send"]["params"] == {**PARAMS, "requestState": state}
    assert told[4]["send"]["params"] == {**PARAMS, "requestState": "new"}


def test_a_complete_result_ends_the_call_also_without_its_type(subject: Any) -> None:
    done = result(resultType="complete", content=[])
    assert "finished" in subject.exchange(params=PARAMS, steps=[done])[1]
    assert subject.exchange(params=PARAMS, steps=[result(content=[])])[1] == {
        "finished": {"content": []}
    }


def test_an_unknown_type_and_an_empty_question_end_in_failure(subject: Any) -> None:
    for kind in ("paused", "Complete", ""):
        for wrong in (result(resultType=kind), result(resultType=kind, inputRequests={"ok": FORM})):
            assert "failed" in subject.exchange(params=PARAMS, steps=[wrong])[1]
    nothing = result(resultType="input_required")
    assert "failed" in subject.exchange(params=PARAMS, steps=[nothing])[1]
    nothing = result(resultType="input_required", inputRequests={})
    assert "failed" in subject.exchange(params=PARAMS, steps=[nothing])[1]
    assert "asked" in subject.exchange(params=PARAMS, steps=[asking()])[1]


def test_a_server_that_goes_on_for_ever_is_left(subject: Any) -> None:
    nine_rounds = [result(resultType="input_required", requestState="s")] * 9
    told = subject.exchange(params=PARAMS, steps=[*nine_rounds, *nine_rounds[:1]])
    assert "send" in told[-2] and told[-1] == {"failed": None}
    told = subject.exchange(params=PARAMS, steps=[*nine_rounds, result(content=[])])
    assert told[-1] == {"finished": {"content": []}}


def test_an_error_and_the_response_to_another_request_end_in_failure(subject: Any) -> None:
    error = {"code": -32602, "message": "no"}
    failed = {"feed": {"jsonrpc": "2.0", "id": "latest", "error": error}}
    assert subject.exchange(params=PARAMS, steps=[failed])[1] == {"failed": error}
    stray = {"feed": {"jsonrpc": "2.0", "id": 999, "result": {"resultType": "complete"}}}
    assert "failed" in subject.exchange(params=PARAMS, steps=[stray])[1]


def test_a_server_that_asks_for_ever_is_left(subject: Any) -> None:
    nine_rounds = [asking(), {"answer": {"ok": YES}}] * 9
    told = subject.exchange(params=PARAMS, steps=[*nine_rounds, asking()])
    assert "send" in told[-2] and told[-1] == {"failed": None}
    told = subject.exchange(params=PARAMS, steps=[*nine_rounds, result(content=[])])
    assert told[-1] == {"finished": {"content": []}}


def test_an_answer_needs_an_open_question(subject: Any) -> None:
    answer = {"answer": {"ok": NO}}
    assert subject.exchange(params=PARAMS, steps=[answer])[1] == "RuntimeError"
    told = subject.exchange(params=PARAMS, steps=[asking(), answer, answer])
    assert "send" in told[2] and told[3] == "RuntimeError"
    for end in (result(content=[]), result(resultType="paused")):
        told = subject.exchange(params=PARAMS, steps=[asking(), answer, end, answer])
        assert told[4] == "RuntimeError"
    stray = {"feed": {"jsonrpc": "2.0", "id": 999, "result": {}}}
    assert subject.exchange(params=PARAMS, steps=[asking(), stray, answer])[3] == "RuntimeError"


def test_while_a_human_thinks_other_calls_go_on(subject: Any, rng: Any) -> None:
    others = [{"name": word(rng)} for _ in range(20)]
    steps = [asking("slow"), *({"other": params} for params in others), {"answer": {"ok": YES}}]
    told = subject.exchange(params=PARAMS, steps=steps)
    assert told[2:-1] == [{"finished": {"content": [params]}} for params in others]
    assert told[-1]["send"]["id"] == 22
    kept = {**PARAMS, "inputResponses": {"ok": YES}, "requestState": "slow"}
    assert told[-1]["send"]["params"] == kept


def test_two_calls_at_once_share_nothing(subject: Any) -> None:
    asked = {
        "resultType": "input_required",
        "inputRequests": {"ok": FORM},
        "requestState": "of one",
    }
    one, two = subject.side_by_side(result=asked, answers={"ok": YES})
    assert one["params"]["name"] == "one" and one["params"]["requestState"] == "of one"
    assert two["params"]["name"] == "two" and two["params"]["requestState"] == "of two"
    assert one["id"] != two["id"]


def test_the_params_of_the_caller_are_left_alone(subject: Any) -> None:
    told = subject.exchange(
        params=PARAMS, steps=[asking("a"), {"answer": {"ok": YES}}, asking(None)]
    )
    assert set(told[0]["send"]["params"]) == set(PARAMS)
