"""Other names of the classes: the search against all permutations, and the method that renames."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning import make_method
from nslimb.learning.naming import best_naming
from nslimb.networks import Classifier


def value_by_hand(sigma: nslimb.Sigma, scores: torch.Tensor, weak: list[int], ratios: np.ndarray, order: Any) -> float:
    """The sum over samples and positions, every label vector listed."""
    renamed = scores.double().exp().numpy()[..., list(order)]
    total = 0.0
    for sample, label in zip(renamed, weak, strict=True):
        explaining = [
            math.prod(sample[i][y] for i, y in enumerate(vector))
            for vector in itertools.product(range(sigma.num_classes), repeat=sigma.arity)
            if int(sigma.apply([vector])[0]) == label
        ]
        total += max(math.log(max(sum(explaining), 1e-300)), -10.0)
    mean = renamed.mean(axis=0)
    pooled = np.broadcast_to(mean.mean(axis=0), mean.shape) if ratios.ndim == 1 else mean
    return total - len(weak) * float((pooled * np.log(pooled / ratios)).sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), arity=st.integers(1, 2), apart=st.booleans())
def test_the_best_names_of_all(seed: int, arity: int, apart: bool) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (4,) * arity)
    sigma = nslimb.Sigma.from_function(lambda y: int(table[y]), num_classes=4, arity=arity)
    labels = rng.integers(0, 4, (12, arity))
    weak = sigma.apply(labels)
    scores = torch.from_numpy(rng.normal(0, 2, (12, arity, 4))).log_softmax(-1)
    ratios = rng.dirichlet(np.full(4, 5.0), arity if apart else None)
    found = best_naming(scores, torch.as_tensor(weak), sigma, torch.from_numpy(ratios), starts=24)
    values = {
        order: value_by_hand(sigma, scores, list(weak), ratios, order) for order in itertools.permutations(range(4))
    }
    same = values[0, 1, 2, 3]
    assert values[tuple(found.order.tolist())] == pytest.approx(max(values.values()), abs=1e-4)
    assert found.gain == pytest.approx(max(values.values()) - same, abs=1e-4)


def misnamed(number: int = 200) -> tuple[nslimb.Sigma, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores of a network that tells six digits apart and takes each for the next one, all equally often."""
    sigma = nslimb.Sigma.from_function(lambda y: y[0] * y[1] - y[0], num_classes=6, arity=2)
    labels = torch.randint(6, (number, 2), generator=torch.Generator().manual_seed(1))
    said = (labels + 1) % 6
    scores = (torch.nn.functional.one_hot(said, 6) * 0.9 + 0.1 / 6).log()
    return sigma, scores, labels, torch.as_tensor(sigma.apply(labels))


def test_a_network_that_misnames_classes_is_understood() -> None:
    sigma, scores, labels, weak = misnamed()
    found = best_naming(scores, weak, sigma, torch.full((6,), 1 / 6))
    assert torch.equal(scores[..., found.order].argmax(-1), labels)
    assert found.gain > 100
    right = best_naming(scores[..., found.order], weak, sigma, torch.full((6,), 1 / 6))
    assert (right.order.tolist(), right.gain) == (list(range(6)), 0.0)


def test_ratios_tell_names_that_weak_labels_do_not() -> None:
    """A parity: swapped bits explain it as well, and have other ratios."""
    sigma = nslimb.Sigma.from_function(lambda y: y[0] ^ y[1], num_classes=2, arity=2)
    labels = torch.rand(200, 2, generator=torch.Generator().manual_seed(1)).lt(0.2).long()
    scores = (torch.nn.functional.one_hot(1 - labels, 2) * 0.9 + 0.05).log()
    weak = torch.as_tensor(sigma.apply(labels))
    assert best_naming(scores, weak, sigma, torch.tensor([0.8, 0.2])).order.tolist() == [1, 0]
    assert best_naming(scores, weak, sigma, torch.tensor([0.5, 0.5])).order.tolist() == [0, 1]


def test_digits_and_operators_keep_apart() -> None:
    sigma = nslimb.sigma.formula(3)
    scores = torch.randn(40, 3, 13, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    weak = torch.as_tensor(sigma.apply(torch.tensor([[1, 10, 2]] * 40)))
    order = best_naming(scores, weak, sigma, torch.full((13,), 1 / 13), starts=2).order
    assert sorted(order[:10].tolist()) == list(range(10))
    assert sorted(order[10:].tolist()) == [10, 11, 12]


def method_and_network(**chosen: Any) -> tuple[Any, Classifier, torch.Tensor, torch.Tensor]:
    sigma, scores, labels, weak = misnamed()
    tuples = np.arange(400).reshape(200, 2)
    none = np.empty((0, 2), dtype=np.int64)
    samples = Samples(tuples, weak.numpy(), none, np.empty(0, dtype=np.int64), np.arange(4), none)
    method = make_method("transport-named", sigma, given_ratios=[1 / 6] * 6, **chosen)
    network = Classifier(torch.nn.Flatten(), torch.nn.Linear(3, 6))
    method.begin(samples)
    method.begin_network(network)
    return method, network, scores, labels


def test_the_method_renames_where_that_explains_more() -> None:
    method, network, scores, _ = method_and_network(rename_after=(2,))
    weight, bias = (rows.detach().clone() for rows in (network.head.weight, network.head.bias))
    method.end_epoch(0, lambda indices: scores)
    assert torch.equal(network.head.weight, weight)
    method.end_epoch(1, lambda indices: scores)
    order = [1, 2, 3, 4, 5, 0]  # label j has what was called j + 1
    assert torch.equal(network.head.weight, weight[order])
    assert torch.equal(network.head.bias, bias[order])
    method.end_epoch(1, lambda indices: scores[..., order])
    assert torch.equal(network.head.weight, weight[order])


def test_chance_renames_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    method, network, scores, _ = method_and_network(rename_after=(1,))
    monkeypatch.setattr("nslimb.learning.methods.transport_named._LEAST_GAIN", 1e6)
    weight = network.head.weight.detach().clone()
    method.end_epoch(0, lambda indices: scores)
    assert torch.equal(network.head.weight, weight)


def test_epochs_to_rename_after_are_checked() -> None:
    with pytest.raises(InvalidInput, match="rename_after: expected an integer of at least 1, got 0"):
        method_and_network(rename_after=(0,))
