"""Step 10: one approval is one change of one file. Each refusal has its positive control."""

import hashlib
import re
from typing import Any

import pytest

from grading.outcomes import Refused, RpcFailure, StateRefusal

OLD, NEW = "one\ntwo\nthree\n", "one\n2\nthree\nfour\n"
LARGEST, MOST_LINES, MOST_COLUMNS = 65_536, 40, 120
NO_SUCH_TOOL = RpcFailure(-32602)


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return f"{rng.getrandbits(48):012x}"


def write(content: Any = NEW, path: str = "a.md", **more: Any) -> dict[str, Any]:
    """The fields of a request."""
    return {"path": path, "content": content, **more}


def sha256(content: bytes) -> str:
    """The mark of some bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def asked_and(*steps: dict[str, Any], content: Any = NEW) -> list[dict[str, Any]]:
    """A script: the question, what happens meanwhile, and the user's yes."""
    return [{"preview": write(content)}, *steps, {"apply": write(content)}]


# 10.1


def test_content_becomes_its_bytes_and_nothing_else(subject: Any, rng: Any) -> None:
    for text in ("", "no end", "a\r\nb\r", "h\u00e9\u20ac\U0001f600", "\ufeff\0\u2028", word(rng)):
        assert subject.encode(text=text) == text.encode("utf-8").hex()


def test_what_is_no_text_is_refused(subject: Any) -> None:
    for text in (None, 5, True, ["a"], {"a": 1}, "half a pair: \ud800"):
        assert subject.encode(text=text) == Refused()
    assert subject.encode(text="5") == "35"


