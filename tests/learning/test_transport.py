"""Soft pseudolabels against a convex solver on listed pre-images, CAROT, the posterior and the linear program."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import nslimb
from nslimb import Sigma, soft_pseudolabels
from nslimb.errors import InvalidInput
from nslimb.learning import dual


class Listed:
    """The problem over listed label vectors: q in one vector, and A with A q the counts."""

    def __init__(
        self, scores: Tensor, preimages: list[np.ndarray], ratios: np.ndarray, eta: float, tau: float, pooled: Any
    ) -> None:
        batch, arity, classes = scores.shape
        self.eta, self.tau, self.arity = eta, tau, arity
        row_of = [0] * arity if pooled is True else list(range(arity)) if pooled is False else pooled
        target = np.zeros((max(row_of) + 1, classes))
        np.add.at(target, row_of, batch * np.broadcast_to(ratios, (arity, classes)))
        self.target = target.ravel()
        self.sample = np.repeat(np.arange(batch), [len(p) for p in preimages])
        self.vectors = np.concatenate(preimages)
        self.cost = -scores.numpy()[self.sample[:, None], np.arange(arity), self.vectors].sum(axis=1)
        self.counts = np.zeros((len(self.target), len(self.sample)))
        for i in range(arity):
            rows = row_of[i] * classes + self.vectors[:, i]
            np.add.at(self.counts, (rows, np.arange(len(rows))), 1.0)

    def objective(self, q: np.ndarray) -> float:
        b = self.counts @ q
        some = b > 0
        divergence = (b[some] * np.log(b[some] / self.target[some])).sum() - b.sum() + self.target.sum()
        entropy = -(q[q > 0] * np.log(q[q > 0])).sum()
        return float(self.cost @ q - self.eta * entropy + (self.tau * divergence if self.tau else 0.0))

    def minimum(self) -> np.ndarray:
        """Newton's method on q itself, damped, with the sums to 1 as equality constraints."""
        sums = (self.sample == np.arange(self.sample[-1] + 1)[:, None]).astype(float)
        q = sums.T @ (1 / sums.sum(axis=1))
        used = self.counts.any(axis=1)
        for _ in range(500):
            b = self.counts[used] @ q
            slope = self.cost + self.eta * (np.log(q) + 1)
            slope += self.tau * self.counts[used].T @ np.log(b / self.target[used])
            curvature = np.diag(self.eta / q) + self.tau * (self.counts[used].T / b) @ self.counts[used]
            # In units of sqrt(q), so that small entries are solved for as well as large ones.
            root = np.sqrt(q)
            system = np.block(
                [[root[:, None] * curvature * root, (sums * root).T], [sums * root, np.zeros((len(sums), len(sums)))]]
            )
            step = (
                root * np.linalg.lstsq(system, np.append(-root * slope, np.zeros(len(sums))), rcond=1e-15)[0][: len(q)]
            )
            decrement = -slope @ step
            if decrement < 1e-11:
                return q
            # In logarithms, so that no entry can leave its bounds, and none that hardly counts holds up the others.
            length = min(1.0, 2.0 / np.abs(step / q)[q > 1e-12].max())
            while True:
                moved = q * np.exp(np.clip(length * step / q, -2.0, 2.0))
                moved /= sums.T @ (sums @ moved)
                if self.objective(moved) <= self.objective(q) - 1e-4 * length * decrement or length < 1e-9:
                    break
                length /= 2
            q = np.maximum(moved, 1e-200)
        raise AssertionError("the oracle has not converged")

    def marginals(self, q: np.ndarray, classes: int) -> np.ndarray:
        result = np.zeros((self.sample[-1] + 1, self.arity, classes))
        np.add.at(result, (self.sample[:, None], np.arange(self.arity), self.vectors), q[:, None])
        return result


def preimages_of(sigma: Sigma, weak: list[int]) -> list[np.ndarray]:
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    return [vectors[table == s] for s in weak]


