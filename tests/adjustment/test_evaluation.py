"""Metrics before and after adjustment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb.adjustment import Carot, LogitAdjustment, as_adjustment
from nslimb.adjustment.evaluation import AdjustmentProtocol, evaluate_adjustments
from nslimb.errors import InvalidInput
from nslimb.metrics import METRICS, evaluate
from nslimb.registry import load_object


def leaning(labels: torch.Tensor, generator: torch.Generator, classes: int = 4) -> torch.Tensor:
    noise = torch.randn(*labels.shape, classes, generator=generator)
    logits = 2.5 * torch.nn.functional.one_hot(labels, classes) + noise
    logits[..., 0] += 2.0
    return logits.log_softmax(-1)


def problem() -> dict[str, Any]:
    """Arguments of evaluate_adjustments: a classifier that leans to class 0, on labels that do not."""
    sigma = nslimb.sigma.maximum(2, num_classes=4)
    generator = torch.Generator().manual_seed(0)
    validation = torch.randint(4, (256, 2), generator=generator)
    test = torch.randint(4, (400,), generator=generator)
    return {
        "test_scores": leaning(test, generator),
        "test_labels": test.numpy(),
        "validation_scores": leaning(validation, generator),
        "validation_weak": sigma.apply(validation).numpy(),
        "sigma": sigma,
        "ratios": np.full(4, 0.25),
    }


def formulas() -> dict[str, Any]:
    """The same for HWF, whose ratios differ by position."""
    sigma = nslimb.sigma.formula(3)
    generator = torch.Generator().manual_seed(0)

    def draw(number: int) -> torch.Tensor:
        digits = torch.randint(10, (number, 3), generator=generator)
        digits[:, 1] = torch.randint(10, 13, (number,), generator=generator)
        return digits

    validation, tuples, single = draw(128), draw(60), torch.randint(13, (200,), generator=generator)
    ratios = np.zeros((3, 13))
    ratios[[0, 2], :10], ratios[1, 10:] = 0.1, 1 / 3
    return {
        "test_scores": leaning(single, generator, 13),
        "test_labels": single.numpy(),
        "validation_scores": leaning(validation, generator, 13),
        "validation_weak": sigma.apply(validation).numpy(),
        "sigma": sigma,
        "ratios": ratios,
        "test_tuples": (leaning(tuples, generator, 13), tuples.numpy()),
    }


def test_every_adjustment_is_evaluated_with_its_setting() -> None:
    given = problem()
    found = evaluate_adjustments(**given)
    assert list(found) == ["none", "la", "carot"]
    plain = evaluate(given["test_scores"].exp().numpy(), given["test_labels"])
    assert found["none"]["accuracy"] == plain["accuracy"]
    assert (found["none"]["chosen"], found["none"]["setting"]) == ("none", {})
    right = given["sigma"].apply(given["validation_scores"].argmax(-1)).numpy() == given["validation_weak"]
    assert found["none"]["validation_weak_accuracy"] == right.mean()
    assert found["carot"]["chosen"] == "carot"
    assert found["carot"]["accuracy"] > found["none"]["accuracy"] + 0.05
    by_hand = nslimb.carot(given["test_scores"], given["ratios"], **found["carot"]["setting"]).scores.argmax(-1)
    assert found["carot"]["accuracy"] == (by_hand.numpy() == given["test_labels"]).mean()
    # With uniform ratios logit adjustment can do nothing, and says so.
    assert (found["la"]["chosen"], found["la"]["setting"]) == ("none", {})
    assert found["la"]["accuracy"] == found["none"]["accuracy"]
    assert found["carot"]["validation_weak_accuracy"] > found["none"]["validation_weak_accuracy"]
    assert json.loads(json.dumps(found)) == found


def test_the_papers_protocol_chooses_always_and_works_in_batches() -> None:
    given = problem()
    protocol = AdjustmentProtocol(rule="paper", batch=16, test_batch=50, seed=4)
    found = evaluate_adjustments(**given, protocol=protocol)
    assert (found["la"]["chosen"], found["carot"]["chosen"]) == ("la", "carot")
    for name in ("la", "carot"):
        arguments = [given[key] for key in ("validation_scores", "validation_weak", "sigma", "ratios")]
        choice = nslimb.select(*arguments, name, rule="paper", batch=16, seed=4)
        assert found[name]["setting"] == choice.setting
        moved = nslimb.adjust(given["test_scores"], given["ratios"], choice, batch=50, seed=4).argmax(-1).numpy()
        assert found[name]["accuracy"] == (moved == given["test_labels"]).mean()
    assert AdjustmentProtocol(rule="paper") == AdjustmentProtocol(rule="paper", batch=32, test_batch=128)
    exact = evaluate_adjustments(**given)
    assert exact["none"] == found["none"]
    assert exact["carot"] != found["carot"]


def test_the_criterion_reaches_the_choice() -> None:
    given = problem()
    found = evaluate_adjustments(**given, protocol=AdjustmentProtocol(criterion="likelihood"))
    arguments = [given[key] for key in ("validation_scores", "validation_weak", "sigma", "ratios")]
    assert found["carot"]["setting"] == nslimb.select(*arguments, "carot", criterion="likelihood").setting
    assert found["carot"]["setting"] != evaluate_adjustments(**given)["carot"]["setting"]


def test_adjustments_and_metrics_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from nslimb.adjustment import LogitAdjustment\n"
        "class Gentle(LogitAdjustment):\n"
        "    name, printed = 'gentle', 'Gentle'\n"
        "    def grid(self):\n"
        "        return [{'tau': 0.1}]\n"
        "def spread(probabilities, labels):\n"
        "    return {'std': probabilities.std(axis=0), 'n': np.int64(len(labels)), 'nothing': None}\n"
    )
    given = problem()
    gentle = as_adjustment("mine.py:Gentle", tmp_path)
    metrics = [("brier", METRICS.get("brier")), ("spread", load_object("metric", "mine.py:spread", tmp_path))]
    ratios = [0.4, 0.3, 0.2, 0.1]
    found = evaluate_adjustments(
        **{**given, "ratios": ratios},
        adjustments={"softly": gentle},
        metrics=metrics,
        protocol=AdjustmentProtocol(chance=0.0),
    )
    assert list(found) == ["none", "softly"]
    assert found["softly"]["chosen"] == "softly"
    assert found["softly"]["setting"] == {"tau": 0.1}
    p = given["test_scores"].double().exp().numpy()
    assert found["none"]["brier"] == pytest.approx(((p - np.eye(4)[given["test_labels"]]) ** 2).sum(axis=1).mean())
    assert found["softly"]["brier"] != found["none"]["brier"]
    assert found["none"]["spread"] == {"std": pytest.approx(p.std(axis=0).tolist()), "n": 400, "nothing": None}
    assert json.loads(json.dumps(found)) == found
    assert list(evaluate_adjustments(**given, adjustments={})) == ["none"]


def test_where_ratios_differ_by_position_tuples_of_images_are_adjusted() -> None:
    given = formulas()
    found = evaluate_adjustments(**given)
    single = given["test_scores"].argmax(-1).numpy() == given["test_labels"]
    assert found["none"]["accuracy"] == single.mean()
    assert "unadjusted_accuracy" not in found["none"]
    scores, labels = given["test_tuples"]
    before = (scores.argmax(-1).numpy() == labels).mean()
    for name in ("la", "carot"):
        assert found[name]["chosen"] == name
        assert found[name]["unadjusted_accuracy"] == before
        arguments = [given[key] for key in ("validation_scores", "validation_weak", "sigma", "ratios")]
        moved = nslimb.adjust(scores, given["ratios"], nslimb.select(*arguments, name)).argmax(-1).numpy()
        assert found[name]["accuracy"] == (moved == labels).mean()
        assert found[name]["accuracy"] > before
        assert np.sum(found[name]["confusion_matrix"]) == 180
    papers = evaluate_adjustments(**given, protocol=AdjustmentProtocol(rule="paper", test_batch=16))
    assert papers["carot"]["accuracy"] > before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_labels": np.zeros(3, dtype=np.int64)}, r"test_labels: expected labels 0 to 3 of shape \[400\], got"),
        ({"test_labels": np.full(400, 4)}, "test_labels: expected labels 0 to 3 .*, got 4"),
        ({"test_labels": np.full(400, 0.5)}, "test_labels: .* got dtype float64"),
        ({"test_scores": torch.zeros(400)}, r"log_scores: .* got shape \[400\]"),
        ({"validation_scores": torch.zeros(2, 3, 4)}, r"log_scores: .* got shape \[2, 3, 4\]"),
        ({"validation_weak": [0]}, r"weak: .* got shape \[1\]"),
        ({"sigma": max}, "sigma: expected a Sigma"),
        ({"ratios": [0.5, 0.5]}, "ratios: expected"),
        (
            {"ratios": np.full((2, 4), 0.25)},
            r"test_tuples: expected scores \[u, 2, 4\] .* by position, got none",
        ),
        (
            {"ratios": np.full((2, 4), 0.25), "test_tuples": torch.zeros(2, 2, 4)},
            "test_tuples: .* got an object of type Tensor",
        ),
        (
            {"ratios": np.full((2, 4), 0.25), "test_tuples": (torch.zeros(3, 2, 4), np.zeros((3, 1), dtype=int))},
            r"test_tuples: expected labels 0 to 3 of shape \[3, 2\], got shape \[3, 1\]",
        ),
        (
            {"ratios": np.full((2, 4), 0.25), "test_tuples": (torch.zeros(3, 4), np.zeros((3, 1), dtype=int))},
            r"log_scores: .* got shape \[3, 4\]",
        ),
        (
            {"test_tuples": (torch.zeros(3, 2, 4), np.zeros((3, 2), dtype=int))},
            "test_tuples: expected none, as the ratios are the same at every position",
        ),
        ({"adjustments": {"none": Carot()}}, "adjustments, metrics: expected names other than .*, got 'none'"),
        ({"adjustments": {"mine": 3}}, "adjustment: expected one of la, carot, or a subclass"),
        ({"metrics": [("setting", len)]}, "adjustments, metrics: expected names other than .*, got 'setting'"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        evaluate_adjustments(**{**problem(), "adjustments": {"la": LogitAdjustment()}, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "rule: expected 'least-change' or 'paper'"),
        ({"criterion": "gold"}, "criterion: expected 'accuracy' or 'likelihood'"),
        ({"rule": "paper", "criterion": "likelihood"}, "criterion: expected 'accuracy' with rule='paper'"),
        ({"batch": 32}, "batch: expected none with rule='least-change'"),
        ({"test_batch": 128}, "test_batch: expected none with rule='least-change'"),
        ({"rule": "paper", "test_batch": 0}, "test_batch: expected an integer of at least 1"),
        ({"rule": "paper", "batch": "all"}, "batch: expected an integer of at least 1"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
    ],
)
def test_a_bad_protocol_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        AdjustmentProtocol(**options)
