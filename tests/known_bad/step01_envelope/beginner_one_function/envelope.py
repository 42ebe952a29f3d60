"""A JSON-RPC server in one function."""

import json
from dataclasses import dataclass

from kit.refusals import RpcError

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"


@dataclass
class Request:
    id: object
    method: str
    params: dict
    client_capabilities: dict


def message_kind(message):
    try:
        message["method"]
    except (KeyError, TypeError, IndexError):
        raise RpcError(-32600, "Invalid Request") from None
    if message.get("id") is None:
        return "notification"
    return "request"


def decode(raw):
    try:
        return json.loads(raw)
    except Exception as error:
        raise RpcError(-32700, f"Parse error: {error}") from error


def read_request(message):
    try:
        meta = message["params"]["_meta"]
        version = meta[META + "protocolVersion"]
        capabilities = meta[META + "clientCapabilities"]
    except (KeyError, TypeError) as error:
        raise RpcError(-32602, f"missing {error}") from error
    if version != VERSION:
        data = {"supported": [VERSION], "requested": version}
        raise RpcError(-32022, "Unsupported protocol version", data)
    return Request(message["id"], message["method"], message["params"], capabilities)


def complete(fields, server_info):
    fields["resultType"] = "complete"
    fields["_meta"] = {META + "serverInfo": server_info}
    return fields


def discover(capabilities):
    return {
        "supportedVersions": [VERSION],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    }


def list_tools(tools):
    tools = list(tools)
    tools.sort(key=lambda tool: tool["name"])
    return {"tools": tools, "ttlMs": 0, "cacheScope": "private"}


def respond(message, handlers, log):
    answer = {"jsonrpc": "2.0", "id": None}
    try:
        answer["id"] = message.get("id")
        if message["method"].startswith("notifications/"):
            return None
        request = read_request({"id": None, **message})
        answer["result"] = handlers[request.method](request)
    except RpcError as error:
        return failure(message, error)
    except KeyError as error:
        answer["error"] = {"code": -32601, "message": f"Method not found: {error}"}
    except Exception as error:
        log(str(error))
        answer["error"] = {"code": -32603, "message": f"Internal error: {error}"}
    return answer


def failure(message, refusal):
    error = {"code": refusal.code, "message": refusal.message, "data": refusal.data}
    return {"jsonrpc": "2.0", "id": (message or {}).get("id"), "error": error}
