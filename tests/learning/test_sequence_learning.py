"""What learns from sequences gives what it gives with the same weak labels listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loop import bars

import nslimb
from nslimb import Sigma
from nslimb.data import ImageSource, draw_samples
from nslimb.data.once import draw_once
from nslimb.errors import InvalidInput
from nslimb.learning import Settings, make_method
from nslimb.learning.history import read_history
from nslimb.learning.loop import Probe, predict, train
from nslimb.sigma import Transducer


def ordered() -> Transducer:
    """Rises and falls; equal neighbours are a dead end."""
    return Sigma.from_transducer(
        None, lambda last, y: None if y == last else (y, "up" if last is None or y > last else "down"), None, 3, arity=3
    )


def digits(base: int) -> Transducer:
    """The sum of two numbers of two digits to a smaller base, least significant first."""

    def step(state: tuple[str, int], y: int) -> tuple[tuple[str, int], int | None]:
        waits_for, column = state
        if waits_for == "first":
            return ("second", column + y), None
        return ("first", (column + y) // base), (column + y) % base

    return Sigma.from_transducer(("first", 0), step, lambda state: state[1], base, 4, order=[1, 3, 0, 2])


SIGMAS = {"ordered": ordered(), "base 3": digits(3), "addition": nslimb.sigma.addition(1)}


@st.composite
def problems(draw: st.DrawFn) -> tuple[Transducer, torch.Tensor, torch.Tensor, list[int], np.ndarray]:
    """A transducer, scores, observed sequences, the same as indices into the listed weak labels, and ratios."""
    sigma = SIGMAS[draw(st.sampled_from(sorted(SIGMAS)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weak = sigma.apply(rng.integers(sigma.num_classes, size=(12, sigma.arity)))
    weak = torch.from_numpy(weak[(weak >= 0).all(axis=1)][: draw(st.integers(1, 4))])
    scores = torch.from_numpy(rng.normal(size=(len(weak), sigma.arity, sigma.num_classes)) * 2).log_softmax(-1)
    ratios = rng.dirichlet(np.full(sigma.num_classes, 2.0), size=sigma.arity)
    return sigma, scores, weak, sigma.listed().encode(sigma.decode(weak)).tolist(), ratios


@settings(max_examples=25)
@given(problems(), st.sampled_from(["hull", "paper", "literal"]), st.sampled_from([2, 5]), st.booleans())
def test_pseudolabels(problem: Any, encoding: Any, proofs: int, elastic: bool) -> None:
    sigma, scores, weak, indices, ratios = problem
    if len(weak) == 0:
        return
    options: dict[str, Any] = {"slack": "elastic" if elastic else "widen"}
    for further in ({}, {"encoding": encoding, "proofs": proofs}, {"proofs": 1}, {"proofs": proofs, "integer": True}):
        ours = nslimb.pseudolabels(scores, weak, sigma, ratios, **options, **further)
        theirs = nslimb.pseudolabels(scores, indices, sigma.listed(), ratios, **options, **further)
        assert (ours.epsilon, ours.status) == (theirs.epsilon, theirs.status)
        penalty = 10.0 * (ours.violation - theirs.violation)
        assert ours.objective + penalty == pytest.approx(theirs.objective, rel=1e-6, abs=1e-5)
        torch.testing.assert_close(ours.q.sum(-1), torch.ones_like(ours.q[..., 0]))


@settings(max_examples=25)
@given(problems(), st.booleans(), st.sampled_from([0.3, 1.0]), st.sampled_from([0.0, 1.0, 10.0]))
def test_soft_pseudolabels(problem: Any, pooled: bool, eta: float, tau: float) -> None:
    sigma, scores, weak, indices, ratios = problem
    if len(weak) == 0:
        return
    given_ = ratios[0] if pooled else ratios
    ours = nslimb.soft_pseudolabels(scores, weak, sigma, given_, eta, tau, pooled, tolerance=1e-9)
    theirs = nslimb.soft_pseudolabels(scores, indices, sigma.listed(), given_, eta, tau, pooled, tolerance=1e-9)
    assert bool(ours.converged)
    torch.testing.assert_close(ours.q, theirs.q, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(ours.objective, theirs.objective, rtol=1e-8, atol=1e-8)
    if tau == 0:
        torch.testing.assert_close(ours.q, sigma.posterior(scores / eta, weak), rtol=1e-9, atol=1e-9)


@settings(max_examples=15)
@given(problems(), st.sampled_from(["accuracy", "likelihood"]), st.sampled_from(["la", "carot"]))
def test_select(problem: Any, criterion: Any, adjustment: str) -> None:
    sigma, scores, weak, indices, ratios = problem
    if len(weak) == 0:
        return
    ours = nslimb.select(scores, weak, sigma, ratios, adjustment, criterion=criterion)
    theirs = nslimb.select(scores, indices, sigma.listed(), ratios, adjustment, criterion=criterion)
    assert (ours.method, ours.setting, ours.accuracy) == (theirs.method, theirs.setting, theirs.accuracy)
    torch.testing.assert_close(ours.values, theirs.values)


@pytest.mark.parametrize("further", [{"integer": True}, {"encoding": "paper"}, {"encoding": "literal"}])
def test_what_lists_is_refused_and_names_the_way_out(further: dict[str, Any]) -> None:
    sigma, scores = SIGMAS["addition"], torch.zeros(1, 2, 10).log_softmax(-1)
    with pytest.raises(InvalidInput, match=r"sigma\.listed"):
        nslimb.pseudolabels(scores, [[1, 0]], sigma, [0.1] * 10, **further)


@pytest.mark.parametrize("solve", [nslimb.pseudolabels, nslimb.soft_pseudolabels])
def test_a_sequence_that_nothing_explains_is_refused(solve: Any) -> None:
    scores = torch.zeros(2, 2, 10).log_softmax(-1)
    with pytest.raises(InvalidInput, match=r"weak: expected sequences that some label vector gives, got \(9, 1\)"):
        solve(scores, [[1, 0], [9, 1]], SIGMAS["addition"], [0.1] * 10)


def source() -> ImageSource:
    return bars(per_class=100, classes=3)


@pytest.mark.parametrize(
    ("name", "options"),
    [("sl", {}), ("recipe", {}), ("ilp-alg1", {}), ("sot-alg1", {}), ("sot-emp", {"pre_epochs": 1})],
)
def test_methods_learn_from_sequences_without_a_validation_set(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    images, sigma = source(), SIGMAS["base 3"]
    samples, gold = draw_once(images, sigma, seed=1)
    method = make_method(name, sigma, **options)
    epochs = Settings(epochs=8, batch_size=8)
    trained = train(images.images, samples, sigma, method, epochs, tmp_path, test=Probe(samples.test, gold.test))
    scores = predict(trained.network, method, torch.from_numpy(images.images), samples.test_tuples)
    right = sigma.explains(scores.argmax(-1), torch.from_numpy(sigma.apply(gold.test_tuples)))
    assert right.double().mean() > 0.8, trained.history
    rows = read_history(tmp_path / "history.csv")
    assert rows == trained.history
    assert rows[-1].validation_weak_accuracy is None
    assert rows[-1].validation_log_likelihood is None
    assert rows[-1].train_weak_accuracy > 0.5


def test_early_stopping_needs_validation_samples(tmp_path: Path) -> None:
    images, sigma = source(), SIGMAS["base 3"]
    samples, _ = draw_once(images, sigma, seed=1)
    with pytest.raises(InvalidInput, match="patience: expected None where there are no validation samples"):
        train(images.images, samples, sigma, make_method("sl", sigma), Settings(epochs=2, patience=1), tmp_path)


@pytest.mark.parametrize("name", ["ordered", "base 3"])
def test_samples_with_replacement_serve_sequences_too(name: str) -> None:
    sigma = SIGMAS[name]
    samples, gold = draw_samples(source(), sigma, 30, seed=1, validation=10)
    assert samples.train_weak.shape == (30, sigma.length)
    assert samples.validation_weak.shape == (10, sigma.length)
    assert (samples.train_weak >= 0).all()
    np.testing.assert_array_equal(samples.train_weak, sigma.apply(gold.train))


@pytest.mark.parametrize(("name", "options"), [("sl", {"noise": 0.1}), ("sl", {"form": "bce"}), ("sl-prior", {})])
def test_methods_that_list_weak_labels_are_refused(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    images, sigma = source(), SIGMAS["base 3"]
    samples, _ = draw_once(images, sigma, seed=1)
    with pytest.raises(InvalidInput, match=r"sigma\.listed"):
        train(images.images, samples, sigma, make_method(name, sigma, **options), Settings(epochs=1), tmp_path)
