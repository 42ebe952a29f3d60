"""Step 07: notes and nonces in one file. Each refusal has its positive control."""

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


def note(rng: Any) -> list[str]:
    """A note that no solution can have foreseen."""
    return [f"n-{word(rng)}", f"It's {word(rng)}", f"file:///srv/{word(rng)}.md", word(rng)]


def told(answer: dict[str, Any]) -> list[str]:
    """What each step said; a claim that was granted says done."""
    return ["done" if isinstance(each, dict) else each for each in answer["told"]]


# 7.1


def test_a_transaction_finds_the_whole_note(subject: Any, rng: Any) -> None:
    one, other = note(rng), note(rng)
    asked = [one[0], other[0], "absent", "' OR 1 --", one[0].upper(), "n-%", one[0][:-1] + "_"]
    actions = [["find", note_id] for note_id in asked]
    answer = subject.transact(notes=[one, other], actions=actions)
    assert answer["told"] == [one, other, None, None, None, None, None]


def test_a_delete_takes_one_note_and_is_seen_at_once(subject: Any, rng: Any) -> None:
    one, other = note(rng), note(rng)
    answer = subject.transact(notes=[one, other], actions=[["delete", one[0]], ["find", one[0]]])
    assert answer == {"told": ["deleted", None], "left": [other[0]]}


def test_a_delete_that_matched_nothing_is_no_success(subject: Any, rng: Any) -> None:
    one = note(rng)
    wrong = ["absent", one[0].upper(), "n-%", one[0][:-1] + "_"]
    actions = [["delete", note_id] for note_id in (*wrong, one[0], one[0])]
    answer = subject.transact(notes=[one], actions=actions)
    told = [*["KeyError"] * len(wrong), "deleted", "KeyError"]
    assert answer == {"told": told, "left": []}


# 7.2


def test_no_transaction_opens_behind_your_back(subject: Any) -> None:
    answer = subject.modes()
    assert (answer["opened"], answer["rows"]) == (False, 1)


def test_a_new_file_has_a_write_ahead_log(subject: Any) -> None:
    assert subject.modes()["journal"] == "wal"


def test_the_patience_is_the_one_that_was_given(subject: Any, rng: Any) -> None:
    seconds = rng.randrange(1, 30)
    assert subject.patience_of(seconds=seconds) == seconds * 1000


def test_a_new_file_that_another_one_is_opening_is_opened_too(subject: Any) -> None:
    assert subject.open_while_held() == {"journal": "wal", "waited": True}


# 7.3


def test_what_is_done_in_a_transaction_is_committed_at_its_end(subject: Any, rng: Any) -> None:
    said = word(rng)
    answer = subject.transaction_that(does="nothing", word=said)
    assert answer == {"told": "done", "kept": [said], "seen": [], "open": False}


def test_a_transaction_keeps_other_writers_out_from_its_first_moment(
    subject: Any, rng: Any
) -> None:
    said = word(rng)
    answer = subject.transaction_that(does="look", word=said)
    assert answer["seen"] == ["the other one waits"]
    assert (answer["told"], answer["kept"]) == ("done", [said])


@pytest.mark.parametrize(
    ("does", "raised"), [("refuse", "ToolRefusal"), ("interrupt", "KeyboardInterrupt")]
)
def test_whatever_is_raised_rolls_back_and_goes_through(
    subject: Any, rng: Any, does: str, raised: str
) -> None:
    answer = subject.transaction_that(does=does, word=word(rng))
    assert answer == {"told": raised, "kept": [], "seen": [], "open": False}


@pytest.mark.parametrize("does", ["held", "full"])
def test_a_busy_or_full_database_is_a_refusal_that_changes_nothing(
    subject: Any, rng: Any, does: str
) -> None:
    answer = subject.transaction_that(does=does, word=word(rng))
    assert (answer["told"], answer["kept"], answer["open"]) == ("StoreUnavailable", [], False)


def test_a_mistake_in_a_statement_is_no_refusal(subject: Any, rng: Any) -> None:
    answer = subject.transaction_that(does="wrong", word=word(rng))
    assert (answer["told"], answer["kept"]) == ("OperationalError", [])


