"""Pages: a listing that nobody proves, a rule that is not there, a link into nothing."""

import importlib.util
from pathlib import Path

import pytest
from miniature import SOLUTION, STEP, edit, good_lab, proof

from grading.prove.commands_named import commands_in, flaw, options
from grading.prove.extracts import extract, without_docstrings
from grading.prove.markdown import anchors, count_words, headings, links, slug, split

PAGE = f"lessons/{STEP}/README.md"


def listing(root: Path, block: str) -> tuple[int, str]:
    """Add a block to the step's page and prove the listings."""
    page = good_lab(root) / PAGE
    page.write_text(page.read_text(encoding="utf-8") + "\n" + block, encoding="utf-8")
    return proof(root, only="listings")


@pytest.mark.parametrize("language", ["python", "json", "text", "console", "http", ""])
def test_a_block_that_does_not_say_where_it_is_from_is_reported(
    tmp_path: Path, language: str
) -> None:
    status, said = listing(tmp_path, f"```{language}\nx\n```\n")
    assert status == 1
    assert f"this {language or 'unnamed'} block does not say what it is cut from." in said
    assert "3 of 4" in said


@pytest.mark.parametrize("language", ["mermaid", "sh"])
def test_diagrams_and_commands_to_type_need_no_source(tmp_path: Path, language: str) -> None:
    assert listing(tmp_path, f"```{language}\nx\n```\n")[0] == 0


@pytest.mark.parametrize(
    ("directive", "sentence"),
    [
        (f"from: solutions/{STEP}/double.py#double", "differs from solutions/"),
        (f"from: solutions/{STEP}/double.py#half", "is cut from half, which is not in"),
        (f"from: solutions/{STEP}/gone.py#double", "which is not there"),
        (f"from: lessons/{STEP}/double.py#double", "which the learner rewrites"),
        ("run: make hello", "differs from what `make hello` prints: “Hello.” against “x”"),
        ("run: make hello, exit 1", "`make hello` ended with 0, not 1"),
        ("run: rm -rf /", "only `make …` and `python3 -m lessons …` can be run"),
        ("sketch:", "a sketch needs a reason"),
    ],
)
def test_a_block_that_is_not_what_it_says_is_reported(
    tmp_path: Path, directive: str, sentence: str
) -> None:
    status, said = listing(tmp_path, f"<!-- {directive} -->\n```text\nx\n```\n")
    assert status == 1
    assert sentence in said


@pytest.mark.skipif(not importlib.util.find_spec("mcp_types"), reason="needs the group interop")
@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        ("ElicitResult", '{"action": "accept"}', ""),
        ("ElicitResult", '{"action": "yes"}', "is no valid ElicitResult: action"),
        ("ElicitResult", "{…}", "is not JSON"),
        ("NoSuchType", "{}", "mcp_types has no type NoSuchType."),
        ("message", '{"jsonrpc": "2.0", "id": 1, "method": "ping"}', "is no valid message"),
    ],
)
def test_json_is_judged_by_the_type_that_it_claims(
    tmp_path: Path, kind: str, text: str, sentence: str
) -> None:
    status, said = listing(tmp_path, f"<!-- wire: {kind} -->\n```json\n{text}\n```\n")
    assert status == bool(sentence)
    assert sentence in said


def test_a_directive_belongs_to_the_block_below_it_alone() -> None:
    blocks, _ = split("<!-- from: a.py -->\n\n```\n1\n```\n\n```\n2\n```\n")
    assert [block.directives for block in blocks] == [{"from": "a.py"}, {}]


def test_a_block_inside_a_list_loses_its_indentation() -> None:
    [block], _ = split("1. Type\n\n   ```sh\n   make\n     x\n   ```\n")
    assert (block.language, block.text, block.line) == ("sh", "make\n  x", 3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f", "@mark\ndef f():\n    return 1"),
        ("C", "class C:\n    x = 1\n\n    def m(self):\n        return 2"),
        ("C.m", "def m(self):\n    return 2"),
        ("A", "A = (\n    1,\n)"),
        ("g", None),
        ("f.x", None),
    ],
)
def test_a_piece_of_source_is_cut_out_whole(name: str, text: str | None) -> None:
    source = (
        "A = (\n    1,\n)\n\n\n@mark\ndef f():\n    return 1\n\n\n"
        "class C:\n    x = 1\n\n    def m(self):\n        return 2\n"
    )
    assert extract(source, name) == text


def test_a_piece_of_source_is_shown_with_or_without_its_docstrings(tmp_path: Path) -> None:
    code = 'class C:\n    """Doc."""\n\n    def m(self):\n        """More."""\n        return 2\n'
    assert without_docstrings(code) == "class C:\n    def m(self):\n        return 2"
    assert without_docstrings('def f():\n    """Doc."""') == 'def f():\n    """Doc."""'
    shown = without_docstrings(SOLUTION[SOLUTION.index("def double") :])
    directive = f"from: solutions/{STEP}/double.py#double"
    assert listing(tmp_path, f"<!-- {directive}:code -->\n```python\n{shown}\n```\n")[0] == 0


