"""RECORDS against its definition written out."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nslimb import Records
from nslimb.errors import InvalidInput


def batches() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(4, 3, 5, generator=generator) for _ in range(3)]


def head() -> nn.Linear:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Linear(5, 7)


def test_training_and_prediction_are_debiased_by_the_prior_of_the_mean_feature() -> None:
    layer, records = head(), Records(momentum=0.8)
    mean = None
    for features in batches():
        batch = features.reshape(-1, 5).mean(0)
        mean = batch if mean is None else 0.8 * mean + 0.2 * batch
        prior = torch.softmax(layer(mean), -1).detach()
        debiased = records.train(layer(features), features, layer)
        torch.testing.assert_close(debiased, layer(features) - prior.log())
        torch.testing.assert_close(records.predict(layer(features), layer), layer(features) - prior.log())


def test_no_gradient_flows_through_the_prior() -> None:
    layer, records = head(), Records()
    features = batches()[0].requires_grad_()
    records.train(layer(features), features, layer).sum().backward()
    torch.testing.assert_close(features.grad, layer.weight.sum(0).expand_as(features))


def test_the_released_behaviour_debiases_predictions_only() -> None:
    layer, records = head(), Records(momentum=0.9, debias_training=False)
    first = batches()[0]
    logits = layer(first)
    assert records.train(logits, first, layer) is logits
    prior = torch.softmax(layer(0.1 * first.reshape(-1, 5).mean(0)), -1)
    torch.testing.assert_close(records.predict(logits, layer), logits - prior.log())


def test_before_training_predictions_stay() -> None:
    layer = head()
    logits = layer(batches()[0])
    assert Records().predict(logits, layer) is logits
    with pytest.raises(InvalidInput, match="RECORDS: expected a training batch"):
        Records().log_prior(layer)


def test_it_goes_on_from_a_checkpoint() -> None:
    layer, records, other = head(), Records(), Records()
    first, second, _ = batches()
    records.train(layer(first), first, layer)
    other.load_state_dict(records.state_dict())
    assert torch.equal(records.train(layer(second), second, layer), other.train(layer(second), second, layer))


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"momentum: expected a number from 0 to below 1, got 1\.0"):
        Records(momentum=1.0)
    with pytest.raises(InvalidInput, match=r"features: expected .* logits \[4, 3, 7\], got shape \[4, 5\]"):
        Records().train(torch.zeros(4, 3, 7), torch.zeros(4, 5), head())
