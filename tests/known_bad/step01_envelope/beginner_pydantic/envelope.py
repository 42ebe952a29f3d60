"""The envelope as pydantic models."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from kit.refusals import RpcError

VERSION = "2026-07-28"


class Meta(BaseModel):
    protocol_version: str = Field(alias="io.modelcontextprotocol/protocolVersion")
    client_capabilities: dict[str, Any] = Field(alias="io.modelcontextprotocol/clientCapabilities")


class Params(BaseModel):
    meta: Meta = Field(alias="_meta")


class RpcRequest(BaseModel):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: str
    params: Any = None


class RpcNotification(BaseModel):
    jsonrpc: Literal["2.0"]
    method: str
    params: Any = None


class Request(BaseModel):
    id: int | str
    method: str
    params: dict[str, Any]
    client_capabilities: dict[str, Any]


MESSAGE: TypeAdapter[RpcRequest | RpcNotification] = TypeAdapter(RpcRequest | RpcNotification)


def message_kind(message: Any) -> Literal["request", "notification"]:
    try:
        parsed = MESSAGE.validate_python(message)
    except ValidationError as error:
        raise RpcError(-32600, str(error)) from error
    return "request" if isinstance(parsed, RpcRequest) else "notification"


def decode(raw: bytes) -> Any:
    try:
        return from_json(raw)
    except ValueError as error:
        raise RpcError(-32700, str(error)) from error


def read_request(message: dict[str, Any]) -> Request:
    try:
        meta = Params.model_validate(message.get("params")).meta
    except ValidationError as error:
        raise RpcError(-32602, str(error)) from error
    if meta.protocol_version != VERSION:
        data = {"supported": [VERSION], "requested": meta.protocol_version}
        raise RpcError(-32022, "Unsupported protocol version", data)
    return Request(
        id=message["id"],
        method=message["method"],
        params=message["params"],
        client_capabilities=meta.client_capabilities,
    )


def complete(fields: dict[str, Any], server_info: dict[str, Any]) -> dict[str, Any]:
    meta = fields.get("_meta") or {}
    meta["io.modelcontextprotocol/serverInfo"] = server_info
    return {**fields, "resultType": "complete", "_meta": meta}


def discover(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": [VERSION],
        "capabilities": capabilities,
        "ttlMs": 60000,
        "cacheScope": "public",
    }


def list_tools(tools: Any) -> dict[str, Any]:
    ordered = sorted(tools, key=lambda tool: tool["name"].casefold())
    return {"tools": ordered, "ttlMs": 60000, "cacheScope": "public"}


def respond(
    message: Any, handlers: dict[str, Callable[[Request], Any]], log: Callable[[str], None]
) -> dict[str, Any] | None:
    try:
        if message_kind(message) == "notification":
            return None
        request = read_request(message)
        handler = handlers.get(request.method)
        if handler is None:
            raise RpcError(-32601, "Method not found")
        return {"jsonrpc": "2.0", "id": request.id, "result": handler(request)}
    except RpcError as refusal:
        return failure(message, refusal)
    except Exception as error:
        log(repr(error))
        return failure(message, RpcError(-32603, "Internal error"))


def failure(message: Any, refusal: RpcError) -> dict[str, Any]:
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.data:
        error["data"] = refusal.data
    answer: dict[str, Any] = {"jsonrpc": "2.0", "error": error}
    if isinstance(message, dict) and "id" in message:
        answer["id"] = message["id"]
    return answer
