"""Step 11: what lies outside the workspace, for a process that runs whatever it likes.

What the kernel decides is checked on the kernel that is here; without Landlock these checks say so.
"""

from typing import Any

import pytest

from kit.landlock import SINCE, Linux, Network, Right, Scope, names
from kit.ways_out import WAYS

THROUGH = "got through"
HERE = Linux().abi()
FILES = [
    "read a file",
    "list a folder",
    "read by ..",
    "read through a new symbolic link",
    "overwrite a file",
    "create a file",
    "delete a file",
    "create a folder",
    "move a file out",
    "move a file in",
    "link a file in",
]
needs_landlock = pytest.mark.skipif(HERE == 0, reason="this kernel has no Landlock")


def flags(kind: Any, abi: int) -> list[str]:
    """What an ABI knows, by the table of the kit."""
    return names(flag for flag in kind if SINCE.get(flag, 1) <= abi)


def stopped(told: dict[str, dict[str, str]]) -> dict[str, bool]:
    """For each way that gets through when it is free: whether it is stopped."""
    free, confined = told["free"], told["confined"]
    return {way: confined[way] != THROUGH for way in free if free[way] == THROUGH}


# 11.1


@pytest.mark.parametrize("kind", [Right, Network, Scope])
def test_a_ruleset_knows_what_its_abi_knows(subject: Any, kind: Any) -> None:
    for abi in range(1, 8):
        assert subject.known(kind=kind.__name__, abi=abi) == flags(kind, abi)


def test_a_later_abi_knows_no_less(subject: Any, rng: Any) -> None:
    for kind in (Right, Network, Scope):
        later = rng.randrange(8, 99)
        assert subject.known(kind=kind.__name__, abi=later) == names(kind)


# 11.2


def test_a_rule_says_of_a_file_only_what_can_be_said_of_one(subject: Any, rng: Any) -> None:
    rights = [right.name for right in Right if rng.random() < 0.7] + ["READ_FILE"]
    wanted = names({Right[name] for name in rights})
    of_a_file = {"EXECUTE", "WRITE_FILE", "READ_FILE", "TRUNCATE", "IOCTL_DEV"}
    folder = subject.allow(place="folder", rights=rights)
    assert folder["rules"] == [["allow", "folder", wanted]]
    for place in ("file", "link"):
        answer = subject.allow(place=place, rights=rights)
        assert answer["rules"] == [["allow", "file", [w for w in wanted if w in of_a_file]]]


def test_a_rule_without_a_right_is_not_made(subject: Any) -> None:
    assert subject.allow(place="folder", rights=["READ_DIR"])["rules"] != []
    for place, rights in (("file", ["READ_DIR", "MAKE_REG"]), ("folder", []), ("file", [])):
        assert subject.allow(place=place, rights=rights) == {
            "told": "allowed",
            "rules": [],
            "left_open": 0,
        }


def test_what_is_not_there_needs_no_rule(subject: Any) -> None:
    answer = subject.allow(place="missing", rights=["READ_FILE"])
    assert answer == {"told": "allowed", "rules": [], "left_open": 0}


def test_no_descriptor_stays_open_behind_a_rule(subject: Any) -> None:
    assert subject.allow(place="folder", rights=["READ_DIR"])["left_open"] == 0
    refused = subject.allow(place="folder", rights=["READ_DIR"], fails="allow")
    assert (refused["told"], refused["left_open"]) == ("E2BIG", 0)


# 11.3


@pytest.mark.parametrize("abi", range(1, 8))
def test_all_that_the_abi_knows_is_handled(subject: Any, abi: int) -> None:
    answer = subject.confine(abi=abi)
    handled = ["create_ruleset", *(flags(kind, abi) for kind in (Right, Network, Scope))]
    assert (answer["told"], answer["calls"][0]) == (abi, handled)


def test_the_workspace_gets_all_but_running_and_devices(subject: Any) -> None:
    for abi in (1, 3, 7):
        rules = [call for call in subject.confine(abi=abi)["calls"] if call[0] == "allow"]
        never = {"EXECUTE", "MAKE_CHAR", "MAKE_BLOCK"}
        assert rules == [["allow", "folder", [f for f in flags(Right, abi) if f not in never]]]


