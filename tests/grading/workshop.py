"""One check's side of the worker: takes a request, runs the operation, answers with plain JSON.

It runs in the worker process, or with ``DEBUG=1`` in the judge itself. Whatever the part does, the
answer is one of a few kinds; a bug in the part is an answer as well.
"""

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from kit.refusals import NonceSpent, RpcError, StateRefused, StoreFull, StoreRefusal, ToolRefusal
from kit.todo import NotStarted

from grading.parts import Parts, Unloadable
from grading.wire import NoJson, encode

Reply = dict[str, Any]
SIGNATURE = re.compile(r"(?:[\w.]*\.)?(\w+)\(\) (takes|missing|got an? unexpected|got multiple|got some)")
STORE_KINDS = {NonceSpent: "nonce_spent", StoreFull: "store_full"}


class Workshop:
    """A subject with the parts it works on.

    source: the subject's compiled text. path: where it lies. parts: files by part name.
    """

    def __init__(self, source: Any, path: Path, parts: dict[str, Path], folder: Path) -> None:
        self.path = path
        self.parts = Parts(parts, folder)
        self._subject = ModuleType("subject")
        self._subject.__file__ = str(path)
        exec(source, self._subject.__dict__)

    def answer(self, request: dict[str, Any]) -> bytes:
        """Run one operation and return the reply as a line. Errors: none."""
        reply = self._reply(request)
        try:
            return encode({"id": request["id"], **reply})
        except NoJson as refusal:
            return encode({"id": request["id"], "kind": "no_json", "what": str(refusal)})

    def _reply(self, request: dict[str, Any]) -> Reply:
        try:
            operation: Callable[..., Any] = getattr(self._subject, request["operation"])
            value = operation(self.parts, **request["arguments"])
            return {"kind": "value", "value": value}
        except NotStarted as unwritten:
            return {"kind": "not_started", "exercise": str(unwritten.exercise)}
        except Unloadable as broken:
            return self._unloadable(broken)
        except BaseException as raised:
            return self._refusal(raised) or self._bug(raised)

    def _refusal(self, raised: BaseException) -> Reply | None:
        match raised:
            case RpcError():
                said = {"code": raised.code, "message": raised.message, "data": raised.data}
                return {"kind": "rpc_failure", **said}
            case ToolRefusal():
                return {"kind": "refused", "message": raised.message}
            case StateRefused():
                return {"kind": "state_refused", "reason": raised.reason}
            case StoreRefusal():
                kind = STORE_KINDS.get(type(raised), type(raised).__name__)
                return {"kind": "store_refused", "kind_of_refusal": kind}
        return None

    def _bug(self, raised: BaseException) -> Reply:
        said, where = _text(raised), self._where(raised.__traceback__)
        if isinstance(raised, AttributeError) and self._is_of_a_part(raised):
            return {"kind": "missing", "name": str(raised.name)}
        if isinstance(raised, TypeError) and (call := SIGNATURE.match(said)):
            if _innermost(raised.__traceback__) == str(self.path):
                return {"kind": "signature", "name": call[1], "message": said}
        return {"kind": "raised", "type": type(raised).__name__, "message": said, "where": where}

    def _is_of_a_part(self, raised: AttributeError) -> bool:
        loaded = [module for name, module in vars(self.parts).items() if name in self.parts.paths]
        return any(raised.obj is module for module in loaded)

    def _unloadable(self, broken: Unloadable) -> Reply:
        cause = broken.cause
        where = self._where(cause.__traceback__) or broken.path.name
        if isinstance(cause, SyntaxError) and cause.filename == str(broken.path):
            where = f"{broken.path.name}:{cause.lineno}"
            return {"kind": "syntax", "message": str(cause.msg), "where": where}
        said = {"type": type(cause).__name__, "message": _text(cause), "where": where}
        return {"kind": "unloadable", **said}

    def _where(self, trace: TracebackType | None) -> str:
        files = {str(path): path.name for path in self.parts.paths.values()}
        lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trace)]
        own = [f"{files[name]}:{line}" for name, line in lines if name in files]
        return own[-1] if own else ""


def _innermost(trace: TracebackType | None) -> str:
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace)]
    return frames[-1] if frames else ""


def _text(raised: BaseException) -> str:
    try:
        return str(raised)[:2000]
    except BaseException:
        return "(its text cannot be shown)"
