"""Plays one subject's operations on a learner's parts; runs inside the worker.

Everything that comes out is JSON of exact types, so an object that claims to equal everything has
nothing to say to the judge.
"""

import importlib.util
import math
import sys
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from kit.refusals import NonceSpent, RpcError, StateRefused, StoreFull, StoreRefusal, ToolRefusal
from kit.todo import NotStarted

LONGEST_MESSAGE = 400
STORE_KINDS: dict[type[Exception], str] = {NonceSpent: "nonce_spent", StoreFull: "store_full"}


class Broken(Exception):
    """A part that cannot be asked at all. kind: syntax, import, missing; text: one sentence."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


class OddValue(Exception):
    """A value that is not JSON; the message is its type."""


class Parts:
    """The learner's parts as attributes, loaded when first asked for, under neutral names.

    files: path by part name.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files
        self.instances: dict[str, Any] = {}

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_") or name not in self._files:
            raise AttributeError(name)
        module = load_part(Path(self._files[name]), name)
        setattr(self, name, module)
        return module


def load_part(path: Path, name: str) -> ModuleType:
    """Run the part at `path`. Errors: Broken, with the sentence that the learner should read."""
    try:
        source = path.read_text(encoding="utf-8")
        code = compile(source, str(path), "exec")
    except SyntaxError as error:
        told = f"{path.name}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
        raise Broken("syntax", f"Python cannot read your file. {told}") from None
    except UnicodeDecodeError:
        raise Broken("syntax", f"{path.name} is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        raise Broken("import", f"{path.name} cannot be read: {error}") from None
    module = ModuleType(f"part_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except Exception as error:
        where = _where(error.__traceback__, {str(path)}) or path.name
        told = f"{type(error).__name__}: {_short(error)}"
        raise Broken("import", f"Your file stops while it is loaded, at {where}. {told}") from None
    return module


class Player:
    """One subject with one set of parts, for the length of one check.

    subject: path of the step's subject.py. files: path by part name.
    """

    def __init__(self, subject: str, files: dict[str, str]) -> None:
        self._subject, self._files = subject, files
        self._parts = Parts(files)
        spec = importlib.util.spec_from_file_location("lab_subject", subject)
        assert spec is not None and spec.loader is not None
        self._operations = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._operations)

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
        except Exception as error:
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

    def _bug(self, error: Exception) -> dict[str, Any]:
        where = _where(error.__traceback__, set(self._files.values()))
        if isinstance(error, OddValue):
            return {"odd": {"text": f"a {error}"}}
        if where is None and isinstance(error, AttributeError):
            owner = getattr(error.obj, "__name__", type(error.obj).__name__).removeprefix("part_")
            return {"broken": {"kind": "missing", "text": f"{owner} has no {error.name}."}}
        if where is None and isinstance(error, TypeError):
            return {"broken": {"kind": "signature", "text": _short(error)}}
        told = {"type": type(error).__name__, "message": _short(error), "where": where}
        return {"raised": told}


def exact(value: Any) -> Any:
    """Return `value` if it is JSON of exact types. Errors: OddValue with the name of the type."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is list:
        return [exact(item) for item in value]
    if type(value) is dict and all(type(name) is str for name in value):
        return {name: exact(item) for name, item in value.items()}
    raise OddValue(type(value).__name__)


def _short(error: Exception) -> str:
    try:
        return str(error)[:LONGEST_MESSAGE]
    except Exception:
        return "(no message)"


def _where(trace: TracebackType | None, files: set[str]) -> str | None:
    inside = [frame for frame in traceback.extract_tb(trace) if frame.filename in files]
    return f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else None
