"""Metrics before and after adjustment."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import nslimb
from nslimb.adjustment.evaluation import evaluate_adjustments
from nslimb.metrics import evaluate


def test_every_adjustment_is_evaluated_with_its_setting() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=4)
    generator = torch.Generator().manual_seed(0)

    def leaning(labels: torch.Tensor) -> torch.Tensor:
        logits = 2.5 * torch.nn.functional.one_hot(labels, 4) + torch.randn(*labels.shape, 4, generator=generator)
        logits[..., 0] += 2.0
        return logits.log_softmax(-1)

    validation = torch.randint(4, (256, 2), generator=generator)
    test = torch.randint(4, (400,), generator=generator)
    test_scores = leaning(test)
    found = evaluate_adjustments(
        test_scores, test.numpy(), leaning(validation), sigma.apply(validation).numpy(), sigma, np.full(4, 0.25)
    )
    assert list(found) == ["none", "la", "carot"]
    assert found["none"]["accuracy"] == evaluate(test_scores.exp().numpy(), test.numpy())["accuracy"]
    assert found["carot"]["chosen"] == "carot"
    assert found["carot"]["accuracy"] > found["none"]["accuracy"] + 0.05
    # With uniform ratios logit adjustment can do nothing, and says so.
    assert found["la"]["chosen"] == "none"
    assert found["la"]["accuracy"] == found["none"]["accuracy"]
    assert found["carot"]["validation_weak_accuracy"] >= found["none"]["validation_weak_accuracy"]


def test_ratios_by_position_are_averaged_for_single_images() -> None:
    sigma = nslimb.sigma.formula(3)
    generator = torch.Generator().manual_seed(0)
    labels = torch.tensor([[1, 10, 2], [3, 12, 4]]).repeat(32, 1)
    scores = (3 * torch.nn.functional.one_hot(labels, 13) + torch.randn(64, 3, 13, generator=generator)).log_softmax(-1)
    ratios = np.zeros((3, 13))
    ratios[[0, 2], :10], ratios[1, 10:] = 0.1, 1 / 3
    flat, gold = scores.flatten(0, 1), labels.flatten().numpy()
    found = evaluate_adjustments(flat, gold, scores, sigma.apply(labels).numpy(), sigma, ratios)
    assert found["none"]["accuracy"] == pytest.approx((flat.argmax(-1).numpy() == gold).mean())
