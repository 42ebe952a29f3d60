"""Step 06: each approval is good for one deletion. Each refusal has its positive control."""

from typing import Any

import pytest

ALL = ["agenda-1", "draft-1", "draft-2", "draft-3", "draft-4"]
LEFT = ["agenda-1", "draft-2", "draft-3", "draft-4"]


def claim(nonce: str, until: float = 60, **more: Any) -> dict[str, Any]:
    """A claim that lives for so many seconds from the start of the script."""
    return {"claim": nonce, "until": until, **more}


def word(rng: Any) -> str:
    """A nonce that no solution can have foreseen."""
    return f"{rng.getrandbits(64):016x}"


def told(answer: dict[str, Any]) -> list[str]:
    """What each step said; a claim that was granted says done."""
    return ["done" if isinstance(each, dict) else each for each in answer["told"]]


# 6.1


def test_a_transaction_finds_what_is_there(subject: Any) -> None:
    answer = subject.transact(actions=[["find", "draft-1"], ["find", "draft-9"]])
    assert answer["told"] == ["draft-1", None]


def test_a_transaction_no_longer_finds_what_it_deleted(subject: Any) -> None:
    actions = [["delete", "draft-1"], ["find", "draft-1"], ["find", "draft-2"]]
    assert subject.transact(actions=actions)["told"] == ["done", None, "draft-2"]


# 6.2


def test_nothing_is_seen_outside_before_the_commit(subject: Any) -> None:
    answer = subject.transact(actions=[["delete", "draft-1"], ["look"], ["commit"], ["look"]])
    assert answer["told"] == ["done", ALL, "done", LEFT]


def test_what_is_not_there_cannot_be_deleted(subject: Any) -> None:
    actions = [["delete", "draft-9"], ["delete", "draft-1"], ["delete", "draft-1"]]
    answer = subject.transact(actions=actions)
    assert answer == {"told": ["KeyError", "done", "KeyError"], "notes": ALL}


def test_a_transaction_without_commit_changes_nothing(subject: Any) -> None:
    assert subject.transact(actions=[["delete", "draft-1"]])["notes"] == ALL
    assert subject.transact(actions=[["delete", "draft-1"], ["commit"]])["notes"] == LEFT


# 6.3


def test_a_granted_claim_takes_effect_and_returns_what_the_effect_returns(
    subject: Any, rng: Any
) -> None:
    answer = subject.play(steps=[claim(word(rng), delete="draft-1", answer=["x", 1])])
    assert answer["told"][0]["answer"] == ["x", 1]
    assert answer["notes"] == LEFT


def test_a_spent_nonce_is_refused_and_runs_nothing(subject: Any, rng: Any) -> None:
    nonce, other = word(rng), word(rng)
    again = [claim(nonce, delete="draft-1"), claim(nonce, delete="draft-2")]
    assert told(subject.play(steps=[*again, claim(other)])) == ["done", "spent", "done"]
    assert subject.play(steps=again)["notes"] == LEFT


