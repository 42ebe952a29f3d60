"""Step 05: what the server must remember comes back unchanged, in time and to its own request."""

import base64
import string
from typing import Any

import pytest

from grading.outcomes import RpcFailure, StateRefusal

NOW = 1_790_000_000
VALUE_ERROR = "ValueError"
ALPHABET = string.ascii_letters + string.digits + "-_"


def elsewhere(subject: Any) -> Any:
    """The same parts in another process: a state must open where it was not minted (STATE-7)."""
    return subject.process("another instance")


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


def new_ring(rng: Any, *key_ids: str) -> Any:
    """A ring of random secrets; the last one mints."""
    names = key_ids or ("k1",)
    secrets = {name: (b"\xff" + rng.randbytes(31)).hex() for name in names}
    return {"secrets": secrets, "signer": names[-1]}


def new_origin(rng: Any, **fields: Any) -> Any:
    """The request that asks; `fields` replace some of its own."""
    arguments = {"title": word(rng), "workspace": ["srv", "notes", "team"]}
    usual = {
        "principal": "alice",
        "method": "tools/call",
        "tool": "notes_delete",
        "arguments": arguments,
        "audience": "notes-lab",
    }
    return {**usual, **fields}


def flipped(text: str, place: int) -> str:
    """The text with another base64url character at that place."""
    other = "A" if text[place] != "A" else "B"
    return text[:place] + other + text[place + 1 :]


# 5.1


def test_bytes_travel_as_base64url_without_padding(subject: Any, rng: Any) -> None:
    for size in range(7):
        raw = rng.randbytes(size)
        text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert subject.encode(raw=raw.hex()) == text
        assert subject.decode(text=text) == raw.hex()
    assert subject.encode(raw="fbff") == "-_8"


@pytest.mark.parametrize("text", ["+_8", "-/8", "-_8=", "-_8\n", "-_8 ", "-\n_8", "!!-_8", "-_8é"])
def test_foreign_characters_and_padding_are_refused(subject: Any, text: str) -> None:
    assert subject.decode(text="-_8") == "fbff"
    assert subject.decode(text=text) == StateRefusal("encoding")


def test_bytes_have_one_spelling(subject: Any) -> None:
    assert subject.decode(text="_w") == "ff"
    for text in ("_x", "_y", "_3", "-_9", "-_-", "A"):
        assert subject.decode(text=text) == StateRefusal("encoding")


# 5.2


def test_the_order_of_keys_does_not_count(subject: Any, rng: Any) -> None:
    one, two = word(rng), word(rng)
    first = {one: 1, "inner": {two: [1, 2], "a": None}}
    second = {"inner": {"a": None, two: [1, 2]}, one: 1}
    assert subject.canonical(value=first) == subject.canonical(value=second)
    assert subject.canonical(value=[1, 2]) != subject.canonical(value=[2, 1])


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.0, True, "1", "true", [1]],
        [0, 0.0, False, None, "", [], {}, "null"],
        [["a", "b"], ["a,b"], ["a", ["b"]], ['a","b'], "a,b"],
        [{"a": 1, "b": 2}, {"a": {"b": 2}}, [["a", 1], ["b", 2]]],
    ],
)
def test_two_values_never_share_a_text(subject: Any, values: list[Any]) -> None:
    for wrapped in (values, [{"deep": [value]} for value in values]):
        texts = [subject.canonical(value=value) for value in wrapped]
        again = [subject.canonical(value=value) for value in wrapped]
        assert texts == again
        assert len(set(texts)) == len(values)


def test_a_text_has_no_spaces_and_is_ascii(subject: Any) -> None:
    assert subject.canonical(value={"b": [1, 2], "a": "é"}) == '{"a":"\\u00e9","b":[1,2]}'
    assert subject.canonical(value="\ud800") == '"\\ud800"'


