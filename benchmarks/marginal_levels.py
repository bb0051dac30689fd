"""How far Algorithm 1 is from the true ratios on the paper's MAX and SUM cells, and which way to regularise it is best.

    python benchmarks/marginal_levels.py report data docs/marginal_levels.csv
    python benchmarks/marginal_levels.py choose data docs/marginal_choice.csv

``choose`` compares ways to regularise on seeds 11, 12, 13; ``report`` measures the one that was chosen, the maximum
likelihood and the paper's Adam on seeds 1, 2, 3. Both need MNIST in the folder (``nslimb data fetch mnist``) and write
total variations between estimated and true ratios.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize

import nslimb
from nslimb.arrays import FloatArray, IntArray
from nslimb.data import draw_samples, load
from nslimb.marginals import NotIdentified
from nslimb.marginals.entropy import most_even
from nslimb.marginals.information import directions, flat_directions
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.starts import best_start

torch.set_num_threads(1)
warnings.simplefilter("ignore", NotIdentified)

# Order q of the entropy sum_y r_y^q / (1 - q): 1/2 minds small ratios more than Shannon's, 2 less; 0 is sum_y log r_y.
ORDERS = (0.0, 0.5, 2.0)
PRIORS = (1.1, 1.5, 2.0, 5.0)
Row = dict[str, object]


class Cell(NamedTuple):
    benchmark: str
    arity: int
    rho: int
    seed: int
    sigma: nslimb.Sigma
    weak: IntArray
    truth: FloatArray

    @property
    def name(self) -> Row:
        return {"benchmark": self.benchmark, "M": self.arity, "rho": self.rho, "seed": self.seed}

    def distance(self, ratios: FloatArray) -> float:
        return float(0.5 * np.abs(np.asarray(ratios).reshape(-1) - self.truth).sum())


def cells(folder: Path, seeds: tuple[int, ...]) -> Iterator[Cell]:
    """The 12 MAX cells with 3,000 samples and the 6 SUM cells with 2,000, for every seed."""
    source = load("mnist", folder)
    grid = [("max", arity, rho) for arity in (3, 4, 5) for rho in (0, 5, 15, 50)]
    grid += [("sum", arity, rho) for arity in (5, 6, 7) for rho in (50, 70)]
    for benchmark, arity, rho in grid:
        is_max = benchmark == "max"
        sigma = nslimb.sigma.maximum(arity) if is_max else nslimb.sigma.total(arity)
        for seed in seeds:
            samples, gold = draw_samples(source, sigma, 3000 if is_max else 2000, seed, rho=rho, reverse=is_max)
            yield Cell(benchmark, arity, rho, seed, sigma, samples.train_weak, gold.ratios)


def report(cell: Cell) -> Row:
    plain = nslimb.estimate_marginal(cell.weak, cell.sigma)
    adam = nslimb.estimate_marginal(cell.weak, cell.sigma, solver="adam")
    even = nslimb.estimate_marginal(cell.weak, cell.sigma, regularise="entropy")
    found = {"maximum_likelihood": plain, "adam": adam, "entropy": even}
    distances = {name: f"{cell.distance(one.ratios.numpy()):.4f}" for name, one in found.items()}
    return {**cell.name, **distances, "level": even.level}


def choose(cell: Cell) -> Row:
    likelihood = WeakLikelihood.from_weak(cell.weak, cell.sigma, None, counts=False)
    peak = best_start(likelihood)[0]
    identified = directions(likelihood) - len(flat_directions(likelihood, peak))
    levels = {"1.92": 1.92, "4.6": 4.6, "d/4": identified / 4, "d/2": identified / 2, "3d/4": 0.75 * identified}
    loss = likelihood.samples * (likelihood.value(peak) - likelihood.value(cell.truth[None]))
    row = {**cell.name, "identified": identified, "loss of the truth": f"{loss:.2f}"}
    row["maximum likelihood"] = f"{cell.distance(peak):.4f}"
    for name, level in levels.items():
        row[f"entropy, {name}"] = f"{cell.distance(most_even(likelihood, peak, level).ratios):.4f}"
    for order in ORDERS:
        row[f"order {order:g}, d/2"] = f"{cell.distance(within(likelihood, peak, levels['d/2'], order)):.4f}"
    for alpha in PRIORS:
        row[f"Dirichlet {alpha:g}"] = f"{cell.distance(penalised(likelihood, alpha - 1, 0.0)):.4f}"
    return row


def within(likelihood: WeakLikelihood, peak: FloatArray, level: float, order: float) -> FloatArray:
    """The ratios of largest entropy of this order at most ``level`` nats below the peak: by bisection of its weight."""
    top, low, high, best = likelihood.value(peak), -5.0, 9.0, peak
    for _ in range(18):
        middle = (low + high) / 2
        ratios = penalised(likelihood, float(np.exp(middle)), order)
        if likelihood.samples * (top - likelihood.value(ratios)) <= level:
            low, best = middle, ratios
        else:
            high = middle
    return best


def penalised(likelihood: WeakLikelihood, weight: float, order: float) -> FloatArray:
    """Maximise m l(r) + weight * entropy of this order, by L-BFGS on softmax logits."""

    def loss(logits: FloatArray) -> tuple[float, FloatArray]:
        ratios = np.exp(logits - logits.max())
        ratios /= ratios.sum()
        ratios = np.maximum(ratios, 1e-300)
        values, slopes = likelihood.values_and_slopes(ratios[None, None], likelihood.shares[None])
        if order == 0:
            height, slope = np.log(ratios).sum(), np.ones_like(ratios)
        else:
            height, slope = (ratios**order).sum() / (1 - order), order / (1 - order) * ratios**order
        gradient = likelihood.samples * slopes[0, 0] + weight * slope
        value = likelihood.samples * values[0] + weight * height
        return -float(value), -(gradient - ratios * gradient.sum())

    size = likelihood.possible.shape[1]
    logits = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    ratios = np.exp(logits - logits.max())
    return np.asarray(ratios / ratios.sum())[None]


def main() -> None:
    task, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    ways: dict[str, tuple[Callable[[Cell], Row], tuple[int, ...]]] = {
        "report": (report, (1, 2, 3)),
        "choose": (choose, (11, 12, 13)),
    }
    measure, seeds = ways[task]
    rows = [measure(cell) for cell in cells(folder, seeds)]
    with out.open("w", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    for column in list(rows[0])[4:]:
        print(f"{column}: mean {np.mean([float(str(row[column])) for row in rows]):.4f}")


if __name__ == "__main__":
    main()
