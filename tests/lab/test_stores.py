"""The server on a database file: two real processes, a restart, a file that cannot be used."""

import importlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from kit.parts import ROOT, part_paths
from kit.randomness import SystemRandomness
from kit.secrets_file import load_or_make, save

sys.path.insert(0, str(ROOT / "solutions"))
server: Any = importlib.import_module("server")
stage: Any = importlib.import_module("stage")

SERVE = (
    "import hosts, sys; from pathlib import Path; hosts.SECRETS = Path(sys.argv[1]);"
    "choice = hosts.Choice('solutions', 'sqlite', Path(sys.argv[2]));"
    "sys.exit(hosts.main('http', choice, 0, None))"
)


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve the file in the folder by a process of its own; give the port."""
    paths = [str(ROOT / each) for each in ("lessons", "solutions")]
    command = f"import sys; sys.path[:0] = {paths!r}; {SERVE}"
    process = subprocess.Popen(
        [sys.executable, "-c", command, str(folder / "server.json"), str(folder / "notes.db")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    try:
        yield int(told.partition("127.0.0.1:")[2].partition("/")[0])
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def token(tmp_path: Path) -> str:
    secrets = load_or_make(tmp_path / "server.json", SystemRandomness())
    token = secrets.issue("alice", frozenset({"notes"}), SystemRandomness())
    save(tmp_path / "server.json", secrets)
    return token


def send(port: int, token: str, **more: Any) -> Any:
    """Call notes_delete; the answer."""
    meta = "io.modelcontextprotocol/"
    arguments = {"workspaceUri": "file:///srv/notes/team", "title": "Draft"}
    params = {
        "name": "notes_delete",
        "arguments": arguments,
        "_meta": {
            f"{meta}protocolVersion": "2026-07-28",
            f"{meta}clientCapabilities": {"elicitation": {"form": {}}},
        },
        **more,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "notes_delete",
    }
    line = HTTPConnection("127.0.0.1", port, timeout=20)
    line.request("POST", "/mcp", body, headers)
    answer = json.loads(line.getresponse().read())
    line.close()
    return answer


def accept(note_id: str) -> Any:
    content = {"note_id": note_id, "confirm": True}
    return {"delete_choice": {"action": "accept", "content": content}}


def test_a_second_process_and_a_restarted_one_refuse_a_replay(tmp_path: Path, token: str) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as two:
        state = send(one, token)["result"]["requestState"]
        retry = {"requestState": state, "inputResponses": accept("draft-1")}
        assert send(one, token, **retry)["result"]["isError"] is False
        assert send(two, token, **retry)["error"]["code"] == -32602
        pending = send(two, token)["result"]["requestState"]
    with serving(tmp_path) as again:
        replay = {"requestState": state, "inputResponses": accept("draft-2")}
        assert send(again, token, **replay)["error"]["code"] == -32602
        late = {"requestState": pending, "inputResponses": accept("draft-2")}
        assert send(again, token, **late)["result"]["isError"] is False


def test_a_file_that_is_no_database_is_one_clear_sentence(tmp_path: Path, token: str) -> None:
    (tmp_path / "notes.db").write_bytes(b"this is no database, " * 100)
    command = ["TRANSPORT=stdio", "STORE=sqlite", f"FILE={tmp_path / 'notes.db'}"]
    ran = subprocess.run(
        [sys.executable, "-m", "kit", "serve", *command],
        cwd=ROOT / "lessons",
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 2 and "Traceback" not in ran.stderr
    assert "cannot be used as its database" in ran.stderr


def test_a_file_that_is_held_is_a_tool_refusal_and_the_state_stays_good() -> None:
    made = stage.Stage(server.Parts(part_paths("solutions")), "sqlite")
    try:
        hasty = made.parts.sqlite_store.SqliteStore(made.database, made.clock, patience=0.05)
        made.world.store.claim = hasty.claim
        state = made.ask()
        holder = sqlite3.connect(made.database, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        refused = made.answer(state, stage.accept())
        holder.execute("ROLLBACK")
        holder.close()
        assert refused.result["isError"] is True and len(made.ids()) == 5
        assert made.answer(state, stage.accept()).result["isError"] is False
    finally:
        made.close()
