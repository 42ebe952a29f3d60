"""Step 03: what a client may be asked, and what the user really said."""

from typing import Any

import pytest

from grading.outcomes import Raised, RpcFailure

NOT_AN_OBJECT = [True, False, None, [], ["form"], "form", "", 0, 1]
REFUSED = Raised("ValueError")
NAN, INFINITY = float("nan"), float("inf")

# The form of notes_delete: which note, and do you mean it?
CHOICE: dict[str, Any] = {
    "note_id": {"kind": "choice", "options": ["draft-1", "draft-2"]},
    "confirm": {"kind": "boolean"},
}
YES = {"note_id": "draft-1", "confirm": True}


def word(rng: Any) -> str:
    """A name that no solution can have foreseen, and that is no secret."""
    return "".join(rng.choices("abdefghlm", k=8))


def accept(content: Any) -> dict[str, Any]:
    """The answers of a client whose user submitted the form with this content."""
    return {"choice": {"action": "accept", "content": content}}


def bare(schema: dict[str, Any]) -> dict[str, Any]:
    """The properties of a form without the titles that pydantic adds by itself."""
    left_out = ("title", "description")
    return {
        name: {key: value for key, value in declared.items() if key not in left_out}
        for name, declared in schema["properties"].items()
    }


def titled(*options: str) -> list[dict[str, str]]:
    """Options as `const` and `title`."""
    return [{"const": option, "title": option.title()} for option in options]


# 3.1


def test_declared_modes_count_and_an_empty_object_means_form(subject: Any) -> None:
    assert subject.modes(capabilities={"elicitation": {}}) == ["form"]
    assert subject.modes(capabilities={"elicitation": {"form": {}}}) == ["form"]
    assert subject.modes(capabilities={"elicitation": {"url": {}}}) == ["url"]
    assert subject.modes(capabilities={"elicitation": {"url": {}, "form": {}}}) == ["form", "url"]
    assert subject.modes(capabilities={"elicitation": {"form": {}, "voice": {}}}) == ["form"]
    assert subject.modes(capabilities={"elicitation": {"vendor": {}}}) == []
    assert subject.modes(capabilities={"sampling": {}, "roots": {}}) == []
    assert subject.modes(capabilities={}) == []


@pytest.mark.parametrize("value", NOT_AN_OBJECT)
def test_what_is_no_object_is_no_capability(subject: Any, value: Any) -> None:
    assert subject.modes(capabilities={"elicitation": {}}) == ["form"]
    assert subject.modes(capabilities={"elicitation": value}) == RpcFailure(-32602)
    for declared in ({"form": value}, {"url": value}, {"form": {}, "url": value}):
        assert subject.modes(capabilities={"elicitation": declared}) == RpcFailure(-32602)


def test_a_request_says_nothing_about_the_next(subject: Any) -> None:
    form, url = {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}
    assert subject.modes_of_each(requests=[form, {}]) == [["form"], []]
    assert subject.modes_of_each(requests=[form, url, {}, form]) == [
        ["form"],
        ["url"],
        [],
        ["form"],
    ]


# 3.2


def test_a_missing_mode_is_named_exactly_and_a_malformed_one_is_not(subject: Any) -> None:
    form, url = {"elicitation": {}}, {"elicitation": {"url": {}}}
    assert subject.require(capabilities=form, mode="form") == "go on"
    assert subject.require(capabilities=url, mode="url") == "go on"
    for capabilities in (url, {}):
        missing = {"requiredCapabilities": {"elicitation": {"form": {}}}}
        answer = subject.require(capabilities=capabilities, mode="form")
        assert answer == RpcFailure(-32021, data=missing)
    missing = {"requiredCapabilities": {"elicitation": {"url": {}}}}
    assert subject.require(capabilities=form, mode="url") == RpcFailure(-32021, data=missing)
    for value in NOT_AN_OBJECT:
        for declared in (value, {"form": value}):
            answer = subject.require(capabilities={"elicitation": declared}, mode="form")
            assert answer == RpcFailure(-32602)


