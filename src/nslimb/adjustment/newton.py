"""CAROT's potentials by Newton's method (see ``nslimb.adjustment.carot`` for the problem).

Newton on F, in logarithms, so that no column can underflow:

    dF_j/dv_k = [j = k] (1/tau + 1/eta) - S_jk / eta,    S_jk = sum_i P'_ij P'_ik / b_j  (its rows sum to 1).

Small eta is approached through larger ones, a factor of 10 at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

TOLERANCE = 1e-8
_MAX_STEPS = 300
_MANY = 4096
_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2)


def transported(log_p: Tensor, v: Tensor, eta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log2 P' and P' [G, c, n] for potentials v [G, c], and eta sum_i log sum_j exp((log P_ij + v_j) / eta) [G]."""
    exponent = (log_p + v.unsqueeze(2)).mul_((_LOG2_E / eta)[:, None, None])
    peak = exponent.amax(dim=1, keepdim=True)
    weight = (exponent - peak).exp2_()
    total = weight.sum(dim=1, keepdim=True)
    log2_total = total.log2().add_(peak)
    return exponent.sub_(log2_total), weight.div_(total), log2_total.sum(dim=(1, 2)) * eta * _LN_2


def _columns(log2_p: Tensor) -> tuple[Tensor, Tensor]:
    """log b [G, c] and each column over its sum, P' / b [G, c, n]; overwrites its argument."""
    peak = log2_p.amax(dim=2, keepdim=True)
    weight = log2_p.sub_(peak).exp2_()
    total = weight.sum(dim=2, keepdim=True)
    return (total.log2() + peak).squeeze(2) * _LN_2, weight.div_(total)


class _State(NamedTuple):
    """Where Newton stands: F [G, c], its Jacobian [G, c, c], and the dual objective [G] with its gradient [G, c]."""

    residual: Tensor
    jacobian: Tensor
    dual: Tensor
    gradient: Tensor

    def keep(self, which: Tensor) -> _State:
        return _State(*(part[which] for part in self))


def _evaluate(log_p: Tensor, log_counts: Tensor, v: Tensor, eta: Tensor, tau: Tensor) -> _State:
    """F and the concave dual of (6) at v, shifted so that sum_j r_j exp(-v_j / tau) = 1.

    That shift holds at the solution, where the column sums add up to n, and P' does not depend on it. It is not
    stored in v, whose differences alone then set the precision.
    """
    log2_rows, rows, free = transported(log_p, v, eta)
    log_b, columns = _columns(log2_rows)
    jacobian = columns @ rows.transpose(1, 2)
    jacobian *= -1 / eta[:, None, None]
    jacobian.diagonal(dim1=1, dim2=2).add_((1 / tau + 1 / eta).unsqueeze(1))
    wanted, shift = _wanted(log_counts, v, tau, log_p.shape[1])
    dual = -free - tau * log_p.shape[1] * shift
    return _State(log_b - wanted, jacobian, dual, wanted.exp() - log_b.exp())


def _wanted(log_counts: Tensor, v: Tensor, tau: Tensor, samples: int) -> tuple[Tensor, Tensor]:
    """log(n r_j) - v_j / tau [G, c], shifted to add up to n, and the shift [G]."""
    wanted = log_counts - v / tau.unsqueeze(1)
    shift = wanted.logsumexp(dim=1, keepdim=True) - math.log(samples)
    return wanted - shift, shift.squeeze(1)


