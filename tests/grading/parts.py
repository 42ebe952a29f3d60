"""The learner's modules in the worker: loaded by path on first use, under a neutral name."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class Unloadable(BaseException):
    """A part that does not run to its end. cause: what it raised."""

    def __init__(self, path: Path, cause: BaseException) -> None:
        super().__init__(path)
        self.path = path
        self.cause = cause


class Parts:
    """The parts of one step, as attributes.

    instances: where a subject keeps what lives from one operation to the next. descriptors: open
    files and sockets that the judge handed over, by name. folder: the only one that is writable.
    """

    def __init__(self, paths: dict[str, Path], folder: Path) -> None:
        self.paths = paths
        self.folder = folder
        self.instances: dict[str, Any] = {}
        self.descriptors: dict[str, int] = {}

    def __getattr__(self, name: str) -> ModuleType:
        if name not in self.paths:
            raise AttributeError(f"This step has no part {name}.")
        module = load_part(name, self.paths[name])
        self.__dict__[name] = module
        return module


def load_part(name: str, path: Path) -> ModuleType:
    """Run the file and return its module, called ``part_<name>``. Errors: Unloadable, NotStarted."""
    from kit.todo import NotStarted

    module = ModuleType(f"part_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        # Compiled from the text: no cached bytecode can stand in for what the learner wrote.
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except NotStarted:
        raise
    except BaseException as cause:
        raise Unloadable(path, cause) from cause
    return module
