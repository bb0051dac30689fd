"""Long tails and weak samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb.data import ImageSource, draw_samples, thin
from nslimb.data.samples import load_gold, load_samples, save
from nslimb.data.tails import shares
from nslimb.errors import DataError, InvalidInput


def balanced(per_class: int = 200, classes: int = 10) -> ImageSource:
    number = per_class * classes
    labels = np.arange(number) % classes
    names = tuple(map(str, range(classes)))
    return ImageSource(
        "toy", np.zeros((number, 2, 2), np.uint8), labels, np.arange(number) >= number // 2, names, "-", "here"
    )


def test_shares_follow_the_papers_two_profiles() -> None:
    np.testing.assert_allclose(shares(50, 10), [50 ** -(k / 9) for k in range(10)])
    np.testing.assert_allclose(shares(50, 10, reverse=True), [50 ** -((10 - k) / 9) for k in range(10)])
    assert (shares(0, 10) == 1).all()
    assert (shares(1, 10) == 1).all()


@given(st.integers(0, 10**6), st.sampled_from([0, 1, 5, 15, 50]), st.booleans())
def test_thinning_keeps_the_right_number_of_each_class(seed: int, rho: float, reverse: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=4000)
    kept = thin(labels, 5, rho, np.random.default_rng(seed), reverse)
    counts, before = np.bincount(labels[kept], minlength=5), np.bincount(labels, minlength=5)
    wanted = before if rho == 0 else np.minimum(np.floor(shares(rho, 5, reverse) * before.max() + 1e-9), before)
    np.testing.assert_array_equal(counts, wanted)
    assert (np.diff(kept) > 0).all()


def test_the_order_of_the_tail_can_be_given() -> None:
    labels = np.repeat(np.arange(4), 100)
    kept = thin(labels, 4, 8.0, np.random.default_rng(0), order=(2, 0, 3, 1))
    assert np.bincount(labels[kept]).tolist() == [50, 12, 100, 25]
    with pytest.raises(InvalidInput, match="order: expected each of the classes 0 to 3 once"):
        thin(labels, 4, 8.0, np.random.default_rng(0), order=(0, 1, 2))


def test_a_class_left_without_images_is_named() -> None:
    with pytest.raises(
        InvalidInput, match=r"rho: expected a long tail that leaves images .*got 1000, which empties class 9"
    ):
        thin(np.repeat(np.arange(10), 500), 10, 1000, np.random.default_rng(0))


@pytest.mark.parametrize("rho", [-1, 0.5, float("inf"), float("nan")])
def test_impossible_ratios_are_refused(rho: float) -> None:
    with pytest.raises(InvalidInput, match=r"rho: expected 0 \(no long tail\) or a number of at least 1"):
        shares(rho, 10)


def test_weak_samples_tell_sigma_and_nothing_else() -> None:
    source, sigma = balanced(), nslimb.sigma.maximum(3)
    samples, gold = draw_samples(source, sigma, 500, seed=1, rho=5, reverse=True)
    assert samples.train.shape == (500, 3)
    np.testing.assert_array_equal(samples.train_weak, source.labels[samples.train].max(axis=1))
    np.testing.assert_array_equal(gold.train, source.labels[samples.train])
    assert samples.validation.shape == (256, 3)
    assert not source.is_test[samples.train].any()
    assert not source.is_test[samples.validation].any()
    assert source.is_test[samples.test].all()
    assert not set(samples.train.flat) & set(samples.validation.flat)
    counts = np.bincount(gold.test, minlength=10)
    np.testing.assert_array_equal(counts, np.floor(100 * shares(5, 10, reverse=True) + 1e-9))
    np.testing.assert_allclose(gold.ratios, counts / counts.sum())
    assert set(vars(samples)) == {"train", "train_weak", "validation", "validation_weak", "test"}


def test_formulas_draw_digits_and_operators_from_their_own_pools() -> None:
    source, sigma = balanced(classes=13), nslimb.sigma.formula(5)
    samples, gold = draw_samples(source, sigma, 300, seed=1, rho=15, order=(0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9))
    assert (gold.train[:, ::2] < 10).all()
    assert (gold.train[:, 1::2] >= 10).all()
    assert (samples.train_weak >= 0).all()
    assert gold.ratios.shape == (5, 13)
    np.testing.assert_allclose(gold.ratios.sum(axis=1), 1)
    assert gold.ratios[0, 10:].sum() == 0


def test_tuples_without_a_weak_label_are_drawn_again() -> None:
    increasing = nslimb.Sigma.from_function(lambda y: y[1] if y[1] > y[0] else None, num_classes=10, arity=2)
    samples, gold = draw_samples(balanced(), increasing, 400, seed=0)
    assert (gold.train[:, 1] > gold.train[:, 0]).all()
    assert (samples.train_weak >= 0).all()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    source, sigma = balanced(), nslimb.sigma.total(2)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        samples, gold = draw_samples(source, sigma, 50, seed)
        save(samples, tmp_path / name / "samples.npz")
        save(gold, tmp_path / name / "gold.npz")
    first, second, third = ((tmp_path / name / "samples.npz").read_bytes() for name in "abc")
    assert first == second != third
    loaded, labels = load_samples(tmp_path / "a" / "samples.npz"), load_gold(tmp_path / "a" / "gold.npz")
    np.testing.assert_array_equal(loaded.train, draw_samples(source, sigma, 50, 1)[0].train)
    np.testing.assert_array_equal(labels.train, source.labels[loaded.train])
    with np.load(tmp_path / "a" / "samples.npz") as stored:
        assert sorted(stored) == ["test", "train", "train_weak", "validation", "validation_weak"]


def test_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    with pytest.raises(DataError, match=r"samples\.npz: cannot be opened \(.*No such file"):
        load_samples(path)
    np.savez(path, train=np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError, match=r"samples\.npz: expected an npz file with train, .*draw the samples again"):
        load_samples(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 0}, "number: expected an integer of at least 1"),
        ({"validation": 0}, "validation: expected an integer of at least 1"),
        ({"sigma": nslimb.sigma.formula(3)}, "source: expected 13 classes, as sigma has, got toy with 10"),
        ({"rho": -5.0}, "rho: expected"),
    ],
)
def test_bad_requests_are_refused(options: dict[str, object], message: str) -> None:
    arguments = {"source": balanced(), "sigma": nslimb.sigma.maximum(3), "number": 10, "seed": 1, **options}
    with pytest.raises(InvalidInput, match=message):
        draw_samples(**arguments)  # type: ignore[arg-type]