def test_what_has_no_json_has_no_text(subject: Any) -> None:
    assert subject.canonical_number(number="1e308") != VALUE_ERROR
    for number in ("nan", "inf", "-inf"):
        assert subject.canonical_number(number=number) == VALUE_ERROR
    assert subject.canonical_nested(levels=20) != VALUE_ERROR
    assert subject.canonical_nested(levels=100_000) == VALUE_ERROR


# 5.3


def test_a_weak_secret_stops_the_start(subject: Any, rng: Any) -> None:
    good = new_ring(rng, "old", "new")
    assert subject.make_ring(ring=good) == "accepted"
    placeholder = b"change-me-before-you-go-to-production-please".hex()
    for weak in ("", "ff" * 31, "00" * 32, placeholder):
        secrets = {**good["secrets"], "old": weak}
        assert subject.make_ring(ring={"secrets": secrets, "signer": "new"}) == VALUE_ERROR


def test_a_ring_names_its_keys(subject: Any, rng: Any) -> None:
    secrets = new_ring(rng, "k1")["secrets"]
    assert subject.make_ring(ring={"secrets": secrets, "signer": "k1"}) == "accepted"
    assert subject.make_ring(ring={"secrets": secrets, "signer": "k2"}) == VALUE_ERROR
    assert subject.make_ring(ring={"secrets": {}, "signer": ""}) == VALUE_ERROR
    for key_id in ("k.1", "", "ké"):
        named = {"secrets": {key_id: secrets["k1"]}, "signer": key_id}
        assert subject.make_ring(ring=named) == VALUE_ERROR


def test_each_purpose_of_each_secret_has_its_own_key(subject: Any, rng: Any) -> None:
    ring = new_ring(rng, "old", "new")
    keys = [
        subject.derive(ring=ring, key_id=key_id, purpose=purpose)
        for key_id in ("old", "new")
        for purpose in ("sign", "seal", "tag")
    ]
    assert len({*keys, *ring["secrets"].values()}) == 8
    assert {len(key) for key in keys} == {64}
    assert subject.derive(ring=ring, key_id="old", purpose="sign") == keys[0]
    assert subject.derive(ring=ring, key_id="none", purpose="sign") == StateRefusal("key")


