"""What training must show on real data, with the paper's settings and 30 epochs. Minutes, not seconds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb.data import ImageSource, draw_samples, fetch, load
from nslimb.errors import DataError
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.learning import Settings, make_method, predict, train
from nslimb.metrics import evaluate
from nslimb.theory.majority import learned_shortcut

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("claims")]  # they share images and trained models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def real(name: str, folder: Path) -> ImageSource:
    try:
        return fetch(name, folder)
    except DataError as error:
        pytest.skip(f"{name} cannot be had here: {error}")


def result(
    source: ImageSource,
    sigma: nslimb.Sigma,
    folder: Path,
    method: str,
    proofs: int | None = None,
    seed: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """Test metrics of a run of 30 epochs."""
    samples, gold = draw_samples(source, sigma, seed=seed, **options)
    chosen = {} if proofs is None else {"proofs": proofs}
    made = make_method(method, sigma, gold_labels=gold.train, **chosen)
    trained = train(source.images, samples, sigma, made, Settings(epochs=30, seed=seed), folder)
    scores = predict(trained.network, trained.method, torch.from_numpy(source.images), samples.test)
    return evaluate(scores.exp().numpy(), gold.test, gold.ratios)


@pytest.fixture(scope="module")
def max_3(folder: Path) -> Any:
    source, sigma = real("mnist", folder), nslimb.sigma.maximum(3)

    @cache
    def run(method: str, proofs: int | None = None) -> dict[str, Any]:
        return result(source, sigma, folder / f"max-3-{method}-{proofs}", method, number=3000, proofs=proofs)

    return run


def test_exact_semantic_loss_learns_all_digits_from_maxima_of_three(max_3: Any) -> None:
    exact, ceiling = max_3("sl"), max_3("supervised")
    assert exact["accuracy"] >= 0.94
    assert exact["worst_class"] >= 0.8
    assert ceiling["accuracy"] > exact["accuracy"]


def test_one_proof_loses_digits_that_whole_pre_images_keep(max_3: Any) -> None:
    """In 30 epochs of one seed; which digits are lost, and for how long, depends on the seed."""
    recall = max_3("sl", proofs=1)["class_accuracy"]
    assert min(recall) < 0.2
    assert np.mean(recall[4:]) > 0.85


@pytest.mark.parametrize(("seed", "seen"), [(5, 1), (2, 0)])
def test_maxima_of_four_tell_the_zero_only_if_one_is_zero(folder: Path, seed: int, seen: int) -> None:
    """3,000 maxima of four hold 0.3 zeros on average. One is enough; with none, a 0 may as well be called a 1."""
    source, sigma = real("mnist", folder), nslimb.sigma.maximum(4)
    assert (draw_samples(source, sigma, 3000, seed)[0].train_weak == 0).sum() == seen
    found = result(source, sigma, folder / f"max-4-{seed}", "sl", seed=seed, number=3000)
    assert np.mean(found["class_accuracy"][1:]) >= 0.92
    if seen:
        assert found["accuracy"] >= 0.93
    else:
        assert found["class_accuracy"][0] < 0.5


def test_exact_semantic_loss_learns_from_sums_with_a_long_tail(folder: Path) -> None:
    found = result(real("mnist", folder), nslimb.sigma.total(5), folder / "sum-5", "sl", number=2000, rho=50)
    assert found["accuracy"] >= 0.96


def test_smallest_parent_improves_over_chance_within_five_epochs(folder: Path) -> None:
    source, sigma = real("cifar10", folder), nslimb.sigma.smallest_parent()
    samples, _ = draw_samples(source, sigma, 2000, seed=1)
    settings = Settings(network="resnet-narrow", epochs=5)
    trained = train(source.images, samples, sigma, make_method("sl", sigma), settings, folder / "parent")
    shares = np.bincount(samples.validation_weak) / len(samples.validation_weak)
    chance = (shares**2).sum()  # a weak label drawn as often as it occurs
    first, last = trained.history[0], trained.history[-1]
    assert last.validation_weak_accuracy > chance + 0.05
    assert last.train_weak_accuracy > first.train_weak_accuracy
    assert last.loss < first.loss


def of_support(name: str, folder: Path, number: int, epochs: int, method: str, **settings: Any) -> dict[str, Any]:
    """Test metrics on a benchmark with a listed support, of the built-in digits, with the ratios of the support."""
    source, benchmark = load("mnist5k", Path("data")), BENCHMARKS.get(name)
    sigma = benchmark.sigma(2 if name == "half" else 4)
    support = benchmark.occurring(sigma)
    samples, gold = draw_samples(source, sigma, number, seed=1, support=support)
    known = {"given_ratios": gold.ratios} if method == "transport" else {}
    made = make_method(method, sigma, **known, **settings)
    trained = train(source.images, samples, sigma, made, Settings(epochs=epochs, seed=1), folder)
    scores = predict(trained.network, trained.method, torch.from_numpy(source.images), samples.test)
    found = evaluate(scores.exp().numpy(), gold.test, gold.ratios)
    found["reading"] = learned_shortcut(sigma, found["confusion_matrix"], gold.train, samples.train_weak)
    return found


def test_known_ratios_cure_a_shortcut_that_exact_inference_is_on(tmp_path: Path) -> None:
    shortcut = of_support("half", tmp_path / "sl", 1050, 20, "sl")
    assert shortcut["reading"].tolist()[:5] == [0, 1, 5, 0, 1]
    assert shortcut["accuracy"] < 0.5
    cured = of_support("half", tmp_path / "transport", 1050, 20, "transport")
    assert cured["reading"] is None
    assert cured["accuracy"] > 0.93


def test_sharper_pseudolabels_learn_the_bits_of_a_parity(tmp_path: Path) -> None:
    """Either way round, since the ratios are the same: one of the two readings, or its swap."""
    found = of_support("xor", tmp_path / "sharp", 2000, 6, "transport", eta=0.3)
    assert max(found["accuracy"], 1 - found["accuracy"]) > 0.95
    flat = of_support("xor", tmp_path / "flat", 2000, 6, "transport", eta=1.0)
    assert 0.2 < flat["accuracy"] < 0.8
