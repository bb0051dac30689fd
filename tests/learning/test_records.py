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


@pytest.mark.parametrize(
    ("debias", "training", "prediction"),
    [("both", True, True), ("train", True, False), ("predict", False, True), ("none", False, False)],
)
def test_where_logits_are_debiased_is_a_setting(debias: str, training: bool, prediction: bool) -> None:
    layer, records = head(), Records(debias=debias)
    first = batches()[0]
    logits = layer(first)
    debiased = logits - (torch.softmax(layer(first.reshape(-1, 5).mean(0)), -1) + 1e-9).log()
    torch.testing.assert_close(records.train(logits, first, layer), debiased if training else logits)
    torch.testing.assert_close(records.predict(logits, layer), debiased if prediction else logits)


def test_no_class_is_debiased_without_bound() -> None:
    """A prior of e^-2000 counts as 1e-9: 20.7, not 2,000."""
    layer, records = nn.Linear(1, 2, bias=False), Records()
    layer.weight.data.copy_(torch.tensor([[0.0], [1000.0]]))
    features = torch.full((4, 1), 2.0)
    records.train(layer(features), features, layer)
    torch.testing.assert_close(records.log_prior(layer), torch.tensor([1e-9, 1.0]).log())


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
    with pytest.raises(InvalidInput, match="debias: expected one of both, train, predict, none, got 'always'"):
        Records(debias="always")
    with pytest.raises(InvalidInput, match=r"features: expected .* logits \[4, 3, 7\], got shape \[4, 5\]"):
        Records().train(torch.zeros(4, 3, 7), torch.zeros(4, 5), head())
