"""Which class of a source is which class of sigma."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nslimb.data.classes import arrange, check_classes, sort_names
from nslimb.errors import InvalidInput

NAMES = st.lists(st.sampled_from([*"012345", "a", "b", "cat", "10"]), min_size=1, max_size=5, unique=True)


def numbers(count: int) -> list[str]:
    return [str(k) for k in range(count)]


@given(NAMES, NAMES)
def test_a_name_never_becomes_the_class_of_another(found: list[str], wanted: list[str]) -> None:
    try:
        names, place = arrange("toy", found, wanted)
    except InvalidInput:
        named = found != numbers(len(found)) and wanted != numbers(len(wanted))
        other = set(found) != set(wanted)
        moved = any(name in found and found.index(name) != k for k, name in enumerate(wanted))
        assert other
        assert named or moved or len(found) != len(wanted)
        return
    assert sorted(place.tolist()) == list(range(len(wanted)))
    assert len(names) == len(wanted)
    for k, name in enumerate(found):
        where = int(place[k])
        assert names[where] in (name, wanted[where])
        if name in wanted:
            assert where == wanted.index(name)
    assert tuple(names) in (tuple(found), tuple(wanted))
    check_classes("toy", names, wanted)  # what was arranged fits as it is


def test_unnamed_classes_take_the_names_of_the_other_side() -> None:
    assert arrange("toy", ["a", "b"], ["0", "1"])[0] == ("a", "b")
    assert arrange("toy", ["0", "1"], ["rock", "paper"])[0] == ("rock", "paper")
    assert arrange("toy", ["a", "b"], None)[0] == ("a", "b")


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (["a", "b"], ["a", "c"]),
        (["a", "b"], ["a", "b", "c"]),
        (["1", "2", "3"], ["0", "1", "2"]),  # is the folder 1 the class 1, or the first?
        (["*", "+", "0", "1"], ["0", "1", "2", "3"]),
    ],
)
def test_both_lists_are_told(found: list[str], wanted: list[str]) -> None:
    with pytest.raises(InvalidInput) as told:
        arrange("toy", found, wanted)
    assert str(told.value) == (
        f"source: expected the {len(wanted)} classes of sigma ({', '.join(wanted)}), "
        f"got toy with {len(found)} classes ({', '.join(found)})"
    )


def test_the_same_names_in_another_order_are_no_fit_as_they_are() -> None:
    check_classes("toy", ["a", "b"], ["a", "b"])
    with pytest.raises(InvalidInput, match=r"classes of sigma \(b, a\), got toy with 2 classes \(a, b\)"):
        check_classes("toy", ["a", "b"], ["b", "a"])


def test_numbers_are_sorted_by_value() -> None:
    assert sort_names(map(str, range(12))) == tuple(map(str, range(12)))
    assert sort_names(["b", "10", "9"]) == ("10", "9", "b")
    assert sort_names(["²", "1"]) == ("1", "²")  # a digit to Python, but no number
