"""Training on weak labels that are sets or log-weights, and on families whose members differ in length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_loop import SOURCE

import nslimb
from nslimb import Sigma
from nslimb.data import Samples, draw_samples
from nslimb.data.samples import Gold, load_samples, save
from nslimb.errors import InvalidInput
from nslimb.learning import loop
from nslimb.learning.loop import Settings, predict, train
from nslimb.learning.methods import Batch, make_method
from nslimb.networks import build
from nslimb.sigma import family, maximum, total

IDENTITY = Sigma.from_function(lambda y: y[0], num_classes=4, arity=1)
MIXED = family({"max": maximum(2, 4), "sum": total(3, 4), "one": maximum(1, 4)})
SHORT: dict[str, dict[str, Any]] = {"ilp-emp": {"pre_epochs": 2}, "sl-prior": {"psi_after": 1}}


def accuracy(sigma: Sigma, samples: Samples, gold: Gold, name: str, folder: Path, epochs: int = 5) -> float:
    known = {"gold_ratios": gold.ratios, "gold_labels": gold.train}
    method = make_method(name, sigma, **known, **SHORT.get(name, {}))
    trained = train(SOURCE.images, samples, sigma, method, Settings(epochs=epochs, batch_size=16), folder)
    assert np.isfinite(trained.history[-1].validation_log_likelihood)
    scores = predict(trained.network, trained.method, torch.from_numpy(SOURCE.images), samples.test)
    return float((scores.argmax(-1).numpy() == gold.test).mean())


@pytest.mark.parametrize("name", ["sl-balanced", "sl-prior", "ilp-alg1", "sot-alg1"])
def test_partial_labels_are_learned(tmp_path: Path, name: str) -> None:
    samples, gold = draw_samples(SOURCE, IDENTITY, 200, seed=1, validation=40, ambiguity=0.3)
    assert samples.train_weak.dtype == np.bool_
    assert samples.train_weak[np.arange(200), gold.train[:, 0]].all()
    save(samples, tmp_path / "samples.npz")
    assert accuracy(IDENTITY, load_samples(tmp_path / "samples.npz"), gold, name, tmp_path) > 0.9


@pytest.mark.parametrize("name", ["recipe", "sl-prior", "records", "ilp-emp", "sot-alg1", "supervised"])
def test_families_of_different_lengths_are_learned(tmp_path: Path, name: str) -> None:
    samples, gold = draw_samples(SOURCE, MIXED, 200, seed=1, validation=40)
    members = [MIXED.weak_labels[s][0] for s in samples.train_weak]  # type: ignore[index]
    lengths = np.array([{"max": 2, "sum": 3, "one": 1}[name] for name in members])
    assert (samples.train >= 0).sum(axis=1).tolist() == lengths.tolist()
    assert len(set(members)) == 3
    assert accuracy(MIXED, samples, gold, name, tmp_path) > 0.9


def test_log_weights_are_learned(tmp_path: Path) -> None:
    samples, gold = draw_samples(SOURCE, IDENTITY, 200, seed=1, validation=40, ambiguity=0.3)
    weighted = replace(
        samples,
        train_weak=np.where(samples.train_weak, 0.0, -2.0),
        validation_weak=np.where(samples.validation_weak, 0.0, -2.0),
    )
    for name in ("sl", "sot-alg1"):
        assert accuracy(IDENTITY, weighted, gold, name, tmp_path / name) > 0.9
    with pytest.raises(InvalidInput, match="take log-weights"):
        accuracy(IDENTITY, weighted, gold, "ilp-alg1", tmp_path / "ilp")
    method = make_method("sl", IDENTITY, noise=0.1)
    with pytest.raises(InvalidInput, match="one weak label a sample"):
        method.begin(weighted)


def test_candidate_lists_are_learned(tmp_path: Path) -> None:
    samples, gold = draw_samples(SOURCE, total(2, 4), 200, seed=1, validation=40)
    rng = np.random.default_rng(0)
    labels = np.concatenate([gold.train, SOURCE.labels[samples.validation]])
    lists = [[tuple(y), *map(tuple, rng.integers(4, size=(2, 2)).tolist())] for y in labels.tolist()]
    sigma = Sigma.from_candidates(lists, num_classes=4)
    weak = sigma.encode(lists).numpy()
    listed = replace(samples, train_weak=weak[:200], validation_weak=weak[200:])
    assert accuracy(sigma, listed, gold, "recipe", tmp_path) > 0.9


def test_what_is_not_there_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network never sees an image for index -1, and other images in its place would change no loss."""
    seen: list[int] = []
    original = loop.prepare
    monkeypatch.setattr(loop, "prepare", lambda taken, *rest: seen.append(len(taken)) or original(taken, *rest))
    samples, _ = draw_samples(SOURCE, MIXED, 32, seed=1, validation=8)
    network = build("lenet", 4, 1)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
    method = make_method("sl", MIXED)
    method.begin(samples)
    pixels, tuples, weak = map(torch.from_numpy, (SOURCE.images, samples.train, samples.train_weak))
    found, _ = loop._run_epoch(
        network, network.features, optimizer, method, MIXED, pixels, tuples, weak, Settings(batch_size=8), 0
    )
    assert sum(seen) == int((tuples >= 0).sum())
    scores = predict(network.train(), method, pixels, tuples.clamp_min(0))  # any image where there is none
    assert found == pytest.approx(float(nslimb.semantic_loss(scores, weak, MIXED).mean()), rel=1e-5)
    assert predict(network, method, pixels, tuples)[tuples < 0].exp().numpy() == pytest.approx(0.25)


def test_the_mean_prediction_leaves_out_what_is_not_there() -> None:
    samples, _ = draw_samples(SOURCE, MIXED, 32, seed=1, validation=8)
    used = torch.from_numpy(samples.train >= 0)
    weak = torch.from_numpy(samples.train_weak)
    logits = torch.randn(32, 3, 4)
    other = torch.where(used.unsqueeze(-1), logits, 7 * torch.randn(32, 3, 4))
    losses = []
    for given in (logits, other):
        method = make_method("sl-prior", MIXED, psi_after=0)
        method.begin(samples)
        losses.append(method.loss(Batch(given, given, weak, torch.arange(32), torch.nn.Identity(), used)))
    torch.testing.assert_close(*losses)


def test_misplaced_indices_are_refused(tmp_path: Path) -> None:
    samples, _ = draw_samples(SOURCE, MIXED, 32, seed=1, validation=8)
    holes = samples.train.copy()
    row = int(np.flatnonzero(holes[:, 2] >= 0)[0])
    holes[row, 2] = -1
    for wrong in (holes, np.maximum(samples.train, 0)):
        misplaced = replace(samples, train=wrong)
        with pytest.raises(InvalidInput, match="-1 at the positions that a sample's member lacks"):
            train(SOURCE.images, misplaced, MIXED, make_method("sl", MIXED), Settings(epochs=1), tmp_path)


@pytest.mark.parametrize("options", [{"ambiguity": 1.0}, {"noise": 0.1}, {"ambiguity": 0.1}, {"support": [(0, 0, 0)]}])
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="|".join(options)):
        draw_samples(SOURCE, MIXED, 10, seed=1, validation=4, **options)
