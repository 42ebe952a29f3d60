"""Step 09: files below one folder. Each refusal has its positive control, in the same check."""

import string
from typing import Any

import pytest

from grading.outcomes import Refused
from grading.plugin import not_runnable

REFUSED = "refused"
INSIDE = "links inside"


def word(rng: Any) -> str:
    """A text that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


def told(subject: Any, verb: str, path: Any, layout: dict[str, Any], **more: Any) -> Any:
    """What is told about one task, after which nothing has changed."""
    answer = subject.act(verb=verb, path=path, layout=layout, **more)
    return answer if answer["changed"] else answer["told"]


def needs(subject: Any, what: str, reason: str) -> None:
    """End the check as not runnable here unless this machine has it."""
    if not subject.machine()[what]:
        not_runnable(reason)


# 9.1


def test_a_path_is_taken_apart_into_names(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.components(path=f"{name}/draft.md") == [name, "draft.md"]
    assert subject.components(path=f"./{name}//./..{name}.md") == [name, f"..{name}.md"]
    assert subject.components(path=name, folder=True) == [name]


def test_a_path_that_starts_elsewhere_is_refused(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.components(path=f"{name}/a.md") == [name, "a.md"]
    for path in (f"/{name}/a.md", f"//{name}", "/", "", None, 7, [name]):
        assert subject.components(path=path) == Refused()


@pytest.mark.parametrize("path", ["..", "../a.md", "a/../b.md", "a/..", "./../a.md", "a/b/../../c"])
def test_the_name_dot_dot_is_refused_wherever_it_stands(subject: Any, path: str) -> None:
    assert subject.components(path="a/..b/c..") == ["a", "..b", "c.."]
    assert subject.components(path=path) == Refused()
    assert subject.components(path=path, folder=True) == Refused()


def test_a_path_that_says_folder_at_its_end_is_no_file(subject: Any, rng: Any) -> None:
    name = word(rng)
    for path in (f"{name}/", f"{name}/.", f"{name}//"):
        assert subject.components(path=path) == Refused()
        assert subject.components(path=path, folder=True) == [name]
    for path in (".", "./"):
        assert subject.components(path=path) == Refused()
        assert subject.components(path=path, folder=True) == []


def test_names_that_no_client_can_mean_are_refused(subject: Any) -> None:
    assert subject.components(path="café/ü.md") == ["café", "ü.md"]
    for path in ("a\0b", "a.md\0", "\udcff.md", "d/\ud800"):
        assert subject.components(path=path) == Refused()


def test_a_path_has_a_longest_length_and_a_greatest_depth(subject: Any, rng: Any) -> None:
    at_most = "é" * 2047 + "a"
    assert subject.components(path=at_most) == [at_most]
    assert subject.components(path=at_most + "b") == Refused()
    names = [word(rng)] * 40
    assert subject.components(path="/".join(names)) == names
    assert subject.components(path="/".join([*names, "a.md"])) == Refused()


# 9.2


def test_a_walk_arrives_at_the_file(subject: Any, rng: Any) -> None:
    text, name = word(rng), word(rng)
    layout = {f"{name}/old/a.md": text, f"{name}/a.md": "another"}
    assert subject.walk(names=[name, "old", "a.md"], layout=layout) == text
    assert subject.walk(names=[name, "old", "b.md"], layout=layout) == REFUSED
    assert subject.walk(names=[name, "a.md", "b.md"], layout=layout) == REFUSED


@pytest.mark.parametrize(
    ("names", "link"),
    [
        (["leak"], "../outside/s.md"),
        (["leak", "s.md"], "../outside"),
        (["leak", "deep", "s.md"], "../outside"),
        (["old", "leak", "s.md"], "../../outside"),
        (["leak"], "old/a.md"),
        (["leak", "a.md"], "old"),
    ],
)
def test_no_name_on_the_way_may_be_a_link(
    subject: Any, rng: Any, names: list[str], link: str
) -> None:
    text = word(rng)
    place = "/".join(names[: names.index("leak") + 1])
    layout = {"old/a.md": text, "../outside/s.md": "secret", "../outside/deep/s.md": "secret"}
    layout[place] = ["link", link]
    assert subject.walk(names=["old", "a.md"], layout=layout) == text
    assert subject.walk(names=names, layout=layout) == REFUSED


def test_the_walk_starts_at_the_descriptor_and_not_at_a_path(subject: Any, rng: Any) -> None:
    text, other = word(rng), word(rng)
    for names in (["a.md"], ["old", "a.md"]):
        layout = {"/".join(names): text}
        read = subject.walk_from_a_moved_root(names=names, layout=layout, other=other)
        assert read == text


def test_a_folder_that_may_not_be_listed_may_be_gone_through(subject: Any, rng: Any) -> None:
    needs(subject, "O_PATH", "without O_PATH a folder has to be listable to be opened")
    text = word(rng)
    for mode in ("755", "311"):
        layout = {"shut/in/a.md": text, "shut/": ["mode", mode]}
        assert subject.walk(names=["shut", "in", "a.md"], layout=layout) == text


def test_whatever_the_walk_opened_on_its_way_is_closed(subject: Any, rng: Any) -> None:
    layout = {"a/b/c/d.md": word(rng), "a/b/leak": ["link", "c"]}
    tasks = [
        ["walk", ["a", "b", "c", "d.md"]],
        ["walk", ["a", "b", "c", "e.md"]],
        ["walk", ["a", "b", "leak", "d.md"]],
        ["walk", ["a", "e", "c", "d.md"]],
    ]
    assert subject.walk(names=tasks[0][1], layout=layout) == layout["a/b/c/d.md"]
    assert subject.left_open(tasks=tasks, layout=layout) == [0, 0, 0, 0]


@pytest.mark.parametrize("swap", ["file", "folder", "root"])
def test_a_swap_at_any_moment_does_not_lead_the_walk_outside(
    subject: Any, rng: Any, swap: str
) -> None:
    stays_inside(subject, rng, verb="walk", swap=swap)


# 9.3


def test_a_regular_file_is_opened_below_the_root(subject: Any, rng: Any) -> None:
    text, new = word(rng), word(rng)
    layout = {"old/a.md": text}
    assert told(subject, "read", "old//./a.md", layout) == text
    assert told(subject, "read", "old/b.md", layout) == REFUSED
    answer = subject.act(verb="write", path="old/a.md", layout=layout, content=text + new)
    assert answer == {"told": "done", "changed": {"old/a.md": text + new}}


@pytest.mark.parametrize("what", [None, ["fifo"], ["socket"]])
def test_what_is_no_regular_file_is_refused_and_nobody_waits_for_it(
    subject: Any, rng: Any, what: Any
) -> None:
    text = word(rng)
    layout = {"a.md": text, "odd": what}
    assert told(subject, "read", "a.md", layout) == text
    assert told(subject, "read", "odd", layout) == REFUSED
    assert told(subject, "write", "odd", layout) == REFUSED


def test_a_device_is_refused(subject: Any, rng: Any) -> None:
    needs(subject, "device", "there is no /dev/null")
    text = word(rng)
    assert told(subject, "read", "a.md", {"a.md": text}) == text
    assert subject.device(name="null") == REFUSED


def test_a_file_with_a_second_name_is_read_and_never_written(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {"../outside/s.md": text, "a.md": ["second name", "../outside/s.md"], "b.md": text}
    assert told(subject, "read", "a.md", layout) == text
    assert told(subject, "write", "a.md", layout) == REFUSED
    assert subject.act(verb="write", path="b.md", layout=layout)["told"] == "done"


def test_opening_for_writing_changes_nothing_yet(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {"../outside/s.md": text, "a.md": ["second name", "../outside/s.md"], "b.md": text}
    assert told(subject, "write", "a.md", layout) == REFUSED
    answer = subject.act(verb="write", path="b.md", layout=layout, content="")
    assert answer == {"told": "done", "changed": {}}


@pytest.mark.parametrize("target", ["../outside/s.md", "../outside/none.md", "leak", "a.md", "."])
def test_a_link_is_refused_wherever_it_points(subject: Any, rng: Any, target: str) -> None:
    text = word(rng)
    layout = {"a.md": text, "../outside/s.md": "secret", "leak": ["link", target]}
    assert told(subject, "read", "a.md", layout) == text
    assert told(subject, "read", "leak", layout) == REFUSED
    assert told(subject, "write", "leak", layout) == REFUSED


def test_a_name_too_long_is_an_ordinary_refusal(subject: Any, rng: Any) -> None:
    name, text = word(rng) * 31, word(rng)
    assert told(subject, "read", name, {name: text}) == text
    for path in (name * 2, f"{name * 2}/a.md", f"a.md/{name * 2}"):
        assert told(subject, "read", path, {name: text, "a.md": text}) == REFUSED


def test_a_refusal_says_the_same_whatever_lies_outside(subject: Any, rng: Any) -> None:
    name = word(rng)
    layout = {
        "a.md": "x",
        "leak": ["link", "../outside/s.md"],
        "dangling": ["link", f"../outside/{name}.md"],
        "folder": ["link", "../outside"],
        "../outside/s.md": "secret",
        "pipe": ["fifo"],
    }
    paths = ["leak", "dangling", "folder/s.md", f"folder/{name}.md", f"{name}.md", "pipe"]
    paths += ["../outside/s.md", f"../outside/{name}.md", "/etc/passwd", "a.md/"]
    assert subject.messages(cases=[["read", "a.md"]], layout=layout) == ["granted"]
    assert len(set(subject.messages(cases=[["read", path] for path in paths], layout=layout))) == 1


def test_what_was_opened_and_refused_is_closed(subject: Any, rng: Any) -> None:
    layout = {"a.md": word(rng), "pipe": ["fifo"], "d/b.md": "", "c.md": ["second name", "a.md"]}
    tasks = [["read", "pipe"], ["read", "d"], ["write", "c.md"], ["read", "d/b.md"]]
    assert told(subject, "read", "a.md", layout) == layout["a.md"]
    assert subject.left_open(tasks=tasks, layout=layout) == [0, 0, 0, 0]


def test_a_volume_on_which_case_does_not_count_opens_no_way_out(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {
        "Old/A.md": text,
        "Leak.md": ["link", "../outside/s.md"],
        "Out": ["link", "../outside"],
        "../outside/s.md": "secret",
    }
    tasks = [["read", "old/a.MD"], ["read", "leak.md"], ["read", "out/S.md"], ["read", "LEAK.MD"]]
    assert subject.folded(tasks=tasks, layout=layout) == [text, REFUSED, REFUSED, REFUSED]


@pytest.mark.parametrize("swap", ["file", "folder", "root"])
def test_a_swap_at_any_moment_does_not_lead_a_reader_outside(
    subject: Any, rng: Any, swap: str
) -> None:
    stays_inside(subject, rng, verb="read", swap=swap)
    stays_inside(subject, rng, verb="write", swap=swap)


# 9.4


def test_a_new_file_is_created_where_the_name_is_free(subject: Any, rng: Any) -> None:
    text, layout = word(rng), {"old/a.md": "x"}
    answer = subject.act(verb="create", path="old/new.md", layout=layout, content=text)
    assert answer == {"told": "done", "changed": {"old/new.md": text}}
    assert told(subject, "create", "old/a.md", layout) == REFUSED
    assert told(subject, "create", "none/new.md", layout) == REFUSED


def test_a_linked_folder_carries_no_new_file_away(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {"d": ["link", "../outside"], "e/d": ["link", "../d"], "in": None}
    layout["../outside/sub"] = None
    for path in ("d/new.md", "e/d/new.md", "d/sub/new.md"):
        assert told(subject, "create", path, layout) == REFUSED
    answer = subject.act(verb="create", path="in/new.md", layout=layout, content=text)
    assert answer["changed"] == {"in/new.md": text}


def test_a_link_that_points_nowhere_is_not_a_free_name(subject: Any, rng: Any) -> None:
    name = word(rng)
    layout = {"new.md": ["link", f"../outside/{name}.md"], "in.md": ["link", f"{name}.md"]}
    for path in layout:
        assert told(subject, "create", path, layout) == REFUSED
    answer = subject.act(verb="create", path=f"{name}.md", layout=layout)
    assert answer == {"told": "done", "changed": {f"{name}.md": "new"}}


def test_a_file_is_replaced_as_a_whole(subject: Any, rng: Any) -> None:
    text = word(rng)
    for before in ("", "x", word(rng) * 9):
        layout = {"old/a.md": before}
        answer = subject.act(verb="replace", path="old/a.md", layout=layout, content=text)
        assert answer == {"told": "done", "changed": {"old/a.md": text}}
    assert told(subject, "replace", "old/b.md", layout) == REFUSED


def test_what_must_not_be_replaced_is_left_as_it_is(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {
        "../outside/s.md": text,
        "twin.md": ["second name", "../outside/s.md"],
        "leak.md": ["link", "../outside/s.md"],
        "in.md": ["link", "a.md"],
        "a.md": text,
        "pipe": ["fifo"],
    }
    for path in ("twin.md", "leak.md", "in.md", "pipe", "a.md/"):
        assert told(subject, "replace", path, layout) == REFUSED
    assert subject.act(verb="replace", path="a.md", layout=layout)["changed"] == {"a.md": "new"}


def test_a_delete_takes_the_name_and_not_what_it_points_at(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {
        "../outside/s.md": text,
        "a.md": text,
        "leak.md": ["link", "../outside/s.md"],
        "in.md": ["link", "a.md"],
        "dangling": ["link", "nowhere"],
        "twin.md": ["second name", "../outside/s.md"],
    }
    for path in ("a.md", "leak.md", "in.md", "dangling", "twin.md"):
        answer = subject.act(verb="delete", path=path, layout=layout)
        assert answer == {"told": "done", "changed": {path: None}}


def test_a_delete_goes_through_no_link_and_takes_no_folder(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {"../outside/s.md": text, "d": ["link", "../outside"], "e/a.md": text, "f": None}
    for path in ("d/s.md", "e", "f", "e/", "f/", "e/b.md", "../outside/s.md", "."):
        assert told(subject, "delete", path, layout) == REFUSED
    answer = subject.act(verb="delete", path="e/a.md", layout=layout)
    assert answer == {"told": "done", "changed": {"e/a.md": None}}


def test_a_listing_names_what_is_in_a_folder(subject: Any, rng: Any) -> None:
    name = word(rng)
    layout = {f"d/{name}.md": "", "d/a": None, "d/leak": ["link", "../../outside"], "d/a/b": ""}
    wanted = {"names": sorted([f"{name}.md", "a", "leak"]), "left_out": 0}
    assert told(subject, "list", "d", layout) == wanted
    assert told(subject, "list", "d/", layout) == wanted
    assert told(subject, "list", ".", layout) == {"names": ["d"], "left_out": 0}
    for path in ("d/leak", f"d/{name}.md", "none", "", ".."):
        assert told(subject, "list", path, layout) == REFUSED


def test_names_that_are_not_utf8_are_left_out_and_counted(subject: Any, rng: Any) -> None:
    needs(subject, "odd names", "this filesystem takes UTF-8 only")
    name = word(rng)
    odd = [[0xFF, *name.encode()], [0xC3, 0x28]]
    listing = subject.odd_names(layout={f"{name}.md": "", "ü": ""}, odd=odd, way="walk")
    assert listing == {"names": sorted([f"{name}.md", "ü"]), "left_out": 2}


def test_no_operation_leaves_a_descriptor_open(subject: Any, rng: Any) -> None:
    layout = {"d/a.md": word(rng), "d/b.md": "", "leak": ["link", "d"]}
    tasks = [["list", "d"], ["replace", "d/a.md"], ["delete", "d/a.md"], ["create", "d/a.md"]]
    refused = [["list", "leak"], ["replace", "d/c.md"], ["delete", "d/c.md"], ["create", "d/b.md"]]
    assert told(subject, "read", "d/a.md", layout) == layout["d/a.md"]
    assert subject.left_open(tasks=tasks + refused, layout=layout) == [0] * 8


@pytest.mark.parametrize("swap", ["file", "folder", "root"])
def test_a_swap_at_any_moment_does_not_lead_a_change_outside(
    subject: Any, rng: Any, swap: str
) -> None:
    for verb in ("create", "replace", "delete", "list"):
        stays_inside(subject, rng, verb=verb, swap=swap)


# 9.5


def judged(subject: Any, rng: Any, reader: str) -> str:
    """What the learner's proof says of a reader."""
    return str(
        subject.stays_inside(
            reader=reader, inside=word(rng), secret=word(rng), idle=rng.randrange(9)
        )
    )


