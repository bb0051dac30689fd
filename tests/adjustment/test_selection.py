"""Logit adjustment, and the choice of settings by weak accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import adjust, carot, logit_adjustment, select
from nslimb.adjustment import selection
from nslimb.errors import InvalidInput


def test_logit_adjustment_subtracts_the_log_ratios() -> None:
    scores = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    ratios = [0.4, 0.3, 0.2, 0.1]
    adjusted = logit_adjustment(scores, ratios, 0.7)
    expected = scores - 0.7 * torch.tensor(ratios, dtype=torch.float64).log()
    torch.testing.assert_close(adjusted, expected.log_softmax(-1))
    torch.testing.assert_close(logit_adjustment(scores, ratios, 0.0), scores)
    many = logit_adjustment(scores, ratios, [0.7, 1e4])
    assert many.shape == (2, 20, 4)
    torch.testing.assert_close(many[0], adjusted)
    assert (many[1].argmax(-1) == 3).all()


def test_a_class_of_ratio_zero_is_never_predicted() -> None:
    adjusted = logit_adjustment(torch.tensor([[0.1, 0.8, 0.1]]).log(), [0.5, 0.0, 0.5], 1.0)
    torch.testing.assert_close(adjusted.exp(), torch.tensor([[0.5, 0.0, 0.5]]))


def test_adjustment_survives_certain_scores_tiny_ratios_and_large_tau() -> None:
    certain = torch.tensor([[float("-inf"), 0.0]])
    torch.testing.assert_close(logit_adjustment(certain, [1.0, 0.0], 1.0).exp(), torch.tensor([[1.0, 0.0]]))
    for dtype in (torch.float32, torch.float64):
        tiny = logit_adjustment(torch.zeros(1, 2, dtype=dtype), [1e-46, 1.0], 1.0)
        assert tiny.argmax() == 0
    scores = torch.randn(2000, 10, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    assert torch.equal(logit_adjustment(scores, [0.1] * 10, 1e4).argmax(-1), scores.argmax(-1))


def test_a_setting_that_is_not_solved_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    sigma, scores, weak, ratios = biased_problem()

    def unsolved(*arguments: Any, **options: Any) -> Any:
        found = carot(*arguments, **options)
        return found._replace(converged=torch.zeros_like(found.converged))

    monkeypatch.setattr(selection, "carot", unsolved)
    chosen = select(scores, weak, sigma, ratios, "carot")
    assert chosen.method == "none"
    assert (chosen.accuracies == chosen.baseline).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": -1.0}, "tau: expected finite numbers of at least 0"),
        ({"tau": float("nan")}, "tau: expected finite numbers of at least 0"),
        ({"ratios": [0.5, 0.5, 0.5]}, "ratios: .* 2 numbers"),
        ({"log_scores": torch.zeros(2, 2) * float("nan")}, "log_scores: .* NaN"),
    ],
)
def test_bad_input_to_logit_adjustment_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        logit_adjustment(**{"log_scores": torch.zeros(2, 2), "ratios": [0.5, 0.5], "tau": 1.0, **options})


def biased_problem() -> tuple[nslimb.Sigma, torch.Tensor, torch.Tensor, np.ndarray]:
    """A classifier that leans to class 0 by 2 nats, on labels that do not."""
    sigma = nslimb.sigma.maximum(2, num_classes=4)
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (256, 2), generator=generator)
    logits = 2.5 * torch.nn.functional.one_hot(labels, 4) + torch.randn(256, 2, 4, generator=generator)
    logits[..., 0] += 2.0
    return sigma, logits.log_softmax(-1), sigma.apply(labels), np.full(4, 0.25)


def test_carot_is_chosen_where_it_helps_and_the_whole_grid_is_returned() -> None:
    sigma, scores, weak, ratios = biased_problem()
    chosen = select(scores, weak, sigma, ratios, "carot")
    assert chosen.method == "carot"
    assert chosen.accuracy > chosen.baseline + 0.05
    assert chosen.accuracies.shape == (10, 20)
    assert chosen.accuracy == pytest.approx(chosen.accuracies.max().item())
    i, j = chosen.etas.tolist().index(chosen.eta), chosen.taus.tolist().index(chosen.tau)
    assert chosen.accuracies[i, j].item() == pytest.approx(chosen.accuracy)
    by_hand = carot(scores.reshape(-1, 4), ratios, chosen.eta, chosen.tau).scores.argmax(-1).view(256, 2)
    assert (sigma.apply(by_hand) == weak).double().mean().item() == pytest.approx(chosen.accuracy)
    assert torch.equal(adjust(scores, ratios, chosen).argmax(-1), by_hand)
    assert adjust(scores.reshape(-1, 4), ratios, chosen).shape == (512, 4)


def test_la_is_chosen_by_weak_accuracy() -> None:
    sigma, scores, weak, _ = biased_problem()
    leaning = [0.7, 0.1, 0.1, 0.1]
    chosen = select(scores, weak, sigma, leaning, "la", taus=[0.1, 1.0, 100.0])
    accuracies = [
        (sigma.apply(logit_adjustment(scores.reshape(-1, 4), leaning, tau).argmax(-1).view(256, 2)) == weak)
        .double()
        .mean()
        .item()
        for tau in (0.1, 1.0, 100.0)
    ]
    assert chosen.accuracies.tolist() == pytest.approx(accuracies)
    assert (chosen.method, chosen.tau, chosen.eta) == ("la", 1.0, None)
    torch.testing.assert_close(
        adjust(scores, leaning, chosen), logit_adjustment(scores.reshape(-1, 4), leaning, 1.0).view(256, 2, 4)
    )


@pytest.mark.parametrize("method", ["la", "carot"])
def test_nothing_is_chosen_where_nothing_helps(method: Any) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    labels = torch.randint(3, (50, 2), generator=torch.Generator().manual_seed(1))
    certain = (10.0 * torch.nn.functional.one_hot(labels, 3)).log_softmax(-1)
    chosen = select(certain, sigma.apply(labels), sigma, [0.8, 0.1, 0.1], method)
    assert (chosen.method, chosen.eta, chosen.tau) == ("none", None, None)
    assert chosen.accuracy == chosen.baseline == 1.0
    assert adjust(certain, [0.8, 0.1, 0.1], chosen) is certain


def test_ties_go_to_the_setting_that_changes_least() -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=3)
    scores = torch.tensor([[[0.50, 0.49, 0.01]], [[0.98, 0.01, 0.01]]]).log()
    # Either tau mends the first sample; the larger one also turns the second, wrongly before and after.
    chosen = select(scores, [1, 2], sigma, [0.9, 0.05, 0.05], "la", taus=[3.0, 0.5, 1.0])
    assert chosen.accuracies.tolist() == [0.5, 0.5, 0.5]
    assert chosen.tau == 0.5


def test_ratios_may_differ_by_position() -> None:
    sigma = nslimb.sigma.formula(3)
    generator = torch.Generator().manual_seed(0)
    labels = torch.stack(
        [
            torch.randint(10, (64,), generator=generator),
            torch.randint(10, 13, (64,), generator=generator),
            torch.randint(10, (64,), generator=generator),
        ],
        1,
    )
    scores = (2 * torch.nn.functional.one_hot(labels, 13) + torch.randn(64, 3, 13, generator=generator)).log_softmax(-1)
    ratios = np.zeros((3, 13))
    ratios[[0, 2], :10], ratios[1, 10:] = 0.1, 1 / 3
    for method in ("la", "carot"):
        chosen = select(scores, sigma.apply(labels), sigma, ratios, method, taus=[0.5, 1.0])  # type: ignore[arg-type]
        assert chosen.accuracy > chosen.baseline
        assert (sigma.apply(adjust(scores, ratios, chosen).argmax(-1)) >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "temperature"}, "method: expected 'la' or 'carot', got 'temperature'"),
        ({"taus": []}, "taus: expected finite numbers above 0"),
        ({"taus": 1.0}, "taus: expected a sequence of numbers"),
        ({"method": "carot", "etas": [0.0]}, "etas: expected finite numbers above 0"),
        ({"log_scores": torch.zeros(0, 2, 3), "weak": []}, "log_scores: expected at least one validation sample"),
        ({"weak": [7]}, "weak: expected"),
        ({"ratios": [0.5, 0.5]}, "ratios: expected"),
        ({"sigma": None}, "sigma: expected a Sigma"),
    ],
)
def test_bad_input_to_select_is_refused(options: dict[str, Any], message: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    arguments = {"log_scores": torch.zeros(1, 2, 3), "weak": [0], "sigma": sigma, "ratios": [1 / 3] * 3, "method": "la"}
    with pytest.raises(InvalidInput, match=message):
        select(**{**arguments, **options})
