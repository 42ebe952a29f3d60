"""The mutants of a part: every kind of change, nothing that is prose, names that stay."""

import pytest

from grading.prove.mutants import mutants_of

SOURCE = '''
"""A docstring with 1 number."""
LIMIT = 8


def allowed(number: int = 3, *, strict: bool = True) -> bool:
    """Say whether it is below LIMIT."""
    if not strict and number < LIMIT:
        raise ValueError("A sentence of 2 words.")
    return check(number, depth=2)
'''


def names() -> list[str]:
    return [mutant.name for mutant in mutants_of(SOURCE)]


@pytest.mark.parametrize(
    "name",
    [
        "top: 8 → 9",
        "allowed: 3 → 4",
        "allowed: True → False",
        "allowed: not strict → strict",
        "allowed: not strict and number < LIMIT → number < LIMIT",
        "allowed: not strict and number < LIMIT → not strict or number < LIMIT",
        "allowed: number < LIMIT → number <= LIMIT",
        "allowed: raise ValueError('A sentence of 2 words.') → pass",
        "allowed: check(number, depth=2) → check(number)",
        "allowed: return check(number, depth=2) → return None",
    ],
)
def test_a_change_of_each_kind_is_made(name: str) -> None:
    assert names().count(name) == 1


def test_prose_docstrings_and_annotations_are_left_alone() -> None:
    assert not any("docstring" in name or "words.'" in name.split("→")[1] for name in names())
    assert not any("Say whether" in name or "bool →" in name for name in names())


def test_a_mutant_differs_from_the_source_in_one_place_and_compiles() -> None:
    for mutant in mutants_of(SOURCE):
        assert mutant.text != SOURCE
        compile(mutant.text, mutant.name, "exec")


def test_the_same_change_twice_in_a_function_has_two_names() -> None:
    twice = [mutant.name for mutant in mutants_of("def f(a):\n    return a == 1 or a == 2 or 1\n")]
    assert {"f: 1 → 2", "f: 1 → 2 (2)"} <= set(twice)
    assert len(set(twice)) == len(twice)


def test_a_change_inside_a_function_names_it_and_its_class() -> None:
    (mutant,) = mutants_of("class Store:\n    def claim(self):\n        raise KeyError\n")
    assert (mutant.name, mutant.function) == ("Store.claim: raise KeyError → pass", "Store")


def test_characters_beyond_ascii_do_not_shift_the_place() -> None:
    (first, *_) = mutants_of("x = 'für' == y\n")
    assert first.text == "x = ('für' != y)\n"
