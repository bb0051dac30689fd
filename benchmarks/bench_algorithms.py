"""Speed of the estimators, the linear programs and the adjustments, each against its rival."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import ot
import torch
from bench_sigma import network_step
from measure import Claim, report, seconds
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.learning.highs import Model
from nslimb.learning.programs import Proofs, hull
from nslimb.marginals import AdamOptions, NotIdentified

warnings.simplefilter("ignore", NotIdentified)
warnings.filterwarnings("ignore", message="If reg_type = entropy")


def long_tail(rho: float, reverse: bool = False) -> np.ndarray:
    shares = rho ** -(np.arange(10) / 9)
    shares = shares[::-1] if reverse else shares
    return shares / shares.sum()


def marginal(name: str, sigma: Sigma, ratios: np.ndarray, samples: int) -> list[Claim]:
    """Newton against 10,000 Adam steps of Algorithm 1 through the same diagram, and the regularised estimate."""
    weak = sigma.apply(np.random.default_rng(0).choice(10, p=ratios, size=(samples, sigma.arity)))
    start = time.perf_counter()
    adam = nslimb.estimate_marginal(weak, sigma, solver="adam", adam=AdamOptions())
    theirs = time.perf_counter() - start
    ours, even = seconds(
        lambda: nslimb.estimate_marginal(weak, sigma),
        lambda: nslimb.estimate_marginal(weak, sigma, regularise="entropy"),
    )
    newton = nslimb.estimate_marginal(weak, sigma)
    detail = f"{ours * 1e3:.0f} ms / {theirs:.1f} s ({theirs / ours:.0f} times faster)"
    gap = adam.log_likelihood - newton.log_likelihood
    return [
        Claim(f"{name}: Newton / 10,000 Adam steps", ours / theirs, 0.01, detail),
        Claim(f"{name}: Adam's log-likelihood above Newton's", gap, 1e-9, f"{newton.log_likelihood:.8f}"),
        Claim(f"{name}: regularised / Newton", even / ours, 10.0, f"{even * 1e3:.0f} ms / {ours * 1e3:.0f} ms"),
    ]


def batch(sigma: Sigma, size: int) -> tuple[Tensor, Tensor]:
    """Scores of a classifier with random leanings, and weak labels of uniform hidden labels."""
    generator = torch.Generator().manual_seed(0)
    weak = sigma.apply(torch.randint(10, (size, sigma.arity), generator=generator))
    leaning = torch.randn(10, generator=generator)
    return (torch.randn(size, sigma.arity, 10, generator=generator) * 2 + leaning).log_softmax(-1), weak


def label_step(sigma: Sigma, size: int, **options: object) -> Callable[[], object]:
    scores, weak = batch(sigma, size)
    return lambda: nslimb.pseudolabels(scores, weak, sigma, [0.1] * 10, **options)


def programs() -> list[Claim]:
    max_3, max_4, max_5 = (nslimb.sigma.maximum(arity) for arity in (3, 4, 5))
    hull_time, paper_time = seconds(label_step(max_3, 64), label_step(max_3, 64, encoding="paper"))
    generated, network = seconds(label_step(max_5, 64), network_step(5))
    (many,) = seconds(label_step(max_4, 512))
    start = time.perf_counter()
    label_step(max_4, 512, proofs=max(max_4.preimage_sizes()))()
    listed = time.perf_counter() - start
    return [
        Claim(
            "MAX-3, batch 64: hull / paper",
            hull_time / paper_time,
            1 / 3,
            f"{hull_time * 1e3:.0f} ms / {paper_time * 1e3:.0f} ms",
        ),
        Claim(
            "MAX-5, batch 64: columns generated / LeNet",
            generated / network,
            3.0,
            f"{generated * 1e3:.0f} ms / {network * 1e3:.0f} ms",
        ),
        Claim(
            "MAX-4, batch 512: generated / all columns", many / listed, 1 / 20, f"{many * 1e3:.0f} ms / {listed:.1f} s"
        ),
        building(max_3),
    ]


def building(sigma: Sigma) -> Claim:
    """Writing down the hull over all columns and passing it on, against solving it."""
    scores, weak = batch(sigma, 64)
    cost = -scores.double().numpy()
    preimages = [sigma.preimage(int(s)) for s in weak]
    proofs = Proofs(np.repeat(np.arange(64), [len(p) for p in preimages]), np.concatenate(preimages))

    def build() -> Model:
        program = hull(cost, proofs)
        bounds = np.full(30, 6.4)
        program.row_lower[program.ratio_start :], program.row_upper[program.ratio_start :] = (
            bounds - 0.99,
            bounds + 0.99,
        )
        return Model(
            program.columns, program.row_lower, program.row_upper, integer=False, growing=False, time_limit=60.0
        )

    build_time, both = seconds(build, lambda: build().solve())
    solve = both - build_time
    return Claim(
        "MAX-3, batch 64, all columns: building / solving",
        build_time / solve,
        1.0,
        f"{build_time * 1e3:.1f} ms / {solve * 1e3:.0f} ms",
    )


def printed_iteration(log_scores: Tensor, ratios: np.ndarray, eta: float, tau: float) -> Tensor:
    """Algorithm 2 as one would write it down from the paper: 500 half-iterations on the whole matrix."""
    log_counts = torch.from_numpy(ratios * len(log_scores)).log()
    u, v = torch.zeros(len(log_scores), 1, dtype=torch.float64), torch.zeros(ratios.size, dtype=torch.float64)
    for k in range(500):
        moved = torch.exp((u + v + log_scores) / eta)
        if k % 2:
            v = eta * tau / (eta + tau) * (v / eta + log_counts - moved.sum(0).log())
        else:
            u = u - eta * moved.sum(1, keepdim=True).log()
    return torch.exp((u + v + log_scores) / eta)


def adjustments() -> list[Claim]:
    ratios = long_tail(15)
    scores = batch(nslimb.sigma.maximum(3), 256)[0].reshape(-1, 10).double()
    etas, taus = torch.logspace(-5, 4, 10, dtype=torch.float64), torch.logspace(-5, 4, 20, dtype=torch.float64)
    start = time.perf_counter()
    for eta in etas.tolist():
        for tau in taus.tolist():
            printed_iteration(scores, ratios, eta, tau)
    theirs = time.perf_counter() - start
    (ours,) = seconds(lambda: nslimb.carot(scores, ratios, etas[:, None], taus))
    claims = [
        Claim(
            "CAROT, grid of 200 on 768 instances: ours / alternating",
            ours / theirs,
            1 / 20,
            f"{ours * 1e3:.0f} ms / {theirs:.1f} s",
        )
    ]
    many = batch(nslimb.sigma.maximum(1), 10_000)[0].reshape(-1, 10).double()
    for eta, tau in ((1.0, 1.0), (0.1, 1.0), (1.0, 10.0), (0.1, 10.0)):
        one, pot = seconds(
            lambda eta=eta, tau=tau: nslimb.carot(many, ratios, eta, tau),
            lambda eta=eta, tau=tau: ot.unbalanced.sinkhorn_unbalanced(
                np.ones(10_000),
                10_000 * ratios,
                -many.numpy(),
                reg=eta,
                reg_m=(np.inf, tau),
                reg_type="entropy",
                numItermax=10_000,
                stopThr=1e-8,
            ),
        )
        claims.append(
            Claim(
                f"CAROT, 10,000 instances, eta {eta:g}, tau {tau:g}: ours / POT",
                one / pot,
                1.0,
                f"{one * 1e3:.1f} ms / {pot * 1e3:.1f} ms",
            )
        )
    return claims


def main() -> None:
    claims = [
        *marginal("MAX-5", nslimb.sigma.maximum(5), long_tail(5, reverse=True), 3000),
        *marginal("SUM-7", nslimb.sigma.total(7), long_tail(70), 2000),
        *programs(),
        *adjustments(),
    ]
    report("estimation, pseudolabels and adjustment, one thread", claims)


if __name__ == "__main__":
    main()
