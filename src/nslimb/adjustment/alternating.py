"""CAROT's potentials by the paper's Algorithm 2, which alternates between rows and columns."""

from __future__ import annotations

import torch
from torch import Tensor

from nslimb.adjustment.newton import TOLERANCE

_LOOK = 25  # steps between two looks at which settings still move
_FAR = 50.0  # a double holds exp(50) with room to spare
_NOTHING = 1e-290  # below this doubles lose precision, and time


def alternate(log_p: Tensor, log_counts: Tensor, pairs: Tensor, half_iterations: int) -> tuple[Tensor, Tensor]:
    """Potentials v [K, b, c] of b batches [b, c, n] for K pairs (eta, tau), and which have converged [K, b].

    From u = 0 and v = 0, a half-iteration sets u such that the rows of P'_ij = exp((u_i + v_j + log P_ij) / eta) sum
    to 1, and the next one

        v_j <- eta tau / (eta + tau) (v_j / eta + log(n r_j) - log b_j),    b_j = sum_i P'_ij.

    It ends where it stands after ``half_iterations``. A setting that no longer moves is left where it is.
    """
    batches, classes, _ = log_p.shape
    v = log_p.new_zeros((len(pairs), batches, classes))
    converged = torch.zeros((len(pairs), batches), dtype=torch.bool, device=v.device)
    going = torch.arange(len(pairs), device=v.device)
    steps = half_iterations // 2
    for done in range(0, steps, _LOOK):
        eta, tau = pairs[going].unsqueeze(2).unbind(1)
        moved, change, residual = _steps(log_p, log_counts, eta, tau, v[going], min(_LOOK, steps - done))
        v[going] = moved
        converged[going] = residual.abs().amax(dim=2) <= TOLERANCE
        moves = (change.abs() > 1e-15 * torch.maximum(moved.abs(), eta.unsqueeze(2))).flatten(1).any(dim=1)
        going = going[moves]
        if len(going) == 0:
            break
    return v, converged


def _steps(
    log_p: Tensor, log_counts: Tensor, eta: Tensor, tau: Tensor, v: Tensor, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """v after a number of full steps, its last change, and v / tau + log b - log(n r) before that; eta, tau [K, 1].

    P' at some v, each column over its largest entry, stays in the memory as a matrix; as long as v stays near, a step
    is two products with it and no exponential but those of c numbers. Each column keeps its logarithm apart, so that
    one of which nothing is left in doubles still has its sum.
    """
    eta, tau = eta.unsqueeze(2), tau.unsqueeze(2)
    near = columns = peaks = change = residual = v
    for step in range(number):
        if step == 0 or bool(((v - near).abs() > _FAR * eta).any()):
            rows = ((log_p + v.unsqueeze(3)) / eta.unsqueeze(3)).log_softmax(dim=2)
            peak = rows.amax(dim=3, keepdim=True)
            columns = rows.sub_(peak).exp_()
            columns.masked_fill_(columns < _NOTHING, 0.0)
            near, peaks = v, peak.squeeze(3)
        scale = peaks + (v - near) / eta
        row_sums = scale.exp().unsqueeze(2) @ columns
        log_b = scale + (columns @ row_sums.reciprocal_().transpose(2, 3)).squeeze(3).log()
        residual = v / tau + log_b - log_counts
        change = residual * (eta * tau / (eta + tau))
        v = v - change
    return v, change, residual
