"""All runs at once are what each run is alone, with true ratios of its own; the paper's settings do as it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import nslimb
from nslimb.errors import InvalidInput
from nslimb.experiment.studies.sensitivity import sensitivity
from nslimb.marginals import AdamOptions
from nslimb.seeds import numpy_generator
from nslimb.theory.identify import weak_ratios

RATIOS = np.array([0.1, 0.2, 0.3, 0.4])
PARTIAL = nslimb.Sigma.from_function(lambda y: None if y == (0, 0) else sum(y), num_classes=4, arity=2)


@pytest.mark.parametrize(
    "sigma",
    [nslimb.sigma.maximum(3, num_classes=4), nslimb.sigma.total(2, num_classes=4), PARTIAL],
    ids=["MAX-3", "SUM-2", "partial"],
)
@pytest.mark.parametrize("given", [None, RATIOS], ids=["random", "given"])
def test_every_run_is_the_same_alone(sigma: nslimb.Sigma, given: np.ndarray | None) -> None:
    rates, temperatures = (0.1, 0.003), (0.5, 2.0)
    found = sensitivity(sigma, given, learning_rates=rates, temperatures=temperatures, starts=3, steps=150, seed=4)
    initial = numpy_generator(4, "sensitivity", "starts").standard_normal((2, 2, 3, 4))
    for i, rate in enumerate(rates):
        for j, temperature in enumerate(temperatures):
            truth = found.truth[i, j]
            for k, start in enumerate(initial[i, j]):
                options = AdamOptions(rate, temperature, torch.from_numpy(start), 150)
                shares = 1e9 * weak_ratios(sigma, truth)
                alone = nslimb.estimate_marginal(shares, sigma, counts=True, solver="adam", adam=options)
                np.testing.assert_allclose(found.ratios[i, j, k], alone.ratios, atol=1e-9)
                distance = 0.5 * np.abs(alone.ratios.numpy() - truth).sum()
                assert found.total_variation[i, j, k] == pytest.approx(distance, abs=1e-9)
    np.testing.assert_allclose(found.mean, found.total_variation.mean(axis=2))
    np.testing.assert_allclose(found.variance, found.total_variation.var(axis=2))
    if given is not None:
        np.testing.assert_allclose(found.truth, np.broadcast_to(given, (2, 2, 4)))


def test_every_run_draws_true_ratios_of_its_own() -> None:
    settings = {"starts": 1, "steps": 1}
    first, same, other = (sensitivity(nslimb.sigma.maximum(2), seed=seed, **settings) for seed in (1, 1, 2))
    assert first.truth.shape == (4, 5, 10)
    np.testing.assert_allclose(first.truth.sum(axis=-1), 1)
    assert len(np.unique(first.truth[..., 0])) == 20
    np.testing.assert_array_equal(first.truth, same.truth)
    assert not np.isclose(first.truth, other.truth).any()
    # Uniform on the simplex of three classes: each ratio has mean 1 / 3 and variance 1 / 18.
    runs = {"learning_rates": [0.1] * 10, "temperatures": [1.0] * 20}
    many = sensitivity(nslimb.sigma.maximum(1, num_classes=3), **runs, **settings).truth
    np.testing.assert_allclose(many.mean(axis=(0, 1)), 1 / 3, atol=4 * np.sqrt(1 / 18 / 200))
    np.testing.assert_allclose(many.var(axis=(0, 1)), 1 / 18, rtol=0.35)


def test_labels_that_sigma_does_not_accept_stay_at_zero() -> None:
    sigma = nslimb.Sigma.from_function(lambda y: max(y) if 3 not in y else None, num_classes=4, arity=2)
    found = sensitivity(sigma, [0.3, 0.3, 0.3, 0.1], learning_rates=[0.1], temperatures=[1.0], starts=2, steps=50)
    assert (found.ratios[..., 3] == 0).all()


def test_newton_needs_no_settings() -> None:
    found = sensitivity(nslimb.sigma.maximum(3), np.full(10, 0.1), starts=2, steps=500)
    assert found.newton < 1e-5
    assert found.newton < found.mean.min()
    assert found.mean[0, 2] < 0.01 < found.mean[3, 4]  # a rate of 0.1 arrives, one of 0.0001 has hardly begun


@pytest.mark.parametrize(
    "options",
    [{"learning_rates": [0.0]}, {"temperatures": [-1.0]}, {"starts": 0}, {"steps": 0}, {"ratios": [0.5, 0.5, 0, 0]}],
)
def test_bad_input(options: dict[str, object]) -> None:
    given: dict[str, object] = {"sigma": nslimb.sigma.maximum(2, 4), "ratios": RATIOS}
    with pytest.raises(InvalidInput):
        sensitivity(**(given | options))  # type: ignore[arg-type]
