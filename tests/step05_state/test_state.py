"""Step 05: what the server must remember comes back unchanged, in time and to its own request."""

import base64
import json
import string
from typing import Any

import pytest

from grading.outcomes import RpcFailure, StateRefusal

NOW = 1_790_000_000
VALUE_ERROR = "ValueError"
ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


def elsewhere(subject: Any) -> Any:
    """The same parts in another process: a state must open where it was not minted (STATE-7)."""
    return subject.process("another instance")


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


def new_secret(rng: Any, size: int = 32) -> str:
    """Random bytes that are not all ASCII, in hexadecimal."""
    return (b"\xff" + rng.randbytes(size - 1)).hex()


def new_ring(rng: Any, count: int = 1) -> Any:
    """A ring of that many random secrets under random names; the last one mints."""
    names = [word(rng) for _ in range(count)]
    return {"secrets": {name: new_secret(rng) for name in names}, "signer": names[-1]}


def twins(rng: Any) -> Any:
    """A ring on which the signer's secret stands under a second name, and that name."""
    ring, other = new_ring(rng), word(rng)
    ring["secrets"][other] = ring["secrets"][ring["signer"]]
    return ring, other


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


def base64url(raw: bytes) -> str:
    """The bytes in base64url without padding."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


# 5.1


def test_bytes_travel_as_base64url_without_padding(subject: Any, rng: Any) -> None:
    for size in (*range(7), rng.randrange(100, 200)):
        raw = rng.randbytes(size)
        assert subject.encode(raw=raw.hex()) == base64url(raw)
        assert subject.decode(text=base64url(raw)) == raw.hex()
    assert subject.encode(raw="fbff") == "-_8"


@pytest.mark.parametrize("foreign", ["+", "/", "=", "==", "\n", " ", "!!", "é"])
def test_foreign_characters_and_padding_are_refused(subject: Any, rng: Any, foreign: str) -> None:
    raw = b"\xfb\xff\xfe" + rng.randbytes(rng.randrange(3, 12))
    text = base64url(raw)
    assert subject.decode(text=text) == raw.hex()
    place = rng.randrange(1, len(text))
    wrong = [foreign + text, text + foreign, text[:place] + foreign + text[place:]]
    wrong += [text.replace("-", foreign), text.replace("_", foreign)]
    for other in wrong:
        assert subject.decode(text=other) == StateRefusal("encoding")


def test_bytes_have_one_spelling(subject: Any, rng: Any) -> None:
    for size, spellings in ((1, 16), (2, 4), (3 * rng.randrange(2, 9) + 1, 16)):
        raw = rng.randbytes(size)
        text = base64url(raw)
        last = ALPHABET.index(text[-1])
        assert subject.decode(text=text) == raw.hex()
        for other in ALPHABET[last + 1 : last + spellings]:
            assert subject.decode(text=text[:-1] + other) == StateRefusal("encoding")
    lonely = base64url(rng.randbytes(3)) + rng.choice(ALPHABET)
    assert subject.decode(text=lonely) == StateRefusal("encoding")


# 5.2


def test_the_order_of_keys_does_not_count(subject: Any, rng: Any) -> None:
    one, two = word(rng), word(rng)
    first = {one: 1, "inner": {two: [1, 2], "a": None}}
    second = {"inner": {"a": None, two: [1, 2]}, one: 1}
    assert subject.canonical(value=first) == subject.canonical(value=second)
    assert subject.canonical(value=[1, 2]) != subject.canonical(value=[2, 1])


@pytest.mark.parametrize("family", ["ones", "numbers", "nothings", "borders", "objects"])
def test_two_values_never_share_a_text(subject: Any, rng: Any, family: str) -> None:
    n, a, b = rng.randrange(2, 10**6), word(rng), word(rng)
    values: list[Any] = {
        "ones": [1, 1.0, True, "1", "true", "True", [1]],
        "numbers": [n, float(n), n + 0.5, -n, str(n), str(float(n)), [n], [str(n)]],
        "nothings": [0, 0.0, False, None, "", [], {}, "null"],
        "borders": [[a, b], [f"{a},{b}"], [a, [b]], [f'{a}","{b}'], f"{a},{b}", [a + b]],
        "objects": [{a: n, b: 2}, {a: {b: 2}}, [[a, n], [b, 2]], {a: n}, {a: n, b: 2.0}],
    }[family]
    for wrapped in (values, [{b: [value]} for value in values]):
        texts = [subject.canonical(value=value) for value in wrapped]
        again = [elsewhere(subject).canonical(value=value) for value in wrapped]
        assert texts == again
        assert len(set(texts)) == len(values)


def test_a_text_has_no_spaces_and_is_ascii(subject: Any, rng: Any) -> None:
    assert subject.canonical(value={"b": [1, 2], "a": "é"}) == '{"a":"\\u00e9","b":[1,2]}'
    value = {
        word(rng): [rng.randrange(99), word(rng)],
        "é": word(rng) + chr(rng.randrange(256, 512)),
    }
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert subject.canonical(value=value) == text


def test_half_a_character_has_a_text_of_its_own(subject: Any, rng: Any) -> None:
    high, low = rng.randrange(0xD800, 0xDC00), rng.randrange(0xDC00, 0xE000)
    for half in (high, low):
        escaped = f'"\\u{half:04x}"'
        assert subject.canonical(value=chr(half)) == escaped
        assert subject.canonical(value={chr(half): chr(half)}) == f"{{{escaped}:{escaped}}}"
    whole = chr(rng.randrange(0x10000, 0x110000))
    text = json.dumps(whole)
    assert subject.canonical(value=whole) == text
    assert subject.canonical_halves(character=whole) in (text, VALUE_ERROR)


def test_what_has_no_json_has_no_text(subject: Any, rng: Any) -> None:
    for number in ("1e308", str(rng.random())):
        assert subject.canonical_number(number=number) != VALUE_ERROR
    for number in ("nan", "inf", "-inf"):
        assert subject.canonical_number(number=number) == VALUE_ERROR
    assert subject.canonical_nested(levels=rng.randrange(10, 49)) != VALUE_ERROR
    assert subject.canonical_nested(levels=rng.randrange(60_000, 100_000)) == VALUE_ERROR


@pytest.mark.parametrize("key", ["7", "None", "True", "1.5", "(1, 2)"])
def test_a_key_that_is_not_text_is_no_json(subject: Any, rng: Any, key: str) -> None:
    name = word(rng)
    good = subject.canonical_python(expression=f"{{'{name}': {{'{key}': 1}}}}", within=name)
    assert good == f'{{"{name}":[{{"{name}":{{"{key}":1}}}}]}}'
    for text in (f"{{{key}: 1}}", f"{{{key}: '{name}', '{name}': 2}}", f"[{{'a': {{{key}: 1}}}}]"):
        assert subject.canonical_python(expression=text, within=name) == VALUE_ERROR


@pytest.mark.parametrize("value", ["b'{}'", "{{'{}'}}", "1j", "..."])
def test_a_value_of_another_kind_is_no_json(subject: Any, rng: Any, value: str) -> None:
    name = word(rng)
    good = subject.canonical_python(expression=f"'{name}'", within=name)
    assert good == f'{{"{name}":["{name}"]}}'
    told = value.format(name)
    assert subject.canonical_python(expression=told, within=name) == VALUE_ERROR


# 5.3


def test_a_weak_secret_stops_the_start(subject: Any, rng: Any) -> None:
    good = new_ring(rng, 2)
    placeholder = " ".join(word(rng) for _ in range(rng.randrange(4, 9)))
    weak = [{"text": ""}, {"text": placeholder}, {"zeros": 32}, {"zeros": rng.randrange(33, 99)}]
    weak += [new_secret(rng, 31), new_secret(rng, rng.randrange(1, 31))]
    for key_id in good["secrets"]:
        for secret in (new_secret(rng, 32), new_secret(rng, rng.randrange(33, 99))):
            strong = {"secrets": {**good["secrets"], key_id: secret}, "signer": good["signer"]}
            assert subject.make_ring(ring=strong) == "accepted"
        for secret in weak:
            ring = {"secrets": {**good["secrets"], key_id: secret}, "signer": good["signer"]}
            assert subject.make_ring(ring=ring) == VALUE_ERROR


def test_a_ring_does_not_print_its_secrets(subject: Any, rng: Any) -> None:
    ring = new_ring(rng, 3)
    printed = subject.print_ring(ring=ring)
    assert len(printed) == 3
    for secret in map(bytes.fromhex, ring["secrets"].values()):
        for part in (secret[:8], secret[-8:]):
            for shape in (repr(part)[2:-1], part.hex(), base64.b64encode(part).decode()[:10]):
                assert shape not in "".join(printed)


def test_a_ring_names_its_keys(subject: Any, rng: Any) -> None:
    name, secret = word(rng), new_secret(rng)
    assert subject.make_ring(ring={"secrets": {name: secret}, "signer": name}) == "accepted"
    assert subject.make_ring(ring={"secrets": {name: secret}, "signer": word(rng)}) == VALUE_ERROR
    assert subject.make_ring(ring={"secrets": {}, "signer": ""}) == VALUE_ERROR
    for key_id in (f"{name}.1", f".{name}", "", name + "é"):
        named = {"secrets": {name: secret, key_id: secret}, "signer": name}
        assert subject.make_ring(ring=named) == VALUE_ERROR


def test_each_purpose_of_each_secret_has_its_own_key(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng, 2), word(rng)
    purposes = ("sign", "seal", "tag", name, name + "1")
    asked = [(key_id, purpose) for key_id in ring["secrets"] for purpose in purposes]
    keys = [subject.derive(ring=ring, key_id=k, purpose=p) for k, p in asked]
    assert len({*keys, *ring["secrets"].values()}) == 12
    assert {len(key) for key in keys} == {64}
    again = [elsewhere(subject).derive(ring=ring, key_id=k, purpose=p) for k, p in asked]
    assert again == keys
    assert subject.derive(ring=ring, key_id=word(rng), purpose="sign") == StateRefusal("key")


def test_a_key_depends_on_all_of_its_secret(subject: Any, rng: Any) -> None:
    name, secret = word(rng), bytes.fromhex(new_secret(rng, 64))
    others = [secret[:32], secret[:48], secret[1:], secret[:-1] + bytes([secret[-1] ^ 1])]
    others += [secret[:32] + bytes([secret[32] ^ 128]) + secret[33:]]
    rings = [{"secrets": {name: each.hex()}, "signer": name} for each in (secret, *others)]
    there = [{"ring": ring, "key_id": name, "purpose": "sign"} for ring in rings]
    keys = [subject.derive(**asked) for asked in there]
    assert len(set(keys)) == len(rings)
    assert [elsewhere(subject).derive(**asked) for asked in there] == keys
    assert [key for key in keys if secret.hex()[:16] in key or secret.hex()[48:64] in key] == []


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
        changed = f"{head}.{base64url(other)}"
        assert elsewhere(subject).verify(token=changed, ring=ring) == StateRefusal("signature")


def test_a_token_has_four_parts_and_one_spelling(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(20).hex()
    token = subject.sign(payload=payload, ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == payload
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
    ring, payload = new_ring(rng), rng.randbytes(20).hex()
    signer = ring["signer"]
    other = {"secrets": {signer: new_secret(rng)}, "signer": signer}
    token = subject.sign(payload=payload, ring=ring)
    assert elsewhere(subject).verify(token=token, ring=ring) == payload
    assert elsewhere(subject).verify(token=token, ring=other) == StateRefusal("signature")
    version, _, text, tag = token.split(".")
    for key_id in (word(rng), "", signer.upper(), signer + "1"):
        changed = f"{version}.{key_id}.{text}.{tag}"
        assert elsewhere(subject).verify(token=changed, ring=ring) == StateRefusal("key")
    for label in ("none", version + "0", word(rng)):
        for end in ("", tag):
            changed = f"{label}.{signer}.{text}.{end}"
            assert elsewhere(subject).verify(token=changed, ring=ring) == StateRefusal()


def test_a_token_cannot_be_relabelled(subject: Any, rng: Any) -> None:
    (ring, twin), later = twins(rng), "rs" + str(rng.randrange(10, 99))
    payload = rng.randbytes(20).hex()
    token = subject.sign(payload=payload, ring=ring)
    fresh = subject.sign(payload=payload, ring=ring, version=later)
    assert elsewhere(subject).verify(token=fresh, ring=ring, version=later) == payload
    version, signer, rest = token.split(".", 2)
    assert elsewhere(subject).verify(token=fresh, ring=ring) == StateRefusal("version")
    other = f"{later}.{signer}.{rest}"
    assert elsewhere(subject).verify(token=other, ring=ring, version=later) == StateRefusal()
    other = f"{version}.{twin}.{rest}"
    assert elsewhere(subject).verify(token=other, ring=ring) == StateRefusal("signature")


def test_a_long_token_is_refused_before_anything_else(subject: Any, rng: Any) -> None:
    longest = subject.sign_to_length(length=8192, key_id=word(rng), secret=new_secret(rng))
    token, ring = longest["token"], longest["ring"]
    assert elsewhere(subject).verify(token=token, ring=ring) == longest["payload"]
    for longer in (token + "A", "." * 8193, "A" * 1_000_000):
        assert elsewhere(subject).verify(token=longer, ring=ring) == StateRefusal("size")
    either = (StateRefusal("size"), StateRefusal("encoding"))
    for count in (rng.randrange(4097, 8192), rng.randrange(8193, 99_999)):
        assert elsewhere(subject).verify(token="é" * count, ring=ring) in either


def test_tags_are_compared_in_constant_time(subject: Any, rng: Any) -> None:
    """No check can show a difference in time reliably. So the comparison that takes constant time
    is made to lie: if it decides, the verdict lies with it."""
    ring, payload = new_ring(rng), rng.randbytes(20).hex()
    token = subject.sign(payload=payload, ring=ring)
    head, _, tag = token.rpartition(".")
    forged = [f"{head}.{flipped(tag, place)}" for place in (0, rng.randrange(1, len(tag) - 1))]
    refused = subject.process("unequal").verify_as_told(token=token, ring=ring, equal=False)
    assert refused["outcome"] == "signature"
    believed = [
        subject.process(text).verify_as_told(token=text, ring=ring, equal=True) for text in forged
    ]
    assert [each["outcome"] for each in believed] == [payload, payload]
    # The tags themselves are compared, and not the result of another comparison.
    assert believed[0]["compared"] != believed[1]["compared"]


# 5.4


def test_a_tag_tells_labels_and_values_apart(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng), word(rng)
    there = {"ring": ring, "key_id": ring["signer"]}
    pairs = [("a", name + "|x"), ("a|" + name, "x"), ("a", [name, "x"]), ("a", [name + "x"])]
    pairs += [("a" + name, ""), ("a", name), ("b", name), ("a", 1), ("a", True), ("a", 1.0)]
    pairs += [("x1", 2), ("x", 12)]
    tags = [subject.keyed_tag(**there, label=a, value=b) for a, b in pairs]
    assert len(set(tags)) == len(pairs)
    again = [elsewhere(subject).keyed_tag(**there, label=a, value=b) for a, b in pairs]
    assert again == tags


def test_nobody_computes_a_tag_without_the_key(subject: Any, rng: Any) -> None:
    ring, title = new_ring(rng, 2), {"label": word(rng), "value": word(rng)}
    old, new = ring["secrets"]
    tag = subject.keyed_tag(ring=ring, key_id=old, **title)
    assert tag == elsewhere(subject).keyed_tag(ring=ring, key_id=old, **title)
    assert tag != subject.keyed_tag(ring=ring, key_id=new, **title)
    other = {"secrets": {old: new_secret(rng), new: ring["secrets"][new]}, "signer": new}
    assert tag != subject.keyed_tag(ring=other, key_id=old, **title)
    assert subject.keyed_tag(ring=ring, key_id=word(rng), **title) == StateRefusal("key")


def test_signatures_and_tags_have_keys_of_their_own(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(20).hex()
    title = {"label": word(rng), "value": word(rng)}
    signed = {"payload": payload, "ring": ring}
    tagged = {**title, "ring": ring, "key_id": ring["signer"]}
    token, tag = subject.sign(**signed), subject.keyed_tag(**tagged)
    asked = subject.keyed_tag_purposes(ring=ring, token=token, **title)
    assert asked["sign"] == asked["verify"]
    assert [purpose for purpose in asked["keyed_tag"] if purpose in asked["sign"]] == []
    # When a key leaks and is exchanged, what is made with the other one stays as it is.
    for function, changes in (("sign", [True, False]), ("keyed_tag", [False, True])):
        new_token = subject.sign_under_other_keys(**signed, purposes=asked[function])
        new_tag = subject.keyed_tag_under_other_keys(**tagged, purposes=asked[function])
        assert [new_token != token, new_tag != tag] == changes


def test_a_state_shows_ids_and_tags_only(subject: Any, rng: Any) -> None:
    ring, secret, note_id = new_ring(rng), word(rng), word(rng)
    origin = new_origin(rng, principal=word(rng), arguments={"title": secret, "in": [word(rng)]})
    token = subject.mint(ring=ring, origin=origin, candidates=[note_id])
    shown = str(elsewhere(subject).mint_wrote(token=token, ring=ring))
    assert note_id in shown
    assert origin["principal"] not in shown
    assert secret not in shown
    assert origin["arguments"]["in"][0] not in shown


def test_every_question_has_a_nonce_of_its_own(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    there, drawn = {"ring": ring, "origin": origin}, rng.randbytes(64)
    tokens = [subject.mint(**there) for _ in range(3)]
    nonces = elsewhere(subject).mint_wrote_nonces(tokens=tokens, ring=ring)
    assert len(set(nonces)) == 3
    # 128 bits in ASCII, seven of them to a character.
    assert [nonce for nonce in nonces if len(nonce) < 19 or not nonce.isascii()] == []
    for bit in (1, 128):
        changed = [
            drawn[:place] + bytes([byte ^ bit]) + drawn[place + 1 :]
            for place, byte in enumerate(drawn)
        ]
        streams = [each.hex() for each in (drawn, drawn, *changed)]
        tokens = subject.mint_from(**there, streams=streams)
        own, again, *others = elsewhere(subject).mint_wrote_nonces(tokens=tokens, ring=ring)
        assert own == again
        # How many of the bytes that were drawn make another nonce when one bit is another.
        assert len([nonce for nonce in others if nonce != own]) >= 16


def test_a_state_counts_whole_seconds(subject: Any, rng: Any) -> None:
    ring, origin, life = new_ring(rng), new_origin(rng), rng.randrange(2, 600)
    for fraction in (0.0, 0.25, 0.5, 0.75, 1 - 2**-20):
        for second in (NOW, NOW + 1):
            token = subject.mint(ring=ring, origin=origin, now=second + fraction, lifetime=life)
            wrote = elsewhere(subject).mint_wrote(token=token, ring=ring)
            assert [wrote["issued_at"], wrote["expires_at"]] == [second, second + life]


def test_a_state_of_a_wrong_life_is_not_minted(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    for lifetime in (1, rng.randrange(2, 600), 600):
        assert subject.mint(ring=ring, origin=origin, lifetime=lifetime) != VALUE_ERROR
    for lifetime in (0, -1, 601, rng.randrange(602, 9999)):
        assert subject.mint(ring=ring, origin=origin, lifetime=lifetime) == VALUE_ERROR
    for instead in ("nan", "inf", "0.5", f"{rng.randrange(2, 600)}.5", "600.5", "None"):
        asked = {"ring": ring, "origin": origin, "what": "lifetime", "instead": instead}
        assert subject.mint_without(**asked) == VALUE_ERROR


def test_what_makes_no_claims_is_not_minted(subject: Any, rng: Any) -> None:
    there = {"ring": new_ring(rng), "origin": new_origin(rng)}
    usual = {"phase": repr(word(rng)), "candidate": repr(word(rng)), "audience": repr(word(rng))}
    for what, good in ({**usual, "now": str(NOW)}).items():
        assert subject.mint_without(**there, what=what, instead=good) != VALUE_ERROR
        wrong = "nan" if what == "now" else "None"
        assert subject.mint_without(**there, what=what, instead=wrong) == VALUE_ERROR


def test_a_state_that_cannot_come_back_is_not_minted(subject: Any, rng: Any) -> None:
    origin, lengths = new_origin(rng), []
    for more in ("", "a", "aa", "aaa"):
        name, secret = word(rng) + more, new_secret(rng)
        there = {"ring": {"secrets": {name: secret}, "signer": name}, "origin": origin}
        fits, too_long = 1, 9000
        while too_long - fits > 1:
            size = (fits + too_long) // 2
            answer = subject.mint(**there, candidates=["d" * size])
            fits, too_long = (fits, size) if answer == VALUE_ERROR else (size, too_long)
        longest = subject.mint(**there, candidates=["d" * fits])
        assert len(longest) <= 8192
        assert elsewhere(subject).mint_wrote(token=longest, ring=there["ring"]) != StateRefusal()
        lengths.append(len(longest))
    # One byte more makes one or two characters more, so one of the four has all that is allowed.
    assert max(lengths) == 8192


# 5.5


def test_a_state_opens_for_the_request_it_was_minted_for(subject: Any, rng: Any) -> None:
    ring, origin, ids = new_ring(rng), new_origin(rng), [word(rng), word(rng)]
    token = subject.mint(ring=ring, origin=origin, candidates=ids)
    found = elsewhere(subject).open_state(token=token, ring=ring, origin=origin, now=NOW + 60)
    assert found == {
        "candidates": ids,
        "phase": "delete_choice",
        "nonce": elsewhere(subject).mint_wrote(token=token, ring=ring)["nonce"],
        "expires_at": NOW + 120,
    }
    later = new_ring(rng)
    turned = {"secrets": {**ring["secrets"], **later["secrets"]}, "signer": later["signer"]}
    assert elsewhere(subject).open_state_succeeds(token=token, ring=turned, origin=origin) is True


def test_a_state_minted_for_alice_is_refused_from_bob(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    for principal in ("bob", "", "alice ", "Alice", "alice|x", word(rng)):
        asked = {**origin, "principal": principal}
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=asked)
        assert refused == StateRefusal("principal")


def test_text_that_moves_to_a_neighbour_makes_another_request(subject: Any, rng: Any) -> None:
    ring, name = new_ring(rng), word(rng)
    origin = new_origin(rng, tool="a|" + name, arguments={"title": "x|y", "in": "z"})
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
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
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
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
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=same) is True
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
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    refused = subject.open_state_with_deep_arguments(token=token, ring=ring, origin=origin)
    assert refused == StateRefusal("origin")


def test_a_state_of_another_server_is_refused(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng, audience=word(rng))
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    for audience in (word(rng), "", origin["audience"] + "-2"):
        asked = {**origin, "audience": audience}
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=asked)
        assert refused == StateRefusal("audience")


def test_an_answer_to_another_question_is_refused(subject: Any, rng: Any) -> None:
    ring, origin, phase = new_ring(rng), new_origin(rng), word(rng)
    token = subject.mint(ring=ring, origin=origin, phase=phase)
    assert (
        elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin, phase=phase)
        is True
    )
    for other in (word(rng), "", "delete_choice"):
        refused = elsewhere(subject).open_state(token=token, ring=ring, origin=origin, phase=other)
        assert refused == StateRefusal("phase")


@pytest.mark.parametrize("lifetime", [None, 7, 600])
def test_the_second_of_expiry_is_too_late(subject: Any, rng: Any, lifetime: int | None) -> None:
    ring, origin, life = new_ring(rng), new_origin(rng), lifetime or 120
    token = subject.mint(ring=ring, origin=origin, lifetime=lifetime)
    for seconds in (0, life - 1, life - 0.5):
        assert (
            elsewhere(subject).open_state_succeeds(
                token=token, ring=ring, origin=origin, now=NOW + seconds
            )
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
        assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    for ahead, part in ((6, 0), (60, 0), (3600, 0), (5, 0.25), (6, -0.75)):
        asked = {"token": subject.mint(ring=ring, origin=origin, now=NOW + ahead), "ring": ring}
        refused = elsewhere(subject).open_state(**asked, origin=origin, now=NOW - part)
        assert refused == StateRefusal("future")


def test_a_state_with_too_long_a_life_is_refused(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    longest = subject.signed_again(token=token, ring=ring, changes={"expires_at": str(NOW + 600)})
    assert elsewhere(subject).open_state_succeeds(token=longest, ring=ring, origin=origin) is True
    for seconds in (601, 3600):
        changes = {"expires_at": str(NOW + seconds)}
        longer = subject.signed_again(token=token, ring=ring, changes=changes)
        refused = elsewhere(subject).open_state(token=longer, ring=ring, origin=origin)
        assert refused == StateRefusal("lifetime")


def test_every_claim_is_required(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    same = subject.signed_again(token=token, ring=ring, changes={})
    assert elsewhere(subject).open_state_succeeds(token=same, ring=ring, origin=origin) is True
    for name in elsewhere(subject).mint_wrote(token=token, ring=ring):
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
    assert elsewhere(subject).open_state_succeeds(token=whole, ring=ring, origin=origin) is True
    for name in ("expires_at", "issued_at"):
        changed = subject.signed_again(token=token, ring=ring, changes={name: text})
        assert (
            elsewhere(subject).open_state(token=changed, ring=ring, origin=origin) == StateRefusal()
        )


def test_nothing_is_parsed_before_the_tag_is_right(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    for payload in (b"", b"no JSON", b"[]", b"\xff\xfe", b"[" * 5000, b'{"candidates": [' * 300):
        signed = subject.sign(payload=payload.hex(), ring=ring)
        refused = elsewhere(subject).open_state(token=signed, ring=ring, origin=origin)
        assert refused == StateRefusal("claims")
        head, _, tag = signed.rpartition(".")
        refused = elsewhere(subject).open_state(
            token=f"{head}.{flipped(tag, 9)}", ring=ring, origin=origin
        )
        assert refused == StateRefusal("signature")


def test_the_first_reason_goes_to_the_log(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin)

    def changed(**times: int) -> Any:
        texts = {name: str(NOW + seconds) for name, seconds in times.items()}
        return subject.signed_again(token=token, ring=ring, changes=texts)

    another = {name: word(rng) for name in ("audience", "principal", "tool")}
    here = {"ring": ring, "phase": word(rng)}
    every = {"origin": {**origin, **another}, **here}
    body, _, tag = token.rpartition(".")
    open_state = elsewhere(subject).open_state
    assert elsewhere(subject).open_state_succeeds(token=token, ring=ring, origin=origin) is True
    assert open_state(token=f"{body}.{flipped(tag, 1)}", **every) == StateRefusal("signature")
    over = changed(issued_at=-700, expires_at=-1)
    assert open_state(token=over, **every) == StateRefusal("expired")
    long = changed(issued_at=60, expires_at=700)
    assert open_state(token=long, **every) == StateRefusal("lifetime")
    early = changed(issued_at=60, expires_at=70)
    assert open_state(token=early, **every) == StateRefusal("future")
    assert open_state(token=token, **every) == StateRefusal("audience")
    for name, reason in (("audience", "principal"), ("principal", "origin"), ("tool", "phase")):
        another.pop(name)
        asked = {**origin, **another}
        assert open_state(token=token, origin=asked, **here) == StateRefusal(reason)


def test_every_refusal_is_one_error_on_the_wire(subject: Any) -> None:
    error = subject.wire_error()
    assert error == RpcFailure(-32602, data={"reason": "invalid_request_state"})
    assert len(error.message) > 0
    for asked in (subject, elsewhere(subject)):
        assert asked.wire_error() == RpcFailure(error.code, error.message, error.data)


# 5.6


def test_a_sealed_payload_cannot_be_read(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(40).hex()
    tokens = [subject.seal(payload=payload, ring=ring) for _ in range(2)]
    opened = [elsewhere(subject).unseal(token=token, ring=ring) for token in tokens]
    assert opened == [payload, payload]
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
    # 0, 3, 12, 15, 27 and 28 bytes: with nonce and tag, there would be nothing encrypted.
    for short in ("", text[:4], text[:16], text[:20], text[:36], base64url(bytes(28)), text[:-4]):
        changed = f"{version}.{key_id}.{short}"
        assert elsewhere(subject).unseal(token=changed, ring=ring) == StateRefusal("signature")
    for other in (token + ".AA", f"{version}.{key_id}", token + "=", " " + token, None, 7):
        assert elsewhere(subject).unseal(token=other, ring=ring) == StateRefusal()
    assert elsewhere(subject).unseal(token="A" * 8193, ring=ring) == StateRefusal("size")


def test_a_seal_belongs_to_one_key_and_one_format(subject: Any, rng: Any) -> None:
    (ring, twin), payload = twins(rng), rng.randbytes(20).hex()
    token = subject.seal(payload=payload, ring=ring)
    assert elsewhere(subject).unseal(token=token, ring=ring) == payload
    other = {"secrets": {ring["signer"]: new_secret(rng)}, "signer": ring["signer"]}
    assert elsewhere(subject).unseal(token=token, ring=other) == StateRefusal("signature")
    version, key_id, text = token.split(".")
    for changed, reason in (
        (f"{version}.{twin}.{text}", "signature"),
        (f"{version}.{word(rng)}.{text}", "key"),
        (f"rs1.{key_id}.{text}", "version"),
    ):
        assert elsewhere(subject).unseal(token=changed, ring=ring) == StateRefusal(reason)
    signed = subject.sign(payload=payload, ring=ring)
    assert elsewhere(subject).unseal(token=signed, ring=ring) == StateRefusal()
    assert elsewhere(subject).verify(token=token, ring=ring) == StateRefusal()


def test_seals_have_a_key_of_their_own(subject: Any, rng: Any) -> None:
    ring, payload = new_ring(rng), rng.randbytes(20).hex()
    there = {"token": subject.seal(payload=payload, ring=ring), "ring": ring}
    asked = subject.seal_purposes(**there, label=word(rng), value=word(rng))
    others = [*asked["sign"], *asked["keyed_tag"]]
    assert asked["seal"] == asked["unseal"]
    assert [purpose for purpose in asked["seal"] if purpose in others] == []
    assert subject.unseal_under_other_keys(**there, purposes=others) == payload
    refused = subject.unseal_under_other_keys(**there, purposes=asked["seal"])
    assert refused == StateRefusal("signature")


def test_a_sealed_state_keeps_every_promise(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng, 2), new_origin(rng)
    token = subject.mint(ring=ring, origin=origin, candidates=[word(rng)], protect="seal")
    there = {"token": token, "ring": ring, "reveal": "unseal"}
    assert elsewhere(subject).open_state_succeeds(**there, origin=origin) is True
    asked = {**origin, "principal": word(rng)}
    assert elsewhere(subject).open_state(**there, origin=asked) == StateRefusal("principal")
    asked = {**origin, "arguments": {"title": word(rng)}}
    assert elsewhere(subject).open_state(**there, origin=asked) == StateRefusal("origin")
    refused = elsewhere(subject).open_state(**there, origin=origin, now=NOW + 120)
    assert refused == StateRefusal("expired")


# 5.7


def test_a_rotation_loses_no_open_question(subject: Any, rng: Any) -> None:
    old, origin, new = new_ring(rng), new_origin(rng), word(rng)
    token = subject.mint(ring=old, origin=origin)
    both = subject.add_key(ring=old, key_id=new, secret=new_secret(rng))
    assert [list(both["secrets"]), both["signer"]] == [[old["signer"], new], old["signer"]]
    early = subject.mint(ring=both, origin=origin)
    assert elsewhere(subject).open_state_succeeds(token=early, ring=old, origin=origin) is True
    turned = subject.sign_with(ring=both, key_id=new)
    assert turned == {**both, "signer": new}
    fresh = subject.mint(ring=turned, origin=origin)
    for ring in (both, turned):
        for open_question in (token, fresh):
            assert (
                elsewhere(subject).open_state_succeeds(
                    token=open_question, ring=ring, origin=origin
                )
                is True
            )
    refused = elsewhere(subject).open_state(token=fresh, ring=old, origin=origin)
    assert refused == StateRefusal("key")


def test_a_retired_key_opens_nothing(subject: Any, rng: Any) -> None:
    ring, origin = new_ring(rng, 3), new_origin(rng)
    old, other, new = ring["secrets"]
    before = subject.mint(ring={**ring, "signer": old}, origin=origin, lifetime=600)
    fresh = subject.mint(ring=ring, origin=origin, now=NOW + 640)
    left = subject.retire(ring=ring, key_id=old, last_minted=NOW, now=NOW + 650)
    kept = {name: ring["secrets"][name] for name in (other, new)}
    assert left == {"secrets": kept, "signer": new}
    assert (
        elsewhere(subject).open_state_succeeds(token=fresh, ring=left, origin=origin, now=NOW + 650)
        is True
    )
    refused = elsewhere(subject).open_state(token=before, ring=left, origin=origin)
    assert refused == StateRefusal("key")


@pytest.mark.parametrize("seconds", [0, 300, 599, 599.75])
def test_a_key_stays_until_its_last_state_has_expired(
    subject: Any, rng: Any, seconds: float
) -> None:
    ring, minted = new_ring(rng, 2), NOW + rng.randrange(1000) + rng.choice([0, 0.5])
    old, new = ring["secrets"]
    there = {"ring": ring, "key_id": old, "last_minted": minted}
    kept = {"secrets": {new: ring["secrets"][new]}, "signer": new}
    for later in (600, 600.25, 600.75, rng.randrange(601, 9999)):
        assert subject.retire(**there, now=minted + later) == kept
    assert subject.retire(**there, now=minted + seconds) == VALUE_ERROR


def test_a_key_in_use_cannot_be_retired_or_replaced(subject: Any, rng: Any) -> None:
    ring = new_ring(rng, 2)
    old, new = ring["secrets"]
    late = {"last_minted": NOW, "now": NOW + 700}
    assert subject.retire(ring=ring, key_id=old, **late) != VALUE_ERROR
    assert subject.retire(ring=ring, key_id=new, **late) == VALUE_ERROR
    assert subject.retire(ring=ring, key_id=word(rng), **late) == VALUE_ERROR
    assert subject.sign_with(ring=ring, key_id=old) == {**ring, "signer": old}
    assert subject.sign_with(ring=ring, key_id=word(rng)) == VALUE_ERROR
    third, secret = word(rng), new_secret(rng)
    assert subject.add_key(ring=ring, key_id=third, secret=secret) != VALUE_ERROR
    for key_id, wrong in ((old, secret), (new, secret), (third, secret[:62])):
        assert subject.add_key(ring=ring, key_id=key_id, secret=wrong) == VALUE_ERROR
