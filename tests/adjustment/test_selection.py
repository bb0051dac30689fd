"""Logit adjustment, and the choice of settings by weak labels."""

from __future__ import annotations

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import adjust, carot, logit_adjustment, select
from nslimb.adjustment import ADJUSTMENTS, Adjustment, Carot, LogitAdjustment, as_adjustment
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

    monkeypatch.setattr(importlib.import_module("nslimb.adjustment.carot"), "carot", unsolved)
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
    assert chosen.accuracies.shape == (200,)
    assert chosen.settings == Carot().grid()
    assert chosen.accuracy == pytest.approx(chosen.accuracies.max().item())
    assert chosen.accuracies[chosen.settings.index(chosen.setting)].item() == pytest.approx(chosen.accuracy)
    assert torch.equal(chosen.values, chosen.accuracies)
    by_hand = carot(scores.reshape(-1, 4), ratios, **chosen.setting).scores.argmax(-1).view(256, 2)
    assert (sigma.apply(by_hand) == weak).double().mean().item() == pytest.approx(chosen.accuracy)
    assert torch.equal(adjust(scores, ratios, chosen).argmax(-1), by_hand)
    assert adjust(scores.reshape(-1, 4), ratios, chosen).shape == (512, 4)


def test_la_is_chosen_by_weak_accuracy() -> None:
    sigma, scores, weak, _ = biased_problem()
    leaning = [0.7, 0.1, 0.1, 0.1]
    chosen = select(scores, weak, sigma, leaning, "la", [{"tau": 0.1}, {"tau": 1.0}, {"tau": 100.0}])
    accuracies = [
        (sigma.apply(logit_adjustment(scores.reshape(-1, 4), leaning, tau).argmax(-1).view(256, 2)) == weak)
        .double()
        .mean()
        .item()
        for tau in (0.1, 1.0, 100.0)
    ]
    assert chosen.accuracies.tolist() == pytest.approx(accuracies)
    assert (chosen.method, chosen.setting) == ("la", {"tau": 1.0})
    torch.testing.assert_close(
        adjust(scores, leaning, chosen), logit_adjustment(scores.reshape(-1, 4), leaning, 1.0).view(256, 2, 4)
    )


@pytest.mark.parametrize("method", ["la", "carot"])
def test_nothing_is_chosen_where_nothing_helps(method: Any) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    labels = torch.randint(3, (50, 2), generator=torch.Generator().manual_seed(1))
    certain = (10.0 * torch.nn.functional.one_hot(labels, 3)).log_softmax(-1)
    chosen = select(certain, sigma.apply(labels), sigma, [0.8, 0.1, 0.1], method)
    assert (chosen.method, chosen.setting) == ("none", {})
    assert chosen.accuracy == chosen.baseline == 1.0
    assert adjust(certain, [0.8, 0.1, 0.1], chosen) is certain


def test_ties_go_to_the_setting_that_changes_least() -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=3)
    scores = torch.tensor([[[0.50, 0.49, 0.01]], [[0.98, 0.01, 0.01]]]).log()
    # Either tau mends the first sample; the larger one also turns the second, wrongly before and after.
    chosen = select(scores, [1, 2], sigma, [0.9, 0.05, 0.05], "la", [{"tau": tau} for tau in (3.0, 0.5, 1.0)], chance=0)
    assert chosen.accuracies.tolist() == [0.5, 0.5, 0.5]
    assert chosen.setting == {"tau": 0.5}


def test_ties_of_carot_go_to_the_smaller_tau_and_then_to_eta_closest_to_one() -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=2)
    scores = torch.tensor([[[0.55, 0.45]], [[0.9, 0.1]]]).log()
    tried = [{"eta": eta, "tau": tau} for eta in (0.1, 10.0, 2.0) for tau in (100.0, 20.0)]
    chosen = select(scores, [1, 0], sigma, [0.5, 0.5], "carot", tried, chance=0)
    assert chosen.accuracies.tolist() == [1.0] * 6
    assert chosen.setting == {"eta": 2.0, "tau": 20.0}


