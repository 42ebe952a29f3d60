"""The client half of step 04 against the eight client scenarios that need no OAuth."""

import os
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conformance_client import ACTS
from suite import REVISION, judged, npx, probe

from kit.parts import ROOT, part_paths

HERE = Path(__file__).resolve().parent
REASON = probe()

pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


def found_by(scenario: str, client_half: Path, folder: Path) -> list[dict[str, Any]]:
    """What the suite judges of a client half in one scenario."""
    client = shlex.join([sys.executable, str(HERE / "conformance_client.py"), str(client_half)])
    asked = ["--scenario", scenario, "--spec-version", REVISION, "-o", str(folder)]
    ran = npx("client", "--command", client, *asked)
    found = judged(folder)
    assert found, ran.stderr
    return found


@pytest.mark.parametrize("scenario", ACTS)
def test_the_suite_finds_nothing_against_the_client(scenario: str, tmp_path: Path) -> None:
    part = part_paths(os.environ.get("PARTS", "solutions"))["client_half"]
    found = found_by(scenario, part, tmp_path)
    assert [check for check in found if check["status"] != "SUCCESS"] == []


def test_the_suite_does_find_a_retry_under_the_old_id(tmp_path: Path) -> None:
    wrong = ROOT / "tests" / "known_bad" / "step04_rounds" / "client_same_id.toml"
    edit = tomllib.loads(wrong.read_text(encoding="utf-8"))["edit"][0]
    source = part_paths("solutions")["client_half"].read_text(encoding="utf-8")
    part = tmp_path / "client_half.py"
    part.write_text(source.replace(edit["find"], edit["replace"]), encoding="utf-8")
    found = found_by("sep-2322-client-request-state", part, tmp_path)
    failed = [check["name"] for check in found if check["status"] == "FAILURE"]
    assert failed == ["MRTRClientJsonRpcIdDifferent"]
