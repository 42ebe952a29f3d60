"""The demo: everything that the finished server promises, one checkpoint for each promise.

A checkpoint gets a fresh stage, sends real messages over loopback HTTP, and claims what must be
true; one claim that is not makes the whole demo fail.
"""

import base64
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kit.notes import ALICE, BOB, Note
from kit.parts import part_paths
from kit.protocol import CLIENT_CAPABILITIES, PROTOCOL_VERSION, SERVER_INFO, VERSION
from kit.tape import compact
from server import Parts
from stage import FORM, TEAM, TOKENS, URL, Json, Reply, Stage, accept
from stores import STORES

Claims = Iterator[bool]
KEY = "key-of-alice-for-the-archive"
REFUSED_STATE = {"reason": "invalid_request_state"}


@dataclass(frozen=True)
class Checkpoint:
    """One promise. rules: the ids that it rests on. play: acts on a stage, yields its claims.

    stores: those of `stores.STORES` that promise it.
    """

    title: str
    rules: tuple[str, ...]
    play: Callable[[Stage], Claims]
    stores: tuple[str, ...] = STORES


CHECKPOINTS: list[Checkpoint] = []


def checkpoint(
    title: str, *rules: str, stores: tuple[str, ...] = STORES
) -> Callable[[Callable[[Stage], Claims]], None]:
    """Add the decorated play to the demo."""
    return lambda play: CHECKPOINTS.append(Checkpoint(title, rules, play, stores))


def failed(reply: Reply, code: int, data: Any = None) -> bool:
    """Tell whether this is the error with this code and these data."""
    return reply.error.get("code") == code and reply.error.get("data") == data


def refused(reply: Reply) -> bool:
    """Tell whether this is a tool result that refuses."""
    return reply.result.get("isError") is True


def done(reply: Reply) -> bool:
    """Tell whether this is a finished result that does not refuse."""
    return reply.result.get("resultType") == "complete" and reply.result.get("isError") is False


def asks(reply: Reply) -> bool:
    """Tell whether this is a question with a state."""
    kind = reply.result.get("resultType")
    return kind == "input_required" and {"inputRequests", "requestState"} <= set(reply.result)


def forge(state: str, old: bytes, new: bytes) -> str:
    """Return the state with other bytes in the part that can be read, and the tag as it was."""
    parts = state.split(".")
    for place, part in enumerate(parts):
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) if place > 1 else b""
        if old in raw:
            parts[place] = base64.urlsafe_b64encode(raw.replace(old, new)).rstrip(b"=").decode()
    return ".".join(parts)


@checkpoint(
    "server/discover says versions, capabilities and how long that holds", "DISC-2", "ENV-14"
)
def _(stage: Stage) -> Claims:
    reply = stage.send(stage.request("server/discover"))
    yield reply.result["supportedVersions"] == ["2026-07-28"]
    yield "tools" in reply.result["capabilities"] and "roots" not in reply.result["capabilities"]
    yield reply.result["resultType"] == "complete" and reply.result["cacheScope"] == "public"
    yield type(reply.result["ttlMs"]) is int and reply.result["ttlMs"] >= 0
    yield set(reply.result["_meta"][SERVER_INFO]) >= {"name", "version"}


@checkpoint(
    "tools/list is the same to the byte and says that the tool destroys", "TOOL-3", "CACHE-1"
)
def _(stage: Stage) -> Claims:
    first, second = (stage.send(stage.request("tools/list")) for _ in range(2))
    tool = {each["name"]: each for each in first.result["tools"]}["notes_delete"]
    yield first.result == second.result and first.result["ttlMs"] >= 0
    yield tool["annotations"]["destructiveHint"] is True
    yield tool["inputSchema"]["required"] == ["workspaceUri", "title"]