# 3.3


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "passwd",
        "passphrase",
        "api_key",
        "apiKey",
        "APIKey",
        "apikey",
        "api-key",
        "API keys",
        "access_token",
        "accessToken",
        "refreshToken",
        "secret",
        "clientSecret",
        "credentials",
        "private_key",
        "userPIN",
        "APIToken",
        "JWTToken",
        "accesskey",
        "card_number",
        "creditCard",
        "creditcard",
        "cvv",
        "PASSWORD",
    ],
)
def test_a_secret_is_known_in_any_spelling(subject: Any, rng: Any, name: str) -> None:
    prefix = word(rng)
    assert subject.asks_for_secret(name=prefix) is False
    assert subject.asks_for_secret(name=name) is True
    assert subject.asks_for_secret(name=f"{prefix}_{name}") is True
    assert subject.asks_for_secret(name=f"{name}_2") is True


@pytest.mark.parametrize(
    "name",
    [
        "note_id",
        "confirm",
        "keyboard",
        "monkey",
        "secretary",
        "spinner",
        "shipping",
        "hotpot",
        "discard",
        "postcard",
        "compass",
        "passenger",
        "tokenizer",
        "user_name",
        "",
    ],
)
def test_a_word_that_only_contains_a_secret_is_none(subject: Any, name: str) -> None:
    assert subject.asks_for_secret(name="password") is True
    assert subject.asks_for_secret(name=name) is False


# 3.4


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 80, "default": "Plan"},
        *({"type": "string", "format": each} for each in ("email", "uri", "date", "date-time")),
        {"type": "number", "minimum": 0, "maximum": 1.5, "default": 1},
        {"type": "integer", "minimum": -3, "maximum": 3, "default": 0},
        {"type": "boolean", "default": False},
        {"type": "string", "enum": ["a", "b"], "default": "b"},
        {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
    ],
)
def test_every_flat_kind_may_be_asked_for(subject: Any, declared: Any) -> None:
    assert subject.check(declared=declared) == "passes"
    described = {**declared, "title": "Which one?", "description": "As you like."}
    assert subject.check(declared=described) == "passes"


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "string", "pattern": "^a"},
        {"type": "string", "minimum": 1},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "password"},
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "number", "multipleOf": 2},
        {"type": "number", "maxLength": 3},
        {"type": "boolean", "const": True},
        {"type": "boolean", "format": "date"},
        {"type": "string", "enum": ["a"], "minLength": 1},
        {"type": "string", "examples": ["a"]},
        {"type": "string", "additionalProperties": False},
    ],
)
def test_a_key_outside_the_subset_is_refused(subject: Any, rng: Any, declared: Any) -> None:
    name = word(rng)
    fine = {"type": declared["type"]}
    assert subject.check(name=name, declared=fine) == "passes"
    refusal = subject.check(name=name, declared=declared)
    assert refusal == REFUSED and name in refusal.message
    assert subject.check(name=name, declared={**fine, word(rng): 1}) == REFUSED


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "object", "properties": {}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": ["string", "null"]},
        {"type": "null"},
        {"title": "Anything"},
        {"$ref": "#/$defs/Inner"},
        {"type": "integer", "enum": [1, 2]},
        {"type": "string", "enum": [1, 2]},
        {"type": "string", "enum": []},
        {"type": "string", "enum": "ab"},
        {"enum": ["a", "b"]},
        {"type": "boolean", "enum": [True]},
        {"type": "string", "enum": ["a", "b"], "enumNames": ["First"]},
        {"type": "string", "enum": ["a", "b"], "enumNames": [1, 2]},
    ],
)
def test_what_is_not_flat_is_refused(subject: Any, rng: Any, declared: Any) -> None:
    name = word(rng)
    assert subject.check(name=name, declared={"type": "string", "enum": ["a"]}) == "passes"
    refusal = subject.check(name=name, declared=declared)
    assert refusal == REFUSED and name in refusal.message