def test_an_effect_that_returns_nothing_spends_the_nonce_too(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    assert told(subject.play(steps=[claim(nonce), claim(nonce)])) == ["done", "spent"]


@pytest.mark.parametrize("fail", ["refusal", "bug", "interrupt"])
def test_an_effect_that_fails_leaves_nonce_and_notes_alone(
    subject: Any, rng: Any, fail: str
) -> None:
    nonce = word(rng)
    bad, good = claim(nonce, delete="draft-2", fail=fail), claim(nonce, delete="draft-1")
    answer = subject.play(steps=[bad, good, good])
    said = {"refusal": "refused", "bug": "failed", "interrupt": "interrupted"}[fail]
    assert told(answer) == [said, "done", "spent"]
    assert answer["notes"] == LEFT


def test_nothing_is_seen_outside_while_the_effect_runs(subject: Any, rng: Any) -> None:
    answer = subject.play(steps=[claim(word(rng), delete="draft-1")])
    assert answer["told"][0]["seen"] == ALL
    assert answer["notes"] == LEFT


def test_nonces_are_told_apart_to_the_letter(subject: Any, rng: Any) -> None:
    nonce = word(rng) + "a"
    steps = [
        claim(nonce),
        claim(nonce.upper()),
        claim(nonce[:-1]),
        claim(nonce + "="),
        claim(nonce),
    ]
    assert told(subject.play(steps=steps)) == ["done", "done", "done", "done", "spent"]


# 6.4


def test_a_nonce_is_kept_until_its_expiry_plus_leeway(subject: Any, rng: Any) -> None:
    nonce, leeway = word(rng), rng.randrange(2, 30)
    for later in (59, 60, 60 + leeway - 0.5):
        steps = [claim(nonce), {"advance": later}, claim(nonce)]
        answer = subject.play(steps=steps, leeway=leeway)
        assert told(answer) == ["done", "later", "spent"]


def test_a_nonce_too_old_to_be_remembered_is_refused(subject: Any, rng: Any) -> None:
    for later in (65, 66, 10_000):
        steps = [{"advance": later}, claim(word(rng), delete="draft-1")]
        answer = subject.play(steps=steps)
        assert (told(answer), answer["notes"]) == (["later", "spent"], ALL)
    assert told(subject.play(steps=[{"advance": 64}, claim(word(rng))])) == ["later", "done"]


def test_a_clock_that_goes_back_brings_no_nonce_back(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    steps = [claim(nonce), {"advance": 65}, claim(word(rng), 500), {"advance": -30}, claim(nonce)]
    assert told(subject.play(steps=steps)) == ["done", "later", "done", "later", "spent"]


def test_a_full_store_refuses_and_evicts_nothing(subject: Any, rng: Any) -> None:
    one, two, three = word(rng), word(rng), word(rng)
    steps = [claim(one), claim(two), claim(three, delete="draft-1"), claim(one), claim(two)]
    answer = subject.play(steps=steps, capacity=2)
    assert told(answer) == ["done", "done", "full", "spent", "spent"]
    assert answer["notes"] == ALL


def test_expired_nonces_make_room(subject: Any, rng: Any) -> None:
    steps = [claim(word(rng), 10), claim(word(rng), 60), claim(word(rng)), {"advance": 15}]
    steps += [claim(word(rng)), claim(word(rng))]
    answer = subject.play(steps=steps, capacity=2)
    assert told(answer) == ["done", "done", "full", "later", "done", "full"]


def test_the_order_of_claims_is_not_the_order_of_expiry(subject: Any, rng: Any) -> None:
    long, short = word(rng), word(rng)
    steps = [
        claim(long, 500),
        claim(short, 10),
        {"advance": 20},
        claim(word(rng), 500),
        claim(long),
    ]
    assert told(subject.play(steps=steps, capacity=2)) == ["done", "done", "later", "done", "spent"]


def test_a_claim_that_failed_takes_no_room(subject: Any, rng: Any) -> None:
    steps = [claim(word(rng), fail="bug"), claim(word(rng), fail="bug"), claim(word(rng))]
    answer = subject.play(steps=steps, capacity=1)
    assert told(answer) == ["failed", "failed", "done"]


def test_a_claim_costs_the_same_however_many_nonces_are_live(subject: Any) -> None:
    few, many = subject.work(live=8), subject.work(live=400)
    assert 0 < few <= many + 50
    assert many <= 3 * few


# 6.5


def test_of_two_rivals_one_wins_wherever_the_first_is_stopped(subject: Any, rng: Any) -> None:
    nonce, one, two = word(rng), word(rng), word(rng)
    first_wins = [one, "spent", LEFT]
    second_wins = ["spent", two, ["agenda-1", "draft-1", "draft-3", "draft-4"]]
    answer = subject.rivals(nonce=nonce, words=[one, two])
    assert answer["points"] is True
    assert [each for each in answer["endings"] if each not in (first_wins, second_wins)] == []
    assert first_wins in answer["endings"]


def test_of_a_crowd_of_threads_one_wins(subject: Any, rng: Any) -> None:
    words = [word(rng) for _ in range(8)]
    told = subject.crowd(nonce=word(rng), words=words)
    assert told.count("spent") == 7
    assert len([each for each in told if each in words]) == 1