@checkpoint("request 1 asks, request 2 under a fresh id deletes", "MRTR-3", "MRTR-10", "MRTR-12")
def _(stage: Stage) -> Claims:
    half, first = stage.parts.client_half, stage.delete()
    exchange = half.Exchange("tools/call", first["params"], stage.next_id)
    question = stage.send(exchange.first())
    form = question.result["inputRequests"]["delete_choice"]["params"]["requestedSchema"]
    yield form["properties"]["note_id"]["enum"] == ["draft-1", "draft-2"]
    yield form["properties"]["confirm"]["type"] == "boolean"
    yield isinstance(exchange.feed(question.message), half.Asked)
    retry = exchange.answer({"delete_choice": accept("draft-2")})
    reply = stage.send(retry)
    yield done(reply) and reply.message["id"] != question.message["id"]
    yield isinstance(exchange.feed(reply.message), half.Finished)
    yield stage.ids() == {"agenda-1", "draft-1", "draft-3", "draft-4"}


@checkpoint("a sibling whose name begins like the workspace is refused", "SCOPE-3")
def _(stage: Stage) -> Claims:
    yield refused(stage.send(stage.delete(workspace="file:///srv/notes/team-archive")))


@checkpoint("an encoded traversal is refused", "SCOPE-2", "SCOPE-4")
def _(stage: Stage) -> Claims:
    yield refused(stage.send(stage.delete(workspace=TEAM + "/%2e%2e/team-archive")))


@checkpoint("a workspace of another principal is refused", "SCOPE-14")
def _(stage: Stage) -> Claims:
    yield refused(stage.send(stage.delete(workspace="file:///srv/notes/alice"), BOB))
    yield asks(stage.send(stage.delete(workspace="file:///srv/notes/alice")))


@checkpoint("a changed title does not go with the old state", "STATE-4")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield failed(stage.answer(state, accept("agenda-1"), title="Agenda"), -32602, REFUSED_STATE)
    yield done(stage.answer(state, accept()))


@checkpoint("the state of another tool is refused", "STATE-4")
def _(stage: Stage) -> Claims:
    state, world = stage.parts.state, stage.world
    arguments = {"title": "Draft", "workspace": ["srv", "notes", "team"]}
    states = {
        tool: state.mint(
            state.Origin("alice", "tools/call", tool, arguments, world.audience),
            "delete_choice",
            ("draft-1",),
            world.ring,
            world.clock,
            world.randomness,
        )
        for tool in ("notes_archive", "notes_delete")
    }
    yield failed(stage.answer(states["notes_archive"], accept()), -32602, REFUSED_STATE)
    yield done(stage.answer(states["notes_delete"], accept()))


@checkpoint("a tampered state is refused", "STATE-3")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    middle = len(state) // 2
    tampered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
    yield failed(stage.answer(tampered, accept()), -32602, REFUSED_STATE)
    forged = stage.answer(forge(state, b"draft-2", b"agenda-1"), accept("agenda-1"))
    yield failed(forged, -32602, REFUSED_STATE) and "agenda-1" in stage.ids()
    yield done(stage.answer(state, accept()))


@checkpoint("the state of another principal is refused", "STATE-4", "ELI-14")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield failed(stage.answer(state, accept(), BOB), -32602, REFUSED_STATE)
    yield done(stage.answer(state, accept()))


@checkpoint("a candidate outside the signed set is refused", "SEAL-15")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield failed(stage.answer(state, accept("agenda-1")), -32602)
    yield "agenda-1" in stage.ids() and done(stage.answer(state, accept()))


@checkpoint("a note that moved away while the user was thinking stays", "ONCE-14")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    stage.notes.put(Note("draft-1", "Draft", "file:///srv/notes/team-archive/draft-1.md"))
    yield refused(stage.answer(state, accept())) and "draft-1" in stage.ids()
    yield done(stage.answer(state, accept("draft-2")))


@checkpoint("an expired state is refused", "SEAL-6")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    stage.clock.advance(119)
    yield asks(stage.answer(state, None))
    stage.clock.advance(1)
    yield failed(stage.answer(state, accept()), -32602, REFUSED_STATE) and len(stage.ids()) == 5


@checkpoint("a replay on a second server object is refused", "STATE-5", "ONCE-10")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield done(stage.answer(state, accept()))
    replay = stage.answer(state, accept("draft-2"), server=1)
    yield failed(replay, -32602, REFUSED_STATE) and "draft-2" in stage.ids()