@pytest.mark.parametrize(
    ("declared", "fine", "wrong"),
    [
        ({"type": "boolean"}, {"default": True}, [{"default": "yes"}, {"default": 1}]),
        ({"type": "string"}, {"default": "1"}, [{"default": 1}, {"default": None}]),
        ({"type": "integer"}, {"default": 1}, [{"default": 1.5}, {"default": True}]),
        (
            {"type": "number"},
            {"default": 1.5},
            [{"default": "1.5"}, {"default": [1.5]}, {"default": NAN}],
        ),
        ({"type": "string", "enum": ["a"]}, {"default": "a"}, [{"default": "b"}]),
        ({"type": "integer", "maximum": 3}, {"default": 3}, [{"default": 4}]),
        ({"type": "string"}, {"maxLength": 3}, [{"maxLength": "3"}, {"minLength": 1.5}]),
        (
            {"type": "number"},
            {"minimum": 0.5},
            [{"minimum": "0"}, {"maximum": None}, {"minimum": NAN}, {"maximum": INFINITY}],
        ),
        ({"type": "string"}, {"title": "Which?"}, [{"title": 7}, {"description": ["a"]}]),
    ],
)
def test_a_default_and_the_bounds_have_the_type_of_the_field(
    subject: Any, declared: Any, fine: Any, wrong: Any
) -> None:
    assert subject.check(declared={**declared, **fine}) == "passes"
    for each in wrong:
        assert subject.check(declared={**declared, **each}) == REFUSED


def test_a_secret_is_refused_by_name_and_by_title(subject: Any, rng: Any) -> None:
    name, text = word(rng), {"type": "string"}
    assert subject.check(name=name, declared={**text, "title": "User name"}) == "passes"
    assert subject.check(name=f"{name}_password", declared=text) == REFUSED
    assert subject.check(name=name, declared={**text, "title": "Your API key"}) == REFUSED


# 3.5


def test_a_model_becomes_a_flat_object(subject: Any, rng: Any) -> None:
    name = word(rng)
    fields = {
        name: {"kind": "choice", "options": ["a", "b"]},
        "single": {"kind": "choice", "options": ["a"]},
        "colour": {"kind": "enum", "extra": {"default": "red"}, "description": name},
        "title": {"kind": "text", "min_length": 1, "max_length": 80, "default": "Plan"},
        "share": {"kind": "number", "ge": 0, "le": 1.5},
        "count": {"kind": "integer", "ge": 1},
        "sure": {"kind": "boolean"},
        "day": {"kind": "date"},
    }
    schema = subject.schema(fields=fields)
    assert bare(schema) == {
        name: {"type": "string", "enum": ["a", "b"]},
        "single": {"type": "string", "enum": ["a"]},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "title": {"type": "string", "minLength": 1, "maxLength": 80, "default": "Plan"},
        "share": {"type": "number", "minimum": 0, "maximum": 1.5},
        "count": {"type": "integer", "minimum": 1},
        "sure": {"type": "boolean"},
        "day": {"type": "string", "format": "date"},
    }
    assert set(schema) <= {"$schema", "type", "properties", "required"}
    assert schema["type"] == "object" and sorted(schema["required"]) == sorted(fields)
    assert schema["properties"]["colour"]["description"] == name


def test_booleans_and_choices_are_required_in_spite_of_a_default(subject: Any) -> None:
    fields = {
        "confirm": {"kind": "boolean", "default": False},
        "note_id": {"kind": "choice", "options": ["a", "b"], "default": "a"},
        "reason": {"kind": "text", "default": ""},
    }
    schema = subject.schema(fields=fields)
    assert sorted(schema["required"]) == ["confirm", "note_id"]
    assert bare(schema)["confirm"] == {"type": "boolean", "default": False}
    alone = subject.schema(fields={"reason": fields["reason"]})
    assert alone.get("required", []) == []


@pytest.mark.parametrize(
    "field",
    [
        {"kind": "text", "default": "Plan"},
        {"kind": "text", "default": " "},
        {"kind": "text", "default": "2026-07-28", "extra": {"format": "date"}},
        {"kind": "integer", "default": 0},
        {"kind": "number", "default": 1.5},
        {"kind": "text made by the model"},
    ],
)
def test_a_text_or_a_number_with_a_default_is_required(subject: Any, rng: Any, field: Any) -> None:
    name = word(rng)
    fields = {name: field, "reason": {"kind": "text", "default": ""}}
    assert subject.schema(fields=fields).get("required") == [name]
    said = subject.read(fields=fields, responses=accept({"reason": "none"}))
    assert said == {"outcome": "malformed"}