def test_a_gain_counts_once_it_is_more_than_chance() -> None:
    """Of 100 samples ``better`` are mended by an adjustment and ``worse`` are spoilt; oracle: paired differences."""
    sigma = nslimb.sigma.maximum(1, num_classes=2)
    for better, worse in [(1, 0), (3, 0), (5, 0), (6, 0), (7, 0), (7, 2), (12, 2), (9, 9), (20, 7)]:
        mended, spoilt = ([[[0.55, 0.45]]] * number for number in (better, worse))
        scores = torch.tensor([*mended, *spoilt, *[[[0.99, 0.01]]] * (100 - better - worse)]).log()
        weak = [1] * better + [0] * (100 - better)
        difference = np.array([1.0] * better + [-1.0] * worse + [0.0] * (100 - better - worse))
        enough = difference.mean() > 2.5 * difference.std() / 10
        chosen = select(scores, weak, sigma, [0.75, 0.25], "la", [{"tau": 1.0}])
        assert (chosen.method == "la") == enough, (better, worse)
        taken = select(scores, weak, sigma, [0.75, 0.25], "la", [{"tau": 1.0}], chance=0)
        assert (taken.method == "la") == (better > worse)
    with pytest.raises(InvalidInput, match="chance: expected finite numbers of at least 0, got -1"):
        select(scores, weak, sigma, [0.75, 0.25], "la", chance=-1)


def brute_force(sigma: nslimb.Sigma, scores: torch.Tensor, weak: torch.Tensor) -> float:
    """Mean of log P(sigma(y) = s), by listing every y."""
    logs = []
    for sample, label in zip(scores.double().exp().tolist(), weak.tolist(), strict=True):
        vectors = itertools.product(range(sigma.num_classes), repeat=sigma.arity)
        logs.append(
            math.log(
                sum(
                    math.prod(sample[i][y] for i, y in enumerate(vector))
                    for vector in vectors
                    if int(sigma.apply([vector])[0]) == label
                )
            )
        )
    return sum(logs) / len(logs)


@pytest.mark.parametrize("method", ["la", "carot"])
def test_the_likelihood_of_weak_labels_may_choose(method: str) -> None:
    sigma, scores, weak, _ = biased_problem()
    scores, weak, ratios = scores[:40], weak[:40], [0.4, 0.2, 0.2, 0.2]
    tried = [{"tau": tau} for tau in (0.1, 1.0, 10.0)]
    if method == "carot":
        tried = [{"eta": eta, **setting} for eta in (0.5, 2.0) for setting in tried]
    chosen = select(scores, weak, sigma, ratios, method, tried, criterion="likelihood")
    flat = as_adjustment(method).apply(scores.reshape(-1, 4), torch.tensor(ratios), tried).view(-1, 40, 2, 4)
    expected = [brute_force(sigma, one, weak) for one in flat]
    assert chosen.values.tolist() == pytest.approx(expected, abs=1e-6)
    assert max(expected) > brute_force(sigma, scores, weak) + 1e-3
    assert chosen.setting == tried[int(np.argmax(expected))]
    by_accuracy = select(scores, weak, sigma, ratios, method, tried)
    assert torch.equal(chosen.accuracies, by_accuracy.accuracies)
    assert chosen.accuracy == chosen.accuracies[tried.index(chosen.setting)]


def test_no_gain_in_likelihood_is_no_choice() -> None:
    sigma, scores, weak, ratios = biased_problem()
    chosen = select(scores, weak, sigma, ratios, "la", criterion="likelihood")  # uniform: nothing but rounding changes
    assert (chosen.method, chosen.setting) == ("none", {})
    # A weak label that the scores rule out, with and without adjustment.
    impossible = torch.tensor([[[1.0, 0.0, 0.0]]]).log()
    single = nslimb.sigma.maximum(1, num_classes=3)
    found = select(impossible, [2], single, [0.2, 0.3, 0.5], "la", [{"tau": 1.0}], criterion="likelihood")
    assert found.method == "none"
    assert found.values.item() == -1e3  # as low as it goes, so that one sample does not decide alone


