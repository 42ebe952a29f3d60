"""Step 02: who may touch what. Each check proves one rule, each refusal with its control."""

import string
from typing import Any

import pytest

from grading.outcomes import Refused, RpcFailure

NOTES = "file:///srv/notes"


def word(rng: Any) -> str:
    """A name that no solution can have foreseen."""
    return "".join(rng.choices(string.ascii_lowercase, k=8))


# 2.1


@pytest.mark.parametrize("text", ["draft-1", "7", "a" * 64])
def test_a_note_id_is_returned_as_it_came(subject: Any, text: str) -> None:
    assert subject.note_id(text=text) == text


@pytest.mark.parametrize(
    "text", ["draft-1\n", "", "Draft", "-a", "a" * 65, "a/b", "é", "٣", "a_b", "a.b", None, 7]
)
def test_a_note_id_of_another_shape_is_refused(subject: Any, text: Any) -> None:
    assert subject.note_id(text=text) == Refused()


# 2.2


def test_the_path_of_a_file_uri_comes_out_still_encoded(subject: Any, rng: Any) -> None:
    path = f"/srv/{word(rng)}/50%25.md"
    assert subject.uri_path(uri=f"file://{path}") == path
    assert subject.uri_path(uri=f"FILE://localhost{path}") == path


def test_another_host_is_refused(subject: Any, rng: Any) -> None:
    assert subject.uri_path(uri="file://localhost/a.md") == "/a.md"
    assert subject.uri_path(uri=f"file://{word(rng)}.example/a.md") == Refused()
    assert subject.uri_path(uri="file://localhost.evil.example/a.md") == Refused()
    assert subject.uri_path(uri=f"file:////{word(rng)}/share/a.md") == Refused()
    for authority in ("user@localhost", "localhost:80", "127.0.0.1"):
        assert subject.uri_path(uri=f"file://{authority}/a.md") == Refused()


def test_query_and_fragment_are_refused(subject: Any) -> None:
    assert subject.uri_path(uri="file:///a%3Fb%23c.md") == "/a%3Fb%23c.md"
    for uri in ("file:///a.md?x", "file:///a.md#x", "file:///a.md?", "file:///a.md#"):
        assert subject.uri_path(uri=uri) == Refused()


@pytest.mark.parametrize(
    "uri",
    [
        "notes/a.md",
        "/srv/a.md",
        "http://localhost/a.md",
        "",
        "file://",
        " file:///a.md",
        "fıle:///a.md",
        "file:/a.md",
        7,
        None,
    ],
)
def test_what_is_no_file_uri_is_refused(subject: Any, uri: Any) -> None:
    assert subject.uri_path(uri="file:///a.md") == "/a.md"
    assert subject.uri_path(uri=uri) == Refused()


# 2.3