@checkpoint(
    "a restart forgets nothing: neither the deletion nor what is spent",
    *("ONCE-12", "SQL-1", "SQL-5"),
    stores=("sqlite",),
)
def _(stage: Stage) -> Claims:
    spent, open_question = stage.ask(), stage.ask()
    yield done(stage.answer(spent, accept()))
    stage.restart()
    yield "draft-1" not in stage.ids() and len(stage.ids()) == 4
    yield failed(stage.answer(spent, accept("draft-2")), -32602, REFUSED_STATE)
    yield done(stage.answer(open_question, accept("draft-2")))


@checkpoint("decline spends the state, and the tool can be asked again", "ONCE-4", "ONCE-11")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield done(stage.answer(state, {"action": "decline"})) and len(stage.ids()) == 5
    yield failed(stage.answer(state, accept()), -32602, REFUSED_STATE) and len(stage.ids()) == 5
    yield done(stage.answer(stage.ask(), accept()))


@checkpoint("cancel leaves the state usable", "ONCE-3")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield done(stage.answer(state, {"action": "cancel"})) and len(stage.ids()) == 5
    yield done(stage.answer(state, accept())) and "draft-1" not in stage.ids()


@checkpoint("a malformed answer is an error and leaves the state usable", "MRTR-17", "FORM-1")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    for wrong in (accept(confirm="yes"), accept(confirm=1), {"action": "ok"}, {"action": "accept"}):
        yield failed(stage.answer(state, wrong), -32602) and len(stage.ids()) == 5
    yield done(stage.answer(state, accept()))


@checkpoint("accept with confirm false deletes nothing and spends the state", "ONCE-4")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    yield done(stage.answer(state, accept(confirm=False))) and len(stage.ids()) == 5
    yield failed(stage.answer(state, accept()), -32602, REFUSED_STATE) and len(stage.ids()) == 5


@checkpoint("a missing answer is asked for again", "MRTR-16", "ROUND-6")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    again = stage.answer(state, None)
    yield asks(again) and done(stage.answer(again.result["requestState"], accept()))


@checkpoint("a first call that brings its own accept is asked, not obeyed", "ROUND-1")
def _(stage: Stage) -> Claims:
    call = stage.delete(inputResponses={"delete_choice": accept()})
    yield asks(stage.send(call)) and len(stage.ids()) == 5


@checkpoint("a client that cannot show a form is told so", "ENV-13", "ERR-7", "ELI-2")
def _(stage: Stage) -> Claims:
    needed = {"requiredCapabilities": FORM}
    without: list[Json] = [{}, {"elicitation": {"url": {}}}]
    for capabilities in without:
        reply = stage.send(stage.delete(capabilities=capabilities))
        yield failed(reply, -32021, needed) and reply.status == 400
    yield asks(stage.send(stage.delete(capabilities={"elicitation": {}})))


@checkpoint("a version that is missing or no string is invalid", "ENV-11")
def _(stage: Stage) -> Claims:
    for version in (None, 20260728):
        call = stage.delete()
        call["params"]["_meta"].pop(PROTOCOL_VERSION)
        if version is not None:
            call["params"]["_meta"][PROTOCOL_VERSION] = version
        reply = stage.send(call)
        yield failed(reply, -32602) and reply.message["id"] == call["id"]
    call = stage.delete()
    del call["params"]["_meta"][CLIENT_CAPABILITIES]
    reply = stage.send(call)
    yield failed(reply, -32602) and reply.status == 400


@checkpoint("a version that is not served is named beside those that are", "VER-1", "ERR-8")
def _(stage: Stage) -> Claims:
    call = stage.delete()
    call["params"]["_meta"][PROTOCOL_VERSION] = "2031-01-01"
    reply = stage.send(call)
    told = {"supported": ["2026-07-28"], "requested": "2031-01-01"}
    yield failed(reply, -32022, told) and reply.status == 400


@checkpoint("headers that contradict the body are refused", "HTTP-8", "ERR-6")
def _(stage: Stage) -> Claims:
    call = stage.delete()
    reply = stage.send(call, headers={"Mcp-Name": "notes_list"})
    yield failed(reply, -32020) and reply.status == 400
    yield asks(stage.send(call))