def draw_problem(data: st.DataObject, zeros: bool = False) -> dict[str, Any]:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4, max_vectors=30))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    batch = data.draw(st.integers(1, 4))
    spread = data.draw(st.sampled_from([0.0, 1.0, 3.0]))
    scores = torch.from_numpy(rng.normal(size=(batch, sigma.arity, sigma.num_classes)) * spread).log_softmax(-1)
    weak = data.draw(oracles.weak_for(sigma, batch))
    pooled = data.draw(st.sampled_from([False, True, "some"]))
    shape = (sigma.arity,) if pooled is not True and data.draw(st.booleans()) else ()
    ratios = rng.dirichlet(np.full(sigma.num_classes, 2.0), size=shape)
    if zeros:
        ratios = np.where(rng.random(ratios.shape) < 0.4, 0.0, ratios)
        ratios[ratios.sum(axis=-1) == 0] = 1.0
        ratios /= ratios.sum(axis=-1, keepdims=True)
    if pooled == "some":  # any of the rows, used or not
        pooled = rng.integers(0, sigma.arity, size=sigma.arity).tolist()
        pooled = [sorted(set(pooled)).index(row) for row in pooled]
        ratios = ratios[pooled] if shape else ratios
    return {
        "log_scores": scores,
        "weak": weak,
        "sigma": sigma,
        "ratios": ratios,
        "eta": data.draw(st.sampled_from([0.3, 1.0, 5.0])),
        "tau": data.draw(st.sampled_from([0.01, 1.0, 10.0])),
        "pooled": pooled,
    }


def listed(problem: dict[str, Any], preimages: list[np.ndarray]) -> Listed:
    keys = ("ratios", "eta", "tau", "pooled")
    return Listed(problem["log_scores"], preimages, *(problem[key] for key in keys))


