"""The specification's names and numbers for revision 2026-07-28. No behaviour lives here."""

VERSION = "2026-07-28"
LEGACY_VERSION = "2025-11-25"

# Keys of params._meta in every request (ENV-8, ENV-9) and of result._meta (ENV-14).
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

# Error codes (ERR-1 to ERR-8).
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

# The reason that the lab puts into data when a requestState fails verification (STATE-6).
INVALID_REQUEST_STATE = "invalid_request_state"