def test_one_changed_character_is_noticed(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(60).hex()
    token = subject.sign(payload=payload, ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == payload
    start, end = token.index(".", 4) + 1, token.rindex(".")
    for place in (start, rng.randrange(start, end), end - 1):
        assert elsewhere(subject).verify(token=flipped(token, place), ring=ring) == StateRefusal()
    for place in (end + 1, rng.randrange(end + 1, len(token) - 1)):
        assert elsewhere(subject).verify(token=flipped(token, place), ring=ring) == StateRefusal(
            "signature"
        )


def test_a_tag_of_another_length_is_refused(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(30).hex()
    token = subject.sign(payload=payload, ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == payload
    head, tag = token.rsplit(".", 1)
    raw = base64.urlsafe_b64decode(tag + "=" * (-len(tag) % 4))
    for other in (b"", raw[:1], raw[:16], raw[:-1], raw + b"\x00", raw + raw):
        text = base64.urlsafe_b64encode(other).decode().rstrip("=")
        assert elsewhere(subject).verify(token=f"{head}.{text}", ring=ring) == StateRefusal(
            "signature"
        )


def test_a_token_has_four_parts_and_one_spelling(subject: Any, rng: Any) -> None:
    ring = new_ring(rng)
    token = subject.sign(payload="7b7d", ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == "7b7d"
    last = ALPHABET[(ALPHABET.index(token[-1]) + 1) % 64]
    wrong = [
        token + ".",
        token + ".AA",
        "." + token,
        token.replace(".", ""),
        token.rsplit(".", 1)[0],
    ]
    wrong += [token + "\n", token + "=", " " + token, token + "é", token[:-1] + last, ""]
    for other in (*wrong, None, 7, [token], {"token": token}):
        assert elsewhere(subject).verify(token=other, ring=ring) == StateRefusal()


def test_a_token_chooses_no_key_and_no_algorithm(subject: Any, rng: Any) -> None:
    ring, other = new_ring(rng), new_ring(rng)
    token = subject.sign(payload="7b7d", ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == "7b7d"
    assert elsewhere(subject).verify(token=token, ring=other) == StateRefusal("signature")
    version, _, payload, tag = token.split(".")
    for key_id in ("k2", "", "K1"):
        changed = f"{version}.{key_id}.{payload}.{tag}"
        assert elsewhere(subject).verify(token=changed, ring=ring) == StateRefusal("key")
    for changed in (f"none.k1.{payload}.", f"none.k1.{payload}.{tag}", f"{version}0.k1.{payload}."):
        assert elsewhere(subject).verify(token=changed, ring=ring) == StateRefusal()


def test_a_token_cannot_be_relabelled(subject: Any, rng: Any) -> None:
    ring, later = new_ring(rng), "rs" + str(rng.randrange(10, 99))
    ring["secrets"]["k2"] = ring["secrets"]["k1"]
    token = subject.sign(payload="7b7d", ring=ring)
    fresh = subject.sign(payload="7b7d", ring=ring, version=later)
    assert elsewhere(subject).verify(token=fresh, ring=ring, version=later) == "7b7d"
    version, _, rest = token.split(".", 2)
    assert (
        elsewhere(subject).verify(token=f"{later}.k1.{rest}", ring=ring, version=later)
        == StateRefusal()
    )
    assert elsewhere(subject).verify(token=f"{version}.k2.{rest}", ring=ring) == StateRefusal(
        "signature"
    )


def test_a_long_token_is_refused_before_anything_else(subject: Any) -> None:
    longest = subject.token_of_length(length=8192)
    assert elsewhere(subject).verify(**longest) != StateRefusal()
    for token in (longest["token"] + "A", "." * 8193, "é" * 100_000, "A" * 1_000_000):
        assert elsewhere(subject).verify(token=token, ring=longest["ring"]) == StateRefusal("size")


def test_tags_are_compared_in_constant_time(subject: Any) -> None:
    """Read from the source: no check can show a difference in time reliably."""
    assert subject.compares_in_constant_time() is True


# 5.4


def test_a_tag_tells_labels_and_values_apart(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng), word(rng)
    pairs = [("a", name + "|x"), ("a|" + name, "x"), ("a", [name, "x"]), ("a", [name + "x"])]
    pairs += [("a" + name, ""), ("a", name), ("b", name), ("a", 1), ("a", True), ("a", 1.0)]
    pairs += [("x1", 2), ("x", 12)]
    tags = [subject.keyed_tag(ring=ring, key_id="k1", label=a, value=b) for a, b in pairs]
    assert len(set(tags)) == len(pairs)
    assert subject.keyed_tag(ring=ring, key_id="k1", label="a", value=name) == tags[5]


def test_nobody_computes_a_tag_without_the_key(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng, "old", "new"), word(rng)
    tag = subject.keyed_tag(ring=ring, key_id="old", label="title", value=name)
    assert tag == subject.keyed_tag(ring=ring, key_id="old", label="title", value=name)
    assert tag != subject.keyed_tag(ring=ring, key_id="new", label="title", value=name)
    assert tag != subject.keyed_tag(
        ring=new_ring(rng, "old", "new"), key_id="old", label="title", value=name
    )
    other = subject.keyed_tag(ring=ring, key_id="gone", label="title", value=name)
    assert other == StateRefusal("key")


def test_a_state_shows_ids_and_tags_only(subject: Any, rng: Any) -> None:
    ring, secret = new_ring(rng), word(rng)
    origin = new_origin(rng, principal=word(rng), arguments={"title": secret, "in": [word(rng)]})
    token = subject.mint(ring=ring, origin=origin, candidates=["draft-7"])
    shown = str(elsewhere(subject).claims(token=token, ring=ring))
    assert "draft-7" in shown
    assert origin["principal"] not in shown
    assert secret not in shown
    assert origin["arguments"]["in"][0] not in shown


def test_every_question_has_a_nonce_of_its_own(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    seeds = [word(rng), word(rng), word(rng)]
    tokens = [subject.mint(ring=ring, origin=origin, seed=seed) for seed in seeds]
    nonces = [elsewhere(subject).nonce(token=token, ring=ring) for token in tokens]
    assert len(set(nonces)) == 3
    assert subject.mint(ring=ring, origin=origin, seed=seeds[0]) == tokens[0]
    assert max(subject.bytes_drawn(ring=ring, origin=origin), default=0) >= 16


def test_a_state_of_a_wrong_size_or_life_is_not_minted(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    for lifetime in (1, 600):
        assert subject.mint(ring=ring, origin=origin, lifetime=lifetime) != VALUE_ERROR
    for lifetime in (0, -1, 601, 3600):
        assert subject.mint(ring=ring, origin=origin, lifetime=lifetime) == VALUE_ERROR
    many = [f"draft-{number}" for number in range(1000)]
    assert subject.mint(ring=ring, origin=origin, candidates=many[:100]) != VALUE_ERROR
    assert subject.mint(ring=ring, origin=origin, candidates=many) == VALUE_ERROR


# 5.5


def test_a_state_opens_for_the_request_it_was_minted_for(subject: Any, rng: Any) -> None:
    ring, origin, ids = new_ring(rng), new_origin(rng), [word(rng), word(rng)]
    token = subject.mint(ring=ring, origin=origin, candidates=ids)
    found = elsewhere(subject).open_state(token=token, ring=ring, origin=origin, now=NOW + 60)
    assert found == {
        "candidates": ids,
        "phase": "delete_choice",
        "nonce": elsewhere(subject).nonce(token=token, ring=ring),
        "expires_at": NOW + 120,
    }
    later = new_ring(rng, "later")
    turned = {"secrets": {**ring["secrets"], **later["secrets"]}, "signer": "later"}
    assert elsewhere(subject).opens(token=token, ring=turned, origin=origin) is True


def test_a_state_minted_for_alice_is_refused_from_bob(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for principal in ("bob", "", "alice ", "Alice", "alice|x"):
        asked = {**origin, "principal": principal}
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=asked)
        assert refused == StateRefusal("principal")


def test_text_that_moves_to_a_neighbour_makes_another_request(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng), word(rng)
    origin = new_origin(rng, tool="a|" + name, arguments={"title": "x|y", "in": "z"})
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for moved in (
        {"method": "tools/call|a", "tool": name},
        {"method": "tools/call|a|" + name, "tool": ""},
        {"arguments": {"title": "x", "in": "y|z"}},
        {"arguments": {"title": "x|y|in|z"}},
    ):
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin={**origin, **moved})
        assert refused == StateRefusal("origin")


def test_a_state_is_good_for_one_method_and_one_tool(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for changed in (
        {"method": "prompts/get"},
        {"tool": "notes_archive"},
        {"tool": "notes_delete2"},
    ):
        refused = elsewhere(subject).open_state(
            token=token, ring=ring, origin={**origin, **changed}
        )
        assert refused == StateRefusal("origin")


@pytest.mark.parametrize("value", [1, 1.0, True, "1", {"b": [1], "a": {"c": 1}}])
def test_every_argument_is_bound_with_its_type(subject: Any, rng: Any, value: Any) -> None:
    ring, title = new_ring(rng), word(rng)
    origin = new_origin(rng, arguments={"title": title, "n": value})
    token = subject.mint(ring=ring, origin=origin)
    swapped = {"n": dict(reversed(value.items())) if isinstance(value, dict) else value}
    same = {**origin, "arguments": {**swapped, "title": title}}
    assert elsewhere(subject).opens(token=token, ring=ring, origin=same) is True
    others = [1, 1.0, True, "1", None, {"b": [1.0], "a": {"c": 1}}, {"b": [1], "a": {"c": True}}]
    changed = [{"title": title, "n": o} for o in others if repr(o) != repr(value)]
    changed += [{"title": title}, {"title": title + "x", "n": value}, {}]
    changed += [{"title": title, "n": value, "more": None}]
    for arguments in changed:
        asked = {**origin, "arguments": arguments}
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=asked)
        assert refused == StateRefusal("origin")


def test_arguments_that_are_nested_too_deeply_are_refused(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    refused = subject.open_with_deep_arguments(token=token, ring=ring, origin=origin)
    assert refused == StateRefusal("origin")


def test_a_state_of_another_server_is_refused(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng, audience=word(rng))
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for audience in (word(rng), "", origin["audience"] + "-2"):
        asked = {**origin, "audience": audience}
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=asked)
        assert refused == StateRefusal("audience")


def test_an_answer_to_another_question_is_refused(subject: Any, rng: Any) -> None:
    ring, origin, phase = new_ring(rng), new_origin(rng), word(rng)
    token = subject.mint(ring=ring, origin=origin, phase=phase)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin, phase=phase) is True
    for other in (word(rng), "", "delete_choice"):
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=origin, phase=other)
        assert refused == StateRefusal("phase")


@pytest.mark.parametrize("lifetime", [None, 7, 600])
def test_the_second_of_expiry_is_too_late(subject: Any, rng: Any, lifetime: int | None) -> None:
    ring, origin, life = new_ring(rng), new_origin(rng), lifetime or 120
    token = subject.mint(ring=ring, origin=origin, lifetime=lifetime)
    for seconds in (0, life - 1, life - 0.5):
        assert (
            elsewhere(subject).opens(token=token, ring=ring, origin=origin, now=NOW + seconds)
            is True
        )
    for seconds in (life, life + 0.5, life + 1, life * 1000):
        refused = elsewhere(subject).open_state(
            token=token, ring=ring, origin=origin, now=NOW + seconds
        )
        assert refused == StateRefusal("expired")


def test_clocks_may_drift_by_five_seconds_and_no_more(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    for ahead in (1, 5):
        token = subject.mint(ring=ring, origin=origin, now=NOW + ahead)
        assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for ahead in (6, 60, 3600):
        token = subject.mint(ring=ring, origin=origin, now=NOW + ahead)
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=origin)
        assert refused == StateRefusal("future")


def test_a_state_with_too_long_a_life_is_refused(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    longest = subject.signed_again(token=token, ring=ring, changes={"expires_at": str(NOW + 600)})
    assert elsewhere(subject).opens(token=longest, ring=ring, origin=origin) is True
    for seconds in (601, 3600):
        changes = {"expires_at": str(NOW + seconds)}
        longer = subject.signed_again(token=token, ring=ring, changes=changes)
        refused = elsewhere(subject).open_state(token=longer, ring=ring, origin=origin)
        assert refused == StateRefusal("lifetime")


def test_every_claim_is_required(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    same = subject.signed_again(token=token, ring=ring, changes={})
    assert elsewhere(subject).opens(token=same, ring=ring, origin=origin) is True
    for name in elsewhere(subject).claims(token=token, ring=ring):
        for changes, without in (({}, name), ({name: "null"}, "")):
            less = subject.signed_again(token=token, ring=ring, changes=changes, without=without)
            refused = elsewhere(subject).open_state(token=less, ring=ring, origin=origin)
            assert refused == StateRefusal("claims")


@pytest.mark.parametrize(
    "text",
    ["NaN", "Infinity", "1e309", '"never"', "true", "1790000100.5", "[]", "1" + "0" * 5000],
)
def test_times_are_whole_numbers(subject: Any, rng: Any, text: str) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    whole = subject.signed_again(token=token, ring=ring, changes={"expires_at": str(NOW + 100)})
    assert elsewhere(subject).opens(token=whole, ring=ring, origin=origin) is True
    for name in ("expires_at", "issued_at"):
        changed = subject.signed_again(token=token, ring=ring, changes={name: text})
        assert (
            elsewhere(subject).open_state(token=changed, ring=ring, origin=origin) == StateRefusal()
        )


def test_nothing_is_parsed_before_the_tag_is_right(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).opens(token=token, ring=ring, origin=origin) is True
    for payload in (b"", b"no JSON", b"[]", b"\xff\xfe", b"[" * 5000, b'{"candidates": [' * 300):
        signed = subject.sign(payload=payload.hex(), ring=ring)
        refused = elsewhere(subject).open_state(token=signed, ring=ring, origin=origin)
        assert refused == StateRefusal("claims")
        head, _, tag = signed.rpartition(".")
        refused = elsewhere(subject).open_state(
            token=f"{head}.{flipped(tag, 9)}", ring=ring, origin=origin
        )
        assert refused == StateRefusal("signature")


def test_every_refusal_is_one_error_on_the_wire(subject: Any) -> None:
    error = subject.wire_error()
    assert error == RpcFailure(-32602, data={"reason": "invalid_request_state"})
    assert subject.wire_error() == RpcFailure(error.code, error.message, error.data)


# 5.6


def test_a_sealed_payload_cannot_be_read(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(40).hex()
    tokens = [subject.seal(payload=payload, ring=ring) for _ in range(2)]
    assert [elsewhere(subject).unseal(token=token, ring=ring) for token in tokens] == [
        payload,
        payload,
    ]
    raws = [base64.urlsafe_b64decode(token.split(".")[2] + "==") for token in tokens]
    assert all(bytes.fromhex(payload)[:8] not in raw for raw in raws)
    # Two tokens of one payload have no block in common: the GCM nonce is new each time.
    assert raws[0][:12] != raws[1][:12]
    assert raws[0][12:24] != raws[1][12:24]


def test_a_changed_seal_is_refused(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(41).hex()
    token = subject.seal(payload=payload, ring=ring)
    assert elsewhere(subject).unseal(token=token, ring=ring) == payload
    version, key_id, text = token.split(".")
    for place in (0, rng.randrange(len(text) - 1), len(text) - 2):
        changed = f"{version}.{key_id}.{flipped(text, place)}"
        assert elsewhere(subject).unseal(token=changed, ring=ring) == StateRefusal("signature")
    for short in ("", text[:4], text[:16], text[:-4]):
        changed = f"{version}.{key_id}.{short}"
        assert elsewhere(subject).unseal(token=changed, ring=ring) == StateRefusal("signature")
    for other in (token + ".AA", f"{version}.{key_id}", token + "=", " " + token, None, 7):
        assert elsewhere(subject).unseal(token=other, ring=ring) == StateRefusal()
    assert elsewhere(subject).unseal(token="A" * 8193, ring=ring) == StateRefusal("size")


def test_a_seal_belongs_to_one_key_and_one_format(subject: Any, rng: Any) -> None:
    ring = new_ring(rng)
    ring["secrets"]["k2"] = ring["secrets"]["k1"]
    token = subject.seal(payload="7b7d", ring=ring)
    assert elsewhere(subject).unseal(token=token, ring=ring) == "7b7d"
    assert elsewhere(subject).unseal(token=token, ring=new_ring(rng)) == StateRefusal("signature")
    version, _, text = token.split(".")
    assert elsewhere(subject).unseal(token=f"{version}.k2.{text}", ring=ring) == StateRefusal(
        "signature"
    )
    assert elsewhere(subject).unseal(token=f"{version}.k3.{text}", ring=ring) == StateRefusal("key")
    assert elsewhere(subject).unseal(token=f"rs1.k1.{text}", ring=ring) == StateRefusal("version")
    signed = subject.sign(payload="7b7d", ring=ring)
    assert elsewhere(subject).unseal(token=signed, ring=ring) == StateRefusal()
    assert elsewhere(subject).verify(token=token, ring=ring) == StateRefusal()


def test_a_sealed_state_keeps_every_promise(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng, "old", "new"), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin, candidates=["draft-9"], protect="seal")
    there = {"token": token, "ring": ring, "reveal": "unseal"}
    assert elsewhere(subject).opens(**there, origin=origin) is True
    asked = {**origin, "principal": "bob"}
    assert elsewhere(subject).open_state(**there, origin=asked) == StateRefusal("principal")
    asked = {**origin, "arguments": {"title": word(rng)}}
    assert elsewhere(subject).open_state(**there, origin=asked) == StateRefusal("origin")
    refused = elsewhere(subject).open_state(**there, origin=origin, now=NOW + 120)
    assert refused == StateRefusal("expired")


# 5.7


def test_a_rotation_loses_no_open_question(subject: Any, rng: Any) -> None:
    old, origin = new_ring(rng, "k1"), new_origin(rng)
    token = subject.mint(ring=old, origin=origin)
    both = subject.add_key(ring=old, key_id="k2", secret=new_ring(rng)["secrets"]["k1"])
    assert (list(both["secrets"]), both["signer"]) == (["k1", "k2"], "k1")
    assert (
        elsewhere(subject).opens(
            token=subject.mint(ring=both, origin=origin), ring=old, origin=origin
        )
        is True
    )
    turned = subject.sign_with(ring=both, key_id="k2")
    fresh = subject.mint(ring=turned, origin=origin)
    for ring in (both, turned):
        for open_question in (token, fresh):
            assert elsewhere(subject).opens(token=open_question, ring=ring, origin=origin) is True
    assert elsewhere(subject).open_state(token=fresh, ring=old, origin=origin) == StateRefusal(
        "key"
    )


def test_a_retired_key_opens_nothing(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng, "k1", "k2"), new_origin(rng)
    before = subject.mint(ring={**ring, "signer": "k1"}, origin=origin, lifetime=600)
    fresh = subject.mint(ring=ring, origin=origin, now=NOW + 640)
    left = subject.retire(ring=ring, key_id="k1", last_minted=NOW, now=NOW + 650)
    assert left == {"secrets": {"k2": ring["secrets"]["k2"]}, "signer": "k2"}
    assert elsewhere(subject).opens(token=fresh, ring=left, origin=origin, now=NOW + 650) is True
    assert elsewhere(subject).open_state(token=before, ring=left, origin=origin) == StateRefusal(
        "key"
    )


def test_a_key_in_use_cannot_be_retired_or_replaced(subject: Any, rng: Any) -> None:
    ring = new_ring(rng, "k1", "k2")
    for seconds in (0, 300, 590):
        early = subject.retire(ring=ring, key_id="k1", last_minted=NOW, now=NOW + seconds)
        assert early == VALUE_ERROR
    late = {"last_minted": NOW, "now": NOW + 700}
    assert subject.retire(ring=ring, key_id="k1", **late) != VALUE_ERROR
    assert subject.retire(ring=ring, key_id="k2", **late) == VALUE_ERROR
    assert subject.retire(ring=ring, key_id="k3", **late) == VALUE_ERROR
    assert subject.sign_with(ring=ring, key_id="k3") == VALUE_ERROR
    secret = new_ring(rng)["secrets"]["k1"]
    assert subject.add_key(ring=ring, key_id="k1", secret=secret) == VALUE_ERROR
    assert subject.add_key(ring=ring, key_id="k3", secret="aa" * 31) == VALUE_ERROR
