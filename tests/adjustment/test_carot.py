"""CAROT against POT, against a generic solver on the objective itself, and against the paper's iteration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import nslimb
from nslimb import carot
from nslimb.errors import InvalidInput


def random_problem(seed: int, n: int = 30, c: int = 5) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(n, c)) * 3).log_softmax(-1)
    return scores, rng.dirichlet(np.full(c, 0.7)) * 0.98 + 0.02 / c


def objective(p: np.ndarray, log_scores: np.ndarray, ratios: np.ndarray, eta: float, tau: float) -> float:
    """(7) as printed, with 0 log 0 = 0."""
    column, wanted = p.sum(axis=0), len(p) * ratios

    def xlogy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x * np.log(np.where(x > 0, y, 1.0)), 0.0)

    divergence = (xlogy(column, column / wanted)).sum()
    return float((-log_scores * p).sum() + tau * divergence + eta * xlogy(p, p).sum())


@pytest.mark.filterwarnings("ignore:If reg_type = entropy")
@pytest.mark.parametrize(("eta", "tau"), list(itertools.product([0.3, 1.0, 10.0], [0.1, 1.0, 10.0])))
def test_it_is_what_pot_computes(eta: float, tau: float) -> None:
    scores, ratios = random_problem(0)
    n = len(scores)
    theirs = ot.unbalanced.sinkhorn_unbalanced(
        np.ones(n),
        n * ratios,
        -scores.numpy(),
        reg=eta,
        reg_m=(np.inf, tau),
        reg_type="entropy",
        numItermax=100_000,
        stopThr=1e-15,
    )
    np.testing.assert_allclose(carot(scores, ratios, eta, tau).scores, theirs, atol=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 2.0]), st.sampled_from([0.1, 1.0, 50.0]))
def test_no_generic_solver_finds_a_lower_objective(seed: int, eta: float, tau: float) -> None:
    scores, ratios = random_problem(seed, n=6, c=3)
    log_scores = scores.numpy()

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        p = flat.reshape(6, 3)
        column = p.sum(axis=0) / (6 * ratios)
        slope = -log_scores + tau * (np.log(column) + 1) + eta * (np.log(p) + 1)
        return objective(p, log_scores, ratios, eta, tau), slope.reshape(-1)

    rows = {
        "type": "eq",
        "fun": lambda flat: flat.reshape(6, 3).sum(axis=1) - 1,
        "jac": lambda _: np.kron(np.eye(6), np.ones(3)),
    }
    theirs = minimize(
        loss,
        np.full(18, 1 / 3),
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * 18,
        constraints=[rows],
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    ours = objective(carot(scores, ratios, eta, tau).scores.numpy(), log_scores, ratios, eta, tau)
    assert ours <= theirs.fun + 1e-9
    assert ours == pytest.approx(theirs.fun, abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(-5, 4), st.floats(-5, 4))
def test_it_solves_the_problem_for_any_eta_and_tau(seed: int, log_eta: float, log_tau: float) -> None:
    scores, ratios = random_problem(seed)
    eta, tau = 10.0**log_eta, 10.0**log_tau
    found = carot(scores, ratios, eta, tau)
    p = found.scores.numpy()
    assert found.converged
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    best = objective(p, scores.numpy(), ratios, eta, tau)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-3, 1e-5):  # the objective is convex: no feasible neighbour may be lower
        other = (1 - size) * p + size * rng.dirichlet(np.ones(p.shape[1]), size=len(p))
        assert objective(other, scores.numpy(), ratios, eta, tau) >= best - 1e-9 * max(1.0, abs(best))


def test_the_whole_grid_is_one_call() -> None:
    scores, ratios = random_problem(3)
    etas, taus = torch.logspace(-5, 4, 10, dtype=torch.float64), torch.logspace(-5, 4, 20, dtype=torch.float64)
    grid = carot(scores, ratios, etas[:, None], taus)
    assert grid.scores.shape == (10, 20, 30, 5)
    assert grid.converged.all()
    assert grid.ratios.shape == (10, 20, 5)
    for i, j in ((0, 0), (0, 19), (4, 7), (9, 3), (9, 19)):
        alone = carot(scores, ratios, etas[i].item(), taus[j].item())
        torch.testing.assert_close(grid.scores[i, j], alone.scores, atol=1e-6, rtol=0)
        assert alone.scores.shape == (30, 5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rare", [1e-3, 1e-5, 1e-10])
def test_rare_classes_converge_on_the_whole_grid(seed: int, rare: float) -> None:
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(3 * rng.normal(size=(256, 10))).log_softmax(-1)
    ratios = np.full(10, 0.1)
    ratios[: seed + 1] = rare
    etas, taus = torch.logspace(-5, 4, 10, dtype=torch.float64), torch.logspace(-5, 4, 20, dtype=torch.float64)
    assert carot(scores, ratios / ratios.sum(), etas[:, None], taus).converged.all()


def test_the_papers_iteration_goes_to_the_same_place() -> None:
    scores, ratios = random_problem(5)
    solved = carot(scores, ratios, 0.5, 2.0)
    near = carot(scores, ratios, 0.5, 2.0, solver="alternating", half_iterations=500)
    torch.testing.assert_close(near.scores, solved.scores, atol=1e-9, rtol=0)
    assert near.converged
    assert near.iterations == 500
    assert not carot(scores, ratios, 0.5, 2.0, solver="alternating", half_iterations=1).converged
    far = carot(scores, ratios, 0.5, 2.0, solver="alternating", half_iterations=4)
    assert not far.converged
    assert (far.scores - solved.scores).abs().max() > 1e-3


def test_the_papers_iteration_does_not_arrive_where_tau_is_far_above_eta() -> None:
    scores, ratios = random_problem(6)
    assert not carot(scores, ratios, 1e-3, 1e3, solver="alternating").converged
    assert carot(scores, ratios, 1e-3, 1e3).converged


def test_limits_of_tau() -> None:
    scores, ratios = random_problem(7)
    torch.testing.assert_close(carot(scores, ratios, 1.0, 1e-9).scores, scores.exp(), atol=1e-6, rtol=0)
    np.testing.assert_allclose(carot(scores, ratios, 1.0, 1e6).ratios, ratios, atol=1e-5)


def test_a_class_that_cannot_occur_gets_nothing() -> None:
    scores, _ = random_problem(8, c=4)
    found = carot(scores, [0.5, 0.0, 0.25, 0.25], 0.5, 1.0)
    assert (found.scores[:, 1] == 0).all()
    assert found.ratios[1] == 0
    rest = carot(scores[:, [0, 2, 3]], [0.5, 0.25, 0.25], 0.5, 1.0)
    torch.testing.assert_close(found.scores[:, [0, 2, 3]], rest.scores)


@pytest.mark.parametrize(("eta", "tau"), [(1e-3, 1e3), (1.0, 1e4), (1e2, 1e-2), (1e-2, 1e-3), (30.0, 30.0)])
def test_many_instances_converge_for_any_setting(eta: float, tau: float) -> None:
    scores, ratios = random_problem(10, n=4100)
    many = carot(scores, ratios, eta, tau)
    assert many.converged
    p = many.scores.numpy()
    best = objective(p, scores.numpy(), ratios, eta, tau)
    uniform = np.full_like(p, 1 / p.shape[1])
    for size in (1e-1, 1e-3, 1e-5):
        assert objective((1 - size) * p + size * uniform, scores.numpy(), ratios, eta, tau) >= best - 1e-9 * abs(best)


def test_many_instances_agree_with_few() -> None:
    scores, ratios = random_problem(9, n=5000)
    found = carot(scores, ratios, 0.3, 5.0)
    assert found.converged
    exact = carot(scores, ratios, 0.3, 5.0, solver="alternating", half_iterations=2000)
    torch.testing.assert_close(found.scores, exact.scores, atol=1e-8, rtol=0)


def test_certain_scores_and_float32() -> None:
    scores = torch.eye(4).log()
    found = carot(scores, [0.25] * 4, 0.1, 1.0)
    assert found.scores.dtype == torch.float32
    torch.testing.assert_close(found.scores, torch.eye(4))
    uneven = carot(scores, [0.7, 0.1, 0.1, 0.1], 1e-3, 1e3)
    assert torch.isfinite(uneven.scores).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"log_scores": np.zeros((3, 2))}, "log_scores: expected .* got an object of type ndarray"),
        ({"log_scores": torch.zeros(3, 2, 2)}, r"log_scores: .* got shape \[3, 2, 2\]"),
        ({"log_scores": torch.zeros(0, 2)}, r"log_scores: .* got shape \[0, 2\]"),
        ({"log_scores": torch.zeros(3, 2).half()}, "log_scores: .* got dtype torch.float16"),
        ({"log_scores": torch.full((3, 2), float("nan"))}, r"log_scores: .* got NaN or \+inf"),
        ({"ratios": [0.5, 0.2, 0.3]}, r"ratios: expected .* 2 numbers, got shape \[3\]"),
        ({"ratios": [1.5, -0.5]}, "ratios: expected ratios of at least 0 that sum to 1"),
        ({"eta": 0.0}, "eta: expected finite numbers above 0, got 0.0"),
        ({"tau": -1.0}, "tau: expected finite numbers above 0, got -1.0"),
        ({"tau": float("inf")}, "tau: expected finite numbers above 0, got inf"),
        ({"eta": "small"}, "eta: expected finite numbers above 0, got 'small'"),
        ({"eta": []}, r"eta: expected finite numbers above 0, got \[\]"),
        (
            {"eta": [1.0, 2.0], "tau": [1.0, 2.0, 3.0]},
            r"eta, tau: expected shapes that broadcast, got shapes \[2\] and \[3\]",
        ),
        ({"solver": "lbfgs"}, "solver: expected 'newton' or 'alternating', got 'lbfgs'"),
        ({"solver": "alternating", "half_iterations": 0}, "half_iterations: expected an integer of at least 1"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    arguments = {"log_scores": torch.zeros(3, 2), "ratios": [0.5, 0.5], "eta": 1.0, "tau": 1.0, **options}
    with pytest.raises(InvalidInput, match=message):
        nslimb.carot(**arguments)
