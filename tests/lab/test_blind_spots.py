"""Thirteen faults, planted one at a time in the assembled server; each fails a checkpoint.

The official conformance suite sees three of them: no MAC, no header check, any version accepted.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kit.clock import FrozenClock
from kit.parts import ROOT, part_paths
from kit.registry import read_registry

sys.path.insert(0, str(ROOT / "solutions"))
demo: Any = importlib.import_module("demo")
server: Any = importlib.import_module("server")


class EveryVersion(tuple[str, ...]):
    """A list of versions in which everything is."""

    def __contains__(self, version: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(("2026-07-28",))


def ignore_in_origin(**fields: Any) -> Callable[[Any], None]:
    """Bind a state to less than its origin."""

    def plant(parts: Any) -> None:
        real = parts.state.Origin
        parts.state.Origin = lambda *all_fields: replace(real(*all_fields), **fields)

    return plant


def no_candidate_set(parts: Any) -> None:
    real = parts.state.open_state
    anything = ("agenda-1", "draft-1", "draft-2", "draft-3", "draft-4")
    parts.state.open_state = lambda *given: replace(real(*given), candidates=anything)


def no_expiry(parts: Any) -> None:
    real, stopped = parts.state.open_state, FrozenClock()
    parts.state.open_state = lambda token, origin, phase, ring, clock: real(
        token, origin, phase, ring, stopped
    )


def no_mac(parts: Any) -> None:
    real = parts.state.hmac
    parts.state.hmac = SimpleNamespace(digest=real.digest, compare_digest=lambda a, b: True)


def no_store(parts: Any) -> None:
    parts.replay.ReplayStore.remember = lambda *given: None


def prefix(parts: Any) -> None:
    parts.scope.contains = lambda workspace, target: "/".join(target.segments).startswith(
        "/".join(workspace.segments)
    )


def any_capability(parts: Any) -> None:
    parts.forms.require_mode = lambda *given: None


def url_is_form(parts: Any) -> None:
    parts.forms.elicitation_modes = lambda capabilities: (
        {"form"} & {"form" for name in capabilities if name == "elicitation"}
    )


def notifications_answered(parts: Any) -> None:
    real = parts.envelope.message_kind
    parts.envelope.message_kind = lambda message: real({"id": 0, **message})


def no_header_check(parts: Any) -> None:
    parts.edge.check_headers = lambda *given: None


def any_version(parts: Any) -> None:
    parts.envelope.SUPPORTED_VERSIONS = EveryVersion()


# The fault, and the beginning of the title of the checkpoint that must notice it.
FAULTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "no argument binding": (ignore_in_origin(arguments={}), "a changed title"),
    "no tool binding": (ignore_in_origin(tool="any"), "the state of another tool"),
    "no principal binding": (ignore_in_origin(principal="any"), "the state of another principal"),
    "no expiry": (no_expiry, "an expired state"),
    "no replay store": (no_store, "a replay on"),
    "no candidate-set check": (no_candidate_set, "a candidate outside"),
    "string-prefix containment": (prefix, "a sibling"),
    "no capability check": (any_capability, "a client that cannot show"),
    "URL-only taken as form": (url_is_form, "a client that cannot show"),
    "a notification answered": (notifications_answered, "a tools/call without an id"),
    "no MAC": (no_mac, "a tampered state"),
    "no header check": (no_header_check, "headers that contradict"),
    "any version accepted": (any_version, "a version that is not served"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_fails_its_checkpoint(fault: str) -> None:
    plant, title = FAULTS[fault]
    (point,) = [point for point in demo.CHECKPOINTS if point.title.startswith(title)]
    sound, spoiled = (server.Parts(part_paths("solutions")) for _ in range(2))
    assert demo.hold(point, sound)[0]
    plant(spoiled)
    holds, shown = demo.hold(point, spoiled)
    assert not holds, shown
    assert "could not go on" not in shown


SEEN_BY_THE_SUITE = {"no MAC", "no header check", "any version accepted"}
ROW = re.compile(
    r"^\| (?P<fault>[^|]+) \| (?P<suite>yes|no) \| (?P<step>\d\d) \| `(?P<check>\w+)` \|$"
)


def test_the_page_of_step_13_names_a_registered_check_for_each_fault() -> None:
    page = (ROOT / "lessons" / "step13_ship" / "README.md").read_text(encoding="utf-8")
    rows = [found for line in page.splitlines() if (found := ROW.match(line))]
    assert [row["fault"] for row in rows] == list(FAULTS)
    assert {row["fault"] for row in rows if row["suite"] == "yes"} == SEEN_BY_THE_SUITE
    lab = read_registry()
    for row in rows:
        assert row["check"] in {check.test for check in lab.step(int(row["step"])).checks}