@checkpoint("a tools/call without an id runs nothing and gets no answer", "ENV-6", "HTTP-11")
def _(stage: Stage) -> Claims:
    state = stage.ask()
    call = stage.delete(inputResponses={"delete_choice": accept()}, requestState=state)
    del call["id"]
    reply = stage.send(call)
    yield reply == Reply(202, None) and len(stage.ids()) == 5
    yield done(stage.answer(state, accept()))


def link_of(asked: Reply) -> str:
    """Return the link that a question in URL mode brought, or an empty text."""
    request = asked.result.get("inputRequests", {}).get("connect_page", {})
    return str(request.get("params", {}).get("url", ""))


@checkpoint("a client that cannot open a link is told so", "ENV-13", "ERR-7", "ELI-2")
def _(stage: Stage) -> Claims:
    needed = {"requiredCapabilities": URL}
    without: list[Json] = [{}, FORM, {"elicitation": {}}]
    for capabilities in without:
        reply = stage.send(stage.connect(capabilities))
        yield failed(reply, -32021, needed) and reply.status == 400
    yield asks(stage.send(stage.connect()))


@checkpoint(
    "accept is not completion: the retry asks again until the page is done",
    *("URL-3", "URL-14", "ELI-20", "ELI-21"),
)
def _(stage: Stage) -> Claims:
    asked = stage.send(stage.connect())
    params = asked.result["inputRequests"]["connect_page"]["params"]
    yield params["mode"] == "url" and set(params) == {"mode", "message", "url"}
    again = stage.retry_connect(asked.result, {"action": "accept"})
    yield asks(again) and link_of(again) == params["url"]
    alice = stage.browser(ALICE)
    page = alice.open(params["url"])
    yield page.status == 200 and alice.submit(page, credential=KEY).status == 200
    yield done(stage.retry_connect(again.result, {"action": "accept"}))
    yield stage.world.desk.vault.find(ALICE) == KEY
    yield stage.world.desk.vault.find(BOB) is None
    yield done(stage.send(stage.connect())) and asks(stage.send(stage.connect(), BOB))


@checkpoint("a link that is passed on takes nobody's key", "URL-1", "URL-6", "ELI-25")
def _(stage: Stage) -> Claims:
    asked = stage.send(stage.connect())
    bob, alice = stage.browser(BOB), stage.browser(ALICE)
    refusal = bob.open(link_of(asked))
    yield refusal.status == 403 and "<form" not in refusal.text and "bob" in refusal.text
    own = alice.open(link_of(asked))
    yield bob.post(own.url, **own.hidden, credential=KEY).status == 403
    yield stage.world.desk.vault.find(ALICE) is None is stage.world.desk.vault.find(BOB)
    yield asks(stage.retry_connect(asked.result, {"action": "accept"}))
    state = failed(stage.retry_connect(asked.result, None, BOB), -32602, REFUSED_STATE)
    yield state and alice.submit(own, credential=KEY).status == 200


@checkpoint("a link ends: when it is used, called off, or old", "URL-5", "URL-12", "URL-15")
def _(stage: Stage) -> Claims:
    alice = stage.browser(ALICE)
    called_off, old = (stage.send(stage.connect()) for _ in range(2))
    page = alice.open(link_of(called_off))
    yield done(stage.retry_connect(called_off.result, {"action": "cancel"}))
    yield alice.submit(page, credential=KEY).status == 410
    yield not asks(stage.retry_connect(called_off.result, {"action": "accept"}))
    page = alice.open(link_of(old))
    stage.clock.advance(600)
    yield alice.submit(page, credential=KEY).status == 410
    yield stage.world.desk.vault.find(ALICE) is None
    used = stage.send(stage.connect())
    page = alice.open(link_of(used))
    yield alice.submit(page, credential=KEY).status == 200
    yield alice.submit(page, credential="another-key").status == 410
    yield stage.world.desk.vault.find(ALICE) == KEY


