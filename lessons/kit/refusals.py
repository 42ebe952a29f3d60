"""How a part says no. Anything else that a part raises is a bug in it.

==============  ===============================================================================
RpcError        the peer broke the protocol: becomes a JSON-RPC error (ENV-5)
ToolRefusal     the arguments are not acceptable: becomes a result with ``isError: true`` (TOOL-8)
StateRefused    a ``requestState`` failed verification: one frozen error on the wire, the reason
                goes to the log (SEAL-10)
StoreRefusal    the replay store will not take this claim (ONCE-1 and following)
==============  ===============================================================================
"""

from typing import Any


class RpcError(Exception):
    """A protocol error.

    code: integer from `kit.protocol`. message: one sentence for the peer, without secrets.
    data: any JSON value, or None for no ``data`` member.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ToolRefusal(Exception):
    """A business refusal, shown to the model as a result with ``isError: true``.

    message: one sentence that reveals nothing about what lies outside the caller's scope.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StateRefused(Exception):
    """A ``requestState`` that must not be believed.

    reason: one word for the log (``"expired"``, ``"principal"``, …); never sent to the client.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreRefusal(Exception):
    """A claim that the replay store did not grant."""


class NonceSpent(StoreRefusal):
    """This nonce has been claimed before."""


class StoreFull(StoreRefusal):
    """The store holds as many live nonces as it may; nothing live is evicted to make room."""


class StoreUnavailable(StoreRefusal):
    """The store cannot be used at the moment: others write, the disk is full, the file is gone."""
