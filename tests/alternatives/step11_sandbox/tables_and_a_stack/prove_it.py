"""What proves that a sandbox stops something: that it went through without the sandbox.

Promise: no claim gets through that rests on an attack which fails anyway, and no way out is
overlooked that nobody claimed to be stopped.
"""

from collections.abc import Mapping, Set

from kit.ways_out import GOT_THROUGH


def holds(claimed: Set[str], free: Mapping[str, str], confined: Mapping[str, str]) -> None:
    """Return when the claim is proved: exactly these ways are stopped (BOX-12).

    claimed: names of the ways that are said to be stopped. free: what each way ended in without the
    sandbox, GOT_THROUGH or the name of an error. confined: the same with it.
    Every claimed way was tried both times; free it got through, confined it did not. Every way that
    was tried confined and is not claimed got through: a sandbox that stops more than it says has
    not been understood.
    Errors: AssertionError with a sentence that names the way.
    """
    for way in claimed:
        match free.get(way), confined.get(way):
            case None, _:
                raise AssertionError(f"{way} was not tried free")
            case _, None:
                raise AssertionError(f"{way} was not tried confined")
            case one, _ if one != GOT_THROUGH:
                raise AssertionError(f"{way} fails anyway")
            case _, other if other == GOT_THROUGH:
                raise AssertionError(f"{way} gets through")
    silent = {
        way
        for way, ending in confined.items()
        if way not in claimed and free.get(way) == GOT_THROUGH and ending != GOT_THROUGH
    }
    if silent:
        raise AssertionError(f"nobody says that these are stopped: {sorted(silent)}")
