"""A failure text uses the learner's words: the names of exceptions, and where to look."""

from dataclasses import replace
from pathlib import Path

import pytest

from grading.failure import difference, place_of, text_of
from grading.outcomes import Outcome, Refused, RpcFailure, StateRefusal, StoreRefused
from kit.registry import read_registry

PART = """
def sign(payload):
    pass


def verify(token):
    pass
"""


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (StateRefusal("expired"), "StateRefused(reason='expired')"),
        (StateRefusal(), "StateRefused()"),
        (RpcFailure(-32602), "RpcError(code=-32602)"),
        (Refused("No such note."), "ToolRefusal(message='No such note.')"),
        (StoreRefused("nonce_spent"), "NonceSpent()"),
        (StoreRefused("store_full"), "StoreFull()"),
        (StoreRefused(), "StoreRefusal()"),
    ],
)
def test_an_outcome_has_the_name_of_the_exception(outcome: Outcome, words: str) -> None:
    assert text_of(outcome) == words
    assert text_of([outcome]) == f"[{words}]"


def test_a_difference_in_kind_names_the_exception() -> None:
    assert difference("accepted", StateRefusal("key")) == "str, not StateRefused"


@pytest.mark.parametrize(
    ("operation", "function"),
    [("verify", "verify"), ("verify_as_told", "verify"), ("make_ring", "sign"), ("", "sign")],
)
def test_the_place_is_the_function_that_was_asked(
    tmp_path: Path, operation: str, function: str
) -> None:
    exercise = replace(read_registry().steps[0].exercises[0], functions=("sign", "verify"))
    part = tmp_path / "state.py"
    part.write_text(PART, encoding="utf-8")
    assert place_of(exercise, part, operation).split()[1] == function
