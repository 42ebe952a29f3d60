"""What must hold for every input and not only for the ones that somebody thought of (hypothesis).

The examples are derived from the code, so a run on one machine is the run on all of them.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from kit.clock import FrozenClock
from kit.notes import GRANTS, example_notes
from kit.parts import ROOT, part_paths
from kit.principal import Principal
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION, VERSION
from kit.randomness import SeededRandomness
from kit.refusals import RpcError, StateRefused, ToolRefusal

sys.path.insert(0, str(ROOT / "solutions"))
import server as server_module

settings.register_profile("lab", derandomize=True, database=None, deadline=None, max_examples=300)
settings.load_profile("lab")

PARTS = server_module.Parts(part_paths())
scope, state, forms, envelope = PARTS.scope, PARTS.state, PARTS.forms, PARTS.envelope
CLOCK = FrozenClock()
RING = state.KeyRing({"k1": SeededRandomness("ring").token_bytes(32)}, "k1")
ALICE = Principal("alice", frozenset({"notes"}))

# Names in which everything that may go wrong with names is frequent.
names = st.text(st.sampled_from("ab.%25 é\u202e~+"), min_size=1, max_size=6)
paths = st.lists(st.sampled_from(["team", "team-archive", "a", "..", ".", "", "...", "..a", "a.."]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def uri_of(segments: Iterable[str]) -> str:
    """The file URI whose segments, decoded, are these."""
    return "file:///" + "/".join(quote(segment, safe="") for segment in segments)


# URIs


@given(st.lists(names))
def test_a_normalised_uri_stays_what_it_is(segments: list[str]) -> None:
    try:
        once = scope.normalize(uri_of(segments))
    except ToolRefusal:
        assume(False)
    assert scope.normalize(uri_of(once.segments)) == once


@given(names.filter(lambda name: name not in (".", "..")))
def test_an_escape_is_decoded_once(name: str) -> None:
    twice = quote(quote(name, safe=""), safe="")
    assert scope.normalize(f"file:///{twice}").segments == (quote(name, safe=""),)


@given(st.text(max_size=40))
def test_any_text_is_a_location_or_a_refusal(text: str) -> None:
    for uri in (text, f"file://{text}", f"file:///{text}"):
        with suppress(ToolRefusal):
            scope.normalize(uri)


@pytest.fixture(scope="module")
def real_folder() -> Iterator[Path]:
    """A real folder, empty at first."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made).resolve()


@given(start=paths, ways=st.tuples(paths, paths))
def test_containment_is_what_the_file_system_says(
    real_folder: Path, start: list[str], ways: tuple[list[str], list[str]]
) -> None:
    workspace, target = (start + way for way in ways)
    # As many folders above as anybody may climb.
    above = ["d"] * (max(len(workspace), len(target)) + 1)
    locations = [scope.normalize("file:///" + "/".join(above + way)) for way in (workspace, target)]
    outer, inner = (_walked(real_folder, above + way) for way in (workspace, target))
    assert scope.contains(*locations) == inner.is_relative_to(outer)


def _walked(folder: Path, names: list[str]) -> Path:
    """Where the file system ends up, with every folder on the way made."""
    for name in names:
        folder = folder / name
        folder.resolve().mkdir(exist_ok=True)
    return folder.resolve()


# Canonical JSON


@given(json_values)
def test_the_canonical_form_ignores_the_order_of_keys(value: Any) -> None:
    assert state.canonical(_reversed(value)) == state.canonical(value)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(list(value))}
    return [_reversed(each) for each in value] if isinstance(value, list) else value


@given(json_values, json_values)
def test_two_values_have_one_canonical_form_only_if_they_are_one_value(a: Any, b: Any) -> None:
    assert (state.canonical(a) == state.canonical(b)) == (_typed(a) == _typed(b))


def _typed(value: Any) -> Any:
    """The value with its types, since Python says 1 == 1.0 == True."""
    if isinstance(value, dict):
        return ("object", sorted((key, repr(_typed(value[key]))) for key in value))
    if isinstance(value, list):
        return ("array", [_typed(each) for each in value])
    return (type(value).__name__, repr(value))


# The codec


@given(st.binary(max_size=60))
def test_base64url_comes_back_and_has_one_spelling(raw: bytes) -> None:
    text = state.encode(raw)
    assert state.decode(text) == raw
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        other = text[:-1] + last
        if text and other != text:
            with suppress(StateRefused):
                assert state.decode(other) != raw


