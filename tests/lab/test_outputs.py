"""What the lab ships: skills that agents can load, and pages whose rules and commands exist."""

import re
from pathlib import Path

import pytest

from kit.parts import ROOT
from kit.registry import read_registry

OUTPUTS = ROOT / "outputs"
PAGES = sorted(OUTPUTS.glob("*.md"))
SKILLS = sorted(OUTPUTS.glob("skill-*.md"))
RULES = (ROOT / "lessons" / "requirements.md").read_text(encoding="utf-8")
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024  # of the agent-skill format


def front_matter(page: Path) -> dict[str, str]:
    """The fields between the two lines of hyphens at the top; {} where there are none."""
    found = re.match(r"---\n(.*?)\n---\n\n# ", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = found[1].splitlines() if found else []
    return dict(line.split(": ", 1) for line in lines)


def rows(page: Path, columns: int) -> list[list[str]]:
    """The rows of the page's tables that have so many columns, without heads and rules."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if len(row) == columns][1:]


def test_there_are_skills_and_pages() -> None:
    assert SKILLS and len(PAGES) > len(SKILLS)


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.stem)
def test_a_skill_has_a_name_and_says_when_to_use_it(skill: Path) -> None:
    fields = front_matter(skill)
    assert set(fields) == {"name", "description"}
    assert skill.stem == f"skill-{fields['name']}"
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert len(fields["name"]) <= LONGEST_NAME
    assert "Use it when" in fields["description"]
    assert len(fields["description"]) <= LONGEST_DESCRIPTION


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_each_command_and_each_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for command in re.findall(r"`make ([a-z]+)", text):
        assert (ROOT / "lessons" / "kit" / "commands" / f"{command}.py").is_file(), command
    for name in re.findall(r"`((?:outputs|lessons|solutions|notebooks)/[^`*]+)`", text):
        assert (ROOT / name).exists(), name


def test_the_form_designer_refuses_roots_as_a_sandbox_and_secrets_in_a_form() -> None:
    refused = rows(OUTPUTS / "skill-elicitation-form-designer.md", 2)
    asked = {ask: answer for ask, answer in refused}
    roots = next(answer for ask, answer in asked.items() if "Roots as a sandbox" in ask)
    secret = next(answer for ask, answer in asked.items() if "password" in ask)
    assert "ROOT-1" in roots and "only narrow" in roots
    assert "ELI-12" in secret and "URL mode" in secret


def test_each_threat_has_a_rule_and_the_step_that_teaches_it() -> None:
    threats = rows(OUTPUTS / "threat-checklist.md", 5)
    steps = {step.number for step in read_registry(ROOT / "lessons" / "lab.toml").steps}
    assert len(threats) >= 25
    for threat, attempt, holds, rules, step in threats:
        assert threat and attempt and holds
        assert all(f"- **{rule}**" in RULES for rule in rules.split(", ")), rules
        assert int(step) in steps
    assert {int(row[4]) for row in threats} == steps
