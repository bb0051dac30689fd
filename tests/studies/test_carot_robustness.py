"""CAROT with wrong ratios: numbers as from single calls, worse with distance."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import nslimb
from nslimb.errors import InvalidInput
from nslimb.experiment.studies.carot_robustness import carot_robustness
from nslimb.metrics import kullback_leibler

TRUTH = np.array([0.6, 0.3, 0.1])


def problem(samples: int = 600) -> tuple[torch.Tensor, np.ndarray]:
    """Scores that lean towards the last class, which is rare."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, p=TRUTH, size=samples)
    logits = rng.normal(size=(samples, 3)) + 1.5 * np.eye(3)[labels] + [0, 0, 1.5]
    return torch.from_numpy(logits).log_softmax(-1), labels


def test_it_is_carot_for_each_vector() -> None:
    scores, labels = problem()
    found = carot_robustness(scores, labels, TRUTH, eta=0.5, tau=5.0, number=12)
    for ratios, divergence, accuracy in zip(found.ratios, found.divergence, found.accuracy, strict=True):
        predicted = nslimb.carot(scores, ratios, 0.5, 5.0).scores.argmax(1).numpy()
        assert accuracy == pytest.approx((predicted == labels).mean())
        assert divergence == pytest.approx(kullback_leibler(TRUTH, ratios))
    assert found.unadjusted == pytest.approx((scores.argmax(1).numpy() == labels).mean())
    assert found.with_truth == pytest.approx(
        (nslimb.carot(scores, TRUTH, 0.5, 5.0).scores.argmax(1).numpy() == labels).mean()
    )


def test_distances_vary_and_hurt() -> None:
    scores, labels = problem()
    found = carot_robustness(scores, labels, TRUTH, eta=0.1, tau=100.0, number=100, seed=2)
    assert found.converged.all()
    np.testing.assert_allclose(found.ratios.sum(axis=1), 1)
    assert found.divergence.min() < 1e-3 < 0.5 < found.divergence.max()
    near, far = found.divergence < 0.01, found.divergence > 0.5
    assert found.with_truth > found.unadjusted
    assert found.accuracy[near].mean() == pytest.approx(found.with_truth, abs=0.02)
    assert found.accuracy[far].mean() < found.accuracy[near].mean() - 0.05


def test_a_seed_fixes_it() -> None:
    scores, labels = problem(50)
    first, same, other = (carot_robustness(scores, labels, TRUTH, 1.0, 1.0, number=5, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.ratios, same.ratios)
    assert not np.array_equal(first.ratios, other.ratios)


def test_a_class_that_does_not_occur_stays_out() -> None:
    scores, _ = problem(50)
    found = carot_robustness(scores, np.zeros(50, dtype=int), [0.7, 0.3, 0.0], 1.0, 1.0, number=5)
    assert (found.ratios[:, 2] == 0).all()
    assert np.isfinite(found.divergence).all()


@pytest.mark.parametrize("labels", [[0, 1], [3] * 20, [0.5] * 20])
def test_bad_labels(labels: list[float]) -> None:
    scores, _ = problem(20)
    with pytest.raises(InvalidInput, match="labels"):
        carot_robustness(scores, labels, TRUTH, 1.0, 1.0, number=2)