@pytest.mark.parametrize(
    "reader", ["goes step by step", "opened it before", "gives up when something moved"]
)
def test_a_reader_that_stays_inside_is_accepted(subject: Any, rng: Any, reader: str) -> None:
    assert judged(subject, rng, reader) == "accepted"


def test_a_reader_that_resolves_and_then_opens_is_rejected(subject: Any, rng: Any) -> None:
    assert judged(subject, rng, "goes step by step") == "accepted"
    assert judged(subject, rng, "resolves, then opens") == "rejected"
    assert judged(subject, rng, "looks for links, then opens") == "rejected"


def test_a_reader_that_guards_one_name_only_is_rejected(subject: Any, rng: Any) -> None:
    assert judged(subject, rng, "goes step by step") == "accepted"
    assert judged(subject, rng, "guards the last name") == "rejected"
    assert judged(subject, rng, "guards the folder") == "rejected"


def test_a_reader_that_refuses_everything_proves_nothing(subject: Any, rng: Any) -> None:
    assert judged(subject, rng, "opened it before") == "accepted"
    assert judged(subject, rng, "refuses everything") == "rejected"


@pytest.mark.parametrize(
    ("swap", "old", "draft"), [("swap_file", "folder", "link"), ("swap_folder", "link", "file")]
)
def test_a_swap_puts_a_link_in_one_place(
    subject: Any, rng: Any, swap: str, old: str, draft: str
) -> None:
    secret = word(rng)
    left = subject.after_swap(swap=swap, inside=word(rng), secret=secret)
    assert left == {"read": secret, "outside": secret, "old": old, "draft.md": draft}