@settings(max_examples=100)
@given(st.data())
def test_the_solution_is_that_of_a_convex_solver_on_listed_preimages(data: st.DataObject) -> None:
    problem = draw_problem(data)
    found = soft_pseudolabels(**problem, tolerance=1e-9)
    oracle = listed(problem, preimages_of(problem["sigma"], problem["weak"]))
    best = oracle.minimum()
    assert found.converged
    assert float(found.objective) == pytest.approx(oracle.objective(best), rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(found.q, oracle.marginals(best, problem["sigma"].num_classes), atol=1e-5)


@settings(max_examples=100)
@given(st.data())
def test_potentials_tell_scores_and_counts(data: st.DataObject) -> None:
    """q is the posterior at (log P + v) / eta, v = -tau log(b / (n r)), whatever the scores are."""
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4, max_vectors=64))
    scores = data.draw(oracles.log_scores_for(sigma))
    weak = data.draw(oracles.weak_for(sigma, len(scores)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = rng.dirichlet(np.ones(sigma.num_classes), size=sigma.arity)
    eta, tau = data.draw(st.sampled_from([0.3, 1.0])), data.draw(st.sampled_from([0.5, 10.0]))
    found = soft_pseudolabels(scores, weak, sigma, ratios, eta, tau)
    assert found.converged
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    moved = (scores.clamp_min(-1000) + found.potentials) / eta
    np.testing.assert_allclose(
        found.q, oracles.posterior(moved, torch.tensor(weak), table, vectors), atol=1e-9, rtol=1e-7
    )
    np.testing.assert_allclose(found.q.sum(-1), 1.0, atol=1e-9)
    allowed = np.zeros((sigma.arity, sigma.num_classes), dtype=bool)
    for s in weak:
        for vector in vectors[table == s]:
            allowed[np.arange(sigma.arity), vector] = True
    assert (found.potentials.numpy()[~allowed] == 0).all()
    counts = found.q.sum(0).numpy()
    seen = allowed & (counts > 1e-9)
    wanted = -tau * np.log(counts[seen] / (len(weak) * ratios[seen]))
    np.testing.assert_allclose(found.potentials.numpy()[seen], wanted, atol=3e-6 * tau)


@settings(max_examples=60)
@given(st.data())
def test_a_ratio_of_zero_keeps_its_class_out_or_is_refused(data: st.DataObject) -> None:
    problem = draw_problem(data, zeros=True)
    ratios = np.broadcast_to(problem["ratios"], problem["log_scores"].shape[1:])
    preimages = preimages_of(problem["sigma"], problem["weak"])
    left = [p[(ratios[np.arange(p.shape[1]), p] > 0).all(axis=1)] for p in preimages]
    if not all(len(p) for p in left):
        with pytest.raises(InvalidInput, match=r"ratios: expected ratios above 0 .* weak labels prove .* has no label"):
            soft_pseudolabels(**problem)
        return
    found = soft_pseudolabels(**problem, tolerance=1e-9)
    oracle = listed(problem, left)
    best = oracle.minimum()
    assert found.converged
    assert float(found.objective) == pytest.approx(oracle.objective(best), rel=1e-8, abs=1e-8)
    assert (found.q[:, torch.from_numpy(ratios == 0)] == 0).all()


@settings(max_examples=60)
@given(
    batch=st.integers(1, 12),
    classes=st.integers(2, 6),
    seed=st.integers(0, 2**32 - 1),
    eta=st.sampled_from([0.05, 0.3, 1.0, 10.0]),
    tau=st.sampled_from([0.01, 1.0, 10.0, 1000.0]),
    pooled=st.booleans(),
)
def test_without_weak_labels_it_is_carot(
    batch: int, classes: int, seed: int, eta: float, tau: float, pooled: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(batch, classes)) * 3).log_softmax(-1)
    ratios = rng.dirichlet(np.ones(classes))
    sigma = Sigma.from_function(lambda _: 0, classes, 1)
    found = soft_pseudolabels(scores.unsqueeze(1), [0] * batch, sigma, ratios, eta, tau, pooled, tolerance=1e-10)
    assert found.converged
    np.testing.assert_allclose(found.q.squeeze(1), nslimb.carot(scores, ratios, eta, tau).scores, atol=1e-8)


@settings(max_examples=40)
@given(st.data())
def test_without_tau_it_is_the_posterior(data: st.DataObject) -> None:
    problem = draw_problem(data, zeros=True)
    problem["tau"] = 0.0
    found = soft_pseudolabels(**problem)
    problem["ratios"] = np.full(problem["ratios"].shape[-1], 1.0)
    scores, weak, sigma = problem["log_scores"], problem["weak"], problem["sigma"]
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    expected = oracles.posterior(scores / problem["eta"], torch.tensor(weak), table, vectors)
    np.testing.assert_allclose(found.q, expected, atol=1e-9)
    assert (found.potentials == 0).all()
    assert (int(found.iterations), bool(found.converged)) == (0, True)
    oracle = listed(problem, preimages_of(sigma, weak))
    assert float(found.objective) == pytest.approx(oracle.objective(oracle.minimum()), rel=1e-8, abs=1e-8)


@settings(max_examples=40)
@given(st.data())
def test_the_limit_is_the_hull_program(data: st.DataObject) -> None:
    """With eta -> 0 and tau -> infinity, in objective, where the ratios can be met exactly."""
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4, max_vectors=30))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = oracles.all_vectors(sigma)[oracles.weak_table(sigma) >= 0]
    hidden = labels[rng.integers(len(labels), size=data.draw(st.integers(1, 5)))]
    weak = sigma.apply(hidden).tolist()
    ratios = np.eye(sigma.num_classes)[hidden].mean(axis=0) + 1e-12
    ratios /= ratios.sum(axis=-1, keepdims=True)
    scores = torch.from_numpy(rng.normal(size=(*hidden.shape, sigma.num_classes))).log_softmax(-1)
    hull = nslimb.pseudolabels(scores, weak, sigma, ratios, epsilon=0.0)
    assert hull.epsilon == 0
    sizes = [len(p) for p in preimages_of(sigma, weak)]
    coarse, fine = soft_pseudolabels(scores, weak, sigma, ratios, [0.5, 0.02], [10.0, 1000.0]).objective.tolist()
    # The solution of the hull program costs no KL, and its entropy is between 0 and that of the uniform distribution.
    assert coarse <= fine + 1e-6
    assert fine <= hull.objective + 1e-6
    assert hull.objective - fine <= 0.02 * np.log(sizes).sum() + 0.02


def real_batch(sigma: Sigma, batch: int = 64, seed: int = 0) -> tuple[Tensor, Tensor, np.ndarray]:
    """Scores of a classifier that leans, and weak labels of a long tail."""
    generator = torch.Generator().manual_seed(seed)
    ratios = 50 ** -(np.arange(10) / 9)
    ratios /= ratios.sum()
    hidden = torch.multinomial(torch.from_numpy(ratios), batch * sigma.arity, True, generator=generator)
    hidden = hidden.view(batch, sigma.arity)
    leaning = 2 * torch.randn(10, generator=generator)
    scores = torch.randn(batch, sigma.arity, 10, generator=generator) + leaning
    return (scores + 3 * torch.nn.functional.one_hot(hidden, 10)).log_softmax(-1), sigma.apply(hidden), ratios


