"""The envelope, read by a recursive-descent JSON reader and judged by a pipeline of stages.

The reader is written by hand. Its rules call each other by ``yield``, and a trampoline keeps the
stack, so the depth of a message is counted and never felt.
"""

import json
import string
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

from kit.protocol import (
    CLIENT_CAPABILITIES,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSION,
    SERVER_INFO,
    UNSUPPORTED_VERSION,
    VERSION,
)
from kit.refusals import RpcError

Message = dict[str, Any]
SUPPORTED_VERSIONS = (VERSION,)
MAX_DEPTH = 64
TOO_DEEP = "The message is nested too deeply."


@dataclass(frozen=True)
class Request:
    """One request whose envelope has been checked."""

    id: str | int
    method: str
    params: Message
    client_capabilities: Message


Handler = Callable[[Request], Message]


class NotJson(Exception):
    """The text breaks the grammar of RFC 8259."""


Rule = Generator[Any, Any, Any]


class JsonReader:
    """Reads one JSON text, and remembers how deep it went and whether a key came twice."""

    BLANK: ClassVar[str] = " \t\n\r"
    DIGITS: ClassVar[str] = string.digits
    ESCAPES: ClassVar[dict[str, str]] = {
        '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    }  # fmt: skip
    WORDS: ClassVar[dict[str, Any]] = {"true": True, "false": False, "null": None}

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.deepest = 0
        self.doubled = False

    def read(self) -> Any:
        """Return the value of the whole text, or raise NotJson."""
        value = self._run(self._value())
        if self.at != len(self.text):
            self._fail()
        return value

    @staticmethod
    def _run(rule: Rule) -> Any:
        """Run a rule and the rules that it yields, on a stack of our own."""
        stack, value = [rule], None
        while stack:
            try:
                stack.append(stack[-1].send(value))
                value = None
            except StopIteration as done:
                stack.pop()
                value = done.value
        return value

    # --- the rules of the grammar ---

    def _value(self) -> Rule:
        self._blank()
        match self._peek():
            case "{":
                value = yield self._object()
            case "[":
                value = yield self._array()
            case '"':
                value = self._string()
            case "-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
                value = self._number()
            case _:
                value = self._word()
        self._blank()
        return value

    def _object(self) -> Rule:
        self._enter("{")
        members: Message = {}
        self._blank()
        if self._peek() != "}":
            while True:
                self._blank()
                key = self._string()
                self._blank()
                self._expect(":")
                self.doubled = self.doubled or key in members
                members[key] = yield self._value()
                if self._peek() != ",":
                    break
                self._expect(",")
        self._leave("}")
        return members

    def _array(self) -> Rule:
        self._enter("[")
        items: list[Any] = []
        self._blank()
        if self._peek() != "]":
            while True:
                items.append((yield self._value()))
                if self._peek() != ",":
                    break
                self._expect(",")
        self._leave("]")
        return items

    def _string(self) -> str:
        self._expect('"')
        parts: list[str] = []
        while (char := self._take()) != '"':
            if char < " ":
                self._fail()
            if char != "\\":
                parts.append(char)
            elif (escape := self._take()) == "u":
                parts.append(self._code_unit())
            elif escape in self.ESCAPES:
                parts.append(self.ESCAPES[escape])
            else:
                self._fail()
        return "".join(parts)

    def _code_unit(self) -> str:
        """Read what follows ``\\u``, and the second half of a surrogate pair if there is one."""
        unit = self._hex4()
        if 0xD800 <= unit < 0xDC00 and self.text.startswith("\\u", self.at):
            back = self.at
            self.at += 2
            low = self._hex4()
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00))
            self.at = back
        return chr(unit)

    def _hex4(self) -> int:
        digits = "".join(self._take() for _ in range(4))
        if any(digit not in string.hexdigits for digit in digits):
            self._fail()
        return int(digits, 16)

    def _number(self) -> int | float:
        start = self.at
        if self._peek() == "-":
            self.at += 1
        if self._peek() == "0":
            self.at += 1
        else:
            self._digits()
        whole = True
        if self._peek() == ".":
            self.at += 1
            self._digits()
            whole = False
        if self._peek() in ("e", "E"):
            self.at += 1
            if self._peek() in ("+", "-"):
                self.at += 1
            self._digits()
            whole = False
        literal = self.text[start : self.at]
        if not whole and abs(float(literal)) == float("inf"):
            self._fail()
        return self._whole(literal) if whole else float(literal)

    def _digits(self) -> None:
        start = self.at
        while (char := self._peek()) and char in self.DIGITS:
            self.at += 1
        if self.at == start:
            self._fail()

    @classmethod
    def _whole(cls, literal: str) -> int:
        """Convert piece by piece: ``int`` refuses a few thousand digits at once."""
        if literal.startswith("-"):
            return -cls._whole(literal[1:])
        if len(literal) <= 600:
            return int(literal)
        cut = len(literal) // 2
        rest = literal[cut:]
        return cls._whole(literal[:cut]) * 10 ** len(rest) + cls._whole(rest)

    def _word(self) -> Any:
        for word, value in self.WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        self._fail()

    # --- the cursor ---

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        if self.at >= len(self.text):
            self._fail()
        self.at += 1
        return self.text[self.at - 1]

    def _expect(self, char: str) -> None:
        if self._take() != char:
            self._fail()

    def _blank(self) -> None:
        while (char := self._peek()) and char in self.BLANK:
            self.at += 1

    def _enter(self, bracket: str) -> None:
        self._expect(bracket)
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)

    def _leave(self, bracket: str) -> None:
        self._expect(bracket)
        self.depth -= 1

    def _fail(self) -> NoReturn:
        raise NotJson(f"unexpected at {self.at}")