# 9.6


@pytest.mark.parametrize("policy", ["no links", INSIDE])
def test_the_kernel_is_asked_to_stay_beneath(subject: Any, rng: Any, policy: str) -> None:
    name = word(rng)
    asked = subject.asked(path=f"old//{name}.md", policy=policy, layout={f"old/{name}.md": ""})
    assert asked["path"] == f"old/{name}.md"
    assert {"beneath", "no magic links"} <= set(asked["resolve"])
    assert ("no links" in asked["resolve"]) is (policy == "no links")


def test_what_the_kernel_opens_is_not_inherited(subject: Any, rng: Any) -> None:
    asked = subject.asked(path="a.md", policy="no links", layout={"a.md": word(rng)})
    assert asked["inherited"] is False


@pytest.mark.parametrize("number", ["ENOSYS", "EPERM"])
def test_without_the_call_the_walk_takes_over(subject: Any, rng: Any, number: str) -> None:
    text = word(rng)
    layout = {"d/a.md": text, "leak": ["link", "d/a.md"], "d/pipe": ["fifo"]}
    assert told(subject, "read", "d/a.md", layout, way=number) == text
    for path in ("leak", "d/b.md", "d/pipe", "../root/d/a.md"):
        assert told(subject, "read", path, layout, way=number) == REFUSED
    assert told(subject, "list", "d", layout, way=number)["names"] == ["a.md", "pipe"]