@pytest.mark.parametrize(
    "field",
    [
        {"kind": "nested"},
        {"kind": "object"},
        {"kind": "union"},
        {"kind": "optional text", "default": None},
        {"kind": "optional boolean"},
        {"kind": "anything"},
        {"kind": "numeric enum"},
        {"kind": "secret"},
        {"kind": "bytes"},
        {"kind": "true only"},
        {"kind": "text", "pattern": "^a"},
        {"kind": "integer", "gt": 0},
        {"kind": "boolean", "extra": {"default": "yes"}},
    ],
)
def test_a_model_that_does_not_fit_is_refused_when_it_is_defined(
    subject: Any, rng: Any, field: Any
) -> None:
    name = word(rng)
    assert name in subject.schema(fields={name: {"kind": "text"}})["properties"]
    refusal = subject.schema(fields={**CHOICE, name: field})
    assert refusal == REFUSED and name in refusal.message
    for kind in ("contains itself", "is a text", "is a dictionary"):
        assert subject.schema_of_odd_model(kind=kind) == REFUSED


@pytest.mark.parametrize(
    "field",
    [
        {"kind": "callable"},
        {"kind": "class"},
        {"kind": "text", "extra": {"$ref": "#/$defs/Nothing"}},
    ],
)
def test_a_model_without_a_json_schema_is_refused_as_any_other(
    subject: Any, rng: Any, field: Any
) -> None:
    name = word(rng)
    assert name in subject.schema(fields={name: {"kind": "text"}})["properties"]
    assert subject.schema(fields={**CHOICE, name: field}) == REFUSED
    assert subject.elicit(message="Which one?", fields={**CHOICE, name: field}) == REFUSED


def test_a_field_has_the_name_that_the_client_sends(subject: Any, rng: Any) -> None:
    sent = word(rng)
    schema = subject.schema(fields={"note_id": {"kind": "text", "alias": sent}})
    assert list(schema["properties"]) == [sent] and schema["required"] == [sent]
    assert subject.schema(fields={"note_id": {"kind": "text", "alias": "api_key"}}) == REFUSED


def test_a_question_is_a_bare_request(subject: Any, rng: Any) -> None:
    message = f"Delete {word(rng)} for ever?"
    question = subject.elicit(message=message, fields=CHOICE)
    assert set(question) == {"method", "params"}
    assert question["method"] == "elicitation/create"
    assert set(question["params"]) - {"mode", "_meta"} == {"message", "requestedSchema"}
    assert question["params"].get("mode", "form") == "form"
    assert question["params"]["message"] == message
    assert question["params"]["requestedSchema"] == subject.schema(fields=CHOICE)


# 3.6


def test_an_accepted_form_comes_out_as_its_model(subject: Any, rng: Any) -> None:
    for content in (YES, {"confirm": False, "note_id": "draft-2"}):
        said = subject.read(fields=CHOICE, responses=accept(content))
        assert said == {"outcome": "accepted", "value": content}
    fields = {
        "share": {"kind": "number"},
        "count": {"kind": "integer"},
        "colour": {"kind": "enum"},
        "day": {"kind": "date"},
        "title": {"kind": "text"},
        "reason": {"kind": "text", "default": ""},
    }
    content = {"share": 3.5, "count": -2, "colour": "red", "day": "2026-07-28", "title": word(rng)}
    said = subject.read(fields=fields, responses=accept(content))
    assert said == {"outcome": "accepted", "value": {**content, "reason": ""}}
    whole = subject.read(fields=fields, responses=accept({**content, "share": 3}))
    assert whole["outcome"] == "accepted"


def test_the_value_of_an_accepted_form_is_what_its_model_makes(subject: Any, rng: Any) -> None:
    fields = {
        "colour": {"kind": "enum"},
        "day": {"kind": "date"},
        "title": {"kind": "text"},
        "share": {"kind": "number"},
    }
    content = {"colour": "blue", "day": "2026-07-28", "title": word(rng), "share": 0.5}
    made = {"colour": "Colour", "day": "date", "title": "str", "share": "float"}
    assert subject.types_of(fields=fields, responses=accept(content)) == made


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_decline_and_cancel_drop_their_content_unread(subject: Any, action: str) -> None:
    outcome = {"outcome": {"decline": "declined", "cancel": "cancelled"}[action]}
    assert subject.read(fields=CHOICE, responses=accept(YES))["outcome"] == "accepted"
    assert subject.read(fields=CHOICE, responses={"choice": {"action": action}}) == outcome
    for content in (YES, {"confirm": "perhaps"}, {}, None, "none"):
        responses = {"choice": {"action": action, "content": content}}
        assert subject.read(fields=CHOICE, responses=responses) == outcome