class Ids:
    """What may stand as an id."""

    @staticmethod
    def valid(value: Any) -> bool:
        return isinstance(value, (str, int)) and not isinstance(value, bool)

    @classmethod
    def members(cls, message: Any) -> Message:
        """Return ``{"id": …}``, or ``{}`` when no id can be read."""
        if isinstance(message, dict) and cls.valid(message.get("id")):
            return {"id": message["id"]}
        return {}


class Envelope:
    """A message on its way from any JSON value to a checked Request."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def kind(self) -> Literal["request", "notification"]:
        message = self.message
        if not isinstance(message, dict):
            self._invalid("A message is one JSON object.")
        if message.get("jsonrpc") != "2.0":
            self._invalid('The member jsonrpc is not "2.0".')
        if not isinstance(message.get("method"), str):
            self._invalid("The member method is not a string.")
        if "result" in message or "error" in message:
            self._invalid("A client sends no responses.")
        if "id" not in message:
            return "notification"
        if not Ids.valid(message["id"]):
            self._invalid("The id is neither a string nor an integer.")
        return "request"

    def request(self) -> Request:
        message = self.message
        if message["method"] == "initialize":
            raise self._not_served(self._legacy_version())
        params = self._member(message, "params", dict)
        meta = self._member(params, "_meta", dict)
        version = self._member(meta, PROTOCOL_VERSION, str)
        capabilities = self._member(meta, CLIENT_CAPABILITIES, dict)
        if version not in SUPPORTED_VERSIONS:
            raise self._not_served(version)
        return Request(message["id"], message["method"], params, capabilities)

    def _legacy_version(self) -> str:
        params = self.message.get("params")
        if not isinstance(params, dict):
            return ""
        meta = params.get("_meta")
        modern = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
        said = [it for it in (params.get("protocolVersion"), modern) if isinstance(it, str)]
        return said[0] if said else ""

    @staticmethod
    def _member(owner: Message, name: str, kind: type) -> Any:
        if name not in owner:
            raise RpcError(INVALID_PARAMS, f"{name} is missing.")
        if not isinstance(owner[name], kind):
            raise RpcError(INVALID_PARAMS, f"{name} has the wrong type.")
        return owner[name]

    @staticmethod
    def _not_served(requested: str) -> RpcError:
        return RpcError(
            UNSUPPORTED_VERSION,
            "The protocol version is not supported.",
            {"supported": list(SUPPORTED_VERSIONS), "requested": requested},
        )

    @staticmethod
    def _invalid(why: str) -> NoReturn:
        raise RpcError(INVALID_REQUEST, why)


class Result:
    """A result in the making."""

    def __init__(self, **fields: Any) -> None:
        self.fields: Message = fields

    def cached(self, ttl_ms: int, scope: Literal["public", "private"]) -> "Result":
        self.fields |= {"ttlMs": ttl_ms, "cacheScope": scope}
        return self


class Exchange:
    """One message, its way through the stages, and its answer."""

    def __init__(self, handlers: Mapping[str, Handler], log: Callable[[str], None]) -> None:
        self.handlers = handlers
        self.log = log

    def answer(self, message: Any) -> Message | None:
        try:
            if message_kind(message) == "notification":
                return None
            request = read_request(message)
            result = self._handler(request.method)(request)
        except RpcError as refusal:
            return failure(message, refusal)
        except Exception as bug:
            self._report(bug)
            return failure(message, RpcError(INTERNAL_ERROR, "Internal error."))
        return {"jsonrpc": "2.0", "id": request.id, "result": result}

    def _handler(self, method: str) -> Handler:
        if method not in self.handlers:
            raise RpcError(METHOD_NOT_FOUND, "There is no such method.")
        return self.handlers[method]

    def _report(self, bug: Exception) -> None:
        try:
            self.log("".join(traceback.format_exception(bug)))
        except Exception:
            return  # the client still gets its answer


# --- the public names ------------------------------------------------------------------------


def message_kind(message: Any) -> Literal["request", "notification"]:
    """Tell a request from a notification.

    >>> message_kind({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    'notification'
    """
    return Envelope(message).kind()


def decode(raw: bytes) -> Any:
    """Return the JSON value in `raw`."""
    try:
        reader = JsonReader(raw.decode("utf-8"))
        value = reader.read()
    except (UnicodeDecodeError, NotJson):
        raise RpcError(PARSE_ERROR, "The message is not JSON in UTF-8.") from None
    if reader.deepest > MAX_DEPTH:
        raise RpcError(INVALID_REQUEST, TOO_DEEP)
    if reader.doubled:
        raise RpcError(INVALID_REQUEST, "An object has the same key twice.")
    return value


def read_request(message: Message) -> Request:
    """Return the checked request in `message`."""
    return Envelope(message).request()


def complete(fields: Message, server_info: Message) -> Message:
    """Return a finished result: `fields`, ``resultType`` and who answered."""
    result = dict(fields)
    result["resultType"] = "complete"
    result["_meta"] = dict(fields.get("_meta", {}))
    result["_meta"][SERVER_INFO] = dict(server_info)
    return result


def discover(capabilities: Message) -> Message:
    """Return the fields of a ``server/discover`` result."""
    result = Result(supportedVersions=list(SUPPORTED_VERSIONS), capabilities=dict(capabilities))
    return result.cached(3_600_000, "public").fields


def list_tools(tools: Iterable[Message]) -> Message:
    """Return the fields of a ``tools/list`` result, sorted by name."""
    by_text = sorted(tools, key=lambda tool: json.dumps(tool, sort_keys=True))
    result = Result(tools=sorted(by_text, key=lambda tool: tool["name"]))
    return result.cached(0, "private").fields


def respond(
    message: Any, handlers: Mapping[str, Handler], log: Callable[[str], None]
) -> Message | None:
    """Return the answer to one decoded message, or None when it must not be answered."""
    return Exchange(handlers, log).answer(message)


def failure(message: Any, refusal: RpcError) -> Message:
    """Return the JSON-RPC error for `refusal`, under the id of `message` if it has a valid one."""
    error: Message = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        error["data"] = refusal.data
    return {"jsonrpc": "2.0", **Ids.members(message), "error": error}