def test_a_kernel_that_says_try_again_is_asked_again(subject: Any, rng: Any) -> None:
    text = word(rng)
    for times in (1, 3):
        assert told(subject, "read", "a.md", {"a.md": text}, way=f"EAGAIN {times}") == text
    answer = subject.tries(path="a.md", layout={"a.md": text})
    assert answer == {"told": REFUSED, "bounded": True}


def test_other_errors_of_the_kernel_are_refusals(subject: Any, rng: Any) -> None:
    text = word(rng)
    for number in ("EXDEV", "ELOOP", "ENOENT", "EACCES"):
        assert told(subject, "read", "a.md", {"a.md": text}, way=number) == REFUSED
        assert told(subject, "read", "a.md", {"a.md": text}, way=f"{number} 0") == text


def scene(text: str) -> dict[str, Any]:
    """One layout for both ways and both policies."""
    return {
        "a.md": text,
        "d/a.md": text,
        "d/up": ["link", "../a.md"],
        "d/in": ["link", "a.md"],
        "e": ["link", "d"],
        "leak": ["link", "../outside/s.md"],
        "out": ["link", "../outside"],
        "absolute": ["link", "/etc/passwd"],
        "back": ["link", "../root/a.md"],
        "clamped": ["link", "../a.md"],
        "rooted": ["link", "/a.md"],
        "dangling": ["link", "nowhere"],
        "loop": ["link", "loop"],
        "slash": ["link", "a.md/"],
        "pipe": ["fifo"],
        "../outside/s.md": "secret",
    }


