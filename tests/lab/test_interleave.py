"""What lets something happen between two steps, and the call that Python has no name for."""

import errno
import os
from pathlib import Path

import pytest

from kit.interleave import NothingTraced, at, everywhere
from kit.openat2 import BENEATH, openat2
from kit.parts import load

PART = """
def check_then_use(box):
    if len(box) == 0:
        return "empty"
    return max(box)


def in_one_line(box):
    return max(box) if len(box) else "empty"


def calls_nothing(box):
    return 7
"""


@pytest.fixture
def part(tmp_path: Path) -> Path:
    (tmp_path / "between.py").write_text(PART, encoding="utf-8")
    return tmp_path / "between.py"


def endings(part: Path, name: str) -> list[object]:
    act = getattr(load(part), name)

    def run(moment: int) -> tuple[object, bool]:
        box = [1]
        return at(moment, lambda: box.insert(0, 9), lambda: act(box), part)

    return list(everywhere(run))


@pytest.mark.parametrize("name", ["check_then_use", "in_one_line"])
def test_each_call_is_a_moment_wherever_it_stands(part: Path, name: str) -> None:
    assert endings(part, name) == [9, 9]


def test_a_moment_that_is_never_reached_is_told(part: Path) -> None:
    happened: list[int] = []
    act = load(part).check_then_use
    assert at(2, lambda: happened.append(1), lambda: act([1]), part) == (1, False)
    assert at(1, lambda: happened.append(1), lambda: act([1]), part) == (1, True)
    assert happened == [1]


def test_a_file_that_calls_nothing_proves_nothing(part: Path) -> None:
    with pytest.raises(NothingTraced):
        endings(part, "calls_nothing")


def test_what_is_raised_goes_through_and_ends_the_trace(part: Path) -> None:
    act = load(part).check_then_use
    with pytest.raises(TypeError):
        at(0, lambda: None, lambda: act(7), part)
    assert at(0, lambda: None, lambda: act([3]), part) == (3, True)


def test_openat2_stays_beneath_or_says_that_it_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        os.close(openat2(here, "a.md", os.O_RDONLY | os.O_CLOEXEC, BENEATH))
    except OSError as error:
        assert error.errno in (errno.ENOSYS, errno.EPERM)
        pytest.skip("this machine has no openat2")
    with pytest.raises(OSError) as raised:
        openat2(here, "../a.md", os.O_RDONLY | os.O_CLOEXEC, BENEATH)
    assert raised.value.errno == errno.EXDEV
    with pytest.raises(ValueError):
        openat2(here, "a.md\0", os.O_RDONLY, BENEATH)
    os.close(here)
