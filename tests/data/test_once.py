"""Samples in which every image is used once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nslimb
from nslimb.data import ImageSource
from nslimb.data.once import draw_once
from nslimb.data.samples import load_gold, load_samples, save
from nslimb.errors import DataError, InvalidInput


def source(train: int = 63, test: int = 22) -> ImageSource:
    rng = np.random.default_rng(0)
    images = np.zeros((train + test, 2, 2), dtype=np.uint8)
    labels = rng.integers(10, size=len(images))
    names = tuple(map(str, range(10)))
    return ImageSource("some", images, labels, rng.permutation(len(images)) >= train, names, "-", "drawn")


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_every_image_is_used_once_and_its_labels_are_kept_apart(digits: int, tmp_path: Path) -> None:
    given, sigma = source(), nslimb.sigma.addition(digits)
    samples, gold = draw_once(given, sigma, seed=3)
    for part, tuples, labels, of_test in (
        ("train", samples.train, gold.train, False),
        ("test", samples.test_tuples, gold.test_tuples, True),
    ):
        members = np.flatnonzero(given.is_test == of_test)
        assert tuples.shape == (len(members) // (2 * digits), 2 * digits), part
        assert len(np.unique(tuples)) == tuples.size
        assert np.isin(tuples, members).all()
        np.testing.assert_array_equal(labels, given.labels[tuples])
    numbers = gold.train.reshape(-1, 2, digits) @ 10 ** np.arange(digits)[::-1]
    expected = numbers.sum(axis=1)
    np.testing.assert_array_equal(samples.train_weak, sigma.encode(expected.tolist()))
    assert samples.train_weak.shape == (len(samples.train), digits + 1)
    assert samples.validation.shape == (0, 2 * digits)
    assert samples.validation_weak.shape == (0, digits + 1)
    np.testing.assert_array_equal(samples.test, samples.test_tuples.reshape(-1))
    np.testing.assert_array_equal(gold.test, given.labels[samples.test])
    np.testing.assert_allclose(gold.ratios, np.bincount(gold.train.ravel(), minlength=10) / gold.train.size)
    save(samples, tmp_path / "samples.npz")
    save(gold, tmp_path / "gold.npz")
    read = load_samples(tmp_path / "samples.npz"), load_gold(tmp_path / "gold.npz")
    for ours, theirs in zip((samples, gold), read, strict=True):
        for name, values in vars(ours).items():
            np.testing.assert_array_equal(values, getattr(theirs, name))


def test_the_seed_decides_and_nothing_else() -> None:
    sigma = nslimb.sigma.maximum(3)
    one, again, other = (draw_once(source(), sigma, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.train, again.train)
    assert not np.array_equal(one.train, other.train)
    assert one.train_weak.shape == (21,)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(DataError, match="some has 22 test images, not enough for a tuple of 24"):
        draw_once(source(), nslimb.sigma.addition(12), seed=1)
    invalid = nslimb.Sigma.from_function(lambda y: None if y == (0, 0) else 1, num_classes=10, arity=2)
    with pytest.raises(InvalidInput, match="sigma: expected a weak label for every label vector"):
        draw_once(source(), invalid, seed=1)
