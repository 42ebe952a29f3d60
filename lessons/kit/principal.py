"""Who is asking, as far as the edge could verify it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Principal:
    """An authenticated caller. Only `authenticate` (step 13) and a stdio host make one.

    subject: the stable name that the credentials carry (``sub``); never taken from ``clientInfo``.
    scopes: what the credentials permit, for example ``{"notes:delete"}``.
    """

    subject: str
    scopes: frozenset[str] = frozenset()