@checkpoint(
    "nobody can sign a browser in but its user, and the cookie stays where it belongs",
    *("URL-6", "URL-7", "EDGE-3"),
)
def _(stage: Stage) -> Claims:
    asked, bob, alice = stage.send(stage.connect()), stage.browser(BOB), stage.browser(ALICE)
    sign_in, own = bob.look(link_of(asked)), alice.look(link_of(asked))
    yield "/sign-in?" in sign_in.url and "password" in sign_in.text
    forged = alice.post(own.url, **sign_in.hidden, access=TOKENS[BOB])
    yield forged.status == 403 and "notes_session" not in alice.cookies
    yield bob.submit(sign_in, access="guessed").status == 403
    yield alice.open(link_of(asked)).status == 200
    for cookie in alice.set_cookies:
        told = cookie.split("; ")[1:]
        yield {"HttpOnly", "SameSite=Strict", "Secure", "Path=/connect/"} <= set(told)
    elsewhere = link_of(asked).replace("notes.example", "evil.example")
    yield alice.look(elsewhere).status == 404


@checkpoint("the key is in the vault, and in no message, log, state or link", "URL-2", "ELI-26")
def _(stage: Stage) -> Claims:
    asked, alice = stage.send(stage.connect()), stage.browser(ALICE)
    done_page = alice.submit(alice.open(link_of(asked)), credential=KEY)
    last = stage.retry_connect(asked.result, {"action": "accept"})
    yield done(last) and stage.world.desk.vault.find(ALICE) == KEY
    said = (stage.tape.entries, stage.log, done_page, alice.cookies, asked, last, stage.world.desk)
    raw = base64.urlsafe_b64decode(asked.result["requestState"].split(".")[2] + "==")
    yield KEY not in repr(said) and KEY.encode() not in raw
    yield refused(stage.send({**stage.connect(), "params": _with_key(stage.connect())}))


def _with_key(call: Json) -> Json:
    return {**call["params"], "arguments": {"key": "another-key"}}


def hold(point: Checkpoint, parts: Parts, store: str = "memory") -> tuple[bool, str]:
    """Play one checkpoint on a fresh stage; return whether it holds, and what travelled."""
    stage, claims, bug = Stage(parts, store), [], ""
    try:
        claims = list(point.play(stage))
    except Exception as error:
        bug = f"\n   the checkpoint could not go on: {type(error).__name__}: {error}"
    finally:
        stage.close()
    shown = "\n".join(
        f"   {entry.sender} → {entry.receiver}: {compact(_shown(entry.message))}"
        for entry in stage.tape.entries
    )
    return bool(claims) and not bug and all(claims), shown + bug


def _shown(message: Any) -> Any:
    """Leave out what is the same in every message; show capabilities and versions that are not."""
    if not isinstance(message, dict):
        return message
    shown = {name: _shown(member) for name, member in message.items() if name != "jsonrpc"}
    shown.pop("_meta", None)
    said = _unusual(message["_meta"]) if isinstance(message.get("_meta"), dict) else {}
    return {**shown, "_meta": said} if said else shown


def _unusual(meta: Json) -> Json:
    usual = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: FORM}
    said = {
        name.rpartition("/")[2]: meta.get(name, "(missing)")
        for name in usual
        if meta.get(name) != usual[name]
    }
    return {} if SERVER_INFO in meta else said


def main(store: str = "memory") -> int:
    """Play all checkpoints that this store promises; 0 when all hold, 1 otherwise."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    parts = Parts(part_paths(os.environ.get("PARTS", "solutions")))
    print("notes_delete and notes_connect over HTTP on 127.0.0.1. Each request also carries _meta")
    print(
        "with the version and the client's capabilities; it is shown where it is not the usual.\n"
    )
    points = [point for point in CHECKPOINTS if store in point.stores]
    kept = 0
    for number, point in enumerate(points, 1):
        holds, shown = hold(point, parts, store)
        kept += holds
        mark = "✓ holds " if holds else "✗ FAILS "
        if colour:
            mark = f"\x1b[{32 if holds else 31}m{mark}\x1b[0m"
        print(f"{number:>2} {point.title}\n{shown}\n   {mark} {' '.join(point.rules)}\n")
    print(f"{kept} of {len(points)} checkpoints hold.")
    return 0 if kept == len(points) else 1


if __name__ == "__main__":
    raise SystemExit(main())