def test_a_question_without_an_answer_is_missing(subject: Any, rng: Any) -> None:
    other = word(rng)
    assert subject.read(fields=CHOICE, responses={}) == {"outcome": "missing"}
    responses = {other: accept(YES)["choice"]}
    assert subject.read(fields=CHOICE, responses=responses) == {"outcome": "missing"}
    responses = {other: "nonsense", **accept(YES)}
    assert subject.read(fields=CHOICE, responses=responses)["outcome"] == "accepted"
    said = subject.read(fields=CHOICE, responses={other: accept(YES)["choice"]}, key=other)
    assert said["outcome"] == "accepted"


@pytest.mark.parametrize(
    "action", ["Accept", "ACCEPT", "accepted", "reject", "declined", "", None, True, ["accept"]]
)
def test_any_other_action_is_malformed(subject: Any, action: Any) -> None:
    malformed = {"outcome": "malformed"}
    assert subject.read(fields=CHOICE, responses=accept(YES))["outcome"] == "accepted"
    responses: Any = {"choice": {"action": action, "content": YES}}
    assert subject.read(fields=CHOICE, responses=responses) == malformed
    for response in ({"content": YES}, {}, None, "accept", ["accept"], True, YES):
        assert subject.read(fields=CHOICE, responses={"choice": response}) == malformed


@pytest.mark.parametrize("content", [None, [], "yes", True, [YES], {}, 1])
def test_an_accept_without_content_is_malformed(subject: Any, content: Any) -> None:
    malformed = {"outcome": "malformed"}
    assert subject.read(fields=CHOICE, responses=accept(YES))["outcome"] == "accepted"
    assert subject.read(fields=CHOICE, responses={"choice": {"action": "accept"}}) == malformed
    assert subject.read(fields=CHOICE, responses=accept(content)) == malformed


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("boolean", True, ["true", "yes", 1, 1.0, 0, "false", "", None, [True]]),
        ("integer", 3, ["3", 3.5, True, None, [3]]),
        ("number", 3.5, ["3.5", True, None]),
        ("text", "3", [3, True, None, ["3"], {"text": "3"}, "\ud800"]),
        ("date", "2026-07-28", [20662, "20662", "28.07.2026", True]),
    ],
)
def test_nothing_is_converted(subject: Any, rng: Any, kind: str, right: Any, wrong: Any) -> None:
    name = word(rng)
    fields = {name: {"kind": kind}}
    said = subject.read(fields=fields, responses=accept({name: right}))
    assert said == {"outcome": "accepted", "value": {name: right}}
    for value in wrong:
        said = subject.read(fields=fields, responses=accept({name: value}))
        assert said == {"outcome": "malformed"}


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_a_number_that_no_double_holds_is_malformed(subject: Any, rng: Any, kind: str) -> None:
    name = word(rng)
    fields = {name: {"kind": kind}}
    assert subject.read(fields=fields, responses=accept({name: 7}))["outcome"] == "accepted"
    for value in (10**400, -(10**400), NAN, INFINITY, -INFINITY):
        said = subject.read(fields=fields, responses=accept({name: value}))
        assert said == {"outcome": "malformed"}


@pytest.mark.parametrize("default", [{"default": True}, {"extra": {"default": True}}])
def test_a_default_is_not_consent(subject: Any, default: Any) -> None:
    fields = {**CHOICE, "confirm": {"kind": "boolean", **default}}
    assert subject.read(fields=fields, responses=accept(YES))["outcome"] == "accepted"
    only_the_note = accept({"note_id": "draft-1"})
    assert subject.read(fields=fields, responses=only_the_note) == {"outcome": "malformed"}
    fields["note_id"] = {**CHOICE["note_id"], "default": "draft-1"}
    only_the_yes = accept({"confirm": True})
    assert subject.read(fields=fields, responses=only_the_yes) == {"outcome": "malformed"}
    fields = {**CHOICE, "folder": {"kind": "text", "default": "archive"}}
    assert subject.read(fields=fields, responses=accept(YES)) == {"outcome": "malformed"}
    said = subject.read(fields=fields, responses=accept({**YES, "folder": "archive"}))
    assert said == {"outcome": "accepted", "value": {**YES, "folder": "archive"}}


