"""Whether the linear program does better with constraints along what the weak labels determine of the ratios.

    python benchmarks/region_constraints.py data docs/region_constraints.csv

Eq. (5) bounds the count of every class in a batch by n r_j +- epsilon, whether the weak labels tell r_j or not. Here
the rows are the eigenvectors v of the information about r in place of the classes, and the bounds are two standard
errors of v . r wide: nothing is asked along directions that the weak labels leave open. ``region`` allows for the error
of the estimate alone, ``region, batch`` for the chance composition of a batch as well. MAX-3, LeNet on real
MNIST, 5 epochs of SL first, seeds 11 and 12; beside them the program as it is, with epsilon = 0.99 and 8, and SL.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.optimize import linprog

import nslimb
from nslimb.data import draw_samples, load
from nslimb.data.samples import Samples
from nslimb.files import written_aside
from nslimb.learning import Settings, make_method, train
from nslimb.learning.loop import predict
from nslimb.learning.methods.ilp import IlpAlg1, IlpSettings
from nslimb.marginals import NotIdentified

torch.set_num_threads(1)
warnings.simplefilter("ignore", NotIdentified)
EPOCHS, WIDTH = 30, 2.0
PROOFS = 60  # the likeliest label vectors of a sample; MAX-3 has up to 271


class Region(IlpAlg1):
    """The program whose ratio rows are directions of the simplex, each as wide as its standard error."""

    batch_too = False

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        ratios = self.ratios.numpy()
        point = torch.from_numpy(np.maximum(ratios, 1e-6)).requires_grad_()

        def induced(values: torch.Tensor) -> torch.Tensor:
            log_scores = values.log().expand(1, self.sigma.arity, -1)
            return self.sigma.log_prob(log_scores)[0].exp()

        jacobian = torch.autograd.functional.jacobian(induced, point).numpy()
        rows = jacobian / np.sqrt(np.maximum(induced(point).detach().numpy(), 1e-12))[:, None]
        tangent = np.linalg.svd(np.ones((1, len(ratios))))[2][1:].T
        _, singular, axes = np.linalg.svd(rows @ tangent, full_matrices=False)
        variances = 1 / (len(samples.train) * singular**2)
        told = variances < 1
        self.directions = (axes @ tangent.T)[told]  # [d, c]
        self.variances = variances[told]
        spread = self.directions**2 @ ratios - (self.directions @ ratios) ** 2
        self.spread = spread if self.batch_too else np.zeros_like(spread)

    def targets(self, log_scores: torch.Tensor, weak: torch.Tensor) -> torch.Tensor:
        batch, arity, classes = log_scores.shape
        cost = -log_scores.double().numpy()
        likely = self.sigma.best(log_scores, weak, PROOFS)
        sample, rank = (part.numpy() for part in torch.nonzero(likely.log_probs > -torch.inf, as_tuple=True))
        labels = likely.labels.numpy()[sample, rank]
        number = batch * arity
        total = number * self.directions @ self.ratios.numpy()
        room = WIDTH * np.sqrt(number**2 * self.variances + number * self.spread)
        along = self.directions[:, labels].sum(axis=-1)  # [d, columns]
        one = sparse.csr_matrix((np.ones(len(sample)), (sample, np.arange(len(sample)))))
        # A row may be left at a price, so that there is always a solution.
        slack = sparse.eye(len(total))
        wide = sparse.hstack([sparse.csr_matrix(np.concatenate([along, -along])), -sparse.vstack([slack, slack])])
        found = linprog(
            np.concatenate([cost[sample[:, None], np.arange(arity), labels].sum(axis=1), np.full(len(total), 1e3)]),
            A_ub=wide.tocsr(),
            b_ub=np.concatenate([total + room, room - total]),
            A_eq=sparse.hstack([one, sparse.csr_matrix((batch, len(total)))]).tocsr(),
            b_eq=np.ones(batch),
            method="highs",
        )
        q = np.zeros((batch, arity, classes))
        np.add.at(q, (sample[:, None], np.arange(arity), labels), found.x[: len(sample), None])
        return torch.from_numpy(q).to(log_scores)


class RegionBatch(Region):
    """The same, allowing for the chance composition of a batch."""

    batch_too = True


def methods(sigma: nslimb.Sigma) -> dict[str, Any]:
    warm = IlpSettings(warm_up=5)
    return {
        "sl": make_method("sl", sigma),
        "ilp-alg1": IlpAlg1(sigma, warm),
        "ilp-alg1, epsilon 8": IlpAlg1(sigma, IlpSettings(warm_up=5, epsilon=8.0)),
        "region": Region(sigma, warm),
        "region, batch": RegionBatch(sigma, warm),
    }


def main(folder: Path, out: Path) -> None:
    source, sigma, rows = load("mnist", folder), nslimb.sigma.maximum(3), []
    images = torch.from_numpy(source.images)
    for rho in (0, 50):
        for seed in (11, 12):
            samples, gold = draw_samples(source, sigma, 3000, seed=seed, rho=rho, reverse=True)
            for name, method in methods(sigma).items():
                with tempfile.TemporaryDirectory() as work:
                    made = train(source.images, samples, sigma, method, Settings(epochs=EPOCHS, seed=seed), Path(work))
                right = predict(made.network, made.method, images, samples.test).argmax(-1).numpy() == gold.test
                rows.append({"rho": rho, "seed": seed, "method": name, "accuracy": round(100 * right.mean(), 2)})
                print(rows[-1], flush=True)
    with written_aside(out) as aside, aside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
