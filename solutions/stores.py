"""Where the server keeps notes and nonces: the only place that knows which store it is.

Whatever is opened here has one interface, that of step 06; the server does not change with it.
"""

from pathlib import Path
from typing import Any

from kit.clock import Clock
from kit.notes import example_notes

STORES = ("memory", "sqlite")


def open_store(kind: str, parts: Any, clock: Clock, path: Path, notes: Any = None) -> Any:
    """Return the notes and the replay store that changes them.

    kind: of STORES. parts: whose `replay` or `sqlite_store` is used. path: of the database file;
    it is made, with the example notes, when it is not there. notes: in memory, those to work on
    in place of new ones.
    Errors: StoreUnavailable for a file that cannot be used; OSError for its folder.
    """
    if kind == "sqlite":
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = parts.sqlite_store.SqliteNotes(path, example_notes())
        return made, parts.sqlite_store.SqliteStore(path, clock)
    kept = example_notes() if notes is None else notes
    return kept, parts.replay.ReplayStore(kept, clock)
