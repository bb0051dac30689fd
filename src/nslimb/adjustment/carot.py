"""CAROT: scores of a whole batch moved towards the label ratios by robust semi-constrained optimal transport.

Eq. (6) of the paper, for scores P [n, c] and ratios r:

    min over P' >= 0, P' 1 = 1 of  <-log P, P'> + tau KL(P'^T 1 || n r) - eta H(P').

Its solution is P'_ij = softmax_j((log P_ij + v_j) / eta), with the c numbers v such that the column sums b satisfy
F_j(v) = v_j / tau + log b_j - log(n r_j) = 0. The paper alternates between rows and columns, which contracts by
tau / (eta + tau) a step: with tau far above eta it does not arrive. Newton's method on F does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from nslimb.adjustment.alternating import alternate
from nslimb.adjustment.base import Adjustment, Setting
from nslimb.adjustment.inputs import check_instance_scores, check_positive, check_settings
from nslimb.adjustment.newton import solve, transported
from nslimb.checks import check_count, check_ratios
from nslimb.errors import InvalidInput

# Scores below e ** -1000 count as that: a class of probability 0 can still be transported to, at a price.
_LOWEST = -1e3
_HALF_ITERATIONS = 500


class Transported(NamedTuple):
    """Adjusted scores, for each of the settings in the shape of eta and tau (none for two numbers)."""

    scores: Tensor  # [..., n, c], rows sum to 1
    iterations: Tensor  # int64 [...]
    converged: Tensor  # bool [...]
    ratios: Tensor  # float64 [..., c], the column means of the scores


def carot(
    log_scores: Tensor,
    ratios: Any,
    eta: Any,
    tau: Any,
    *,
    solver: Literal["newton", "alternating"] = "newton",
    half_iterations: int = _HALF_ITERATIONS,
) -> Transported:
    """Solve eq. (6) for every pair of the broadcast ``eta`` and ``tau``; [E, 1] and [T] make a grid in one call.

    A class of ratio 0 gets score 0. ``solver="alternating"`` is the paper's Algorithm 2 with its ``half_iterations``,
    ending where it stands; ``"newton"`` solves to |F| <= 1e-8, or says so in ``converged``.

    Parameters
    ----------
    log_scores
        Log-probabilities [n, c] of instances that are adjusted together.
    ratios
        Label ratios [c].
    eta, tau
        Smoothing above 0, and the pull of the ratios; numbers, or arrays that broadcast to a shape [...].
    solver
        ``"newton"``, or ``"alternating"`` for the paper's iteration.
    half_iterations
        Of the alternating iteration.

    Returns
    -------
    Transported
        ``scores`` [..., n, c] that sum to 1 in each row, ``iterations``, ``converged``, and the ``ratios`` [..., c]
        that the scores have together.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> scores = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]).log()
    >>> carot(scores, ratios=[0.5, 0.5], eta=0.01, tau=100.0).scores.argmax(-1)
    tensor([0, 0, 1, 1])

    References
    ----------
    Eq. (6) and Algorithm 2 of the paper.
    """
    scores = check_instance_scores(log_scores)
    given = torch.from_numpy(check_ratios(ratios, None, scores.shape[1])).to(scores.device)
    etas, taus = _broadcast(check_positive("eta", eta), check_positive("tau", tau))
    possible = given > 0
    costs, log_counts = _costs(scores, given)
    pairs = torch.stack([etas.reshape(-1), taus.reshape(-1)], dim=1).to(scores.device)
    if solver == "newton":
        potentials, iterations, converged = solve(costs, log_counts, pairs)
    elif solver == "alternating":
        count = check_count("half_iterations", half_iterations)
        potentials, converged = (part.squeeze(1) for part in alternate(costs.unsqueeze(0), log_counts, pairs, count))
        iterations = torch.full_like(converged, count, dtype=torch.int64)
    else:
        raise InvalidInput("solver", "'newton' or 'alternating'", repr(solver))
    rows = transported(costs, potentials, pairs[:, 0])[1]
    achieved = rows.new_zeros((len(pairs), len(given)))
    achieved[:, possible] = rows.mean(dim=2)
    if not bool(possible.all()):
        rows = rows.new_zeros((len(pairs), *scores.t().shape)).index_copy_(1, possible.nonzero().squeeze(1), rows)
    adjusted = rows.transpose(1, 2).to(scores.dtype, memory_format=torch.contiguous_format)
    shape = etas.shape
    return Transported(
        scores=adjusted.reshape(*shape, *scores.shape),
        iterations=iterations.view(shape),
        converged=converged.view(shape),
        ratios=achieved.view(*shape, -1),
    )


@dataclass(frozen=True)
class Carot(Adjustment):
    """Robust optimal transport at test time: moves the scores of many test images together towards the label ratios.

    On the paper's grid: 10 values of eta and 20 of tau, evenly spaced in logarithm from 1e-5 to 1e4.
    ``solver="newton"`` solves eq. (6); a setting that it does not solve leaves the scores as they are.
    ``"alternating"`` stops Algorithm 2 after 500 half-iterations, as the paper does. There the grid has no eta of 1e-2
    or less: in the released code, single precision turns those into NaN.
    """

    solver: Literal["newton", "alternating"] = "newton"

    name = "carot"
    printed = "CAROT"

    def grid(self) -> list[dict[str, float]]:
        etas, taus = (torch.logspace(-5, 4, number, dtype=torch.float64).tolist() for number in (10, 20))
        if self.solver == "alternating":
            etas = [eta for eta in etas if eta > 1.001e-2]
        return [{"eta": eta, "tau": tau} for eta in etas for tau in taus]

    def strength(self, setting: Setting) -> tuple[float, ...]:
        """The smaller tau, then eta closest to 1, at which the scores would keep their temperature."""
        return setting["tau"], max(setting["eta"], 1 / setting["eta"])

    def in_paper(self) -> Carot:
        return Carot("alternating")

    def apply(self, log_scores: Tensor, ratios: Any, settings: Sequence[Setting]) -> Tensor:
        if self.solver == "alternating":
            return self.apply_batches(log_scores.unsqueeze(0), ratios, settings).squeeze(1)
        etas, taus = check_settings(settings, ("eta", "tau"))
        found = carot(log_scores, ratios, etas, taus)
        # In double precision: at a large eta, logarithms of single precision would no longer tell classes apart.
        return torch.where(found.converged[:, None, None], found.scores.double().log(), log_scores.double())

    def apply_batches(self, batches: Tensor, ratios: Any, settings: Sequence[Setting]) -> Tensor:
        if self.solver == "newton":
            return super().apply_batches(batches, ratios, settings)
        check_instance_scores(batches.flatten(0, 1))
        given = torch.from_numpy(check_ratios(ratios, None, batches.shape[2])).to(batches.device)
        pairs = torch.stack(check_settings(settings, ("eta", "tau")), dim=1).to(batches.device)
        costs, log_counts = _costs(batches, given)
        potentials, _ = alternate(costs, log_counts, pairs, _HALF_ITERATIONS)
        logs = ((costs + potentials.unsqueeze(3)) / pairs[:, 0, None, None, None]).log_softmax(dim=2)
        adjusted = logs.new_full((len(pairs), *batches.shape), float("-inf"))
        adjusted[..., given > 0] = logs.transpose(2, 3)
        return adjusted


def _costs(scores: Tensor, ratios: Tensor) -> tuple[Tensor, Tensor]:
    """log P [..., c, n] and log(n r) [c] of the classes that can occur.

    Classes come first, so that what is done to rows and to columns runs along contiguous instances.
    """
    possible = ratios > 0
    logs = scores.double().clamp_min(_LOWEST).transpose(-1, -2)[..., possible, :]
    return logs.contiguous(), (ratios[possible] * scores.shape[-2]).log()


def _broadcast(eta: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    try:
        etas, taus = torch.broadcast_tensors(eta, tau)
    except RuntimeError as error:
        given = f"shapes {list(eta.shape)} and {list(tau.shape)}"
        raise InvalidInput("eta, tau", "shapes that broadcast", given) from error
    return etas, taus