def solve(log_p: Tensor, log_counts: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Potentials of every pair: for each tau at once, down a ladder of eta from 1 (or more) to the smallest wanted."""
    taus, which_tau = pairs[:, 1].unique(return_inverse=True)
    wanted = sorted(set(pairs[:, 0].tolist()), reverse=True)
    ladder: list[float] = []
    for eta in wanted:
        while (ladder[-1] if ladder else max(eta, 1.0)) / eta > 10.001 or (not ladder and eta < 1.0):
            ladder.append(ladder[-1] / 10 if ladder else 1.0)
        ladder.append(eta)
    v = log_p.new_zeros((len(taus), len(log_counts)))
    spent = torch.zeros(len(taus), dtype=torch.int64, device=v.device)
    good = torch.zeros(len(taus), dtype=torch.bool, device=v.device)
    if log_p.shape[1] >= _MANY:
        v, spent, good = _from_a_few(log_p, log_counts, ladder[0], taus)
    potentials = v.new_zeros((len(pairs), v.shape[1]))
    iterations = torch.zeros(len(pairs), dtype=torch.int64, device=v.device)
    converged = torch.zeros(len(pairs), dtype=torch.bool, device=v.device)
    for eta in ladder:
        if eta < ladder[0] or not bool(good.all()):
            v, steps, good = _newton(log_p, log_counts, v, torch.full_like(taus, eta), taus)
            spent += steps
        mine = pairs[:, 0] == eta
        potentials[mine], iterations[mine], converged[mine] = (part[which_tau[mine]] for part in (v, spent, good))
    return potentials, iterations, converged


def _from_a_few(log_p: Tensor, log_counts: Tensor, eta: float, tau: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A cheap start for many instances: Newton's method from v = 0 with an approximate Jacobian.

    Most of the time of a Newton step goes into the Jacobian of F, the sum over all instances. Here it is estimated from
    every sixteenth of them, which is enough to point the way. F itself is exact: with exp(log P / eta) computed once,
    it is two matrix products and no further exponentials. The loop ends when F is small or no longer falls quickly;
    ``_newton``, with the exact Jacobian, goes on from there.
    """
    samples = log_p.shape[1]
    few = log_p[:, ::16].contiguous()
    fewer = log_counts + math.log(few.shape[1] / samples)
    kernel = (log_p - log_p.amax(dim=0)).mul_(_LOG2_E / eta).exp2_()
    v = log_p.new_zeros((len(tau), len(log_counts)))
    steps = torch.zeros(len(tau), dtype=torch.int64, device=v.device)
    last = torch.full_like(tau, float("inf"))
    rounds = 0
    while True:
        weight = (v / eta).exp()
        column_sums = weight * ((weight @ kernel).reciprocal_() @ kernel.t())
        residual = column_sums.log() - _wanted(log_counts, v, tau, samples)[0]
        size = residual.abs().amax(dim=1)
        going = (size > TOLERANCE) & (size < 0.5 * last)
        if not bool(going.any()):
            return v, steps, size <= TOLERANCE
        if rounds < 3:  # then it has settled
            inverse = torch.linalg.inv(_evaluate(few, fewer, v, torch.full_like(tau, eta), tau).jacobian)
        moved = v - (inverse @ residual.unsqueeze(2)).squeeze(2)
        v = torch.where(going.unsqueeze(1), moved - moved.mean(dim=1, keepdim=True), v)
        rounds, steps, last = rounds + 1, steps + going, size


def _newton(log_p: Tensor, log_counts: Tensor, v: Tensor, eta: Tensor, tau: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Newton steps on F from v within a trust radius, for each of the batch.

    A step must bring the concave dual up, except where what it can gain is lost in rounding: there it must bring F
    closer to 0. Else the radius shrinks. With small eta most of P' is all but hard, F is flat up to the next row that
    changes sides, and the full step would overshoot by orders of magnitude. Where the Newton direction does not lead
    up, the paper's alternating step does.
    """
    v = v.clone()
    steps = torch.zeros(len(v), dtype=torch.int64, device=v.device)
    solved = torch.zeros(len(v), dtype=torch.bool, device=v.device)
    active = torch.arange(len(v), device=v.device)
    radius = torch.full_like(tau, float("inf"))
    state = _evaluate(log_p, log_counts, v, eta, tau)
    while True:
        finished = state.residual.abs().amax(dim=1) <= TOLERANCE
        solved[active[finished]] = True
        going = ~finished & (steps[active] < _MAX_STEPS) & (radius > 1e-15)
        if not bool(going.any()):
            return v, steps, solved
        if not bool(going.all()):
            active, state, radius = active[going], state.keep(going), radius[going]
        e, t = eta[active], tau[active]
        direction = -torch.linalg.solve(state.jacobian, state.residual)
        alternating = -state.residual * (e * t / (e + t)).unsqueeze(1)
        upward = (state.gradient * direction).sum(dim=1) > 0
        direction = torch.where(upward.unsqueeze(1), direction, alternating)
        direction -= direction.mean(dim=1, keepdim=True)
        length = direction.abs().amax(dim=1)
        shrink = (radius / length).clamp(max=1.0)
        step = shrink.unsqueeze(1) * direction
        found = _evaluate(log_p, log_counts, v[active] + step, e, t)
        ascent = (state.gradient * step).sum(dim=1)
        rounding = 1e-12 * state.dual.abs().clamp_min(1.0) + 2e-14 * t * log_p.shape[1]
        higher = found.dual >= state.dual + 1e-3 * ascent
        closer = found.residual.norm(dim=1) <= (1 - 1e-3 * shrink) * state.residual.norm(dim=1)
        good = torch.where(ascent > rounding, higher, closer & (found.dual >= state.dual - rounding))
        length = length * shrink
        radius = torch.where(good, torch.maximum(radius, 4 * length), length / 4)
        v[active] += torch.where(good.unsqueeze(1), step, 0.0)
        state = _State(*(_choose(good, new, old) for new, old in zip(found, state, strict=True)))
        steps[active] += 1


def _choose(good: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return torch.where(good.view(-1, *([1] * (new.dim() - 1))), new, old)