def test_a_field_that_was_not_asked_for_is_malformed(subject: Any, rng: Any) -> None:
    assert subject.read(fields=CHOICE, responses=accept(YES))["outcome"] == "accepted"
    for name in (word(rng), "", "model_config", "Confirm"):
        said = subject.read(fields=CHOICE, responses=accept({**YES, name: True}))
        assert said == {"outcome": "malformed"}
    aliased = {"confirm": {"kind": "boolean", "alias": "sure"}}
    assert subject.read(fields=aliased, responses=accept({"sure": True})) == {
        "outcome": "accepted",
        "value": {"confirm": True},
    }
    said = subject.read(fields=aliased, responses=accept({"confirm": True}))
    assert said == {"outcome": "malformed"}


def test_a_model_that_would_drop_it_makes_no_difference(subject: Any, rng: Any) -> None:
    read = subject.read_with_a_plain_model
    assert read(fields=CHOICE, responses=accept(YES))["outcome"] == "accepted"
    said = read(fields=CHOICE, responses=accept({**YES, word(rng): True}))
    assert said == {"outcome": "malformed"}
    said = read(fields=CHOICE, responses=accept({**YES, "confirm": "yes"}))
    assert said == {"outcome": "malformed"}


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ({"kind": "choice", "options": ["a", "b"]}, ["a", "b"], ["c", "A", "a ", ""]),
        ({"kind": "enum"}, ["red", "blue"], ["RED", "green"]),
        ({"kind": "text", "min_length": 2, "max_length": 3}, ["ab", "äöü"], ["a", "abcd"]),
        ({"kind": "integer", "ge": 1, "le": 3}, [1, 3], [0, 4, 10**400]),
        ({"kind": "number", "ge": 0.5}, [0.5, 7], [0.4, -1]),
        ({"kind": "text", "max_length": 9}, ["a" * 9], ["a" * 1_000_000]),
    ],
)
def test_options_and_bounds_are_checked_again(
    subject: Any, field: Any, right: Any, wrong: Any
) -> None:
    for value in right:
        said = subject.read(fields={"field": field}, responses=accept({"field": value}))
        assert said["outcome"] == "accepted"
    for value in wrong:
        said = subject.read(fields={"field": field}, responses=accept({"field": value}))
        assert said == {"outcome": "malformed"}


@pytest.mark.parametrize(
    "responses",
    [
        accept(YES),
        accept({}),
        {"choice": {"action": "decline"}},
        {"choice": {"action": "cancel"}},
        {},
    ],
)
def test_an_outcome_has_no_truth_value(subject: Any, responses: Any) -> None:
    assert subject.truth(fields=CHOICE, responses=responses) == "no truth value"


# 3.7


def test_titled_and_multiple_choices_may_be_asked_for(subject: Any, rng: Any) -> None:
    first, second = word(rng), word(rng)
    single = {"type": "string", "oneOf": titled(first, second), "default": second}
    several: dict[str, Any] = {"type": "array", "minItems": 1, "maxItems": 2, "default": [first]}
    plain = {**several, "items": {"type": "string", "enum": [first, second]}}
    named = {**several, "items": {"anyOf": titled(first, second)}}
    for declared in (single, plain, named):
        assert subject.choices(declared=declared) == [first, second]
        assert subject.check(declared=declared) == "passes"
        assert subject.check(declared={**declared, "default": "zzz"}) == REFUSED
    texts = {"type": "integer", "enum": ["a"]}
    for items in (
        {"type": "string"},
        {"oneOf": titled("a")},
        {"anyOf": []},
        {"enum": ["a"]},
        texts,
        {"type": "string", "enum": ["a"], "title": "A"},
        {"type": "string", "anyOf": titled("a")},
    ):
        assert subject.choices(declared={"type": "array", "items": items}) == []
        assert subject.check(declared={"type": "array", "items": items}) == REFUSED
    more = {"const": "a", "title": "A", "description": "The first"}
    for options in (
        [{"const": "a"}],
        [{"const": 1, "title": "One"}],
        ["a"],
        [],
        {"a": "A"},
        [more],
    ):
        assert subject.choices(declared={"type": "string", "oneOf": options}) == []
        assert subject.check(declared={"type": "string", "oneOf": options}) == REFUSED
    assert subject.check(declared={**single, "format": "date"}) == REFUSED


