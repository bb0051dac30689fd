"""The likelihood of weak labels by listing all label vectors: the oracle of every estimator."""

from __future__ import annotations

import warnings

import numpy as np
import oracles
from hypothesis import strategies as st

from nslimb import Sigma, estimate_marginal
from nslimb.marginals import MarginalEstimate, NotIdentified


class Brute:
    """P_j(R) = (1 - e) Psi_j / sum_k Psi_k + e / S for ratios [M, c], one row a position."""

    def __init__(self, sigma: Sigma, noise: float = 0.0) -> None:
        self.vectors = oracles.all_vectors(sigma)
        self.weak = np.asarray(sigma.apply(self.vectors))
        self.size, self.noise = len(sigma.weak_labels), noise
        self.positions = np.arange(sigma.arity)

    def probs(self, ratios: np.ndarray) -> np.ndarray:
        rows = np.broadcast_to(ratios, (len(self.positions), ratios.shape[-1]))
        joint = rows[self.positions, self.vectors].prod(axis=1)
        psi = np.bincount(self.weak[self.weak >= 0], weights=joint[self.weak >= 0], minlength=self.size)
        return (1 - self.noise) * psi / max(psi.sum(), 1e-300) + self.noise / self.size

    def log_likelihood(self, ratios: np.ndarray, counts: np.ndarray) -> float:
        """Of all samples, sum_j n_j log P_j."""
        seen = counts > 0
        return float(counts[seen] @ np.log(np.maximum(self.probs(ratios)[seen], 1e-300)))


def quiet(*arguments: object, **options: object) -> MarginalEstimate:
    """An estimate without the warning about what is not identified."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)
        return estimate_marginal(*arguments, **options)  # type: ignore[arg-type]


@st.composite
def problems(
    draw: st.DrawFn, max_arity: int = 3, max_classes: int = 4, fitting: bool = False
) -> tuple[Sigma, Brute, np.ndarray]:
    """A random sigma, partial or not, a noise rate, and counts of weak labels.

    They are drawn with random ratios or, unless ``fitting``, from any distribution of weak labels.
    """
    sigma = draw(oracles.tables(max_arity=max_arity, max_classes=max_classes).filter(lambda s: len(s.weak_labels) > 1))
    brute = Brute(sigma, draw(st.sampled_from([0.0, 0.0, 0.05, 0.4])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    samples = draw(st.sampled_from([3000, 200, 20]))
    if fitting or draw(st.booleans()):
        shares = brute.probs(rng.dirichlet(np.full(sigma.num_classes, 0.7)))
    else:
        shares = rng.dirichlet(np.ones(brute.size))
    return sigma, brute, rng.multinomial(samples, shares / shares.sum())
