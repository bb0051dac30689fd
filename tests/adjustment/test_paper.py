"""The paper's CAROT and its rule of choice, against both written out in plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import adjust, carot, logit_adjustment, select
from nslimb.adjustment import Adjustment, Carot, LogitAdjustment
from nslimb.errors import InvalidInput
from nslimb.seeds import torch_generator


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def written_out(
    log_p: list[list[float]], ratios: list[float], eta: float, tau: float, half_iterations: int = 500
) -> list[list[float]]:
    """Algorithm 2 with logarithms for B(u, v): log-scores up to a number a row, which u is."""
    n, c = len(log_p), len(ratios)
    u, v = [0.0] * n, [0.0] * c
    for k in range(1, half_iterations + 1):
        log_b = [[(u[i] + v[j] + log_p[i][j]) / eta for j in range(c)] for i in range(n)]
        if k % 2 == 0:
            column = [log_sum([log_b[i][j] for i in range(n)]) for j in range(c)]
            v = [eta * tau / (eta + tau) * (v[j] / eta + math.log(n * ratios[j]) - column[j]) for j in range(c)]
        else:
            u = [eta * (u[i] / eta - log_sum(log_b[i])) for i in range(n)]
    return [[(v[j] + log_p[i][j]) / eta for j in range(c)] for i in range(n)]


def normalised(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64).softmax(-1)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(-3, 4), st.floats(-5, 4), st.sampled_from([1.0, 5.0, 300.0]))
def test_the_iteration_is_the_one_written_out(seed: int, log_eta: float, log_tau: float, spread: float) -> None:
    """Scores of spread 300 and a small eta: columns of which nothing is left in doubles."""
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(5, 3)) * spread).log_softmax(-1).clamp_min(-1e3)
    ratios = rng.dirichlet(np.ones(3)) * 0.9 + 0.1 / 3
    eta, tau = 10.0**log_eta, 10.0**log_tau
    expected = normalised(written_out(scores.tolist(), ratios.tolist(), eta, tau))
    found = carot(scores, ratios, eta, tau, solver="alternating").scores
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=0)
    applied = Carot("alternating").apply(scores, ratios, [{"eta": eta, "tau": tau}])
    torch.testing.assert_close(applied[0].exp(), expected, atol=1e-7, rtol=0)


@pytest.mark.parametrize("half_iterations", [2, 3, 48, 52, 110])
def test_it_ends_where_it_stands(half_iterations: int) -> None:
    """Also in the middle of the steps that go without a look at who still moves."""
    scores = torch.tensor([[4.0, 0.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, -5.0]], dtype=torch.float64).log_softmax(-1)
    ratios = [0.1, 0.6, 0.3]
    expected = normalised(written_out(scores.tolist(), ratios, 0.1, 100.0, half_iterations))
    found = carot(scores, ratios, 0.1, 100.0, solver="alternating", half_iterations=half_iterations)
    torch.testing.assert_close(found.scores, expected, atol=1e-10, rtol=0)
    assert not found.converged


def test_batches_and_settings_do_not_touch_each_other() -> None:
    batches = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(0)).double().log_softmax(-1)
    ratios, method = [0.6, 0.3, 0.1], Carot("alternating")
    tried = [{"eta": 0.1, "tau": 1e3}, {"eta": 1e4, "tau": 1e-5}, {"eta": 1.0, "tau": 1.0}]
    together = method.apply_batches(batches, ratios, tried)
    assert together.shape == (3, 4, 6, 3)
    for k, setting in enumerate(tried):
        for b in range(4):
            alone = normalised(written_out(batches[b].tolist(), ratios, setting["eta"], setting["tau"]))
            torch.testing.assert_close(together[k, b].exp(), alone, atol=1e-9, rtol=0)


def test_a_class_that_cannot_occur_and_certain_scores() -> None:
    batches = torch.tensor([[[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]]).log()
    found = Carot("alternating").apply_batches(batches, [0.5, 0.0, 0.5], [{"eta": 0.5, "tau": 3.0}])
    assert (found[0, 0, :, 1] == float("-inf")).all()
    rest = batches[0][:, [0, 2]].double().clamp_min(-1e3).tolist()
    expected = normalised(written_out(rest, [0.5, 0.5], 0.5, 3.0))
    torch.testing.assert_close(found[0, 0][:, [0, 2]].exp(), expected, atol=1e-6, rtol=0)


def by_hand(
    method: str,
    scores: torch.Tensor,
    weak: torch.Tensor,
    sigma: nslimb.Sigma,
    ratios: list[float],
    tried: list[dict[str, float]],
    batch: int,
    seed: int,
) -> tuple[dict[str, float], list[float]]:
    """The chosen setting and the weak accuracy of all, one setting, one batch, one sample at a time."""
    order = torch.randperm(len(scores), generator=torch_generator(seed, "adjustment batches")).tolist()
    accuracies: list[float] = []
    best: tuple[float, dict[str, float]] | None = None
    for setting in tried:
        right = 0
        for start in range(0, len(order), batch):
            members = order[start : start + batch]
            rows = [row for member in members for row in scores[member].tolist()]
            if method == "carot":
                moved = written_out(rows, ratios, setting["eta"], setting["tau"])
            else:
                moved = [[x - setting["tau"] * math.log(r) for x, r in zip(row, ratios, strict=True)] for row in rows]
            labels = [row.index(max(row)) for row in moved]
            for position, member in enumerate(members):
                mine = labels[position * sigma.arity : (position + 1) * sigma.arity]
                right += int(sigma.apply([mine])[0] == weak[member])
        accuracies.append(right / len(order))
        if best is None or accuracies[-1] > best[0]:
            best = (accuracies[-1], setting)
    assert best is not None
    return best[1], accuracies


def leaning(seed: int, number: int = 14) -> tuple[nslimb.Sigma, torch.Tensor, torch.Tensor]:
    """Logits, not log-scores: what the paper's logit adjustment takes."""
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (number, 2), generator=generator)
    logits = 2.0 * torch.nn.functional.one_hot(labels, 3) + torch.randn(number, 2, 3, generator=generator)
    logits[..., 0] += 2.0
    return sigma, logits.double(), sigma.apply(labels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("batch", [3, 4, 7, 20])
def test_carot_is_chosen_by_the_rule_written_out(seed: int, batch: int) -> None:
    sigma, logits, weak = leaning(seed)
    scores, ratios = logits.log_softmax(-1), [0.4, 0.35, 0.25]
    tried = [{"eta": eta, "tau": tau} for eta in (0.1, 1.0, 100.0) for tau in (0.02, 1.0, 50.0)]
    setting, accuracies = by_hand("carot", scores, weak, sigma, ratios, tried, batch, seed)
    found = select(scores, weak, sigma, ratios, "carot", tried, rule="paper", batch=batch, seed=seed)
    assert found.accuracies.tolist() == pytest.approx(accuracies)
    assert found.setting == setting
    assert found.accuracy == max(accuracies)
    assert found.adjustment == Carot("alternating")


@pytest.mark.parametrize("seed", range(4))
def test_la_is_chosen_by_the_rule_written_out_on_logits(seed: int) -> None:
    sigma, logits, weak = leaning(seed)
    ratios = [0.7, 0.2, 0.1]
    tried = LogitAdjustment().grid()
    setting, accuracies = by_hand("la", logits, weak, sigma, ratios, tried, 5, seed)
    found = select(logits.log_softmax(-1), weak, sigma, ratios, "la", rule="paper", batch=5, seed=seed)
    assert found.accuracies.tolist() == pytest.approx(accuracies)
    assert (found.setting, found.method) == (setting, "la")


def test_the_grid_has_eta_outside_and_none_that_single_precision_cannot_hold() -> None:
    values = [10 ** (-5 + 9 * k / 19) for k in range(20)]
    papers = Carot().in_paper().grid()
    assert [setting["tau"] for setting in papers] == pytest.approx(values * 6)
    assert [setting["eta"] for setting in papers] == pytest.approx([10.0**k for k in range(-1, 5) for _ in range(20)])
    assert [setting["eta"] for setting in Carot().grid()] == pytest.approx(
        [10.0**k for k in range(-5, 5) for _ in range(20)]
    )
    assert [setting["tau"] for setting in LogitAdjustment().in_paper().grid()] == pytest.approx(values)


@pytest.mark.parametrize("method", ["la", "carot"])
def test_ties_go_to_the_first_and_never_to_none(method: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    labels = torch.randint(3, (50, 2), generator=torch.Generator().manual_seed(1))
    certain = (10.0 * torch.nn.functional.one_hot(labels, 3)).log_softmax(-1)
    found = select(certain, sigma.apply(labels), sigma, [0.4, 0.3, 0.3], method, rule="paper")
    assert found.method == method
    assert found.setting == found.settings[0]
    harmful = select(certain, sigma.apply(labels), sigma, [0.8, 0.1, 0.1], "la", [{"tau": 1e3}], rule="paper")
    assert (harmful.method, harmful.setting) == ("la", {"tau": 1e3})
    assert harmful.accuracy < harmful.baseline == 1.0


def test_batches_are_shuffled_by_the_seed_and_matter() -> None:
    sigma, logits, weak = leaning(0, number=40)
    scores, ratios, tried = logits.log_softmax(-1), [0.1, 0.3, 0.6], [{"eta": 1.0, "tau": 50.0}]

    def accuracy(**options: Any) -> float:
        return select(scores, weak, sigma, ratios, "carot", tried, rule="paper", **options).accuracy

    assert accuracy(batch=2, seed=1) == accuracy(batch=2, seed=1)
    assert len({accuracy(batch=2, seed=seed) for seed in range(6)}) > 1
    assert accuracy() == accuracy(batch=32)  # the paper's


def test_test_scores_are_adjusted_in_shuffled_batches() -> None:
    sigma, logits, weak = leaning(2, number=30)
    scores, ratios = logits.log_softmax(-1), [0.5, 0.3, 0.2]
    chosen = select(scores, weak, sigma, ratios, "carot", [{"eta": 0.5, "tau": 5.0}], rule="paper")
    single = scores.flatten(0, 1)[:50]
    found = adjust(single, ratios, chosen, batch=8, seed=3)
    order = torch.randperm(50, generator=torch_generator(3, "adjustment batches")).tolist()
    for start in range(0, 50, 8):
        members = order[start : start + 8]
        expected = normalised(written_out(single[members].tolist(), ratios, 0.5, 5.0))
        torch.testing.assert_close(found[members].exp(), expected, atol=1e-9, rtol=0)
    by_instance = select(scores, weak, sigma, ratios, "la", [{"tau": 0.5}], rule="paper")
    found = adjust(single, ratios, by_instance, batch=8, seed=3)
    torch.testing.assert_close(found, logit_adjustment(single, ratios, 0.5))


def test_one_adjustment_of_batches_is_that_of_each() -> None:
    """The way of an adjustment that does not know of batches, Newton's CAROT among them."""
    batches = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(0)).double().log_softmax(-1)
    method: Adjustment = Carot()
    tried = [{"eta": 0.5, "tau": 2.0}, {"eta": 2.0, "tau": 1.0}]
    together = method.apply_batches(batches, [0.25] * 4, tried)
    for b in range(3):
        torch.testing.assert_close(together[1, b].exp(), carot(batches[b], [0.25] * 4, 2.0, 1.0).scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "paper", "batch": 0}, "batch: expected an integer of at least 1, got 0"),
        ({"rule": "paper", "batch": 2.5}, "batch: expected an integer of at least 1, got 2.5"),
        ({"rule": "paper", "criterion": "likelihood"}, "criterion: expected 'accuracy' with rule='paper'"),
        ({"batch": 32}, "batch: expected none with rule='least-change'.*got 32"),
        ({"rule": "best"}, "rule: expected 'least-change' or 'paper', got 'best'"),
        ({"criterion": "gold"}, "criterion: expected 'accuracy' or 'likelihood', got 'gold'"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    with pytest.raises(InvalidInput, match=message):
        select(torch.zeros(1, 2, 3), [0], sigma, [1 / 3] * 3, "la", **options)
