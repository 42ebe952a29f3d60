"""Counted nonces and times see the loops that run in C, and stay counted through arithmetic."""

import heapq
from collections.abc import Callable
from typing import Any

import pytest

from grading.counted import CountedNonce, CountedTime, Looks


def looks(act: Callable[[], Any]) -> int:
    """How often `act` compares or hashes what is counted."""
    before = Looks.total
    act()
    return Looks.total - before


def pairs(count: int) -> list[tuple[CountedTime, CountedNonce]]:
    """So many pairs, as a book holds them."""
    return [(CountedTime(number), CountedNonce(f"n{number}")) for number in range(count)]


@pytest.mark.parametrize("loop", [min, sorted, lambda book: book.remove(book[-1])])
def test_a_loop_in_c_is_seen(loop: Callable[[Any], Any]) -> None:
    few, many = pairs(10), pairs(1000)
    assert looks(lambda: loop(many)) >= 50 * looks(lambda: loop(few))


def test_a_heap_costs_hardly_more_when_it_is_long() -> None:
    few, many = pairs(10), pairs(1000)
    more = (CountedTime(500.5), CountedNonce("more"))
    assert (
        looks(lambda: heapq.heappush(many, more)) <= looks(lambda: heapq.heappush(few, more)) + 40
    )


def test_what_is_computed_from_a_counted_time_counts_too() -> None:
    start = CountedTime(10)
    for computed in (start + 5, 5 + start, start - 5, 5 - start, -start):
        assert looks(lambda computed=computed: computed < 3) == 1  # type: ignore[misc]


def test_counted_values_are_equal_to_the_plain_ones() -> None:
    assert CountedNonce("n1") == "n1" and {"n1"} == {CountedNonce("n1")}
    assert CountedTime(1.5) == 1.5 and CountedTime(1.5) + 1 == 2.5