def test_the_limit_counts_bytes(subject: Any) -> None:
    assert subject.encoded_size(text="a", times=LARGEST) == LARGEST
    assert subject.encoded_size(text="\u00e9", times=LARGEST // 2) == LARGEST
    assert subject.encoded_size(text="a", times=LARGEST + 1) == Refused()
    assert subject.encoded_size(text="\u00e9", times=LARGEST // 2 + 1) == Refused()


def test_a_mark_is_of_the_bytes(subject: Any, rng: Any) -> None:
    for content in (b"", b"\xff\xfe", b"a\r\n", b"a\n", b" a\n", rng.randbytes(40)):
        assert subject.mark(content={"hex": content.hex()}) == sha256(content)


def test_no_file_is_not_an_empty_file(subject: Any) -> None:
    assert subject.mark(content=None) == "absent"
    assert subject.mark(content="") == sha256(b"")


# 10.2


def test_a_plain_line_is_shown_as_it_is(subject: Any, rng: Any) -> None:
    for text in ("", "a b", f"  {word(rng)} #+-@", "h\u00e9 \u4f60\u597d \U0001f600", "e\u0301"):
        assert subject.visible(text=text) == text


CONTROLS = "\x00\x07\x1b\x7f\x85\x9b\xa0\u00ad\u061c\u200b\u200e\u202a\u202e\u2028\u2066\u2069"


def test_controls_and_marks_of_direction_are_escaped(subject: Any) -> None:
    for character in CONTROLS + "\ufeff\ue000\u0378":
        assert subject.visible(text=f"a{character}b") == f"a\\u{ord(character):04x}b"
    for character in "\U000e0041\U000f0000":
        assert subject.visible(text=character) == f"\\U{ord(character):08x}"
    assert subject.visible(text="\t\r\\") == "\\t\\r\\\\"
    assert subject.visible(text="a\udcffb") == "a\\xffb"


def test_what_is_printable_and_cannot_be_seen_is_escaped(subject: Any) -> None:
    for character in "\u034f\u115f\u2800\u3164\uffa0\ufe0f\u2026":
        assert subject.visible(text=f"a{character}") == f"a\\u{ord(character):04x}"
    assert subject.visible(text="\u0338a") == "\\u0338a"
    assert subject.visible(text="a\u0338") == "a\u0338"


def test_no_text_can_look_like_another_one(subject: Any, rng: Any) -> None:
    name = word(rng)
    for character in "\x1b\u202e\t\r\\\udc80\u0080\U000e0041":
        shown = subject.visible(text=name + character)
        assert shown.isprintable()
        assert subject.visible(text=shown) != shown
    assert subject.visible(text="\U000e0041") != subject.visible(text="\ue0041")


def test_a_long_line_is_shortened_and_says_by_how_much(subject: Any, rng: Any) -> None:
    assert subject.visible(text="a" * MOST_COLUMNS) == "a" * MOST_COLUMNS
    for times in (MOST_COLUMNS + 1, rng.randrange(200, 900), 60_000):
        shown = subject.visible_repeated(text="a", times=times)
        head, _, left = shown.partition("\u2026")
        assert 100 < len(shown) <= MOST_COLUMNS
        assert (set(head), len(head) + int(left)) == ({"a"}, times)


def test_an_escape_is_shown_whole_or_not_at_all(subject: Any) -> None:
    for before in ("", "a", "ab", "abc", "abcd", "abcde"):
        shown = subject.visible(text=before + "\u202e" * 200)
        head, _, left = shown.partition("\u2026")
        assert re.fullmatch(before + r"(\\u202e)+", head)
        assert head.count("\\u202e") + int(left) == 200
        assert len(shown) <= MOST_COLUMNS


def test_a_diff_shows_what_goes_and_what_comes(subject: Any) -> None:
    lines = ["@@ -1,3 +1,4 @@", " one", "-two", "+2", " three", "+four"]
    made = {"removed": 1, "added": 2, "size": len(NEW), "lines": lines, "cut": 0}
    assert subject.diff(old=OLD, new=NEW) == made
    created = {"removed": 0, "added": 1, "size": 4, "lines": ["@@ -0,0 +1,1 @@", "+one"], "cut": 0}
    assert subject.diff(old=None, new="one\n") == created


def test_the_size_in_a_diff_is_in_bytes(subject: Any) -> None:
    assert subject.diff(old="a\n", new="h\u00e9\u00e9\u20ac")["size"] == 8


def test_only_a_line_feed_ends_a_line(subject: Any) -> None:
    for character in "\r\x0b\x0c\x1c\x85\u2028\u2029":
        made = subject.diff(old="safe\n", new=f"safe{character}-gone\n")
        assert (made["removed"], made["added"], len(made["lines"])) == (1, 1, 3)


def test_a_line_feed_that_is_missing_or_new_can_be_seen(subject: Any) -> None:
    mark = "\\ No newline at end of file"
    assert subject.diff(old="a\n", new="a")["lines"][1:] == ["-a", "+a", mark]
    assert subject.diff(old="a", new="a\n")["lines"][1:] == ["-a", mark, "+a"]
    assert mark not in subject.diff(old="a\n", new="b\n")["lines"]


def test_a_line_of_the_file_cannot_be_a_line_of_the_question(subject: Any, rng: Any) -> None:
    forged = ["@@ -1,1 +1,1 @@", "\\ No newline at end of file", "0 more lines", word(rng)]
    made = subject.diff(old="", new="".join(f"{line}\n" for line in forged))
    assert made["lines"][1:] == ["+" + line.replace("\\", "\\\\") for line in forged]
    hidden = subject.diff(old="a\n", new="\x1b[2Ka\u202e\n" + "b" * 500 + "\n")
    assert all(line.isprintable() and len(line) <= 121 for line in hidden["lines"])


def test_bytes_that_are_no_text_are_shown(subject: Any) -> None:
    made = subject.diff(old={"hex": "fffe0a"}, new="a\n")
    assert made["lines"][1:] == ["-\\xff\\xfe", "+a"]


def test_a_long_diff_is_cut_and_says_by_how_much(subject: Any, rng: Any) -> None:
    count = rng.randrange(60, 300)
    whole = "".join(f"{number} {word(rng)}\n" for number in range(count))
    made = subject.diff(old=None, new=whole)
    assert (made["added"], len(made["lines"]), made["cut"]) == (count, 40, count + 1 - 40)
    assert subject.diff(old=None, new="a\n" * 39)["cut"] == 0


# 10.3


def test_a_receipt_names_what_was_found_and_what_is_wanted(subject: Any, rng: Any) -> None:
    old, name = word(rng), word(rng)
    files = {"a.md": {"text": old, "mode": 0o640}}
    made = subject.preview(files=files, **write(principal=name, tool="other"))
    marks = {"base": sha256(old.encode()), "new": sha256(NEW.encode())}
    receipt = {"principal": name, "tool": "other", "path": "a.md", "mode": 0o640, **marks}
    assert made["receipt"] == receipt


def test_a_question_shows_the_file_and_the_whole_diff(subject: Any) -> None:
    made = subject.preview(files={"a.md": OLD}, **write())
    lines = made["message"].split("\n")
    assert "a.md" in lines[0]
    assert lines[1:] == subject.diff(old=OLD, new=NEW)["lines"]
    new = subject.preview(files={}, **write())
    assert new["message"].split("\n")[0] != lines[0]


def test_a_question_cannot_be_forged_by_the_name_of_the_file(subject: Any) -> None:
    for path in ("a\nb.md", "a\u202edm.b", "a\x1b[2K.md", "a" * 150):
        message = subject.preview(files={}, **write("x\n", path))["message"]
        assert len(message.split("\n")) == 3
        assert message.replace("\n", "").isprintable()
        assert path not in message


def test_a_receipt_for_a_new_file_has_no_base(subject: Any) -> None:
    for content in ("", NEW):
        receipt = subject.preview(files={"b.md": content}, **write(content))["receipt"]
        assert (receipt["base"], receipt["mode"]) == ("absent", None)
    assert subject.preview(files={"a.md": ""}, **write())["receipt"]["base"] == sha256(b"")


def test_content_that_is_there_already_is_no_question(subject: Any) -> None:
    assert subject.preview(files={"a.md": NEW}, **write()) is None
    assert subject.preview(files={"a.md": ""}, **write("")) is None
    assert subject.preview(files={"a.md": NEW + "\n"}, **write()) is not None


def test_a_file_that_is_no_text_can_be_replaced(subject: Any) -> None:
    raw = bytes(range(128, 256))
    made = subject.preview(files={"a.md": {"text": {"hex": raw.hex()}}}, **write())
    assert made["receipt"]["base"] == sha256(raw)


def test_the_path_is_judged_before_anything_is_read(subject: Any) -> None:
    answer = subject.preview_outside(content="secret\n")
    assert answer == {"told": ["refused", "refused"], "opened": []}
    assert subject.preview(files={"a.md": OLD}, **write()) is not None


def test_what_is_no_plain_file_is_not_asked_for(subject: Any) -> None:
    kinds = [{"link": "outside/secret.txt"}, {"link": "outside/none"}, {"link": "root/b.md"}]
    for kind in [*kinds, {"folder": True}, {"fifo": True}]:
        assert subject.preview(files={"b.md": OLD, "a.md": kind}, **write()) == Refused()
    assert subject.preview(files={"b.md": OLD, "a.md": OLD}, **write()) is not None


# 10.4


def decide(subject: Any, **fields: Any) -> Any:
    """A second round as it should be; `fields` replace some of its own."""
    request = {"principal": "alice", "tool": "write_file", **write()}
    whole = {
        "receipt": receipt(),
        "answer": {"action": "accept", "apply": True},
        "found": {"kind": "file", "content": OLD, "mode": 0o644},
        **fields,
    }
    return subject.decide(**{**whole, "request": {**request, **fields.get("request", {})}})


def receipt(**fields: Any) -> dict[str, Any]:
    """The receipt of that round."""
    marks = {"base": sha256(OLD.encode()), "new": sha256(NEW.encode())}
    usual = {"principal": "alice", "tool": "write_file", "path": "a.md", "mode": 0o644}
    return {**usual, **marks, **fields}


CREATED = {"base": "absent", "mode": None}


def test_a_yes_to_what_is_still_there_applies(subject: Any) -> None:
    assert decide(subject) == "apply"
    assert decide(subject, receipt=receipt(**CREATED), found={"kind": "absent"}) == "apply"


def test_another_path_or_content_is_not_what_was_shown(subject: Any, rng: Any) -> None:
    for request in (
        {"path": "b.md"},
        {"path": "./a.md"},
        {"content": "rm -rf everything\n"},
        {"content": NEW + "\n"},
        {"content": NEW.rstrip()},
        {"content": word(rng)},
    ):
        assert decide(subject, request=request) == "swapped"
    assert decide(subject) == "apply"


def test_a_receipt_of_somebody_else_or_of_another_tool_is_none(subject: Any) -> None:
    for request in ({"principal": "bob"}, {"tool": "apply_write"}, {"principal": ""}):
        assert decide(subject, request=request) == StateRefusal("receipt")
    assert (
        decide(subject, receipt=receipt(principal="bob"), request={"principal": "bob"}) == "apply"
    )


def test_decline_cancel_and_no_are_told_apart(subject: Any) -> None:
    assert decide(subject, answer={"action": "decline"}) == "declined"
    assert decide(subject, answer={"action": "cancel"}) == "cancelled"
    assert decide(subject, answer={"action": "accept", "apply": False}) == "not confirmed"
    assert decide(subject, answer={"action": "decline", "apply": True}) == "declined"
    assert decide(subject, answer={"action": "cancel", "apply": True}) == "cancelled"


def test_only_the_boolean_true_is_a_yes(subject: Any) -> None:
    for apply in (None, "false", "true", 1, [False], {}):
        assert decide(subject, answer={"action": "accept", "apply": apply}) == "not confirmed"
    assert decide(subject, answer={"action": "accept", "apply": True}) == "apply"


def test_what_happened_to_the_file_has_its_own_name(subject: Any) -> None:
    file = {"kind": "file", "mode": 0o644}
    assert decide(subject, found={**file, "content": OLD + "\n"}) == "changed"
    assert decide(subject, found={**file, "content": ""}) == "changed"
    assert decide(subject, found={"kind": "absent"}) == "vanished"
    for kind in ("folder", "link", "other"):
        assert decide(subject, found={"kind": kind}) == "not a file"
        assert decide(subject, receipt=receipt(**CREATED), found={"kind": kind}) == "not a file"
    for content in (OLD, ""):
        found = {**file, "content": content}
        assert decide(subject, receipt=receipt(**CREATED), found=found) == "appeared"


def test_a_mode_that_changed_is_a_change(subject: Any) -> None:
    for mode in (0o600, 0o755, 0o666, 0):
        found = {"kind": "file", "content": OLD, "mode": mode}
        assert decide(subject, found=found) == "changed"
        assert decide(subject, receipt=receipt(mode=mode), found=found) == "apply"


def test_content_that_arrived_by_another_way_is_told(subject: Any) -> None:
    found = {"kind": "file", "content": NEW, "mode": 0o644}
    assert decide(subject, found=found) == "already"
    assert decide(subject, receipt=receipt(**CREATED), found=found) == "already"
    assert decide(subject, found={**found, "mode": 0o600}) == "already"


def test_the_first_reason_is_the_one_that_is_told(subject: Any) -> None:
    no, gone = {"action": "decline"}, {"kind": "absent"}
    swapped = {"content": "other"}
    assert decide(subject, request={**swapped, "tool": "x"}, answer=no) == StateRefusal("receipt")
    assert decide(subject, request=swapped, answer=no, found=gone) == "swapped"
    assert decide(subject, answer=no, found=gone) == "declined"
    written = {"kind": "file", "content": NEW, "mode": 0o644}
    assert decide(subject, answer={"action": "cancel"}, found=written) == "cancelled"


# 10.5


def test_a_staged_file_lies_in_the_folder_with_all_its_bytes(subject: Any, rng: Any) -> None:
    for content in ("", "a\r\nno end", word(rng) * 3000):
        staged = subject.stage(content=content, mode=0o644)
        assert staged["listing"] == {staged["name"]: content}


def test_a_staged_file_has_the_mode_of_the_old_one(subject: Any) -> None:
    for mode in (0o600, 0o640, 0o755, 0o444, 0o666, 0o4711):
        staged = subject.stage(content=NEW, mode=mode, umask=0o077)
        assert staged["modes"] == {staged["name"]: mode}


def test_a_staged_new_file_follows_the_umask(subject: Any) -> None:
    for umask, mode in ((0o022, 0o644), (0o027, 0o640), (0o002, 0o664), (0o077, 0o600)):
        staged = subject.stage(content=NEW, mode=None, umask=umask)
        assert staged["modes"] == {staged["name"]: mode}


def test_a_private_file_is_private_from_its_first_moment(subject: Any) -> None:
    staged = subject.stage(content=NEW, mode=0o600, umask=0)
    assert (staged["loose"], staged["modes"]) == (0, {staged["name"]: 0o600})


def test_nobody_can_foresee_the_temporary_name(subject: Any, rng: Any) -> None:
    names = {subject.stage(content=NEW, mode=0o644, seed=word(rng))["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"\.write-[0-9a-f]{32}", name) for name in names)


def test_a_link_under_the_temporary_name_is_not_followed(subject: Any) -> None:
    answer = subject.stage_on_a_planted_link(content="planted\n")
    assert answer["secret"] == "secret\n"
    assert {"link": True} in answer["planted"].values()
    assert subject.stage(content=NEW, mode=0o644)["listing"] != {}


def test_staged_bytes_are_on_the_disk(subject: Any) -> None:
    assert subject.stage(content=NEW, mode=0o644)["synced"] is True


@pytest.mark.parametrize("fault", ["full", "EIO at sync file", "EPERM at chmod"])
def test_a_stage_that_fails_leaves_nothing(subject: Any, rng: Any, fault: str) -> None:
    content = word(rng) * 500
    told = {"full": "EFBIG"}.get(fault, fault.partition(" ")[0])
    answer = subject.stage_with_fault(content=content, fault=fault)
    assert answer == {"told": told, "left": {}, "open": 0}
    assert len(subject.stage(content=content, mode=0o644)["listing"]) == 1


# 10.6


def test_an_approved_change_is_made(subject: Any, rng: Any) -> None:
    content = word(rng) * 700
    files = {"a.md": {"text": OLD, "mode": 0o750}, "b.md": OLD}
    answer = subject.play(files=files, steps=asked_and(content=content), umask=0o077)
    assert answer["told"] == ["asked", "apply"]
    assert answer["listing"] == {"a.md": content, "b.md": OLD}
    assert answer["modes"]["a.md"] == 0o750
    assert (answer["spent"], answer["claims"], answer["open"]) == (["n1"], 1, 0)


def test_an_approved_new_file_is_made(subject: Any) -> None:
    for content in ("", NEW):
        answer = subject.play(files={}, steps=asked_and(content=content), umask=0o027)
        assert (answer["told"], answer["listing"]) == (["asked", "apply"], {"a.md": content})
        assert (answer["modes"], answer["spent"]) == ({"a.md": 0o640}, ["n1"])


def test_disk_then_approval_then_name_then_folder(subject: Any) -> None:
    expected = ["sync file", "claim", "move", "sync folder"]
    assert subject.order(files={"a.md": OLD}, **write()) == expected
    assert subject.order(files={}, **write()) == expected


def test_whoever_reads_the_old_file_reads_all_of_it(subject: Any, rng: Any) -> None:
    old = word(rng) * 3000
    answer = subject.reader(old=old, **write())
    assert answer == {"told": "apply", "read": old, "listing": {"a.md": NEW}}


def test_a_newcomer_is_never_overwritten(subject: Any, rng: Any) -> None:
    content = word(rng)
    endings = subject.newcomer(theirs=content, **write())
    came = [ending for ending in endings if ending[0]]
    assert [ending for ending in came if ending != [True, "appeared", {"a.md": content}]] == []
    assert len(came) > 3
    assert endings[-1] == [False, "apply", {"a.md": NEW}]


@pytest.mark.parametrize("fault", ["full", "EIO at sync file"])
def test_a_disk_that_fails_leaves_the_file_and_the_approval(
    subject: Any, rng: Any, fault: str
) -> None:
    content = word(rng) * 500
    first = {"apply": write(content), "fault": fault}
    steps = asked_and(first, content=content)
    told = {"full": "EFBIG"}.get(fault, "EIO")
    failed = subject.play(files={"a.md": OLD}, steps=steps[:2])
    assert (failed["told"], failed["spent"]) == (["asked", told], [])
    assert (failed["listing"], failed["open"]) == ({"a.md": OLD}, 0)
    answer = subject.play(files={"a.md": OLD}, steps=steps)
    assert (answer["told"], answer["listing"]) == (["asked", told, "apply"], {"a.md": content})


@pytest.mark.parametrize("files", [{"a.md": OLD}, {}])
def test_a_move_that_fails_is_a_failure_and_no_copy(subject: Any, files: Any) -> None:
    for code in ("EXDEV", "EPERM"):
        steps = [{"preview": write()}, {"apply": write(), "fault": f"{code} at move"}]
        answer = subject.play(files=files, steps=steps)
        assert (answer["told"], answer["listing"]) == (["asked", code], files)
    assert subject.play(files=files, steps=asked_and())["told"] == ["asked", "apply"]


def test_a_folder_that_does_not_sync_is_told(subject: Any) -> None:
    steps = [{"preview": write()}, {"apply": write(), "fault": "EIO at sync folder"}]
    answer = subject.play(files={"a.md": OLD}, steps=steps)
    assert (answer["told"], answer["listing"]) == (["asked", "apply, not durable"], {"a.md": NEW})
    assert answer["spent"] == ["n1"]


def test_a_crash_never_makes_one_approval_two_writes(subject: Any) -> None:
    endings = subject.crashes(old=OLD, **write())
    files = {file for after, _, again in endings for file in (after, again)}
    twice = [ending for ending in endings if ending[0] == NEW and ending[1] != "spent"]
    assert (files, twice) == ({OLD, NEW}, [])
    assert [OLD, "apply", NEW] in endings
    assert endings[-1] == [NEW, "spent", OLD]


def test_an_approval_is_spent_when_the_content_returns(subject: Any) -> None:
    again = {"apply": write()}
    undone = subject.play(
        files={"a.md": OLD}, steps=[*asked_and({"put": "a.md", "as": OLD}), again]
    )
    assert undone["told"] == ["asked", "apply", "already"]
    steps = [*asked_and(), {"put": "a.md", "as": OLD}, again]
    answer = subject.play(files={"a.md": OLD}, steps=steps)
    assert (answer["told"], answer["listing"]) == (["asked", "apply", "spent"], {"a.md": OLD})
    deleted = subject.play(files={}, steps=[*asked_and(), {"remove": "a.md"}, again])
    assert (deleted["told"], deleted["listing"]) == (["asked", "apply", "spent"], {})


def test_what_the_user_refuses_writes_nothing(subject: Any) -> None:
    ends = {"declined": ["n1"], "cancelled": [], "not confirmed": ["n1"]}
    actions = ({"action": "decline"}, {"action": "cancel"}, {"action": "accept", "apply": False})
    for (told, spent), answer in zip(ends.items(), actions, strict=True):
        steps = [{"preview": write()}, {"apply": write(), "answer": answer}, {"apply": write()}]
        played = subject.play(files={"a.md": OLD}, steps=steps[:2])
        assert (played["told"], played["spent"]) == (["asked", told], spent)
        assert played["listing"] == {"a.md": OLD}
        assert subject.play(files={"a.md": OLD}, steps=steps)["told"][2] == (
            "spent" if spent else "apply"
        )


def test_what_others_did_meanwhile_stays(subject: Any, rng: Any) -> None:
    theirs = word(rng)
    same_length = OLD.replace("two", "TWO")
    aged = [{"put": "a.md", "as": same_length}, {"old": "a.md"}]
    cases = [
        ({"a.md": OLD}, [{"put": "a.md", "as": theirs}], "changed", {"a.md": theirs}),
        ({"a.md": OLD}, aged, "changed", {"a.md": same_length}),
        ({"a.md": OLD}, [{"of": "a.md", "mode": 0o600}], "changed", {"a.md": OLD}),
        ({"a.md": OLD}, [{"remove": "a.md"}], "vanished", {}),
        ({}, [{"put": "a.md", "as": theirs}], "appeared", {"a.md": theirs}),
        ({}, [{"put": "a.md", "as": {"folder": True}}], "not a file", {"a.md": {"folder": True}}),
    ]
    for files, steps, told, left in cases:
        answer = subject.play(files=files, steps=asked_and(*steps))
        assert (answer["told"], answer["listing"]) == (["asked", told], left)
        assert answer["spent"] == []
    assert subject.play(files={"a.md": OLD}, steps=asked_and({"old": "a.md"}))["told"][1] == "apply"


def test_a_link_that_was_put_there_stays_and_leads_nowhere(subject: Any) -> None:
    link = {"link": "outside/secret.txt"}
    for files in ({"a.md": OLD}, {}):
        answer = subject.play(files=files, steps=asked_and({"put": "a.md", "as": link}))
        assert (answer["told"], answer["listing"]) == (
            ["asked", "not a file"],
            {"a.md": {"link": True}},
        )
        assert answer["secret"] == "secret\n"
    assert subject.play(files={"a.md": OLD}, steps=asked_and())["told"] == ["asked", "apply"]


def test_swapped_arguments_write_nothing(subject: Any, rng: Any) -> None:
    for swapped in (write("rm -rf everything\n"), write(NEW, "b.md")):
        steps = [{"preview": write()}, {"apply": swapped}, {"apply": write()}]
        answer = subject.play(files={"a.md": OLD, "b.md": OLD}, steps=steps[:2])
        assert (answer["told"], answer["spent"]) == (["asked", "swapped"], [])
        assert answer["listing"] == {"a.md": OLD, "b.md": OLD}
        assert subject.play(files={"a.md": OLD, "b.md": OLD}, steps=steps)["told"][2] == "apply"


def test_a_spent_approval_leaves_no_temporary_file(subject: Any) -> None:
    for files in ({"a.md": OLD}, {}):
        undo = {"put": "a.md", "as": OLD} if files else {"remove": "a.md"}
        steps = [*asked_and(), undo, {"apply": write()}]
        answer = subject.play(files=files, steps=steps)
        assert (answer["told"][2], answer["listing"], answer["open"]) == ("spent", files, 0)


@pytest.mark.parametrize("old", [OLD, None])
def test_of_two_writers_with_one_base_one_wins(subject: Any, rng: Any, old: Any) -> None:
    one, two = word(rng), word(rng)
    late = "appeared" if old is None else "changed"
    first_wins = ["apply", late, {"a.md": one}]
    second_wins = [late, "apply", {"a.md": two}]
    endings = subject.rivals(old=old, path="a.md", contents=[one, two])
    assert [ending for ending in endings if ending not in (first_wins, second_wins)] == []
    assert first_wins in endings


def test_of_a_crowd_of_writers_one_wins(subject: Any, rng: Any) -> None:
    words = [word(rng) for _ in range(5)]
    answer = subject.crowd(old=OLD, path="a.md", contents=words)
    assert sorted(answer["told"]) == ["apply", *["changed"] * 4]
    assert answer["listing"] == {"a.md": words[answer["told"].index("apply")]}


# 10.7


TWO = ["write_file", "preview_write", "apply_write"]


def test_both_tools_are_listed_or_none(subject: Any) -> None:
    listed = subject.descriptors(two_tools=True)
    assert [tool["name"] for tool in listed] == TWO
    assert subject.descriptors(two_tools=False) == listed[:1]
    assert subject.descriptors(two_tools=True) == listed


def test_the_annotations_are_true(subject: Any) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in subject.descriptors(two_tools=True)}
    changes = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}
    for name in ("write_file", "apply_write"):
        assert hints[name] == {**changes, "openWorldHint": False}
    assert hints["preview_write"]["readOnlyHint"] is True
    assert hints["preview_write"]["openWorldHint"] is False
    assert hints["preview_write"].get("destructiveHint", False) is False


def test_the_schemas_take_these_texts_and_no_others(subject: Any) -> None:
    for tool in subject.descriptors(two_tools=True):
        names = ["path", "content"] + ["state"] * (tool["name"] == "apply_write")
        schema = tool["inputSchema"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert sorted(schema["required"]) == sorted(schema["properties"]) == sorted(names)
        assert {each["type"] for each in schema["properties"].values()} == {"string"}


def test_a_preview_can_be_applied_and_only_once(subject: Any) -> None:
    call = {"apply": {**write(), "state": "state 0"}}
    steps = [{"preview": write()}, call, {"put": "a.md", "as": OLD}, call]
    answer = subject.two_tools(files={"a.md": OLD}, steps=steps)
    shown = subject.preview(files={"a.md": OLD}, **write(tool="apply_write"))
    assert answer["told"] == [{"message": shown["message"], "state": "state 0"}, "apply", "spent"]
    assert (answer["listing"], answer["spent"]) == ({"a.md": OLD}, ["state0"])
    assert subject.two_tools(files={"a.md": OLD}, steps=steps[:2])["listing"] == {"a.md": NEW}


def test_a_preview_of_what_is_there_gives_no_state(subject: Any) -> None:
    (told,) = subject.two_tools(files={"a.md": NEW}, steps=[{"preview": write()}])["told"]
    assert list(told) == ["message"]


def test_the_second_tool_checks_what_the_second_round_checks(subject: Any, rng: Any) -> None:
    def ends(*meanwhile: Any, **fields: Any) -> Any:
        call = {"apply": {**write(), "state": "state 0", **fields}}
        steps = [{"preview": write()}, *meanwhile, call]
        answer = subject.two_tools(files={"a.md": OLD, "b.md": OLD}, steps=steps)
        return answer["told"][1], answer["listing"]["a.md"], answer["spent"]

    theirs = word(rng)
    assert ends(content="other") == ("swapped", OLD, [])
    assert ends(path="b.md") == ("swapped", OLD, [])
    assert ends({"put": "a.md", "as": theirs}) == ("changed", theirs, [])
    assert ends(state="state 1") == ("state refused", OLD, [])
    assert ends(state=None) == ("state refused", OLD, [])
    assert ends(extra=1) == ("refused", OLD, [])
    assert ends() == ("apply", NEW, ["state0"])


def test_a_state_where_a_human_is_asked_is_no_state_of_these_tools(subject: Any) -> None:
    call = {"apply": {**write(), "state": "state 0"}}
    for tool, told in (("write_file", "state refused"), ("apply_write", "apply")):
        steps = [{"mint": write(tool=tool)}, call]
        answer = subject.two_tools(files={"a.md": OLD}, steps=steps)
        assert answer["told"] == [told]
        assert answer["listing"]["a.md"] == (NEW if told == "apply" else OLD)


def test_a_state_of_somebody_else_is_refused(subject: Any) -> None:
    call = {"apply": {**write(), "state": "state 0"}}
    steps = [{"preview": write(), "who": "alice"}, {**call, "who": "bob"}, {**call, "who": "alice"}]
    answer = subject.two_tools(files={"a.md": OLD}, steps=steps)
    assert answer["told"][1:] == ["state refused", "apply"]


def test_tools_that_are_switched_off_do_not_exist(subject: Any) -> None:
    call = {"apply": {**write(), "state": "state 0"}}
    for steps in ([{"preview": write()}], [{"mint": write(tool="apply_write")}, call]):
        off = subject.two_tools(files={"a.md": OLD}, steps=steps, switched_on=False)
        assert off == NO_SUCH_TOOL
        assert subject.two_tools(files={"a.md": OLD}, steps=steps)["told"] != []
