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
    through = {way for way, ending in free.items() if ending == GOT_THROUGH}
    tried = free.keys() & confined.keys()
    blocked = {way for way in tried & through if confined[way] != GOT_THROUGH}
    assert set(claimed) <= tried, f"not tried: {set(claimed) - tried}"
    assert set(claimed) <= through, f"fails anyway: {set(claimed) - through}"
    assert set(claimed) == blocked, f"claimed and stopped differ: {set(claimed) ^ blocked}"