def test_large_problems_are_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sigma, scores, weak, ratios = biased_problem()
    whole = [select(scores, weak, sigma, ratios, "carot", criterion=c) for c in ("accuracy", "likelihood")]
    monkeypatch.setattr("nslimb.adjustment.selection._NUMBERS", 37 * scores.numel())
    monkeypatch.setattr("nslimb.adjustment.selection._SAMPLES", 100)
    for before, criterion in zip(whole, ("accuracy", "likelihood"), strict=True):
        after = select(scores, weak, sigma, ratios, "carot", criterion=criterion)
        assert after.setting == before.setting
        torch.testing.assert_close(after.values, before.values, atol=1e-9, rtol=0)


TOY = """
import torch
from nslimb.adjustment import Adjustment

class Boost(Adjustment):
    \"\"\"Adds a number to the last class.\"\"\"
    name, printed = "boost", "Boost"
    def grid(self):
        return [{"by": 0.0}, {"by": 1.0}, {"by": 100.0}]
    def apply(self, log_scores, ratios, settings):
        assert ratios.shape == (log_scores.shape[1],)
        added = log_scores.repeat(len(settings), 1, 1)
        added[..., -1] += torch.tensor([setting["by"] for setting in settings])[:, None]
        return added.log_softmax(-1)

class Half(Adjustment):
    name, printed = "half", "Half"
    def grid(self):
        return [{"by": 1.0}]

class Asking(Boost):
    def __init__(self, number):
        self.number = number

class Nameless(Boost):
    name = None

class Flat(Boost):
    name = "flat"
    def apply(self, log_scores, ratios, settings):
        return log_scores

class Broken(Boost):
    name = "broken"
    def apply(self, log_scores, ratios, settings):
        return super().apply(log_scores, ratios, settings) * float("nan")

class Listing(Boost):
    name = "listing"
    def apply_batches(self, batches, ratios, settings):
        return batches.tolist()

MADE = Boost()
NUMBER = 3
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "toy.py").write_text(TOY)
    return tmp_path / "toy.py"


@pytest.mark.parametrize("name", ["Boost", "MADE"])
def test_an_adjustment_of_ones_own_from_a_file(toy: Path, name: str) -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=2)
    scores = torch.tensor([[[0.6, 0.4]], [[0.9, 0.1]], [[0.2, 0.8]]]).log()
    chosen = select(scores, [1, 0, 1], sigma, [0.5, 0.5], f"{toy}:{name}", chance=0)
    assert (chosen.method, chosen.setting, chosen.accuracy) == ("boost", {"by": 1.0}, 1.0)
    assert chosen.settings == [{"by": 0.0}, {"by": 1.0}, {"by": 100.0}]
    assert chosen.accuracies.tolist() == pytest.approx([2 / 3, 1.0, 2 / 3])
    assert adjust(scores.squeeze(1), [0.5, 0.5], chosen).argmax(-1).tolist() == [1, 0, 1]
    papers = select(scores, [1, 0, 1], sigma, [0.5, 0.5], f"{toy}:{name}", rule="paper", batch=2)
    assert (papers.method, papers.setting) == ("boost", {"by": 1.0})
    assert isinstance(as_adjustment("toy.py:Boost", toy.parent), Adjustment)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Half", r"adjustment: expected a class that needs no arguments, got .*Half.*abstract.*apply"),
        ("Asking", r"adjustment: expected a class that needs no arguments, got .*Asking.*number"),
        ("Nameless", "adjustment: expected an attribute 'name' of text, got Nameless without"),
        ("NUMBER", r"adjustment: expected one of la, carot, or a subclass of .*Adjustment, got .*NUMBER.*of type int"),
        ("torch", r"or a subclass of .*of type module"),
        (
            "Missing",
            r"adjustment: expected an object of .*toy\.py \(Boost, Half, .*, got 'Missing'",
        ),
        ("Flat", r"adjustment flat: expected apply to return log-scores of shape \[3, n, c\], got shape"),
        ("Broken", r"adjustment broken: expected apply to return .*, got NaN or \+inf"),
        ("Listing", r"adjustment listing: expected apply to return .*, got an object of type list"),
    ],
)
def test_what_is_wrong_with_ones_own_is_told(toy: Path, name: str, message: str) -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=2)
    with pytest.raises(InvalidInput, match=message):
        select(torch.zeros(2, 1, 2), [1, 0], sigma, [0.5, 0.5], f"{toy}:{name}", chance=0)


def test_registered_adjustments() -> None:
    assert ADJUSTMENTS.names == ("la", "carot")
    assert [(found.name, found.printed) for found in map(as_adjustment, ADJUSTMENTS)] == [
        ("la", "LA"),
        ("carot", "CAROT"),
    ]
    assert isinstance(as_adjustment(LogitAdjustment), LogitAdjustment)
    assert as_adjustment(Carot("alternating")) == Carot("alternating")
    with pytest.raises(InvalidInput, match="got an object of type int"):
        as_adjustment(3)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (torch.zeros(3), {}, r"log_scores: .* shape \[n, c\] or \[n, M, c\].*got shape \[3\]"),
        (torch.zeros(0, 4), {}, r"log_scores: .*got shape \[0, 4\]"),
        (np.zeros((3, 4)), {}, "log_scores: .*an object of type ndarray"),
        (torch.full((3, 4), float("nan")), {}, "log_scores: .*NaN"),
        (torch.zeros(3, 4), {"ratios": [[0.25] * 4] * 2}, r"ratios: .*got shape \[2, 4\]"),
        (torch.zeros(3, 4), {"batch": 0}, "batch: expected an integer of at least 1"),
    ],
)
def test_bad_input_to_adjust_is_refused(scores: Any, options: dict[str, Any], message: str) -> None:
    sigma, validation, weak, ratios = biased_problem()
    chosen = select(validation, weak, sigma, ratios, "carot", [{"eta": 1.0, "tau": 10.0}])
    assert chosen.method == "carot"
    with pytest.raises(InvalidInput, match=message):
        adjust(scores, options.pop("ratios", ratios), chosen, **options)


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
        for rule in ("least-change", "paper"):
            chosen = select(scores, sigma.apply(labels), sigma, ratios, method, rule=rule)
            assert chosen.accuracy > chosen.baseline
            moved = adjust(scores, ratios, chosen)
            assert (sigma.apply(moved.argmax(-1)) >= 0).all()
            for i in range(3):
                alone = chosen.adjustment.apply(scores[:, i], ratios[i], [chosen.setting])[0]
                torch.testing.assert_close(moved[:, i], alone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"adjustment": "temperature"},
            "adjustment: expected one of la, carot, or your own as path/to/file.py:object .*, got 'temperature'",
        ),
        ({"adjustment": "nowhere.py:Toy"}, r"adjustment: expected a Python file, got 'nowhere\.py'"),
        ({"settings": []}, r"settings: expected a list of mappings, one for each setting, got \[\]"),
        ({"settings": 1.0}, "settings: expected a list of mappings.*got 1.0"),
        ({"settings": [{}]}, "settings: expected a list of mappings.*got one that is {}"),
        ({"settings": [1.0]}, "settings: expected a list of mappings.*got one that is 1.0"),
        ({"settings": [{"eta": 1.0}]}, "settings: expected mappings with tau and nothing else, got {'eta': 1.0}"),
        ({"settings": [{"tau": -1.0}]}, "tau: expected finite numbers of at least 0"),
        (
            {"adjustment": "carot", "settings": [{"tau": 1.0}]},
            "settings: expected mappings with eta and tau",
        ),
        ({"adjustment": "carot", "settings": [{"tau": 1.0, "eta": 0.0}]}, "eta: expected finite numbers above 0"),
        ({"log_scores": torch.zeros(0, 2, 3), "weak": []}, "log_scores: expected at least one sample"),
        ({"weak": [7]}, "weak: expected"),
        ({"ratios": [0.5, 0.5]}, "ratios: expected"),
        ({"sigma": None}, "sigma: expected a Sigma"),
    ],
)
def test_bad_input_to_select_is_refused(options: dict[str, Any], message: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    arguments = {
        "log_scores": torch.zeros(1, 2, 3),
        "weak": [0],
        "sigma": sigma,
        "ratios": [1 / 3] * 3,
        "adjustment": "la",
    }
    with pytest.raises(InvalidInput, match=message):
        select(**{**arguments, **options})
