"""Long tails and weak samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb.data import ImageSource, Samples, draw_samples, thin
from nslimb.data.samples import load_gold, load_samples, save
from nslimb.data.tails import shares
from nslimb.errors import BrokenFile, DataError, InvalidInput


def balanced(per_class: int = 200, classes: int = 10) -> ImageSource:
    number = per_class * classes
    labels = np.arange(number) % classes
    names = tuple(map(str, range(classes)))
    return ImageSource(
        "toy", np.zeros((number, 2, 2), np.uint8), labels, np.arange(number) >= number // 2, names, "-", "here"
    )


def named(*names: str) -> ImageSource:
    return dataclasses.replace(balanced(classes=len(names)), class_names=names)


CHOICE = nslimb.Sigma.from_function(max, num_classes=2, arity=2, class_names=("a", "b"))


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
    average = Fraction(4000, 5)
    ranks = [5 - k if reverse else k for k in range(5)]
    wanted = before if rho == 0 else [min(before[k], at_most(average, rho, ranks[k], 4)) for k in range(5)]
    np.testing.assert_array_equal(counts, wanted)
    assert (np.diff(kept) > 0).all()


def at_most(average: Fraction, rho: int, rank: int, steps: int) -> int:
    """floor(average * rho^-(rank / steps)) in whole numbers: the largest n with n^steps rho^rank <= average^steps."""
    return max(n for n in range(int(average) + 1) if n**steps * rho**rank <= average**steps)


MNIST = (
    [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("rho", [5, 15, 50, 70])
@pytest.mark.parametrize("reverse", [False, True])
def test_mnists_long_tails_are_shares_of_the_average_class(part: int, rho: int, reverse: bool) -> None:
    counts = MNIST[part]
    labels = np.repeat(np.arange(10), counts)
    kept = np.bincount(labels[thin(labels, 10, rho, np.random.default_rng(0), reverse)])
    average = Fraction(sum(counts), 10)
    ranks = [10 - k if reverse else k for k in range(10)]
    assert kept.tolist() == [min(counts[k], at_most(average, rho, ranks[k], 9)) for k in range(10)]


def test_mnists_realised_imbalance() -> None:
    labels = np.repeat(np.arange(10), MNIST[0])
    kept = np.bincount(labels[thin(labels, 10, 50, np.random.default_rng(0))])
    assert (kept.max(), kept.min()) == (5923, 120)
    assert round(kept.max() / kept.min(), 1) == 49.4
    # Reversed, the head itself is thinned once: 6000 * 50^-(1/9), and the tail loses a whole 1/50.
    kept = np.bincount(labels[thin(labels, 10, 50, np.random.default_rng(0), reverse=True)])
    assert (kept[9], kept[0]) == (3884, 77)


def test_the_symbols_of_hwf_follow_the_released_order() -> None:
    symbols = [1792, 6214, 6194, 2455, 1632, 1001, 795, 747, 727, 727, 5409, 7934, 596]
    train = np.array([count - round(0.3 * count) for count in symbols])
    labels = np.repeat(np.arange(13), train)
    order = (0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9)
    kept = np.bincount(labels[thin(labels, 13, 15, np.random.default_rng(0), order=order)])
    average = Fraction(int(train.sum()), 13)
    assert kept.tolist() == [min(train[k], at_most(average, 15, order.index(k), 12)) for k in range(13)]
    assert round(kept[0] / kept[:10].sum(), 3) == 0.232


def test_the_order_of_the_tail_can_be_given() -> None:
    labels = np.repeat(np.arange(4), 100)
    kept = thin(labels, 4, 8.0, np.random.default_rng(0), order=(2, 0, 3, 1))
    assert np.bincount(labels[kept]).tolist() == [50, 12, 100, 25]
    labels = np.repeat(np.arange(4), [100, 200, 50, 50])
    kept = thin(labels, 4, 8.0, np.random.default_rng(0), order=(2, 0, 3, 1))  # the head has less than the average
    assert np.bincount(labels[kept]).tolist() == [50, 12, 50, 25]
    with pytest.raises(InvalidInput, match="order: expected each of the classes 0 to 3 once"):
        thin(labels, 4, 8.0, np.random.default_rng(0), order=(0, 1, 2))


def test_a_class_left_without_images_is_named() -> None:
    with pytest.raises(
        InvalidInput,
        match=r"rho: expected a long tail that leaves images .*average one has 500\), got 1000, which empties class 9",
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
    assert set(vars(samples)) == {"train", "train_weak", "validation", "validation_weak", "test", "test_tuples"}


def test_formulas_draw_digits_and_operators_from_their_own_pools() -> None:
    source, sigma = balanced(classes=13), nslimb.sigma.formula(5)
    samples, gold = draw_samples(source, sigma, 300, seed=1, rho=15, order=(0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9))
    assert (gold.train[:, ::2] < 10).all()
    assert (gold.train[:, 1::2] >= 10).all()
    assert (samples.train_weak >= 0).all()
    assert gold.ratios.shape == (5, 13)
    np.testing.assert_allclose(gold.ratios.sum(axis=1), 1)
    assert gold.ratios[0, 10:].sum() == 0


@pytest.mark.parametrize("sigma", [nslimb.sigma.maximum(3), nslimb.sigma.formula(5)], ids=["max", "hwf"])
def test_test_tuples_are_drawn_from_the_thinned_test_images(sigma: nslimb.Sigma) -> None:
    source = balanced(classes=sigma.num_classes)
    samples, gold = draw_samples(source, sigma, 50, seed=1, rho=5)
    assert samples.test_tuples.shape == (-(-len(samples.test) // sigma.arity), sigma.arity)
    assert np.isin(samples.test_tuples, samples.test).all()
    assert len(np.unique(samples.test_tuples)) > 0.4 * len(samples.test)
    np.testing.assert_array_equal(gold.test_tuples, source.labels[samples.test_tuples])
    assert (sigma.apply(gold.test_tuples) >= 0).all()
    other, _ = draw_samples(source, sigma, 50, seed=1, rho=5, validation=7)
    np.testing.assert_array_equal(other.test_tuples, samples.test_tuples)


def test_validation_samples_can_be_split_off_the_training_samples() -> None:
    source, sigma = balanced(), nslimb.sigma.maximum(3)
    samples, gold = draw_samples(source, sigma, 5000, seed=1, rho=5, validation=100, validation_from="split")
    assert samples.train.shape == gold.train.shape == (4900, 3)
    assert samples.validation.shape == (100, 3)
    np.testing.assert_array_equal(gold.train, source.labels[samples.train])
    np.testing.assert_array_equal(samples.train_weak, gold.train.max(axis=1))
    np.testing.assert_array_equal(samples.validation_weak, source.labels[samples.validation].max(axis=1))
    # Nothing is held out: both parts use every image that the long tail leaves.
    used = np.unique(source.labels[np.unique(samples.train)], return_counts=True)[1]
    np.testing.assert_allclose(used / used.sum(), gold.ratios)
    assert np.isin(samples.validation, samples.train).all()
    more, _ = draw_samples(source, sigma, 5000, seed=1, rho=5, validation=200, validation_from="split")
    drawn = [np.concatenate([part.train, part.validation]) for part in (samples, more)]
    np.testing.assert_array_equal(*drawn)


def test_validation_samples_can_be_drawn_from_the_training_images() -> None:
    source, sigma = balanced(), nslimb.sigma.maximum(3)
    samples, gold = draw_samples(source, sigma, 500, seed=1, rho=5, validation=400, validation_from="drawn")
    whole, _ = draw_samples(source, sigma, 500, seed=1, rho=5, validation=100, validation_from="split")
    assert samples.train.shape == gold.train.shape == (500, 3)
    np.testing.assert_array_equal(samples.train, np.concatenate([whole.train, whole.validation]))
    np.testing.assert_array_equal(samples.validation_weak, source.labels[samples.validation].max(axis=1))
    assert samples.validation.shape == (400, 3)
    assert not np.array_equal(samples.validation, samples.train[:400])
    assert np.isin(samples.validation, samples.train).mean() > 0.5


def test_the_tail_can_be_told_by_the_names_of_classes() -> None:
    source = named("cat", "ant", "bee")
    sigma = nslimb.Sigma.from_function(max, num_classes=3, arity=2)
    by_name, _ = draw_samples(source, sigma, 50, seed=1, rho=4, order=("bee", "cat", "ant"))
    for order in ((2, 0, 1), [2, "cat", 1], np.array([2, 0, 1])):
        by_number, gold = draw_samples(source, sigma, 50, seed=1, rho=4, order=order)  # type: ignore[arg-type]
        np.testing.assert_array_equal(by_number.train, by_name.train)
        np.testing.assert_array_equal(by_number.test, by_name.test)
    assert gold.ratios.argsort().tolist() == [1, 0, 2]


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
        assert sorted(stored) == ["test", "test_tuples", "train", "train_weak", "validation", "validation_weak"]


def test_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    with pytest.raises(DataError, match=r"samples\.npz: cannot be opened \(.*No such file"):
        load_samples(path)
    np.savez(path, train=np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError, match=r"samples\.npz: expected an npz file with train, .*draw the samples again"):
        load_samples(path)


@pytest.mark.parametrize("read", [load_samples, load_gold])
def test_files_of_an_earlier_version_are_to_be_drawn_again(tmp_path: Path, read: Callable[[Path], object]) -> None:
    drawn = draw_samples(balanced(), nslimb.sigma.maximum(2), 5, 1)[read is load_gold]
    whole = vars(drawn)
    np.savez(tmp_path / "old.npz", **{name: whole[name] for name in whole if name != "test_tuples"})
    with pytest.raises(BrokenFile, match=r"old\.npz: .*test_tuples is not a file.*draw the samples again"):
        read(tmp_path / "old.npz")


def test_samples_need_no_test_tuples(tmp_path: Path) -> None:
    drawn, _ = draw_samples(balanced(), nslimb.sigma.maximum(2), 5, 1)
    without = Samples(drawn.train, drawn.train_weak, drawn.validation, drawn.validation_weak, drawn.test)
    save(without, tmp_path / "samples.npz")
    assert load_samples(tmp_path / "samples.npz").test_tuples.shape == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 0}, "number: expected an integer of at least 1"),
        ({"validation": 0}, "validation: expected an integer of at least 1"),
        (
            {"sigma": nslimb.sigma.formula(3)},
            r"expected the 13 classes of sigma \(0, .*\), got toy with 10 classes \(0",
        ),
        ({"source": named("b", "a"), "sigma": CHOICE}, r"2 classes of sigma \(a, b\), got toy with 2 classes \(b, a\)"),
        ({"validation_from": "test"}, "validation_from: expected one of held-out, drawn, split, got 'test'"),
        ({"validation_from": "split", "validation": 10}, "validation: expected fewer than the 10 samples"),
        (
            {"order": ("0", "1")},
            r"order: expected each of the classes once, by name or number: 0, 1, .*, got \('0', '1'\)",
        ),
        ({"order": (*range(9), 8)}, "order: expected each of the classes once"),
        ({"order": (*range(9), "ten")}, "order: expected each of the classes once, .*'ten'"),
        ({"order": (*range(9), 9.0)}, "order: expected each of the classes once"),
        ({"order": "0123456789"}, "order: expected each of the classes once"),
        ({"order": 3}, "order: expected each of the classes once"),
        ({"rho": -5.0}, "rho: expected"),
    ],
)
def test_bad_requests_are_refused(options: dict[str, object], message: str) -> None:
    arguments = {"source": balanced(), "sigma": nslimb.sigma.maximum(3), "number": 10, "seed": 1, **options}
    with pytest.raises(InvalidInput, match=message):
        draw_samples(**arguments)  # type: ignore[arg-type]


def test_wrong_weak_labels_are_a_share_of_others_and_nothing_else_changes() -> None:
    source, sigma = balanced(), nslimb.sigma.maximum(2)
    clean, gold = draw_samples(source, sigma, 4000, seed=1)
    noisy, same_gold = draw_samples(source, sigma, 4000, seed=1, noise=0.5)
    np.testing.assert_array_equal(clean.train, noisy.train)
    np.testing.assert_array_equal(gold.train, same_gold.train)
    wrong = clean.train_weak != noisy.train_weak
    assert abs(wrong.mean() - 0.5) < 4 * np.sqrt(0.5 * 0.5 / 4000)  # were the same label drawn again, 0.45
    assert (clean.validation_weak != noisy.validation_weak).any()
    moved = (noisy.train_weak - clean.train_weak)[wrong] % 10  # each of the nine others is as likely as any
    assert np.abs(np.bincount(moved, minlength=10)[1:] / len(moved) - 1 / 9).max() < 0.05


@pytest.mark.parametrize("noise", [-0.1, 1.0, float("nan")])
def test_a_share_of_wrong_labels_out_of_range_is_refused(noise: float) -> None:
    with pytest.raises(InvalidInput, match="noise"):
        draw_samples(balanced(), nslimb.sigma.maximum(2), 10, seed=1, noise=noise)


def test_one_weak_label_alone_cannot_be_wrong() -> None:
    with pytest.raises(InvalidInput, match="noise"):
        draw_samples(balanced(), nslimb.Sigma.from_function(lambda y: 0, 10, 2), 10, seed=1, noise=0.1)