PLAIN = ("a.md", "d/a.md", "d//./a.md")
LINKED = ("d/up", "d/in", "e/a.md", "e/up", "e/in")
NEVER = (
    "leak",
    "out/s.md",
    "absolute",
    "back",
    "clamped",
    "rooted",
    "dangling",
    "loop",
    "slash",
    "slash/",
    "pipe",
    "d",
)
NEVER += ("../outside/s.md", "d/../a.md", "a.md/", "none", "a.md/b", "/a.md", "x" * 300)


def answers(subject: Any, text: str, way: str, policy: str) -> dict[str, Any]:
    """What is told about each path of the scene."""
    paths = (*PLAIN, *LINKED, *NEVER)
    return {
        path: told(subject, "read", path, scene(text), way=way, policy=policy) for path in paths
    }


@pytest.mark.parametrize("policy", ["no links", INSIDE])
def test_the_kernel_gives_the_answers_that_the_lesson_gives(
    subject: Any, rng: Any, policy: str
) -> None:
    needs(subject, "openat2", "this kernel has no openat2")
    text = word(rng)
    fine = PLAIN if policy == "no links" else (*PLAIN, *LINKED)
    wanted = {path: text if path in fine else REFUSED for path in (*PLAIN, *LINKED, *NEVER)}
    assert answers(subject, text, "kernel", policy) == wanted


