"""The likelihood of sets of weak labels, of log-weights, and of a family's weak labels, by distinct observations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.errors import InvalidInput
from nslimb.marginals.likelihood import WeakLikelihood, tally_of
from nslimb.sigma.component import Sigma
from nslimb.sigma.passes import log_total
from nslimb.sigma.sets import log_weights, read_sets

# States times labels times rows that one pass may hold.
_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class ObservedLikelihood(WeakLikelihood):
    """l(R) = sum_d p_d log P_d(R) over the D distinct observations that were made, p_d their shares.

    P_d is the probability of a set, the sum of those of its members; with log-weights w, the sum of exp(w_s) P_s. In a
    family P is given the sample's member, and conditioned on a weak label by that member.
    """

    observed: Tensor = field(kw_only=True)  # int64 [D], or sets or log-weights [D, S]

    def log_probs(self, scores: Tensor) -> Tensor:
        """log P_d [n, D] for the logarithms of each position's ratios [n, M, c]; differentiable."""
        every = super().log_probs(scores)
        if self.observed.dtype == torch.int64:
            return every.index_select(1, self.observed.to(every.device))
        weights = log_weights(self.observed, every)
        heaviest = weights.amax(dim=1)
        peak = every.detach().amax(dim=1, keepdim=True)
        mass = (every - peak).exp() @ (weights - heaviest.unsqueeze(1)).exp().t()
        reached = mass > 0
        return mass.where(reached, 1.0).log().where(reached, -torch.inf) + peak + heaviest

    def log_probs_and_slopes(self, ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log P_d(R) [D] of every observation and its derivative in log R [D, G, c], for ratios [G, c]."""
        rows = max(1, _CELLS // (self.sigma.num_states * self.sigma.num_classes))
        found = [self._own(ratios, part) for part in self.observed.split(rows)]
        values, slopes = zip(*found, strict=True)
        return np.concatenate(values), np.concatenate(slopes)

    def _own(self, ratios: FloatArray, observed: Tensor) -> tuple[FloatArray, FloatArray]:
        """As above for some of the observations: each has a row of the pass to itself."""
        scores = self._log_scores(ratios[None]).expand(len(observed), -1, -1).requires_grad_()
        values = self.sigma.log_likelihood(scores, observed)
        if self.partial:
            values = values - self.sigma.log_valid_at(scores, observed)
        if self.noise:
            weights = log_weights(observed, values) if observed.dim() == 2 else torch.zeros(len(observed), 1)
            by_chance = math.log(self.noise / len(self.sigma.weak_labels)) + log_total(weights.to(values), dim=1)
            values = torch.logaddexp(values + math.log1p(-self.noise), by_chance)
        (slopes,) = torch.autograd.grad(values.sum(), scores)
        return values.detach().numpy(), self._by_group(slopes)

    def information_rows(self, ratios: FloatArray) -> FloatArray:
        """Those of the observations made, by their shares, [D, G, c]: what others there might be is not known."""
        return np.asarray(self.log_probs_and_slopes(ratios)[1] * np.sqrt(self.shares)[:, None, None])


def observed_likelihood(weak: Any, sigma: Sigma, groups: Any, counts: bool, noise: float) -> WeakLikelihood | None:
    """For sets, log-weights and families; None where weak labels are single ones of one sigma."""
    sets = None if counts else read_sets(weak, len(sigma.weak_labels))
    if sets is None and not sigma.is_family:
        return None
    if sigma.is_family and noise:
        raise InvalidInput("noise", "0 for a family, whose members have weak labels of their own", noise)
    if sets is None:
        single = tally_of(weak, sigma, counts)
        observed, number = torch.from_numpy(np.flatnonzero(single)), single[single > 0]
    else:
        if sets.dim() != 2:
            expected = f"sets of weak labels, [m, {len(sigma.weak_labels)}]"
            raise InvalidInput("weak", expected, f"shape {list(sets.shape)}")
        observed, times = sets.cpu().unique(dim=0, return_counts=True)
        number = times.numpy().astype(np.float64)
        if observed.is_floating_point():
            observed = observed.double()
        sigma.check_weak(observed, len(observed), observed.device)
    plain = WeakLikelihood.of_shares(number, sigma, groups, noise)
    return ObservedLikelihood(**vars(plain), observed=observed)
