"""Step 06: each approval is good for one deletion. Each refusal has its positive control."""

from typing import Any

import pytest


def word(rng: Any) -> str:
    """A text that no solution can have foreseen."""
    return f"{rng.getrandbits(64):016x}"


def some_notes(rng: Any) -> list[dict[str, Any]]:
    """Five notes of a world that was made just now, in the order of their ids."""
    ids = sorted(word(rng) for _ in range(5))
    return [{"id": i, "title": word(rng), "uri": f"file:///{i}", "body": word(rng)} for i in ids]


def ids(notes: list[dict[str, Any]], *gone: int) -> list[str]:
    """The ids of the notes, without those at these places."""
    return [note["id"] for place, note in enumerate(notes) if place not in gone]


def moment(rng: Any) -> int:
    """A time of day, in seconds since the epoch."""
    return rng.randrange(1_000_000_000, 2_000_000_000)


# 6.1, 6.2


def transact(subject: Any, notes: list[dict[str, Any]], *actions: tuple[str, ...]) -> Any:
    """What each action of one transaction says, and what is left of the notes."""
    return subject.transact(notes=notes, actions=[list(action) for action in actions])


def test_a_transaction_finds_what_is_there(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    asked = [("find", notes[3]["id"]), ("find", word(rng)), ("find", notes[0]["id"])]
    assert transact(subject, notes, *asked)["told"] == [notes[3], None, notes[0]]


def test_a_transaction_no_longer_finds_what_it_deleted(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    one, two = ids(notes)[:2]
    answer = transact(subject, notes, ("delete", one), ("find", one), ("find", two))
    assert answer["told"] == ["done", None, notes[1]]


def test_nothing_is_seen_outside_before_the_commit(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    answer = transact(subject, notes, ("delete", ids(notes)[2]), ("look",), ("commit",), ("look",))
    assert answer["told"] == ["done", ids(notes), "done", ids(notes, 2)]


def test_what_is_not_there_cannot_be_deleted(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    tries = [("delete", word(rng)), ("delete", ids(notes)[0]), ("delete", ids(notes)[0])]
    answer = transact(subject, notes, *tries)
    assert answer == {"told": ["KeyError", "done", "KeyError"], "notes": ids(notes)}


def test_a_transaction_without_commit_changes_nothing(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    delete = ("delete", ids(notes)[1])
    assert transact(subject, notes, delete)["notes"] == ids(notes)
    assert transact(subject, notes, delete, ("commit",))["notes"] == ids(notes, 1)


def test_a_commit_does_all_or_nothing(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    deletes = [("delete", note_id) for note_id in rng.sample(ids(notes)[:3], 3)]
    assert transact(subject, notes, *deletes, ("commit",))["notes"] == ids(notes, 0, 1, 2)
    for gone in range(3):
        vanish = ("vanish", ids(notes)[gone])
        answer = transact(subject, notes, *deletes, vanish, ("commit",))
        assert answer == {"told": ["done"] * 4 + ["KeyError"], "notes": ids(notes, gone)}


# 6.3


def keep(subject: Any, rng: Any, *steps: dict[str, Any]) -> list[bool]:
    """What a store used as a book said when it was asked whether a nonce is spent."""
    told = subject.keep(start=moment(rng), steps=list(steps))
    return [said for step, said in zip(steps, told, strict=True) if "spent" in step]


def remember(nonce: str, until: float) -> dict[str, Any]:
    """Keep the nonce for so many seconds from the start."""
    return {"remember": nonce, "until": until}


PRUNE = {"prune": True}


def test_what_is_remembered_is_spent_to_the_letter(subject: Any, rng: Any) -> None:
    nonce = word(rng) + "a"
    asked = [{"spent": each} for each in (nonce, nonce.upper(), nonce[:-1], nonce + "=")]
    assert keep(subject, rng, remember(nonce, 60), *asked) == [True, False, False, False]


def test_pruning_keeps_a_nonce_until_its_time_is_up(subject: Any, rng: Any) -> None:
    one, two, life = word(rng), word(rng), rng.randrange(20, 300)
    asked = [PRUNE, {"spent": one}, {"spent": two}]
    steps = [PRUNE, remember(one, life), remember(two, life + 900), {"advance": life - 0.5}]
    later = {"advance": 0.5}
    assert keep(subject, rng, *steps, *asked, later, *asked) == [True, True, False, True]


def test_pruning_goes_by_the_time_and_not_by_the_order(subject: Any, rng: Any) -> None:
    names, lives = [word(rng) for _ in range(12)], rng.sample(range(100, 1300, 100), 12)
    steps = [remember(name, life) for name, life in zip(names, lives, strict=True)]
    asked = [{"spent": name} for name in names]
    told = keep(subject, rng, *steps, {"advance": 650}, PRUNE, *asked)
    assert told == [life > 650 for life in lives]


def lives(rng: Any, count: int) -> list[float]:
    """So many lifetimes in no order, the shortest one in the middle."""
    drawn = rng.sample(range(100, 400_000), count)
    return [*drawn[: count // 2], 60, *drawn[count // 2 :]]


def assert_the_same_cost(few: dict[str, int], many: dict[str, int]) -> None:
    """A hundred times as many live nonces may cost a few steps more, as in a heap."""
    assert few["bytecodes"] > 0
    assert many["bytecodes"] <= 3 * few["bytecodes"] + 200
    assert many["looks"] <= 3 * few["looks"] + 60


def test_keeping_the_book_costs_the_same_however_long_it_is(subject: Any, rng: Any) -> None:
    few = subject.cost_of_keeping(start=moment(rng), lives=lives(rng, 8))
    many = subject.cost_of_keeping(start=moment(rng), lives=lives(rng, 800))
    assert_the_same_cost(few, many)


# 6.4


def claim(nonce: str, until: float | str = 60, **more: Any) -> dict[str, Any]:
    """A claim that lives for so many seconds from the start of the script."""
    return {"claim": nonce, "until": until, **more}


def play(
    subject: Any, rng: Any, *steps: dict[str, Any], notes: Any = None, **room: Any
) -> tuple[list[Any], list[str]]:
    """What each step said, where a claim that was granted says done; and which notes are left."""
    answer = subject.play(notes=notes or [], start=moment(rng), steps=list(steps), **room)
    return [each if isinstance(each, str) else "done" for each in answer["told"]], answer["notes"]


def test_a_granted_claim_takes_effect_and_returns_what_the_effect_returns(
    subject: Any, rng: Any
) -> None:
    notes, answer = some_notes(rng), [word(rng), 1]
    step = claim(word(rng), delete=ids(notes)[:2], answer=answer)
    played = subject.play(notes=notes, start=moment(rng), steps=[step])
    assert played["told"][0]["answer"] == answer
    assert played["notes"] == ids(notes, 0, 1)


def test_a_spent_nonce_is_refused_and_runs_nothing(subject: Any, rng: Any) -> None:
    notes, nonce = some_notes(rng), word(rng)
    again = [claim(nonce, delete=[note_id]) for note_id in ids(notes)[:2]]
    told = play(subject, rng, *again, claim(word(rng)), notes=notes)
    assert told == (["done", "spent", "done"], ids(notes, 0))


def test_an_effect_that_returns_nothing_spends_the_nonce_too(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    assert play(subject, rng, claim(nonce), claim(nonce))[0] == ["done", "spent"]


@pytest.mark.parametrize("fail", ["refusal", "bug", "interrupt"])
def test_an_effect_that_fails_leaves_nonce_and_notes_alone(
    subject: Any, rng: Any, fail: str
) -> None:
    notes, nonce = some_notes(rng), word(rng)
    bad = claim(nonce, delete=ids(notes)[1:3], fail=fail)
    good = claim(nonce, delete=ids(notes)[:1])
    said = {"refusal": "refused", "bug": "failed", "interrupt": "interrupted"}[fail]
    told = play(subject, rng, bad, good, good, notes=notes)
    assert told == ([said, "done", "spent"], ids(notes, 0))


def test_a_commit_that_fails_leaves_nonce_and_notes_alone(subject: Any, rng: Any) -> None:
    notes, nonce = some_notes(rng), word(rng)
    both = rng.sample(ids(notes)[:2], 2)
    for gone in (0, 1):
        bad = claim(nonce, delete=both, vanish=ids(notes)[gone])
        told = play(subject, rng, bad, claim(nonce), claim(nonce), notes=notes)
        assert told == (["KeyError", "done", "spent"], ids(notes, gone))


def test_nothing_is_seen_outside_while_the_effect_runs(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    step = claim(word(rng), delete=ids(notes)[:1])
    answer = subject.play(notes=notes, start=moment(rng), steps=[step])
    assert answer["told"][0]["seen"] == ids(notes)
    assert answer["notes"] == ids(notes, 0)


def test_nonces_are_told_apart_to_the_letter(subject: Any, rng: Any) -> None:
    nonce = word(rng) + "a"
    steps = [claim(each) for each in (nonce, nonce.upper(), nonce[:-1], nonce + "=", nonce)]
    assert play(subject, rng, *steps)[0] == ["done", "done", "done", "done", "spent"]


def test_a_nonce_is_kept_until_its_expiry_plus_leeway(subject: Any, rng: Any) -> None:
    nonce, leeway = word(rng), rng.randrange(2, 30)
    for later in (59, 60, 60 + leeway - 0.5):
        steps = [claim(nonce), {"advance": later}, claim(nonce)]
        assert play(subject, rng, *steps, leeway=leeway)[0] == ["done", "later", "spent"]


def test_a_nonce_too_old_to_be_remembered_is_refused(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    step = claim(word(rng), delete=ids(notes)[:1])
    for later in (65, 66, 10_000):
        told = play(subject, rng, {"advance": later}, step, notes=notes)
        assert told == (["later", "spent"], ids(notes))
    assert play(subject, rng, {"advance": 64}, step, notes=notes) == (
        ["later", "done"],
        ids(notes, 0),
    )


def test_an_expiry_that_is_not_a_number_is_too_old(subject: Any, rng: Any) -> None:
    notes, nonce = some_notes(rng), word(rng)
    step = claim(nonce, "nan", delete=ids(notes)[:1])
    told = play(subject, rng, step, claim(nonce, delete=ids(notes)[1:2]), notes=notes)
    assert told == (["spent", "done"], ids(notes, 1))


def test_a_nonce_that_is_over_while_you_look_is_not_granted_again(subject: Any, rng: Any) -> None:
    notes, nonce = some_notes(rng), word(rng)
    start = [claim(word(rng), 10), claim(nonce), {"advance": 64.5}]
    for reading in range(1, 8):
        soon = {"jump": {"readings": reading, "seconds": 1}}
        told = play(subject, rng, *start, soon, claim(nonce, delete=ids(notes)[:1]), notes=notes)
        assert told == (["done", "done", "later", "soon", "spent"], ids(notes))


def test_a_clock_that_goes_back_brings_no_nonce_back(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    steps = [claim(nonce), {"advance": 65}, claim(word(rng), 500), {"advance": -30}, claim(nonce)]
    assert play(subject, rng, *steps)[0] == ["done", "later", "done", "later", "spent"]


def test_a_full_store_refuses_and_evicts_nothing(subject: Any, rng: Any) -> None:
    notes = some_notes(rng)
    one, two, three = word(rng), word(rng), word(rng)
    steps = [claim(one), claim(two), claim(three, delete=ids(notes)[:1]), claim(one), claim(two)]
    told = play(subject, rng, *steps, claim(word(rng), -5), notes=notes, capacity=2)
    assert told == (["done", "done", "full", "spent", "spent", "spent"], ids(notes))


def test_expired_nonces_make_room(subject: Any, rng: Any) -> None:
    steps = [claim(word(rng), 10), claim(word(rng), 60), claim(word(rng)), {"advance": 15}]
    steps += [claim(word(rng)), claim(word(rng))]
    told = ["done", "done", "full", "later", "done", "full"]
    assert play(subject, rng, *steps, capacity=2)[0] == told


def test_the_order_of_claims_is_not_the_order_of_expiry(subject: Any, rng: Any) -> None:
    long = word(rng)
    steps = [claim(long, 500), claim(word(rng), 10), {"advance": 20}, claim(word(rng), 500)]
    told = play(subject, rng, *steps, claim(long), capacity=2)[0]
    assert told == ["done", "done", "later", "done", "spent"]


def test_a_claim_that_failed_takes_no_room(subject: Any, rng: Any) -> None:
    steps = [claim(word(rng), fail="bug"), claim(word(rng), fail="bug"), claim(word(rng))]
    assert play(subject, rng, *steps, capacity=1)[0] == ["failed", "failed", "done"]


def test_a_claim_costs_the_same_however_many_nonces_are_live(subject: Any, rng: Any) -> None:
    few = subject.cost_of_a_claim(start=moment(rng), lives=lives(rng, 8))
    many = subject.cost_of_a_claim(start=moment(rng), lives=lives(rng, 800))
    assert_the_same_cost(few, many)


def test_an_effect_that_claims_is_refused_at_once(subject: Any, rng: Any) -> None:
    notes, nonce = some_notes(rng), word(rng)
    for inner in (nonce, word(rng)):
        nested = claim(inner, delete=ids(notes)[1:2])
        outer = claim(nonce, delete=ids(notes)[:1], inner=nested)
        told = subject.play(notes=notes, start=moment(rng), steps=[outer, claim(nonce)])
        assert told["told"][0]["inner"] == "RuntimeError" and told["told"][1] == "spent"
        assert told["notes"] == ids(notes, 0)
        passed_on = [{**outer, "passes_on": True}, claim(nonce)]
        assert play(subject, rng, *passed_on, notes=notes) == (["failed", "done"], ids(notes))


def rivals(
    subject: Any, rng: Any, notes: list[dict[str, Any]], *claims: Any, **room: Any
) -> list[Any]:
    """All the ways in which two claims can end, wherever the first one was stopped."""
    answer = subject.rivals(notes=notes, start=moment(rng), claims=list(claims), **room)
    assert answer["points"] is True
    return list(answer["endings"])


def test_of_two_rivals_one_wins_wherever_the_first_is_stopped(subject: Any, rng: Any) -> None:
    notes, nonce, one, two = some_notes(rng), word(rng), word(rng), word(rng)
    first = claim(nonce, delete=ids(notes)[:1], answer=one)
    second = claim(nonce, delete=ids(notes)[1:2], answer=two)
    endings = rivals(subject, rng, notes, first, second)
    wins = [[one, "spent", ids(notes, 0)], ["spent", two, ids(notes, 1)]]
    assert [each for each in endings if each not in wins] == []
    assert wins[0] in endings


def test_a_rival_of_a_claim_that_fails_gets_the_nonce(subject: Any, rng: Any) -> None:
    notes, nonce, two = some_notes(rng), word(rng), word(rng)
    first = claim(nonce, delete=ids(notes)[:1], fail="bug")
    second = claim(nonce, delete=ids(notes)[1:2], answer=two)
    endings = rivals(subject, rng, notes, first, second)
    wins = [[told, two, ids(notes, 1)] for told in ("failed", "spent")]
    assert [each for each in endings if each not in wins] == []
    assert wins[0] in endings


def test_two_rivals_for_the_last_place_do_not_both_get_it(subject: Any, rng: Any) -> None:
    notes, one, two = some_notes(rng), word(rng), word(rng)
    first = claim(word(rng), delete=ids(notes)[:1], answer=one)
    second = claim(word(rng), delete=ids(notes)[1:2], answer=two)
    endings = rivals(subject, rng, notes, first, second, capacity=1)
    wins = [[one, "full", ids(notes, 0)], ["full", two, ids(notes, 1)]]
    assert [each for each in endings if each not in wins] == []
    assert wins[0] in endings


def test_of_a_crowd_of_threads_one_wins(subject: Any, rng: Any) -> None:
    words = [word(rng) for _ in range(8)]
    told = subject.crowd(start=moment(rng), nonce=word(rng), words=words)
    assert told.count("spent") == 7
    assert len([each for each in told if each in words]) == 1
