"""The likelihood of weak labels that are sequences, which are too many to be listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.checks import as_integers
from nslimb.errors import InvalidInput
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.newton import CELLS
from nslimb.sigma.component import Sigma

# Steps after which a search that has not ended goes by the exact curvature.
_PATIENCE = 50


@dataclass(frozen=True, eq=False)
class SequenceLikelihood(WeakLikelihood):
    """l(R) over the U distinct sequences that were ``observed``, [U, L]; ``shares`` [U] are theirs.

    With s_u the derivative of log P_u in log R, sum_u p_u s_u s_u^T estimates the curvature of l where the model holds.
    It takes one pass, and Newton's method steps by it. Differences of exact gradients, which take a pass for each
    label, tell whether it has ended at a maximum, and help out where it is a poor guide and the steps are many.
    """

    observed: Tensor = field(default_factory=lambda: torch.zeros((0, 0), dtype=torch.int64))

    def values(self, ratios: FloatArray, shares: FloatArray) -> FloatArray:
        """l(R) [n] for each of the ratios [n, G, c], with shares p [n, U] of its own."""
        return _weighted(self._each(ratios, slopes=False)[0], shares)

    def values_and_slopes(self, ratios: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """l(R) [n] and its derivative in log R [n, G, c], for ratios [n, G, c] and shares [n, U]; from one pass."""
        log_probs, slopes = self._each(ratios, slopes=True)
        return _weighted(log_probs, shares), np.asarray(np.einsum("nu,nugc->ngc", shares, slopes))

    def second_order(
        self, ratios: FloatArray, shares: FloatArray, steps: int = 0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """l(R) [n], its derivative N in log R [n, L], and K = diag(N) - sum_u p_u s_u s_u^T [n, L, L]; from one pass.

        K - diag(N) is the curvature of l in relative changes of R.
        """
        if steps > _PATIENCE:
            return self.by_differences(ratios, shares)
        log_probs, slopes = self._each(ratios, slopes=True)
        of_label = slopes[:, :, self.possible]
        gradient = np.einsum("nu,nul->nl", shares, of_label)
        outer = (of_label * shares[:, :, None]).transpose(0, 2, 1) @ of_label
        return _weighted(log_probs, shares), gradient, gradient[:, :, None] * np.eye(gradient.shape[1]) - outer

    def information_rows(self, ratios: FloatArray) -> FloatArray:
        """The samples' own scores, weighed by their shares, [U, G, c]."""
        return np.asarray(self._each(ratios[None], slopes=True)[1][0] * np.sqrt(self.shares)[:, None, None])

    def log_probs(self, scores: Tensor) -> Tensor:
        """log P_u [n, U] for the logarithms of each position's ratios [n, M, c]; differentiable."""
        found = self.sigma.log_likelihood(
            scores.repeat_interleave(len(self.observed), dim=0), self.observed.repeat(len(scores), 1)
        ).view(len(scores), -1)
        return found - self.sigma.log_valid(scores).unsqueeze(1) if self.partial else found

    def _each(self, ratios: FloatArray, slopes: bool) -> tuple[FloatArray, FloatArray]:
        """log P_u [n, U] and, where wanted, its derivative in log R [n, U, G, c]; as much at a time as fits."""
        number, size = len(ratios), len(self.observed)
        scores = self._log_scores(ratios)
        log_probs, derivatives = [], []
        for part in self._parts(number * size):
            leaf = scores[part // size].requires_grad_(slopes)
            found = self.sigma.log_likelihood(leaf, self.observed[part % size])
            log_probs.append(found.detach().numpy())
            if slopes:
                (by_position,) = torch.autograd.grad(found.sum(), leaf)
                derivatives.append(self._by_group(by_position))
        each = np.concatenate(log_probs).reshape(number, size)
        by_sample = np.concatenate(derivatives or [np.empty(0)])
        if slopes:
            by_sample = by_sample.reshape(number, size, *self.possible.shape)
        if self.partial:
            leaf = scores.clone().requires_grad_(slopes)
            valid = self.sigma.log_valid(leaf)
            each = each - valid.detach().numpy()[:, None]
            if slopes:
                (by_position,) = torch.autograd.grad(valid.sum(), leaf)
                by_sample = by_sample - self._by_group(by_position)[:, None]
        return each, by_sample

    def _parts(self, rows: int) -> Iterator[Tensor]:
        """Rows in runs that one pass can hold."""
        at_once = max(1, CELLS // (self.sigma.num_states * self.sigma.num_classes))
        return iter(torch.arange(rows).split(at_once))


def likelihood_of(weak: Any, sigma: Sigma, groups: Any, counts: bool, noise: float) -> WeakLikelihood:
    """The likelihood of weak labels: indices [m] (or counts [S]), or sequences [m, L] for a transducer."""
    if sigma.is_listed or counts or noise:
        return WeakLikelihood.from_weak(weak, sigma, groups, counts, noise)
    expected = "at least one sequence, integers of shape [m, L]"
    given = as_integers("weak", weak, expected).cpu()
    if given.dim() != 2 or len(given) == 0:
        raise InvalidInput("weak", expected, f"shape {list(given.shape)}")
    checked = sigma.check_explained(given, len(given), given.device)
    observed, tally = checked.unique(dim=0, return_counts=True)
    plain = WeakLikelihood.of_shares(tally.double().numpy(), sigma, groups)
    return SequenceLikelihood(**vars(plain), observed=observed)


def _weighted(log_probs: FloatArray, shares: FloatArray) -> FloatArray:
    """sum_u p_u log P_u, [n]; what has no share counts for nothing."""
    return np.asarray(np.where(shares > 0, shares * log_probs, 0.0).sum(axis=1))