ORIGIN = state.Origin("alice", "tools/call", "notes_delete", {"title": "Draft"}, "lab")


def minted(origin: Any = ORIGIN) -> str:
    return str(state.mint(origin, "ask", ("n-1",), RING, CLOCK, SeededRandomness("nonce")))


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_state_with_one_byte_changed_opens_for_nobody(place: int, change: int) -> None:
    token = minted()
    raw = bytearray(token.encode())
    raw[place % len(raw)] ^= change
    with pytest.raises(StateRefused):
        state.open_state(raw.decode("latin-1"), ORIGIN, "ask", RING, CLOCK)


@given(json_values)
def test_anything_at_all_as_a_state_is_refused(value: Any) -> None:
    with pytest.raises(StateRefused):
        state.open_state(value, ORIGIN, "ask", RING, CLOCK)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_a_state_opens_for_its_own_arguments_and_no_others(arguments: dict[str, Any]) -> None:
    own = replace(ORIGIN, arguments=arguments)
    assert state.open_state(minted(own), own, "ask", RING, CLOCK).candidates == ("n-1",)
    other = replace(ORIGIN, arguments={**arguments, "one more": None})
    with pytest.raises(StateRefused):
        state.open_state(minted(own), other, "ask", RING, CLOCK)


# Forms


class Everything(forms.Form):  # type: ignore[name-defined, misc]
    """One property of each kind whose values JSON schema judges as we do."""


FIELDS: dict[str, Any] = {
    "note": (str, ...),
    "copies": (int, ...),
    "ratio": (float, ...),
    "confirm": (bool, ...),
}
EVERYTHING: type[BaseModel] = create_model("Everything", __base__=Everything, **FIELDS)
SCHEMA = {**forms.form_schema(EVERYTHING), "additionalProperties": False}


@given(
    st.fixed_dictionaries(
        {"confirm": st.booleans() | json_values},
        optional={
            "note": st.text(max_size=5) | json_values,
            "copies": st.integers() | json_values,
            "ratio": st.floats(allow_nan=False, allow_infinity=False) | json_values,
            "more": json_values,
        },
    )
)
def test_content_is_accepted_if_the_schema_that_the_user_saw_says_so(content: Any) -> None:
    assume(not (isinstance(content.get("copies"), float) and content["copies"].is_integer()))
    assume(_fits_doubles(content))
    answer = forms.read_answer(EVERYTHING, {"q": {"action": "accept", "content": content}}, "q")
    fits = jsonschema.Draft202012Validator(SCHEMA).is_valid(content)
    assert isinstance(answer, forms.Accepted) == fits


def _fits_doubles(content: Any) -> bool:
    """Whether a double can hold its integers: JSON schema does not ask."""
    numbers = [each for each in content.values() if type(each) is int]
    return all(abs(number) < sys.float_info.max for number in numbers)


@given(json_values)
def test_any_response_is_one_of_five_answers(response: Any) -> None:
    answer = forms.read_answer(EVERYTHING, {"q": response}, "q")
    assert isinstance(answer, forms.Answer) and not isinstance(answer, forms.Accepted)


# The envelope, and the server behind it


def notes_server() -> Any:
    store_notes = example_notes()
    store = PARTS.replay.ReplayStore(store_notes, CLOCK)
    world = server_module.World(store_notes, GRANTS, RING, store, CLOCK, SeededRandomness("world"))
    return server_module.NotesServer(PARTS, world, lambda line: None)


SERVER = notes_server()


@given(st.binary(max_size=80) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_get_an_answer_or_silence_and_never_an_internal_error(line: bytes) -> None:
    answer = SERVER.answer_line(line, ALICE)
    assert answer is None or json.loads(answer)["error"]["code"] in (-32700, -32600, -32602, -32601)


METHODS = ["server/discover", "tools/list", "tools/call", "resources/read", "initialize", "x"]


@given(st.sampled_from(METHODS), st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_no_params_make_a_request_crash(method: str, params: dict[str, Any]) -> None:
    meta = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: {"elicitation": {}}}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    answer = SERVER.handle(message, ALICE)
    assert answer["id"] == 1
    assert answer.get("error", {}).get("code") != -32603


@given(json_values)
def test_decode_reads_what_json_writes(value: Any) -> None:
    with suppress(RpcError):
        assert _typed(envelope.decode(json.dumps(value).encode())) == _typed(value)