def test_where_the_way_to_a_small_eta_fails_it_is_not_gone_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven levels lead from 1 to 1e-6; of those after a failure only the last is tried."""
    monkeypatch.setattr(dual, "_MAX_STEPS", 2)
    sigma = nslimb.sigma.total(3)
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(20, 3, 10, generator=generator).mul(3).log_softmax(-1)
    weak = torch.randint(28, (20,), generator=generator)
    found = soft_pseudolabels(scores, weak, sigma, [0.1] * 10, eta=1e-6, tau=1e3)
    assert not found.converged
    assert found.iterations <= 4
    assert torch.isfinite(found.q).all()


@pytest.mark.parametrize("sigma", [nslimb.sigma.maximum(5), nslimb.sigma.total(4)], ids=repr)
@pytest.mark.parametrize("pooled", [False, True])
def test_real_sizes_take_a_handful_of_passes(sigma: Sigma, pooled: bool) -> None:
    scores, weak, ratios = real_batch(sigma)
    found = soft_pseudolabels(scores, weak, sigma, ratios, pooled=pooled)
    assert found.converged
    assert found.iterations <= 25
    assert found.q.dtype == torch.float32
    counts = found.q.double().sum((0, 1) if pooled else 0).numpy()
    wanted = len(weak) * (sigma.arity if pooled else 1) * ratios * np.exp(-found.potentials.numpy() / 10.0)
    np.testing.assert_allclose(counts if not pooled else np.broadcast_to(counts, wanted.shape), wanted, rtol=1e-5)
    assert (found.potentials == found.potentials[0]).all() == pooled


def test_settings_are_solved_together_as_one_by_one() -> None:
    sigma = nslimb.sigma.maximum(3)
    scores, weak, ratios = real_batch(sigma, batch=16)
    etas, taus = torch.tensor([[0.1], [1.0]]), torch.tensor([0.0, 1.0, 20.0])
    together = soft_pseudolabels(scores.double(), weak, sigma, ratios, etas, taus)
    assert together.q.shape == (2, 3, 16, 3, 10)
    assert together.potentials.shape == (2, 3, 3, 10)
    assert together.converged.all()
    for a, eta in enumerate(etas.flatten().tolist()):
        for b, tau in enumerate(taus.tolist()):
            alone = soft_pseudolabels(scores.double(), weak, sigma, ratios, eta, tau)
            torch.testing.assert_close(together.q[a, b], alone.q, atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(together.objective[a, b], alone.objective)


def test_classes_that_no_weak_label_allows_take_no_part() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=4)
    scores = torch.randn(6, 2, 4, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    for pooled in (False, True):
        found = soft_pseudolabels(scores, [1] * 6, sigma, [0.25] * 4, pooled=pooled)
        assert found.converged
        assert (found.potentials[:, 2:] == 0).all()
        assert (found.potentials[:, :2] != 0).all()
        assert (found.q[:, :, 2:] == 0).all()


def test_a_ratio_of_zero_may_exclude_further_labels() -> None:
    """Without class 2 at position 0, class 0 at position 1 is left without a label vector."""
    sigma = Sigma.from_function(sum, num_classes=3, arity=2)
    ratios = [[0.5, 0.5, 0.0], [0.4, 0.3, 0.3]]
    found = soft_pseudolabels(torch.zeros(3, 2, 3).log_softmax(-1), [2, 2, 2], sigma, ratios)
    assert found.converged
    assert found.q[0, :, :].tolist()[0][2] == 0
    assert found.q[:, 1, 0].max() == 0
    assert found.potentials[0, 2] == -torch.inf
    assert found.potentials[1, 0] == 0
    assert torch.isfinite(found.objective)


def test_no_step_reads_a_constant_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    readers, read = [], Tensor.__float__

    def noted(number: Tensor) -> float:
        readers.append(sys._getframe(1).f_globals["__name__"])
        return read(number)

    monkeypatch.setattr(Tensor, "__float__", noted)
    scores, weak, ratios = real_batch(nslimb.sigma.maximum(3))
    assert soft_pseudolabels(scores, weak, nslimb.sigma.maximum(3), ratios).iterations > 2
    assert "nslimb.learning.dual" not in readers


def test_no_end_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual, "_MAX_STEPS", 2)
    scores, weak, ratios = real_batch(nslimb.sigma.maximum(3))
    found = soft_pseudolabels(scores, weak, nslimb.sigma.maximum(3), ratios)
    assert (bool(found.converged), int(found.iterations)) == (False, 2)
    torch.testing.assert_close(found.q.sum(-1), torch.ones(64, 3))


def test_nothing_is_differentiated_and_inference_mode_is_no_trouble() -> None:
    sigma = nslimb.sigma.maximum(2)
    scores = torch.zeros(3, 2, 10, requires_grad=True)
    assert not soft_pseudolabels(scores.log_softmax(-1), [1, 5, 9], sigma, [0.1] * 10).q.requires_grad
    with torch.inference_mode():
        assert soft_pseudolabels(torch.zeros(3, 2, 10), [1, 5, 9], sigma, [0.1] * 10).converged


def test_an_empty_batch_has_no_pseudolabels() -> None:
    found = soft_pseudolabels(torch.zeros(0, 2, 10), [], nslimb.sigma.maximum(2), [0.1] * 10)
    assert found.q.shape == (0, 2, 10)
    assert found.converged
    assert found.objective == 0


SIGMA = nslimb.sigma.maximum(2, num_classes=3)
GOOD = torch.zeros(2, 2, 3).log_softmax(-1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0}, "eta: expected finite numbers above 0, got 0.0"),
        ({"eta": -1.0}, "eta: expected finite numbers above 0"),
        ({"eta": float("nan")}, "eta: expected finite numbers above 0, got nan"),
        ({"eta": float("inf")}, "eta: expected finite numbers above 0, got inf"),
        ({"eta": True}, "eta: expected finite numbers above 0, got True"),
        ({"tau": [False, True]}, "tau: expected finite numbers of at least 0"),
        ({"pooled": "yes"}, "pooled: expected True, False, or a whole number for each of 2 positions, got 'yes'"),
        ({"pooled": [0]}, r"pooled: expected True, False, or a whole number for each of 2 positions, got \[0\]"),
        ({"pooled": [0, 0.5]}, "pooled: expected True, False, or a whole"),
        ({"pooled": None}, "pooled: expected True, False, or a whole"),
        (
            {"ratios": [[0.2, 0.3, 0.5], [0.2, 0.4, 0.4]], "pooled": [1, 1]},
            "ratios: expected the same ratios at positions that are pooled, got others at position 1 than at 0",
        ),
        ({"tau": -0.1}, "tau: expected finite numbers of at least 0, got -0.1"),
        ({"tau": float("inf")}, "tau: expected finite numbers of at least 0, got inf"),
        ({"tau": "much"}, "tau: expected finite numbers"),
        ({"eta": [1.0, 2.0], "tau": [1.0, 2.0, 3.0]}, r"eta, tau: expected shapes that broadcast, got shapes \[2\]"),
        ({"tolerance": 0.0}, "tolerance: expected a number between 0 and 1, got 0.0"),
        ({"ratios": [0.5, 0.5]}, r"ratios: expected .* shape \[3\] or \[2, 3\], got shape \[2\]"),
        ({"ratios": [0.5, 0.6, -0.1]}, r"ratios: expected ratios of at least 0 that sum to 1"),
        ({"ratios": [[1 / 3] * 3] * 2, "pooled": True}, r"ratios: expected .* 3 numbers, got shape \[2, 3\]"),
        (
            {"ratios": [0.0, 0.5, 0.5]},
            r"got 0 for class 0, without which sample 0 \(weak label 0\) has no label vector",
        ),
        (
            {"ratios": [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], "weak": [1, 0]},
            r"got 0 for class 2 at position 0, 0 at position 1, without which sample 1 \(weak label 0\)",
        ),
        ({"weak": [0, 3]}, "weak: expected"),
        ({"log_scores": GOOD * float("nan")}, "log_scores: expected"),
        ({"sigma": max}, "sigma: expected a Sigma"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    arguments = {"log_scores": GOOD, "weak": [0, 1], "sigma": SIGMA, "ratios": [1 / 3] * 3, **options}
    with pytest.raises(InvalidInput, match=message):
        soft_pseudolabels(**arguments)