@pytest.mark.parametrize("verb", ["read", "write", "create", "replace", "delete", "list"])
def test_a_swap_at_any_moment_does_not_lead_the_kernel_outside(
    subject: Any, rng: Any, verb: str
) -> None:
    needs(subject, "openat2", "this kernel has no openat2")
    for swap in ("file", "folder", "root"):
        stays_inside(subject, rng, verb=verb, swap=swap, way="kernel")
        stays_inside(subject, rng, verb=verb, swap=swap, way="kernel", policy=INSIDE)


def test_changes_by_the_kernel_are_those_of_the_walk(subject: Any, rng: Any) -> None:
    needs(subject, "openat2", "this kernel has no openat2")
    layout = scene(word(rng))
    tasks = [("create", "d/new.md"), ("create", "e/new.md"), ("create", "dangling")]
    tasks += [("create", "out/new.md"), ("replace", "d/a.md"), ("replace", "leak")]
    tasks += [("delete", "leak"), ("delete", "out/s.md"), ("delete", "d"), ("list", "e")]
    for verb, path in tasks:
        walked = subject.act(verb=verb, path=path, layout=layout)
        assert subject.act(verb=verb, path=path, layout=layout, way="kernel") == walked


# 9.7


def test_a_link_that_stays_inside_is_followed(subject: Any, rng: Any) -> None:
    text = word(rng)
    for path in (*PLAIN, *LINKED):
        assert told(subject, "read", path, scene(text), policy=INSIDE) == text
    layout = {"a/b/c.md": text, "x": ["link", "y/.//b"], "y": ["link", "./a"]}
    assert told(subject, "read", "x/c.md", layout, policy=INSIDE) == text


def test_a_link_that_leaves_is_refused(subject: Any, rng: Any) -> None:
    text = word(rng)
    assert told(subject, "read", "d/up", scene(text), policy=INSIDE) == text
    for path in ("leak", "out/s.md", "absolute", "back", "clamped", "rooted"):
        assert told(subject, "read", path, scene(text), policy=INSIDE) == REFUSED
    for path in ("../outside/s.md", "d/../a.md"):
        assert told(subject, "read", path, scene(text), policy=INSIDE) == REFUSED


def test_dot_dot_is_read_where_the_link_has_led(subject: Any, rng: Any) -> None:
    text, other = word(rng), word(rng)
    layout = {
        "far/away/b.md": other,
        "far/a.md": text,
        "a.md": other,
        "near": ["link", "far/away"],
        "up.md": ["link", "near/../a.md"],
        "down.md": ["link", "near/b.md/../../a.md"],
    }
    assert told(subject, "read", "up.md", layout, policy=INSIDE) == text
    assert told(subject, "read", "near/b.md", layout, policy=INSIDE) == other
    assert told(subject, "read", "down.md", layout, policy=INSIDE) == REFUSED


