"""An HTTP request and its response as values, so that the edge can be judged without a socket."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HttpRequest:
    """One request, read to its end.

    method: for example ``POST``. path: as in the request line. headers: name and value in the
    order of arrival, as sent. body: bytes.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True)
class HttpResponse:
    """One response. headers: beside Content-Length, which the loop adds."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