def test_a_segment_is_decoded_exactly_once(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.normalize(uri=f"file:///{name}/50%25.md") == [name, "50%.md"]
    assert subject.normalize(uri=f"file:///{name}/%252e%252e/x") == [name, "%2e%2e", "x"]
    assert subject.normalize(uri="file:///caf%C3%A9") == ["café"]
    assert subject.normalize(uri="file:///a+b/%C2%A0") == ["a+b", "\u00a0"]


def test_dots_are_walked_after_decoding(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.normalize(uri=f"file:///srv/{name}/../a/./b") == ["srv", "a", "b"]
    assert subject.normalize(uri=f"file:///srv/{name}/%2E%2e/%2e/b") == ["srv", "b"]


def test_dots_that_climb_above_the_top_are_refused(subject: Any) -> None:
    assert subject.normalize(uri="file:///a/..") == []
    assert subject.normalize(uri="file:///a/../..") == Refused()
    assert subject.normalize(uri="file:///%2e%2e/a") == Refused()


def test_names_that_only_contain_dots_are_legal(subject: Any) -> None:
    names = ["..draft.md", "...", "changelog..old.md", ".git", "．．"]
    assert subject.normalize(uri="file:///" + "/".join(names)) == names


def test_empty_segments_and_a_trailing_slash_change_nothing(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.normalize(uri=f"file:///srv/{name}/") == ["srv", name]
    assert subject.normalize(uri=f"file:///srv//{name}//a.md") == ["srv", name, "a.md"]
    assert subject.normalize(uri="file:///") == []


@pytest.mark.parametrize(
    "escape", ["%2F", "%2f", "%5c", "\\", "%00", "%0a", "\n", "%7F", "\t", "%C2%85"]
)
def test_slash_backslash_and_control_characters_in_a_name_are_refused(
    subject: Any, escape: str
) -> None:
    assert subject.normalize(uri=f"{NOTES}/a%20b.md") == ["srv", "notes", "a b.md"]
    assert subject.normalize(uri=f"{NOTES}/a{escape}b.md") == Refused()
    assert subject.normalize(uri=f"{NOTES}/a.md{escape}") == Refused()


@pytest.mark.parametrize("escape", ["%", "%4", "%zz", "%2", "% 41", "%+1", "%４１"])
def test_broken_escapes_are_refused(subject: Any, escape: str) -> None:
    assert subject.normalize(uri=f"{NOTES}/%41") == ["srv", "notes", "A"]
    assert subject.normalize(uri=f"{NOTES}/a/{escape}") == Refused()


@pytest.mark.parametrize("escape", ["%FF", "%C3", "%ED%A0%80", "\ud800"])
def test_what_is_not_utf8_is_refused(subject: Any, escape: str) -> None:
    assert subject.normalize(uri=f"{NOTES}/%C3%A9") == ["srv", "notes", "é"]
    assert subject.normalize(uri=f"{NOTES}/{escape}") == Refused()


# 2.4


def test_a_sibling_with_the_same_beginning_is_outside(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.contains(workspace=["srv", name], target=["srv", name, "a.md"]) is True
    assert (
        subject.contains(workspace=["srv", name], target=["srv", name + "-archive", "a.md"])
        is False
    )
    assert subject.contains(workspace=["srv", name], target=["srv"]) is False
    assert subject.contains(workspace=["srv", name], target=["x", "srv", name]) is False


def test_a_workspace_contains_itself_and_the_top_contains_all(subject: Any, rng: Any) -> None:
    assert subject.contains(workspace=["srv", "a"], target=["srv", "a"]) is True
    assert subject.contains(workspace=[], target=["etc", word(rng)]) is True
    assert subject.contains(workspace=["etc"], target=[]) is False


def test_nobody_deletes_the_workspace_itself(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.contains_strictly(workspace=["srv"], target=["srv", name]) is True
    assert subject.contains_strictly(workspace=["srv", name], target=["srv", name]) is False
    assert subject.contains_strictly(workspace=["srv", name], target=["srv", name + "x"]) is False


@pytest.mark.parametrize(
    ("target", "inside"),
    [
        (f"{NOTES}/a/../b.md", True),
        (f"{NOTES}/changelog..old.md", True),
        (f"{NOTES}/50%25.md", True),
        (f"{NOTES}/%252e%252e/x", True),
        (f"{NOTES}-evil/s.md", False),
        (f"{NOTES}/../notes-evil/s.md", False),
        (f"{NOTES}/../private.md", False),
        (f"{NOTES}/a/../../outside.txt", False),
        (f"{NOTES}/%2E%2e/private.md", False),
    ],
)
def test_text_to_verdict_agrees_with_the_public_cases(
    subject: Any, target: str, inside: bool
) -> None:
    assert subject.contained(allowed=NOTES, target=target) is inside


# 2.5


def test_a_granted_workspace_and_what_is_inside_it_may_be_used(subject: Any, rng: Any) -> None:
    place = f"file:///srv/{word(rng)}"
    grants = {"alice": ["file:///other", place + "/"]}
    assert subject.authorize(subject="alice", workspace=place, grants=grants) == "allowed"
    assert subject.authorize(subject="alice", workspace=place + "/old", grants=grants) == "allowed"
    assert subject.authorize(subject="alice", workspace="file:///third", grants=grants) == Refused()


def test_what_is_around_or_beside_a_granted_workspace_is_refused(subject: Any, rng: Any) -> None:
    place = f"file:///srv/{word(rng)}"
    grants = {"alice": [place]}
    assert subject.authorize(subject="alice", workspace=place, grants=grants) == "allowed"
    for workspace in ("file:///srv", "file:///", place + "-archive", place + "/.."):
        assert subject.authorize(subject="alice", workspace=workspace, grants=grants) == Refused()


def test_another_principal_and_an_unknown_one_are_refused(subject: Any, rng: Any) -> None:
    place, name = "file:///srv/a", word(rng)
    grants = {name: [place], "bob": []}
    assert subject.authorize(subject=name, workspace=place, grants=grants) == "allowed"
    assert subject.authorize(subject="bob", workspace=place, grants=grants) == Refused()
    assert subject.authorize(subject="", workspace=place, grants=grants) == Refused()
    assert subject.authorize(subject=name.upper(), workspace=place, grants=grants) == Refused()
    assert subject.authorize(subject="alice", workspace=place, grants={}) == Refused()


# 2.6


def test_the_workspace_of_a_call_is_its_argument(subject: Any) -> None:
    named = {"workspaceUri": "file:///srv/notes/team/old"}
    assert subject.workspace_from_argument(arguments=named) == ["srv", "notes", "team", "old"]
    for named in (None, "", "file:///srv/notes/bob"):
        assert subject.workspace_from_argument(arguments={"workspaceUri": named}) == Refused()
    assert subject.workspace_from_argument(arguments={}) == Refused()


def test_a_call_cannot_say_who_is_asking(subject: Any) -> None:
    arguments = {
        "workspaceUri": "file:///srv/notes/alice",
        "principal": "alice",
        "subject": "alice",
    }
    assert subject.workspace_from_argument(arguments=arguments, subject="alice") != Refused()
    assert subject.workspace_from_argument(arguments=arguments, subject="bob") == Refused()


def test_a_configured_workspace_is_the_operators(subject: Any, rng: Any) -> None:
    name = word(rng)
    configuration = {"alice": f"file:///srv/{name}/"}
    found = subject.workspace_from_configuration(subject="alice", configuration=configuration)
    assert found == ["srv", name]
    refused = subject.workspace_from_configuration(subject="bob", configuration=configuration)
    assert refused == Refused()


def test_candidates_are_the_notes_strictly_inside(subject: Any) -> None:
    team = ["srv", "notes", "team"]
    assert subject.candidates(title="Draft", workspace=team) == ["draft-1", "draft-2"]
    assert subject.candidates(title="Draft", workspace=[*team, "draft-1.md"]) == []
    for title in ("draft", "Dra", " Draft"):
        assert subject.candidates(title=title, workspace=team) == []
    assert subject.candidates(title=None, workspace=team) == Refused()


def test_a_resource_is_read_inside_the_scope_only(subject: Any) -> None:
    uri = "file:///srv/notes/alice/draft-4.md"
    assert subject.read_resource(uri=uri) == "Alice's own draft."
    assert subject.read_resource(uri=uri.replace("alice", "x/../alice")) == "Alice's own draft."
    assert subject.read_resource(uri=uri, subject="bob") == RpcFailure(-32602, data={"uri": uri})
    for wrong in ("file:///srv/notes/team/none.md", "notes", None):
        assert subject.read_resource(uri=wrong) == RpcFailure(-32602, data={"uri": wrong})


def test_a_refusal_does_not_tell_what_exists_outside(subject: Any) -> None:
    assert subject.read_resource(uri="file:///srv/notes/team/draft-1.md") == "Plan for spring."
    exists = subject.read_resource(uri="file:///srv/notes/team-archive/draft-3.md")
    absent = subject.read_resource(uri="file:///srv/notes/team-archive/draft-9.md")
    missing = subject.read_resource(uri="file:///srv/notes/team/draft-9.md")
    assert exists == RpcFailure(-32602)
    assert absent == RpcFailure(-32602, exists.message)
    assert missing == RpcFailure(-32602, exists.message)
    for malformed in ("notes", None):
        assert subject.read_resource(uri=malformed) == RpcFailure(-32602, exists.message)
    theirs = subject.authorize(subject="bob", workspace="file:///srv/notes/alice")
    nobodys = subject.authorize(subject="bob", workspace="file:///srv/notes/zoe")
    assert theirs == nobodys == Refused()
    assert theirs == subject.authorize(subject="zoe", workspace="file:///srv/notes/alice")
    assert theirs == subject.authorize(subject="bob", workspace="file:///srv/notes")


# 2.7


def test_a_relative_path_starts_at_the_workspace(subject: Any, rng: Any) -> None:
    name = word(rng)
    assert subject.within(path=f"old/../{name}.md") == ["srv", "team", f"{name}.md"]
    assert subject.within(path=f"./{name}//a.md") == ["srv", "team", name, "a.md"]
    assert subject.within(path="etc/passwd") == ["srv", "team", "etc", "passwd"]


def test_a_path_is_not_a_uri(subject: Any) -> None:
    for name in ("50%.md", "%2e%2e", "$HOME", "${LANG}", "$PATH", "..draft.md", "a?b#c"):
        assert subject.within(path=name) == ["srv", "team", name]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/srv/team/a.md",
        "~/.bashrc",
        "~root/.bashrc",
        "",
        "a\\b",
        "a\x00b",
        "a\nb",
        "a\x7fb",
        "\ud800",
        None,
        ["a"],
    ],
)
def test_a_path_that_does_not_start_at_the_workspace_is_refused(subject: Any, path: Any) -> None:
    assert subject.within(path="a~b") == ["srv", "team", "a~b"]
    assert subject.within(path=path) == Refused()


@pytest.mark.parametrize(
    "path", ["../x.md", "a/../../x.md", "../team-archive/x.md", "../../..", "../../../.."]
)
def test_a_path_that_leaves_the_workspace_is_refused(subject: Any, path: str) -> None:
    assert subject.within(path="../team/a.md") == ["srv", "team", "a.md"]
    assert subject.within(path=path) == Refused()


def test_every_path_argument_is_checked(subject: Any) -> None:
    names = ["source", "destination"]
    fine = {"source": "a.md", "destination": "old/b.md", "title": "../"}
    expected = {"source": ["srv", "team", "a.md"], "destination": ["srv", "team", "old", "b.md"]}
    assert subject.within_all(arguments=fine, names=names) == expected
    assert subject.within_all(arguments={"source": "a.md"}, names=names) == {
        "source": ["srv", "team", "a.md"]
    }
    for name in names:
        for wrong in ("../../b.md", None, ""):
            answer = subject.within_all(arguments={**fine, name: wrong}, names=names)
            assert answer == Refused()


# 2.8


@pytest.mark.parametrize(
    "allowed", ["file:///c%3A/srv/notes", "file:///C:/srv/Notes", "file:///c:/srv/notes/"]
)
def test_windows_ignores_case_and_takes_an_encoded_colon(subject: Any, allowed: str) -> None:
    assert subject.windows_contained(allowed=allowed, target="file:///C:/SRV/notes/a.md") is True
    assert subject.windows_contained(allowed=allowed, target="file:///D:/srv/notes/a.md") is False
    assert (
        subject.windows_contained(allowed=allowed, target="file:///C:/srv/notes-evil/a.md") is False
    )
    assert subject.windows_contained(allowed="file:///C:/É", target="file:///c:/é/a.md") is True
    assert subject.windows_contained(allowed="file:///C:/ß", target="file:///C:/ss/a.md") is False


@pytest.mark.parametrize(
    "uri",
    [
        "file:///srv/notes",
        "file:///",
        "file:///CC:/a",
        "file:///C:a.md",
        "file:///C%7C/a",
        "file:////host/share/a.md",
    ],
)
def test_a_windows_location_begins_with_a_drive(subject: Any, uri: str) -> None:
    assert subject.windows_location(uri="file:///C:/a.md")[1:] == ["a.md"]
    assert subject.windows_location(uri=uri) == Refused()


@pytest.mark.parametrize(
    "name",
    [
        "a.md:hidden",
        "NUL",
        "nul.txt",
        "Con",
        "prn.x.y",
        "aux",
        "COM9",
        "LPT3.md",
        "COM1.log",
        "a.",
        "a%20",
        "a%3Fb",
        "a%3Cb",
        "a%7Cb",
        "NUL%20.txt",
        "lpt%C2%B9",
    ],
)
def test_names_that_windows_reads_otherwise_are_refused(subject: Any, name: str) -> None:
    for fine in ("null.txt", "com10", "console", "a.b"):
        assert subject.windows_location(uri=f"file:///C:/{fine}")[1:] == [fine]
    assert subject.windows_location(uri=f"file:///C:/srv/{name}") == Refused()
    assert subject.windows_location(uri=f"file:///C:/{name}/a.md") == Refused()