def test_what_is_named_is_read_and_only_what_is_runnable_runs(subject: Any) -> None:
    answer = subject.confine(abi=7, readable=["file", "missing"], runnable=["link"])
    rules = [call[1:] for call in answer["calls"] if call[0] == "allow"][1:]
    assert rules == [["file", ["READ_FILE"]], ["file", ["EXECUTE", "READ_FILE"]]]
    answer = subject.confine(abi=7, readable=["folder"], runnable=["folder"])
    rules = [call[1:] for call in answer["calls"] if call[0] == "allow"][1:]
    wanted = [["READ_FILE", "READ_DIR"], ["EXECUTE", "READ_FILE", "READ_DIR"]]
    assert rules == [["folder", rights] for rights in wanted]
    answer = subject.confine(abi=3, writable=["file"])
    rules = [call[1:] for call in answer["calls"] if call[0] == "allow"][1:]
    assert rules == [["file", ["WRITE_FILE", "READ_FILE", "TRUNCATE"]]]


def test_privileges_go_first_and_the_restriction_comes_last(subject: Any) -> None:
    calls = [call[0] for call in subject.confine(abi=7, readable=["file"])["calls"]]
    assert calls.index("no_new_privs") < calls.index("restrict_self") == len(calls) - 1
    assert calls.count("restrict_self") == 1


def test_without_landlock_nothing_is_claimed(subject: Any) -> None:
    assert subject.confine(abi=1)["told"] == 1
    answer = subject.confine(abi=0)
    assert answer["told"].startswith("LandlockMissing") and "container" in answer["told"]
    assert answer["calls"] == []


def test_other_threads_would_stay_free_so_it_refuses(subject: Any, rng: Any) -> None:
    assert subject.confine(abi=7, threads=1)["told"] == 7
    answer = subject.confine(abi=7, threads=rng.randrange(2, 9))
    assert answer == {"told": "RuntimeError", "calls": [], "left_open": 0}


def test_a_workspace_that_is_no_folder_confines_nothing(subject: Any) -> None:
    for workspace in ("file", "missing"):
        answer = subject.confine(abi=7, workspace=workspace)
        assert answer["told"] in ("ENOTDIR", "NotADirectoryError", "ENOENT", "FileNotFoundError")
        assert ["restrict_self"] not in answer["calls"]


@pytest.mark.parametrize("call", ["create_ruleset", "allow", "no_new_privs", "restrict_self"])
def test_what_the_kernel_refuses_goes_through_and_leaves_nothing_open(
    subject: Any, call: str
) -> None:
    assert subject.confine(abi=7)["left_open"] == 0
    answer = subject.confine(abi=7, fails=call)
    assert (answer["told"], answer["left_open"]) == ("E2BIG", 0)


@needs_landlock
def test_files_outside_cannot_be_reached(subject: Any) -> None:
    for ways in (FILES[:6], FILES[6:]):
        told = subject.tries(ways=ways)
        assert told["free"] == dict.fromkeys(ways, THROUGH)
        assert stopped(told) == dict.fromkeys(ways, True)


@needs_landlock
def test_nothing_is_run_that_was_not_named(subject: Any) -> None:
    ways = ["run a program", "run what it wrote"]
    told = subject.tries(ways=ways)
    assert told["free"] == dict.fromkeys(ways, THROUGH)
    assert stopped(told) == dict.fromkeys(ways, True)


@needs_landlock
def test_the_workspace_works_as_before(subject: Any, rng: Any) -> None:
    told = subject.inside(text=str(rng.random()))
    expected = dict.fromkeys(told, THROUGH)
    if HERE == 1:  # it refuses every move to another folder (BOX-6)
        expected |= {"move": "EXDEV", "link": "EXDEV"}
    assert len(told) > 9 and told == expected


@needs_landlock
def test_outside_what_is_named_can_be_read_and_not_changed(subject: Any, rng: Any) -> None:
    told = subject.named(text=str(rng.random()))
    through = {"read in a named folder", "read a named file"}
    through |= {"run what may be run", "write what may be written"}
    assert {way for way, ending in told.items() if ending == THROUGH} == through


@needs_landlock
def test_a_sandbox_inside_a_sandbox_only_takes_away(subject: Any) -> None:
    assert subject.twice() == {"outer": "EACCES", "inner": THROUGH, "elsewhere": "EACCES"}


