"""Plays one subject's operations on a learner's parts; runs inside the worker.

Everything that comes out is JSON of exact types, so an object that claims to equal everything has
nothing to say to the judge.
"""

import math
import sys
import traceback
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, CoroutineType, GeneratorType, ModuleType, TracebackType
from typing import Any

from kit.refusals import (
    NonceSpent,
    RpcError,
    StateRefused,
    StoreFull,
    StoreRefusal,
    StoreUnavailable,
    ToolRefusal,
)
from kit.todo import NotStarted

LONGEST_MESSAGE = 400
LONGEST_NUMBER = 4096  # bits; Python itself refuses to write much longer ones
DEEPEST = 64

Tell = Callable[[dict[str, Any]], None]
STORE_KINDS: dict[type[Exception], str] = {
    NonceSpent: "nonce_spent",
    StoreFull: "store_full",
    StoreUnavailable: "store_unavailable",
}


class Broken(Exception):
    """A part that cannot be asked at all. kind: syntax, import, missing; text: one sentence."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


class OddValue(Exception):
    """A value that is not JSON; the message says what it is."""


class Parts:
    """The learner's parts as attributes, loaded when first asked for, under neutral names.

    files: path by part name. problems: why a file cannot be graded, by part name. tell: hears
    which file is about to be loaded. instances: what a subject keeps from one operation to the
    next. room: a folder for the processes of this check.
    """

    def __init__(self, files: dict[str, str], problems: dict[str, str], tell: Tell) -> None:
        self._files, self._problems, self._tell = files, problems, tell
        self.instances: dict[str, Any] = {}
        self.room = Path.cwd()

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_") or name not in self._files:
            raise AttributeError(name)
        if name in self._problems:
            raise Broken("import", self._problems[name])
        self._tell({"loading": {"file": self._files[name]}})
        module = load_part(Path(self._files[name]), name)
        self._tell({"loading": {"file": ""}})
        setattr(self, name, module)
        return module


def load_part(path: Path, name: str) -> ModuleType:
    """Run the part at `path`. Errors: Broken, with the sentence that the learner should read."""
    try:
        source = path.read_text(encoding="utf-8")
        code = compile(source, str(path), "exec")
    except SyntaxError as error:
        told = f"{path.name}, line {error.lineno or 1}: {error.msg}: {(error.text or '').strip()}"
        raise Broken("syntax", f"Python cannot read your file. {told[:LONGEST_MESSAGE]}") from None
    except UnicodeDecodeError:
        raise Broken("syntax", f"{path.name} is not UTF-8 text.") from None
    except (RecursionError, MemoryError):
        raise Broken("syntax", f"{path.name} is nested too deeply for Python.") from None
    except (OSError, ValueError) as error:
        told = (getattr(error, "strerror", None) or str(error)).lower()
        raise Broken("import", f"{path.name} cannot be read: {told}.") from None
    module = ModuleType(f"part_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except NotStarted:
        raise
    except BaseException as error:
        where = _where(error.__traceback__, {str(path)}) or path.name
        told = f"{type(error).__name__}: {_short(error)}"
        raise Broken("import", f"Your file stops while it is loaded, at {where}. {told}") from None
    return module


@lru_cache(maxsize=32)
def subject_code(subject: str) -> CodeType:
    """Return the compiled subject; compiled before a child is forked, it is there already."""
    return compile(Path(subject).read_text(encoding="utf-8"), subject, "exec")


class Player:
    """One subject with one set of parts, for the length of one check.

    subject: path of the step's subject.py. files, problems, tell: see `Parts`.
    """

    def __init__(
        self,
        subject: str,
        files: dict[str, str],
        problems: dict[str, str],
        tell: Tell = lambda told: None,
    ) -> None:
        self._files = files
        self._parts = Parts(files, problems, tell)
        self._operations = ModuleType("lab_subject")
        self._operations.__file__ = subject
        exec(subject_code(subject), self._operations.__dict__)

    def play(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one operation: a value, a refusal, or what is wrong with the part."""
        try:
            value = getattr(self._operations, operation)(self._parts, **arguments)
            return {"value": exact(value)}
        except NotStarted as stop:
            return {"not_started": {"exercise": str(stop.exercise)}}
        except Broken as broken:
            return {"broken": {"kind": broken.kind, "text": broken.text}}
        except (ToolRefusal, RpcError, StateRefused, StoreRefusal) as refusal:
            return self._refusal(refusal)
        except BaseException as error:
            return self._bug(error)

    def _refusal(self, refusal: Exception) -> dict[str, Any]:
        try:
            if isinstance(refusal, ToolRefusal):
                return {"refused": {"message": exact(refusal.message)}}
            if isinstance(refusal, RpcError):
                fields = (refusal.code, refusal.message, refusal.data)
                return {
                    "rpc": dict(zip(("code", "message", "data"), map(exact, fields), strict=True))
                }
            if isinstance(refusal, StateRefused):
                return {"state": {"reason": exact(refusal.reason)}}
            return {"store": {"kind": STORE_KINDS.get(type(refusal), type(refusal).__name__)}}
        except OddValue as odd:
            return {"odd": {"text": f"a refusal with a {odd} inside"}}

    def _bug(self, error: BaseException) -> dict[str, Any]:
        where = _where(error.__traceback__, set(self._files.values()))
        if isinstance(error, OddValue):
            return {"odd": {"text": f"a {error}"}}
        if isinstance(error, SystemExit):
            text = f"Your code wants to end the process with sys.exit, at {where}."
            return {"broken": {"kind": "exit", "text": text}}
        if where is None and isinstance(error, AttributeError):
            owner = getattr(error.obj, "__name__", type(error.obj).__name__).removeprefix("part_")
            return {"broken": {"kind": "missing", "text": f"{owner} has no {error.name}."}}
        if where is None and isinstance(error, TypeError):
            return {"broken": {"kind": "signature", "text": _short(error)}}
        told = {"type": type(error).__name__, "message": _short(error), "where": where}
        return {"raised": told}


def exact(value: Any, depth: int = 0) -> Any:
    """Return `value` if it is JSON of exact types. Errors: OddValue, saying what it is."""
    kind = type(value)
    if value is None or kind in (bool, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is int and value.bit_length() <= LONGEST_NUMBER:
        return value
    if depth == DEEPEST:
        raise OddValue(f"{kind.__name__} nested deeper than {DEEPEST} levels")
    if kind is list:
        return [exact(item, depth + 1) for item in value]
    if kind is dict and all(type(name) is str for name in value):
        return {name: exact(item, depth + 1) for name, item in value.items()}
    raise OddValue(_ODD.get(kind, kind.__name__))


_ODD = {
    dict: "dict with a key that is not a str",
    float: "float that is not finite",
    int: "number of more than a thousand digits",
    CoroutineType: "coroutine (the function must not be async)",
    GeneratorType: "generator (the function must return, not yield)",
}


def _short(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST_MESSAGE]
    except BaseException:
        return "(no message)"


def _where(trace: TracebackType | None, files: set[str]) -> str | None:
    inside = [frame for frame in traceback.extract_tb(trace) if frame.filename in files]
    return f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else None
