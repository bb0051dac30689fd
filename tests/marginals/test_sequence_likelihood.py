"""Algorithm 1 where weak labels are sequences, against the same function with its weak labels listed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.marginals.adam import AdamOptions
from nslimb.marginals.estimate import MarginalEstimate, NotIdentified, estimate_marginal
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.sequences import likelihood_of
from nslimb.sigma import Transducer


def pairs_that_differ() -> Transducer:
    """Both labels, one after the other; equal ones are a dead end."""
    return Sigma.from_transducer(
        -1, lambda last, y: None if y == last else (y, "low" if y < 2 else "high"), None, num_classes=4, arity=3
    )


def running_parity() -> Transducer:
    """Symmetric at uniform ratios, where the likelihood curves up."""
    return Sigma.from_transducer(0, lambda state, y: ((state + y) % 2, (state + y) % 2), None, num_classes=2, arity=3)


def up_to_twins(name: str, ratios: Any) -> Any:
    """Ratios, those of labels that sigma takes alike in order: rounding says which twin is the larger."""
    return np.sort(np.asarray(ratios).reshape(2, 2), axis=1).ravel() if name == "partial" else ratios


SIGMAS = {"addition": nslimb.sigma.addition(1), "addition 2": nslimb.sigma.addition(2), "partial": pairs_that_differ()}


def drawn(sigma: Sigma, number: int, seed: int) -> torch.Tensor:
    """Weak labels of label vectors drawn from ratios that are drawn themselves."""
    rng = np.random.default_rng(seed)
    ratios = rng.dirichlet(np.full(sigma.num_classes, 2.0))
    weak = torch.from_numpy(sigma.apply(rng.choice(sigma.num_classes, size=(number, sigma.arity), p=ratios)))
    return weak[(weak >= 0).all(dim=1)]


def both(sigma: Transducer, weak: torch.Tensor, groups: Any = None) -> tuple[WeakLikelihood, WeakLikelihood, list[int]]:
    """The likelihood of sequences, that of the listed sigma, and which of its weak labels the sequences are."""
    ours, listed = likelihood_of(weak, sigma, groups, False, 0.0), sigma.listed()
    seen = listed.encode(sigma.decode(ours.observed)).tolist()  # type: ignore[attr-defined]
    return ours, WeakLikelihood.from_weak(listed.encode(sigma.decode(weak)), listed, groups, False), seen


@settings(max_examples=30)
@given(st.sampled_from(sorted(SIGMAS)), st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_values_slopes_and_curvature_match_the_listed_function(
    name: str, seed: int, number: int, grouped: bool
) -> None:
    sigma = SIGMAS[name]
    weak = drawn(sigma, number, seed)
    if len(weak) == 0:
        return
    ours, theirs, seen = both(sigma, weak, [i % 2 for i in range(sigma.arity)] if grouped else None)
    rng = np.random.default_rng(seed)
    ratios = rng.dirichlet(np.ones(sigma.num_classes), size=(3, len(ours.possible)))
    shares, listed_shares = np.repeat(ours.shares[None], 3, axis=0), np.repeat(theirs.shares[None], 3, axis=0)
    assert (ours.samples, ours.partial) == (theirs.samples, theirs.partial)
    np.testing.assert_allclose(ours.values(ratios, shares), theirs.values(ratios, listed_shares), rtol=1e-10)
    for found, expected in zip(
        ours.values_and_slopes(ratios, shares), theirs.values_and_slopes(ratios, listed_shares), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    for found, expected in zip(
        ours.by_differences(ratios, shares), theirs.second_order(ratios, listed_shares), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    log_probs, slopes = theirs.log_probs_and_slopes(ratios[0])
    log_scores = torch.from_numpy(np.log(ratios[:1, ours.positions]))
    np.testing.assert_allclose(ours.log_probs(log_scores)[0], log_probs[seen], rtol=1e-10)
    # One sample's score after the other, without a pass over all of them.
    scores = slopes[seen][:, ours.possible]
    outer = sum(p * np.outer(score, score) for p, score in zip(ours.shares, scores, strict=True))
    value, gradient, derivative = ours.second_order(ratios[:1], ours.shares[None])
    np.testing.assert_allclose(value, theirs.values(ratios[:1], theirs.shares[None]), rtol=1e-10)
    np.testing.assert_allclose(gradient[0], ours.shares @ scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.diag(gradient[0]) - derivative[0], outer, rtol=1e-8, atol=1e-9)


def quietly(weak: Any, sigma: Sigma, **options: Any) -> MarginalEstimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)
        return estimate_marginal(weak, sigma, **options)


@pytest.mark.parametrize("regularise", [None, "entropy"])
@pytest.mark.parametrize("name", sorted(SIGMAS))
def test_the_estimate_is_that_of_the_listed_function(name: str, regularise: Any) -> None:
    sigma = SIGMAS[name]
    weak = drawn(sigma, 2000, seed=1)
    listed = sigma.listed()
    ours = quietly(weak, sigma, regularise=regularise)
    theirs = quietly(listed.encode(sigma.decode(weak)), listed, regularise=regularise)
    assert ours.converged
    assert theirs.converged
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(up_to_twins(name, ours.ratios), up_to_twins(name, theirs.ratios), atol=2e-4)
    assert (ours.flat_classes, ours.level) == (theirs.flat_classes, theirs.level)


def test_long_sums_tell_the_ratios_of_their_digits() -> None:
    rng = np.random.default_rng(0)
    ratios = np.arange(1, 11) / 55
    sigma = nslimb.sigma.addition(15)
    found = estimate_marginal(sigma.apply(rng.choice(10, size=(500, 30), p=ratios)), sigma)
    assert found.converged
    assert found.flat_classes == ()
    np.testing.assert_allclose(found.ratios, ratios, atol=0.05)


def test_a_saddle_is_left() -> None:
    sigma = running_parity()
    weak = torch.from_numpy(sigma.apply(np.random.default_rng(0).choice(2, size=(500, 3), p=[0.8, 0.2])))
    found = estimate_marginal(weak, sigma)
    np.testing.assert_allclose(found.ratios, [0.8, 0.2], atol=0.05)


def test_what_few_sequences_leave_open_is_named() -> None:
    sigma = nslimb.sigma.addition(2)
    with pytest.warns(NotIdentified, match="1 weak labels of Transducer.*direction"):
        found = estimate_marginal([[0, 0, 0]], sigma)
    assert len(found.flat) > 0


@pytest.mark.parametrize("solver", ["newton", "adam"])
def test_groups_and_adam(solver: Any) -> None:
    sigma = SIGMAS["addition"]
    weak = drawn(sigma, 400, seed=2)
    few = AdamOptions(iterations=100)
    found = quietly(weak, sigma, groups=[0, 1], solver=solver, adam=few)
    assert found.ratios.shape == (2, 10)
    listed = sigma.listed()
    theirs = quietly(listed.encode(sigma.decode(weak)), listed, groups=[0, 1], solver=solver, adam=few)
    assert found.log_likelihood == pytest.approx(theirs.log_likelihood, abs=1e-6)


@pytest.mark.parametrize(
    ("weak", "options", "message"),
    [
        ([[2, 1]], {"counts": True}, "sigma.listed"),
        ([[2, 1]], {"noise": 0.1}, "sigma.listed"),
        ([2, 1], {}, r"weak: expected at least one sequence, integers of shape \[m, L\], got shape \[2\]"),
        (np.empty((0, 2), dtype=int), {}, r"got shape \[0, 2\]"),
        ([[2, 1, 0]], {}, r"weak: expected .* got shape \[1, 3\]"),
        ([[9, 1], [2, 5]], {}, r"weak: expected sequences that some label vector gives, got \(9, 1\) \(sample 0\)"),
    ],
)
def test_bad_sequences_are_refused(weak: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        estimate_marginal(weak, SIGMAS["addition"], **options)