@needs_landlock
def test_what_a_confined_process_starts_is_confined(subject: Any) -> None:
    assert subject.children() == {"secret": "EACCES", "note": THROUGH}


# 11.4


def test_inherited_descriptors_are_closed_but_for_those_to_keep(subject: Any, rng: Any) -> None:
    opened = rng.randrange(3, 9)
    kept = sorted(rng.sample(range(opened), 2))
    answer = subject.close_inherited(opened=opened, kept=kept)
    assert answer == {"closed": opened - 2, "open": kept, "lost": 0}


def test_nothing_to_close_closes_nothing(subject: Any) -> None:
    assert subject.close_inherited(opened=1, kept=[])["closed"] == 1
    assert subject.close_inherited(opened=2, kept=[0, 1]) == {
        "closed": 0,
        "open": [0, 1],
        "lost": 0,
    }


@needs_landlock
def test_a_confined_process_has_closed_what_it_inherited(subject: Any) -> None:
    told = subject.tries(ways=["use a descriptor that was open"])
    assert stopped(told) == {"use a descriptor that was open": True}


# 11.5

ALWAYS = {*FILES, "run a program", "run what it wrote", "use a descriptor that was open"} | {
    "read another process's memory"
}
LATER = {
    3: {"empty a file"},
    4: {"connect by TCP", "listen by TCP"},
    6: {"signal another process", "connect to an abstract socket"},
}


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6, 7])
def test_each_abi_stops_what_it_stops_and_no_more(subject: Any, abi: int) -> None:
    more = [ways for since, ways in LATER.items() if since <= abi]
    assert set(subject.stopped(abi=abi)) == ALWAYS.union(*more)


def test_no_landlock_stops_nothing(subject: Any) -> None:
    assert subject.stopped(abi=1) != []
    assert subject.stopped(abi=0) == []


@needs_landlock
def test_what_is_said_to_be_stopped_is_stopped_here(subject: Any) -> None:
    told: dict[str, bool] = {}
    for first in range(0, len(WAYS), 6):
        told |= stopped(subject.tries(ways=list(WAYS)[first : first + 6]))
    claimed = subject.stopped(abi=HERE)
    assert len(told) > 15
    assert {way for way, is_stopped in told.items() if is_stopped} == set(claimed) & set(told)


# 11.6


def story(rng: Any) -> dict[str, Any]:
    """A claim that is true, about ways that no solution can have foreseen."""
    one, two, three, other = (f"way {rng.getrandbits(32):08x}" for _ in range(4))
    free = dict.fromkeys([one, two, three], THROUGH) | {other: "ENETDOWN"}
    confined = {one: "EACCES", two: "EPERM", three: THROUGH, other: "ENETDOWN"}
    return {"claimed": [one, two], "free": free, "confined": confined}


def test_three_claims_that_are_true_are_accepted(subject: Any, rng: Any) -> None:
    one, two = story(rng), story(rng)
    two["claimed"] = [two["claimed"][0]]
    del two["confined"][list(two["confined"])[1]]
    nothing: dict[str, Any] = {"claimed": [], "free": {}, "confined": {}}
    for told in (one, two, nothing):
        assert subject.prove(**told) == "holds"


def test_a_claim_about_a_way_that_fails_anyway_is_rejected(subject: Any, rng: Any) -> None:
    told = story(rng)
    assert subject.prove(**told) == "holds"
    told["free"][told["claimed"][0]] = "EACCES"
    assert subject.prove(**told) == "rejected"


def test_a_claim_about_a_way_that_gets_through_is_rejected(subject: Any, rng: Any) -> None:
    told = story(rng)
    told["confined"][told["claimed"][1]] = THROUGH
    assert subject.prove(**told) == "rejected"


def test_a_claim_that_was_not_tried_is_rejected(subject: Any, rng: Any) -> None:
    for missing in ("free", "confined"):
        told = story(rng)
        del told[missing][told["claimed"][0]]
        assert subject.prove(**told) == "rejected"


def test_what_is_stopped_and_not_claimed_is_rejected(subject: Any, rng: Any) -> None:
    told = story(rng)
    told["claimed"] = told["claimed"][:1]
    assert subject.prove(**told) == "rejected"
