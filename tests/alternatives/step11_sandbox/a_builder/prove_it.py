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

    def fail(way: str, why: str) -> None:
        raise AssertionError(f"{way}: {why}")

    for way in claimed | set(confined):
        tried = way in free and way in confined
        if way in claimed:
            if not tried:
                fail(way, "was not tried both times")
            if free[way] != GOT_THROUGH:
                fail(way, "fails without the sandbox")
            if confined[way] == GOT_THROUGH:
                fail(way, "gets through")
        elif tried and free[way] == GOT_THROUGH != confined[way]:
            fail(way, "is stopped and not claimed")
