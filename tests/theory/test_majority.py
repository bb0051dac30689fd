"""Which reading of the classes a trained network is on, and how the report tells it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.experiment.shortcuts import told
from nslimb.sigma import family, maximum, total
from nslimb.sigma.families import Family
from nslimb.theory.majority import learned_shortcut, majority_reading
from nslimb.theory.shortcuts import shortcuts

HALF = np.array([(0, 0), (0, 1), (2, 3), (2, 4)])
SUM = total(2)


def confusion(reading: list[int], right: int = 7, wrong: int = 3) -> np.ndarray:
    """Ten instances a class that occurs, most of them read so, the others as 9."""
    matrix = np.zeros((10, 10))
    for label, other in enumerate(reading):
        if other >= 0:
            matrix[label, other] += right
            matrix[label, 9] += wrong
    return matrix


def test_every_shortcut_of_half_is_recognised_and_nothing_else() -> None:
    weak = SUM.apply(HALF)
    known = {tuple(reading) for reading in shortcuts(SUM, HALF).maps.tolist()}
    assert len(known) == 6
    for reading in product(range(10), repeat=3):
        whole = [0, 1, *reading, *[-1] * 5]
        found = learned_shortcut(SUM, confusion(whole), HALF, weak)
        expected = tuple(whole) in known and reading != (2, 3, 4)
        assert (found is not None) == expected
        if found is not None:
            assert found.tolist() == whole


def test_without_a_majority_there_is_no_reading() -> None:
    assert majority_reading([[2, 2, 1], [0, 1, 0], [0, 0, 1]]) is None
    assert majority_reading(np.zeros((2, 2))).tolist() == [-1, -1]  # type: ignore[union-attr]
    shortcut = [0, 1, 5, 0, 1, -1, -1, -1, -1, -1]
    assert learned_shortcut(SUM, confusion(shortcut, 4, 6), HALF, SUM.apply(HALF)) is None  # most are read as 9
    unseen = [0, 1, 5, 0, -1, -1, -1, -1, -1, -1]
    assert learned_shortcut(SUM, confusion(unseen), HALF, SUM.apply(HALF)) is None
    with pytest.raises(InvalidInput, match="counts of at least 0"):
        majority_reading(np.zeros((2, 3)))


def test_sets_and_families_count_as_explained() -> None:
    swap = np.eye(3)[[1, 0, 2]]
    mixed = family({"max": maximum(2, 3), "one": maximum(1, 3)})
    labels = np.array([[0, 2], [1, -1]])
    weak = mixed.encode([("max", 2), ("one", {0, 1})]).numpy()
    found = learned_shortcut(mixed, swap, labels, weak)
    assert found is not None
    assert found.tolist() == [1, 0, 2]
    assert learned_shortcut(mixed, swap, labels, mixed.encode([("max", 2), ("one", 1)])) is None


def test_classes_that_no_sample_has_do_not_count() -> None:
    everything = np.eye(10)
    everything[5:] = everything[9]  # what was never seen is taken for a 9, or for anything
    assert learned_shortcut(SUM, everything, HALF, SUM.apply(HALF)) is None
    everything[5:] = 0.1
    everything[:5] = np.eye(10)[[0, 1, 5, 0, 1]]
    found = learned_shortcut(SUM, everything, HALF, SUM.apply(HALF))
    assert found is not None
    assert found.tolist() == [0, 1, 5, 0, 1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize(
    "sigma",
    [
        maximum(2, 3),
        Sigma.from_function(lambda y: y[0] == y[1], 3, 2),
        Sigma.from_function(lambda y: sum(y) % 2 if sum(y) < 4 else None, 3, 2),
        family(
            {
                "same": Sigma.from_function(lambda y: y[0] == y[1], 3, 2),
                "low": Sigma.from_function(lambda y: y[0] > 0, 3, 1),
            }
        ),
    ],
)
def test_without_samples_every_label_vector_must_be_explained(sigma: Sigma) -> None:
    members = [sigma.member(name) for name in sigma.members] if isinstance(sigma, Family) else [sigma]
    told = []
    for reading in product(range(-1, 3), repeat=3):
        occurring = [i for i in range(3) if reading[i] >= 0]
        matrix = np.zeros((3, 3))
        matrix[occurring, [reading[i] for i in occurring]] = 1
        explained = [
            member.apply([reading[i] for i in y]) == member.apply(y)
            for member in members
            for y in product(occurring, repeat=member.arity)
            if member.apply(y) >= 0
        ]
        expected = all(explained) and bool(explained) and any(reading[i] != i for i in occurring)
        found = learned_shortcut(sigma, matrix)
        assert (found is not None) == expected, reading
        if found is not None:
            assert tuple(found.tolist()) == reading
            told.append(reading)
    assert told or sigma.name == "maximum"


def test_the_report_says_how_often() -> None:
    def run(shortcut: list[int] | None, printed: str = "SL") -> Any:
        return SimpleNamespace(scenario="HALF-2, rho=0", printed=printed, metrics=SimpleNamespace(shortcut=shortcut))

    runs = [run([0, 1, 5, 0, 1]), run([0, 1, 5, 0, 1]), run(None), run(None, "transport")]
    assert told(runs) == (
        "HALF-2, rho=0: SL is on a reasoning shortcut in 2 of 3 runs, right on every weak label of the training "
        "samples: 2 read as 5, 3 read as 0, 4 read as 1 (2)."
    )
    assert told(runs[2:]) == ""