def test_dangling_and_endless_links_are_ordinary_refusals(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = scene(text) | {"one": ["link", "two/x"], "two": ["link", "one/x"]}
    assert told(subject, "read", "e/in", layout, policy=INSIDE) == text
    for path in ("dangling", "loop", "loop/a.md", "one", "slash", "pipe"):
        assert told(subject, "read", path, layout, policy=INSIDE) == REFUSED


@pytest.mark.parametrize("way", ["walk", "kernel"])
def test_forty_links_are_followed_and_no_more(subject: Any, rng: Any, way: str) -> None:
    if way == "kernel":
        needs(subject, "openat2", "this kernel has no openat2")
    text = word(rng)
    layout: dict[str, Any] = {f"l{n}": ["link", f"l{n - 1}"] for n in range(1, 43)}
    layout["l0"] = text
    assert told(subject, "read", "l40", layout, policy=INSIDE, way=way) == text
    assert told(subject, "read", "l41", layout, policy=INSIDE, way=way) == REFUSED


def test_links_are_counted_over_the_whole_path(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = {"d/a.md": text, "d/again": ["link", "../d/again"], "e": ["link", "d"]}
    assert told(subject, "read", "e/a.md", layout, policy=INSIDE) == text
    for path in ("d/again", "e/again/a.md"):
        assert told(subject, "read", path, layout, policy=INSIDE) == REFUSED


def test_links_add_no_more_than_forty_folders(subject: Any, rng: Any) -> None:
    text = word(rng)
    assert subject.deep(depth=39, content=text, policy=INSIDE) == text
    deep = "/".join(["f"] * 20)
    layout = {f"{deep}/{deep}/a.md": text, f"{deep}/{deep}/f/a.md": text, "l": ["link", deep]}
    assert told(subject, "read", f"l/{deep}/a.md", layout, policy=INSIDE) == text
    assert told(subject, "read", f"l/{deep}/f/a.md", layout, policy=INSIDE) == REFUSED


def test_changes_follow_links_that_stay_inside(subject: Any, rng: Any) -> None:
    text = word(rng)
    layout = scene(text)
    for verb, path, changed in (
        ("create", "e/new.md", {"d/new.md": "new"}),
        ("replace", "d/up", {"a.md": "new"}),
        ("delete", "e/up", {"d/up": None}),
        ("delete", "leak", {"leak": None}),
    ):
        answer = subject.act(verb=verb, path=path, layout=layout, policy=INSIDE)
        assert answer == {"told": "done", "changed": changed}
    for verb, path in (("create", "dangling"), ("create", "out/new.md"), ("replace", "leak")):
        assert told(subject, verb, path, layout, policy=INSIDE) == REFUSED
    assert told(subject, "list", "e", layout, policy=INSIDE)["names"] == ["a.md", "in", "up"]


def test_the_links_of_open_files_are_followed_under_no_policy(subject: Any, rng: Any) -> None:
    needs(subject, "magic links", "there is no /proc/self/cwd")
    for policy in ("no links", INSIDE):
        answer = subject.magic(name=word(rng), content=word(rng), policy=policy)
        assert answer == {"reachable": True, "told": REFUSED}


def test_following_links_leaves_no_descriptor_open(subject: Any, rng: Any) -> None:
    layout = scene(word(rng))
    tasks = [["read", path, INSIDE] for path in ("d/up", "e/in", "leak", "loop", "out/s.md", "d")]
    assert told(subject, "read", "d/up", layout, policy=INSIDE) == layout["a.md"]
    assert subject.left_open(tasks=tasks, layout=layout) == [0] * 6


@pytest.mark.parametrize("swap", ["file", "folder", "root", "moved"])
def test_a_swap_at_any_moment_does_not_lead_a_follower_outside(
    subject: Any, rng: Any, swap: str
) -> None:
    for verb in ("read", "replace"):
        stays_inside(subject, rng, verb=verb, swap=swap, policy=INSIDE)
    stays_inside(subject, rng, verb="read", path="d/up.md", swap=swap, policy=INSIDE)


def stays_inside(subject: Any, rng: Any, *, verb: str, swap: str, **more: Any) -> None:
    """Swap at every moment of one operation: nothing is told of the outside, nothing changes."""
    inside, secret = word(rng), word(rng)
    paths = {"create": "d/new.md", "list": "d"}
    more.setdefault("path", paths.get(verb, "d/a.md"))
    seen = subject.swapped(verb=verb, swap=swap, inside=inside, secret=secret, **more)
    fine = {"read": inside, "walk": inside, "list": "a.md up.md"}.get(verb, "done")
    assert seen["left alone"] == fine
    assert seen["outside"] == []
    assert set(seen["told"]) <= {fine, REFUSED}
