"""Transcripts of real traffic for `outputs/`: recorded from the finished server, never typed."""

import json
from collections.abc import Callable

from kit.parts import part_paths
from server import Parts
from stage import Stage, accept


def two_rounds(stage: Stage) -> None:
    """A deletion that is asked for, answered and done."""
    stage.answer(stage.ask(), accept())


def replayed(stage: Stage) -> None:
    """The same approval sent to a second server object."""
    state = stage.ask()
    stage.answer(state, accept())
    stage.answer(state, accept("draft-2"), server=1)


def outside(stage: Stage) -> None:
    """A workspace that nobody granted."""
    stage.send(stage.delete(workspace="file:///srv/notes/team-archive"))


SCENES: dict[str, Callable[[Stage], None]] = {
    "two-rounds": two_rounds,
    "replayed": replayed,
    "outside-the-scope": outside,
}


def recorded() -> dict[str, str]:
    """Return the files of `outputs/wire`, by name: JSON lines and a picture for each scene."""
    files = {}
    for name, play in SCENES.items():
        stage = Stage(Parts(part_paths("solutions")))
        try:
            play(stage)
        finally:
            stage.close()
        lines = [
            json.dumps({"from": e.sender, "to": e.receiver, "message": e.message})
            for e in stage.tape.entries
        ]
        files[f"{name}.jsonl"] = "\n".join(lines) + "\n"
        files[f"{name}.svg"] = stage.tape.picture() + "\n"
    return files
