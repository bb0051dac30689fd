"""The likelihood of weak labels as a function of the hidden marginal, through the diagram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import as_integers, check_range
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.noise import check_noise

# Relative changes of the ratios from which second derivatives are taken.
_DIFFERENCE = 1e-6


@dataclass(frozen=True, eq=False)
class WeakLikelihood:
    """l(R) = sum_j p_j log P_j(R) for ratios R [G, c] of G groups of positions.

    P_j = (1 - e) Psi_j / sum_k Psi_k + e / S: label vectors without a weak label never reach a learner, so Psi is
    conditioned on there being one, and a share e, ``noise``, of the weak labels is drawn from all S at random.

    ``shares`` p [S] are the observed shares of the weak labels among ``samples`` of them; ``positions`` [M] is the
    group of each position; ``possible`` [G, c] says which labels sigma accepts anywhere in a group.
    """

    sigma: Sigma
    shares: FloatArray
    samples: float
    positions: IntArray
    possible: NDArray[np.bool_]
    noise: float = 0.0

    @classmethod
    def from_weak(cls, weak: Any, sigma: Sigma, groups: Any, counts: bool, noise: float = 0.0) -> WeakLikelihood:
        from nslimb.marginals.observations import observed_likelihood  # which derives from this class

        rate = check_noise(noise)
        special = observed_likelihood(weak, sigma, groups, counts, rate)
        return cls.of_shares(tally_of(weak, sigma, counts), sigma, groups, rate) if special is None else special

    @classmethod
    def of_shares(cls, tally: FloatArray, sigma: Sigma, groups: Any, noise: float = 0.0) -> WeakLikelihood:
        """From how often each weak label occurred."""
        positions = _positions(groups, sigma)
        possible = np.zeros((positions.max() + 1, sigma.num_classes), dtype=bool)
        np.logical_or.at(possible, positions, sigma.accepted)
        return cls(sigma, tally / tally.sum(), float(tally.sum()), positions, possible, noise)

    @cached_property
    def partial(self) -> bool:
        """Whether possible labels may make a label vector without a weak label; if not, Psi sums to 1 as it is."""
        return self.sigma.may_be_invalid(self.possible[self.positions])

    @property
    def uniform(self) -> FloatArray:
        """The uniform distribution over each group's possible labels, [G, c]."""
        return np.asarray(self.possible / self.possible.sum(axis=1, keepdims=True))

    def value(self, ratios: FloatArray) -> float:
        """l(R)."""
        return float(self.values(ratios[None], self.shares[None])[0])

    def values(self, ratios: FloatArray, shares: FloatArray) -> FloatArray:
        """l(R) [n] for each of the ratios [n, G, c], with shares p [n, S] of its own."""
        return self._weighted(self._log_scores(ratios), shares).numpy()

    def values_and_slopes(self, ratios: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """l(R) [n] and its derivative in log R [n, G, c], for ratios [n, G, c] and shares [n, S]; from one pass.

        Where every label vector has a weak label, and without noise, the derivative is the expected number of
        positions of the group with that label, given the weak labels.
        """
        scores = self._log_scores(ratios).requires_grad_()
        values = self._weighted(scores, shares)
        (slopes,) = torch.autograd.grad(values.sum(), scores)
        return values.detach().numpy(), self._by_group(slopes)

    def log_probs_and_slopes(self, ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log P_j(R) [S] of every weak label and its derivative in log R [S, G, c], for ratios [G, c]."""
        scores = self._log_scores(ratios[None]).expand(len(self.shares), -1, -1).requires_grad_()
        chosen = self.log_probs(scores).diagonal()
        (slopes,) = torch.autograd.grad(chosen.sum(), scores)
        return chosen.detach().numpy(), self._by_group(slopes)

    def information_rows(self, ratios: FloatArray) -> FloatArray:
        """Rows [k, G, c] whose outer products add up to a sample's expected information on log R."""
        log_probs, slopes = self.log_probs_and_slopes(ratios)
        return np.asarray(slopes * np.exp(log_probs / 2)[:, None, None])

    def second_order(
        self,
        ratios: FloatArray,
        shares: FloatArray,
        steps: int = 0,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """l(R) [n], its derivative N in log R [n, L] and the derivative K of N [n, L, L], over the L possible labels.

        What a search for the maximum goes by that has taken so many ``steps``: N is exact, and K is so here.
        """
        return self.by_differences(ratios, shares)

    def by_differences(self, ratios: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same, with K from differences of N: one pass for R and L others near it."""
        live = np.flatnonzero(self.possible)
        size = len(live)
        nearby = np.repeat(ratios[:, None], size + 1, axis=1)
        nearby.reshape(*nearby.shape[:2], -1)[:, np.arange(size), live] *= np.exp(_DIFFERENCE)
        values, slopes = self.values_and_slopes(
            nearby.reshape(-1, *ratios.shape[1:]), np.repeat(shares, size + 1, axis=0)
        )
        flat = slopes.reshape(len(ratios), size + 1, -1)[:, :, live]
        derivative = (flat[:, :-1] - flat[:, -1:]) / _DIFFERENCE
        symmetric = (derivative + derivative.transpose(0, 2, 1)) / 2
        return values.reshape(-1, size + 1)[:, -1], flat[:, -1], symmetric

    def log_probs(self, scores: torch.Tensor) -> torch.Tensor:
        """log P_j [n, S] for the logarithms of each position's ratios [n, M, c]; differentiable."""
        found = self.sigma.log_prob(scores)
        if self.partial:
            found = self.sigma.given_valid(found)
        if self.noise:
            by_chance = found.new_tensor(math.log(self.noise / found.shape[1]))
            found = torch.logaddexp(found + math.log1p(-self.noise), by_chance)
        return found

    def _weighted(self, scores: torch.Tensor, shares: FloatArray) -> torch.Tensor:
        """sum_j p_j log P_j over the weak labels that were seen: those of probability 0 count for nothing there."""
        seen = np.flatnonzero(shares.any(axis=0))
        found = self.log_probs(scores).index_select(1, torch.from_numpy(seen))
        weights = torch.from_numpy(shares[:, seen])
        return torch.where(weights > 0, weights * found, 0.0).sum(dim=1)

    def _by_group(self, by_position: torch.Tensor) -> FloatArray:
        """Sum [n, M, c] over the positions of each group."""
        member = (self.positions == np.arange(len(self.possible))[:, None]).astype(np.float64)
        return np.asarray(np.einsum("gi,nic->ngc", member, by_position.numpy()))

    def _log_scores(self, ratios: FloatArray) -> torch.Tensor:
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(ratios[:, self.positions]))


def tally_of(weak: Any, sigma: Sigma, counts: bool) -> FloatArray:
    """The number of samples of each weak label, [S]."""
    size = len(sigma.weak_labels)
    if counts:
        expected = f"{size} counts of at least 0, not all 0, one for each weak label"
        try:
            tally = np.asarray(weak, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput("weak", expected, f"values that are no numbers ({error})") from error
        if tally.shape != (size,):
            raise InvalidInput("weak", expected, f"shape {list(tally.shape)}")
        if not tally.max() < 1e200 or tally.min() < 0 or tally.sum() == 0 or np.isnan(tally).any():
            raise InvalidInput("weak", expected, tally.tolist())
        return tally
    expected = f"at least one index into sigma.weak_labels (0 to {size - 1})"
    indices = as_integers("weak", weak, expected).cpu()
    if indices.dim() != 1 or len(indices) == 0:
        raise InvalidInput("weak", expected, f"shape {list(indices.shape)}")
    check_range("weak", indices, size, expected)
    return np.bincount(indices.numpy(), minlength=size).astype(np.float64)


def groups_of(sigma: Sigma) -> tuple[int, ...] | None:
    """The space of each position, where sigma has several: each has ratios of its own."""
    return sigma.groups if len(sigma.spaces) > 1 else None


def _positions(groups: Any, sigma: Sigma) -> IntArray:
    if groups is None:
        return np.zeros(sigma.arity, dtype=np.int64)
    expected = f"{sigma.arity} group indices 0, 1, ..., one for each position, none left out"
    positions = as_integers("groups", groups, expected).cpu().numpy()
    if positions.shape != (sigma.arity,):
        raise InvalidInput("groups", expected, f"shape {list(positions.shape)}")
    if sorted(set(positions.tolist())) != list(range(positions.max() + 1)):
        raise InvalidInput("groups", expected, positions.tolist())
    return positions