def test_only_code_may_follow_the_name_of_a_piece(tmp_path: Path) -> None:
    said = listing(tmp_path, f"<!-- from: solutions/{STEP}/double.py#double:x -->\n```\nx\n```\n")[
        1
    ]
    assert "after the name comes nothing, or :code." in said


def test_an_unknown_requirement_id_is_reported_with_its_line(tmp_path: Path) -> None:
    unknown = f"MINI-{99}"
    edit(good_lab(tmp_path), f"lessons/{STEP}/hints.md", "MINI-1", unknown)
    status, said = proof(tmp_path, only="requirement-ids")
    assert status == 1
    assert f"lessons/{STEP}/hints.md:11: cites {unknown}, which is no row" in said


def test_an_id_in_the_registry_must_be_a_rule_whatever_it_looks_like(tmp_path: Path) -> None:
    edit(good_lab(tmp_path), "lessons/lab.toml", '["MINI-2"]', '["MIMI-2"]')
    status, said = proof(tmp_path, only="requirement-ids")
    assert status == 1
    assert "::test_a_text_is_refused): cites MIMI-2, which is no rule." in said


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("- **MINI-1** · LAB · server · Again. · [source](https://a.b)", "MINI-1 comes 2 times"),
        ("- **MINI-3** · PERHAPS · server · So. · [source](https://a.b)", "MINI-3 is not “id"),
        ("- **MINI-3** · LAB · server · So. · [source](rules.md)", "names no public source"),
    ],
)
def test_a_row_that_is_not_complete_is_reported(tmp_path: Path, row: str, sentence: str) -> None:
    path = good_lab(tmp_path) / "lessons/requirements.md"
    path.write_text(path.read_text(encoding="utf-8") + row + "\n", encoding="utf-8")
    assert sentence in proof(tmp_path, only="requirement-ids")[1]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("../requirement.md", "links to ../requirement.md, which is not there."),
        ("../requirements.md#rules", "which has no such heading."),
        ("#no-such", "which has no such heading."),
        ("../../../elsewhere.md", "which is not there."),
        ("../kit", ""),
        ("/lessons/requirements.md", ""),
        ("https://example.org/x", ""),
    ],
)
def test_a_link_leads_to_a_file_and_a_heading(tmp_path: Path, target: str, sentence: str) -> None:
    edit(good_lab(tmp_path), PAGE, "../requirements.md#the-rules", target)
    status, said = proof(tmp_path, only="links")
    assert status == bool(sentence)
    assert sentence in said


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("make hello NAME=you", ""),
        ("python3 -m lessons hello", ""),
        ("make", ""),
        ("make helo", "there is no command `make helo`."),
        ("make hello NOISE=1", "`make hello` has no option NOISE."),
    ],
)
def test_a_command_that_a_page_names_must_exist(
    tmp_path: Path, command: str, sentence: str
) -> None:
    edit(good_lab(tmp_path), PAGE, "type `make hello`", f"type `{command}`")
    status, said = proof(tmp_path, only="commands")
    assert status == bool(sentence)
    assert sentence in said


def test_commands_are_read_from_code_spans_and_shell_blocks_only() -> None:
    page = (
        "make sure of `make a`\n\n```sh\n$ make b X=1  # why\ncd there\n```\n```text\nmake c\n```\n"
    )
    assert list(commands_in(page)) == [(1, "make a"), (4, "make b X=1")]


def test_options_that_are_not_written_out_are_not_judged() -> None:
    assert options('OPTIONS: dict[str, str] = {"A": "a"}\n') == {"A"}
    assert options("OPTIONS = dict(A='a')\n") is None
    assert flaw("make x B=1", {"x": None}) == ""


def test_headings_become_the_anchors_that_readers_link_to() -> None:
    page = "# One `two` three\n\n## Same\n\n## Same\n\n<a id='own'></a>\n\n```\n# no\n```\n"
    assert anchors(page) == {"one-two-three", "same", "same-1", "own"}
    assert slug("What's **new**, in §2?") == "whats-new-in-2"
    assert headings(page)[0] == (1, "One `two` three")


def test_links_in_code_are_no_links() -> None:
    page = '[a](b.md) `[c](d.md)` [`e`](f.md#g "title")\n\n[h]: i.md\n\n```\n[j](k.md)\n```\n'
    assert [target for _, target in links(page)] == ["b.md", "f.md#g", "i.md"]


def test_words_are_counted_outside_listings_and_comments() -> None:
    assert count_words("One two <!-- three\nfour --> five\n\n```\nsix\n```\n") == 3