def test_a_transaction_inside_a_transaction_is_a_mistake(subject: Any, rng: Any) -> None:
    answer = subject.transaction_that(does="nested", word=word(rng))
    assert (answer["told"], answer["kept"]) == ("RuntimeError", [])
    said = word(rng)
    answer = subject.transaction_that(does="nested and caught", word=said)
    assert answer == {"told": "done", "kept": [said], "seen": ["still open"], "open": False}


# 7.4


def test_a_nonce_has_one_row_of_the_right_types(subject: Any, rng: Any) -> None:
    nonce, other = word(rng), word(rng)
    rows = [[nonce, 1.5], [nonce, 2.5], [None, 1.5], [other, None], [other, "soon"], [other, 1]]
    told = subject.nonces_table(rows=rows)
    assert told == ["taken", "refused", "refused", "refused", "refused", "taken"]


def test_making_the_tables_again_keeps_what_is_there(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    answer = subject.tables_again(nonce=nonce)
    assert answer == {"notes": ALL, "nonces": {nonce: 1}, "kept": 1, "counters": 1}


def test_tables_that_cannot_be_made_leave_none_of_them(subject: Any) -> None:
    assert subject.tables_half_made() == []


def test_two_processes_open_one_new_file(subject: Any) -> None:
    assert subject.opened_by_two() == [["open", "open"]]


# 7.5


def test_a_granted_claim_takes_effect_and_returns_what_the_effect_returns(
    subject: Any, rng: Any
) -> None:
    nonce = word(rng)
    answer = subject.play(steps=[claim(nonce, delete="draft-1", answer=["x", 1])])
    assert answer["told"][0]["answer"] == ["x", 1]
    assert (answer["notes"], answer["nonces"]) == (LEFT, {nonce: 1})


def test_nothing_is_seen_outside_while_the_effect_runs(subject: Any, rng: Any) -> None:
    answer = subject.play(steps=[claim(word(rng), delete="draft-1")])
    assert answer["told"][0]["seen"] == {"notes": ALL, "nonces": {}}
    assert answer["notes"] == LEFT


def test_a_spent_nonce_is_refused_by_every_store_on_the_file(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    again = claim(nonce, delete="draft-2", server="second")
    other = claim(word(rng), server="second")
    answer = subject.play(steps=[claim(nonce, delete="draft-1"), again, other])
    assert (told(answer), answer["notes"]) == (["done", "spent", "done"], LEFT)


def test_a_restart_forgets_nothing(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    steps = [claim(nonce, delete="draft-1"), {"restart": 1}, claim(nonce), claim(word(rng))]
    assert told(subject.play(steps=steps)) == ["done", "restarted", "spent", "done"]


@pytest.mark.parametrize(
    ("fail", "said"), [("refusal", "refused"), ("bug", "failed"), ("interrupt", "interrupted")]
)
def test_an_effect_that_fails_leaves_nonce_and_notes_alone(
    subject: Any, rng: Any, fail: str, said: str
) -> None:
    nonce = word(rng)
    bad, good = claim(nonce, delete="draft-2", fail=fail), claim(nonce, delete="draft-1")
    answer = subject.play(steps=[bad, good, good])
    assert told(answer) == [said, "done", "spent"]
    assert answer["notes"] == LEFT


def test_a_note_that_is_gone_leaves_the_nonce_unspent(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    steps = [claim(nonce, delete="draft-9"), claim(nonce, delete="draft-1"), claim(nonce)]
    answer = subject.play(steps=steps)
    assert (told(answer), answer["notes"]) == (["no such note", "done", "spent"], LEFT)


def test_an_effect_that_claims_is_refused_and_changes_nothing(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    answer = subject.play(steps=[claim(nonce, delete="draft-1", fail="claims"), claim(nonce)])
    assert (told(answer), answer["notes"]) == (["failed", "done"], ALL)


def test_nonces_are_told_apart_to_the_letter(subject: Any, rng: Any) -> None:
    nonce = word(rng) + "a"
    spellings = [nonce, nonce.upper(), nonce[:-1], nonce + " ", nonce]
    answer = subject.play(steps=[claim(each) for each in spellings])
    assert told(answer) == ["done", "done", "done", "done", "spent"]


def test_a_nonce_is_kept_until_its_expiry_plus_leeway(subject: Any, rng: Any) -> None:
    nonce, leeway = word(rng), rng.randrange(2, 30)
    for later in (59, 60, 60 + leeway - 0.5):
        answer = subject.play(steps=[claim(nonce), {"advance": later}, claim(nonce)], leeway=leeway)
        assert told(answer) == ["done", "later", "spent"]
        others = [claim(nonce), {"advance": later}, claim(word(rng), 500)]
        assert nonce in subject.play(steps=others, leeway=leeway)["nonces"]
    late = [claim(nonce), {"advance": 60 + leeway}, claim(word(rng), 500)]
    assert nonce not in subject.play(steps=late, leeway=leeway)["nonces"]


def test_a_nonce_too_old_to_be_remembered_is_refused(subject: Any, rng: Any) -> None:
    for later in (65, 66, 10_000):
        answer = subject.play(steps=[{"advance": later}, claim(word(rng), delete="draft-1")])
        assert (told(answer), answer["notes"]) == (["later", "spent"], ALL)
    assert told(subject.play(steps=[{"advance": 64}, claim(word(rng))])) == ["later", "done"]


def test_a_claim_that_waited_reads_the_clock_when_its_turn_has_come(subject: Any, rng: Any) -> None:
    nonce = word(rng)
    assert subject.waits(nonce=nonce, later=0) == {"told": "done", "notes": LEFT}
    assert subject.waits(nonce=nonce, later=66) == {"told": "spent", "notes": ALL}


def test_a_full_store_refuses_and_evicts_nothing(subject: Any, rng: Any) -> None:
    nonces, extra = [word(rng) for _ in range(3)], word(rng)
    full = [*map(claim, nonces), claim(extra, delete="draft-1"), claim(nonces[0])]
    answer = subject.play(steps=full, capacity=3)
    assert told(answer) == ["done", "done", "done", "full", "spent"]
    assert (answer["notes"], sorted(answer["nonces"])) == (ALL, sorted(nonces))
    later = [*map(claim, nonces), {"advance": 65}, claim(extra, 500)]
    assert told(subject.play(steps=later, capacity=3))[-1] == "done"


def test_a_busy_file_is_a_refusal_that_leaves_the_nonce_unspent(subject: Any, rng: Any) -> None:
    answer = subject.busy(nonce=word(rng))
    assert answer == {"told": ["unavailable", "deleted"], "meanwhile": {}, "notes": LEFT}


def test_of_two_processes_exactly_one_commits_wherever_the_other_one_stands(
    subject: Any, rng: Any
) -> None:
    answer = subject.rivals(nonce=word(rng))
    first = {"gone": ["draft-1"], "nonces": 1}
    second = {"gone": ["draft-2"], "nonces": 1}
    fair = [["deleted", "spent", first], ["spent", "deleted", second]]
    assert [each for each in answer["endings"] if each not in fair] == []
    assert answer["points"] > 2


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_processes_that_start_together_make_one_deletion(
    subject: Any, rng: Any, method: str
) -> None:
    answer = subject.started_together(nonce=word(rng), method=method)
    assert answer["told"] == ["deleted", "spent"]
    assert (len(answer["gone"]), answer["nonces"]) == (1, 1)
    assert answer["inherited"] == 0


def test_a_process_that_is_killed_has_changed_nothing(subject: Any, rng: Any) -> None:
    rows = subject.killed(nonce=word(rng))
    assert [row for row in rows if row[1:] != [[], 0, "deleted"]] == []
    assert len(rows) > 2


def test_expired_nonces_are_found_by_the_index_and_not_by_a_scan(subject: Any) -> None:
    answer = subject.cost(live=50, expired=20)
    assert answer == {"scans": [], "left": 51, "heard": True}


# 7.6


def story(rng: Any, **changes: Any) -> dict[str, Any]:
    """The aftermath of a store that is right, and what a wrong one leaves instead."""
    one, two, other = (f"n-{word(rng)}" for _ in range(3))
    names = {"ONE": one, "TWO": two, "OTHER": other}
    told = {
        "told": ["deleted", "spent"],
        "wanted": ["ONE", "TWO"],
        "before": ["ONE", "TWO", "OTHER"],
        "after": ["TWO", "OTHER"],
        "nonces": 1,
        **changes,
    }
    return {
        key: [names.get(each, each) for each in value] if isinstance(value, list) else value
        for key, value in told.items()
    }


def test_three_right_stores_are_accepted(subject: Any, rng: Any) -> None:
    second = {"told": ["spent", "deleted"], "after": ["ONE", "OTHER"]}
    for changes in ({}, second, {"told": ["deleted", "unavailable"]}):
        assert subject.prove(aftermath=story(rng, **changes)) == "holds"


def test_a_store_that_looks_and_then_inserts_is_rejected(subject: Any, rng: Any) -> None:
    both = {"told": ["deleted", "deleted"], "after": ["OTHER"]}
    assert subject.prove(aftermath=story(rng, **both)) == "rejected"
    one_note_gone = {"told": ["deleted", "deleted"]}
    assert subject.prove(aftermath=story(rng, **one_note_gone)) == "rejected"


def test_a_store_that_commits_nonce_and_note_apart_is_rejected(subject: Any, rng: Any) -> None:
    for apart in ({"nonces": 0}, {"nonces": 2}, {"after": ["ONE", "TWO", "OTHER"]}):
        assert subject.prove(aftermath=story(rng, **apart)) == "rejected"


def test_a_missing_note_alone_proves_nothing(subject: Any, rng: Any) -> None:
    nobody = {"told": ["spent", "spent"]}
    wrong_note = {"after": ["ONE", "OTHER"]}
    one_more = {"after": ["OTHER"]}
    a_new_one = {"after": ["TWO", "OTHER", "new"]}
    another_for_it = {"after": ["TWO", "new"]}
    never_there = {"before": ["TWO", "OTHER"], "after": ["TWO", "OTHER"]}
    changed = [nobody, wrong_note, one_more, a_new_one, another_for_it, never_there]
    for changes in changed:
        assert subject.prove(aftermath=story(rng, **changes)) == "rejected"


def test_a_crash_is_no_refusal(subject: Any, rng: Any) -> None:
    assert subject.prove(aftermath=story(rng, told=["deleted", "crashed"])) == "rejected"


# 7.7


def ask(nonce: str, asked: str, **more: Any) -> dict[str, Any]:
    """A claim that may be repeated."""
    return {"claim": nonce, "asked": asked, "delete": "draft-1", "answer": {"said": nonce}, **more}


def test_the_same_request_is_told_the_same_again_and_done_once(subject: Any, rng: Any) -> None:
    nonce, asked = word(rng), word(rng)
    answer = subject.repeat(steps=[ask(nonce, asked), ask(nonce, asked), ask(nonce, asked)])
    assert answer["told"] == [{"said": nonce}] * 3
    assert (answer["ran"], answer["notes"], answer["nonces"]) == (1, LEFT, {nonce: 1})


def test_another_request_with_the_nonce_is_refused(subject: Any, rng: Any) -> None:
    nonce, asked = word(rng), word(rng)
    answer = subject.repeat(steps=[ask(nonce, asked), ask(nonce, word(rng)), ask(nonce, asked)])
    assert answer["told"] == [{"said": nonce}, "spent", {"said": nonce}]
    assert answer["ran"] == 1


def test_an_outcome_of_nothing_is_told_again_too(subject: Any, rng: Any) -> None:
    nonce, asked = word(rng), word(rng)
    answer = subject.repeat(steps=[ask(nonce, asked, answer=None), ask(nonce, asked)])
    assert (answer["told"], answer["ran"]) == ([None, None], 1)


def test_a_request_that_failed_may_be_made_again(subject: Any, rng: Any) -> None:
    nonce, asked = word(rng), word(rng)
    answer = subject.repeat(steps=[ask(nonce, asked, fail=True), ask(nonce, asked)])
    assert (answer["told"], answer["ran"]) == (["refused", {"said": nonce}], 2)
    assert answer["notes"] == LEFT