@pytest.mark.parametrize(
    "field",
    [
        {"kind": "list of nested"},
        {"kind": "texts"},
        {"kind": "set of choices", "options": ["a", "b"]},
    ],
)
def test_a_list_that_is_no_choice_is_refused(subject: Any, rng: Any, field: Any) -> None:
    name = word(rng)
    fine = {name: {"kind": "choices", "options": ["a", "b"]}}
    assert name in subject.schema(fields=fine)["properties"]
    refusal = subject.schema(fields={**CHOICE, name: field})
    assert refusal == REFUSED and name in refusal.message
    for declared in ({}, {"items": {"type": "string"}}, {"items": {"type": "object"}}):
        refusal = subject.check(name=name, declared={"type": "array", **declared})
        assert refusal == REFUSED and name in refusal.message


def test_titled_and_multiple_choices_come_out_of_a_model(subject: Any, rng: Any) -> None:
    first = word(rng)
    fields = {
        "note_ids": {"kind": "choices", "options": [first], "default": []},
        "colours": {"kind": "enums"},
        "note_id": {"kind": "text", "default": first, "extra": {"oneOf": titled(first)}},
    }
    schema = subject.schema(fields=fields)
    assert sorted(schema["required"]) == ["colours", "note_id", "note_ids"]
    assert bare(schema) == {
        "note_ids": {
            "type": "array",
            "items": {"type": "string", "enum": [first]},
            "default": [],
        },
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
        "note_id": {"type": "string", "oneOf": titled(first), "default": first},
    }


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        (
            {"kind": "text", "extra": {"oneOf": titled("a", "b")}},
            ["a", "b"],
            ["A", "c", "", ["a"], 1],
        ),
        (
            {"kind": "texts", "extra": {"items": {"anyOf": titled("a", "b")}, "minItems": 1}},
            [["a"], ["b", "a"]],
            [["a", "c"], ["A"], [], "a", [["a"]], [1], {"a": "b"}],
        ),
        (
            {"kind": "choices", "options": ["a", "b", "c"], "max_length": 2},
            [["a", "b"], ["c"], []],
            [["a", "d"], ["a", "b", "c"], "a", None],
        ),
    ],
)
def test_an_answer_is_among_the_options_that_were_shown(
    subject: Any, field: Any, right: Any, wrong: Any
) -> None:
    for value in right:
        said = subject.read(fields={"field": field}, responses=accept({"field": value}))
        assert said == {"outcome": "accepted", "value": {"field": value}}
    for value in wrong:
        said = subject.read(fields={"field": field}, responses=accept({"field": value}))
        assert said == {"outcome": "malformed"}


@pytest.mark.parametrize(
    ("extra", "right", "wrong"),
    [
        ({"type": "integer", "minimum": 3}, [3, 4], [2, -4]),
        ({"type": "number", "maximum": 0.5}, [0.5, -1], [0.6, 7]),
        ({"maxLength": 3}, ["abc"], ["abcd"]),
        ({"minLength": 2}, ["ab"], ["a", ""]),
        ({"format": "email"}, ["ann@example.org"], ["ann", "ann@", "@example.org", "a b@c.org"]),
        ({"format": "date"}, ["2026-07-28"], ["28.07.2026", "2026-02-30", "20260728"]),
        (
            {"format": "date-time"},
            ["2026-07-28T09:30:00Z"],
            ["2026-07-28", "09:30", "2026-07-28T25:00:00Z", "2026-07-28T09:30:00"],
        ),
        ({"format": "uri"}, ["https://example.org/a"], ["example", "/a/b", "https:// a"]),
    ],
)
def test_what_the_model_does_not_know_is_checked_too(
    subject: Any, extra: Any, right: Any, wrong: Any
) -> None:
    kind = extra.get("type", "text")
    fields = {"field": {"kind": kind, "extra": extra}}
    for value in right:
        said = subject.read(fields=fields, responses=accept({"field": value}))
        assert said == {"outcome": "accepted", "value": {"field": value}}
    for value in wrong:
        said = subject.read(fields=fields, responses=accept({"field": value}))
        assert said == {"outcome": "malformed"}
