"""CAROT: scores of a whole batch moved towards the label ratios by robust semi-constrained optimal transport.

Problem (7), for scores P [n, c] and ratios r:

    min over P' >= 0, P' 1 = 1 of  <-log P, P'> + tau KL(P'^T 1 || n r) - eta H(P').

Its solution is P'_ij = softmax_j((log P_ij + v_j) / eta), with the c numbers v such that the column sums b satisfy
F_j(v) = v_j / tau + log b_j - log(n r_j) = 0. The paper alternates between rows and columns, which contracts by
tau / (eta + tau) a step: with tau far above eta it does not arrive. Newton's method on F does, in logarithms, so that
no column can underflow:

    dF_j/dv_k = [j = k] (1/tau + 1/eta) - S_jk / eta,    S_jk = sum_i P'_ij P'_ik / b_j  (its rows sum to 1).

Small eta is approached through larger ones, a factor of 10 at a time.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from nslimb.adjustment.inputs import check_instance_scores, check_positive
from nslimb.checks import check_count, check_ratios
from nslimb.errors import InvalidInput

# Scores below e ** -1000 count as that: a class of probability 0 can still be transported to, at a price.
_LOWEST = -1e3
_TOLERANCE = 1e-8
_MAX_STEPS = 300
_MANY = 4096
_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2)


class Carot(NamedTuple):
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
    half_iterations: int = 500,
) -> Carot:
    """Solve (7) for every pair of the broadcast ``eta`` and ``tau``; [E, 1] and [T] make a grid in one call.

    A class of ratio 0 gets score 0. ``solver="alternating"`` is the paper's Algorithm 2 with its ``half_iterations``,
    ending where it stands; ``"newton"`` solves to |F| <= 1e-8, or says so in ``converged``.

    >>> scores = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]).log()
    >>> carot(scores, ratios=[0.5, 0.5], eta=0.01, tau=100.0).scores.argmax(-1)
    tensor([0, 0, 1, 1])
    """
    scores = check_instance_scores(log_scores)
    given = torch.from_numpy(check_ratios(ratios, None, scores.shape[1])).to(scores.device)
    etas, taus = _broadcast(check_positive("eta", eta), check_positive("tau", tau))
    possible = given > 0
    # Classes first inside, so that what is done to rows and to columns runs along contiguous instances.
    costs = scores.double().clamp_min(_LOWEST).t()[possible]
    log_counts = (given[possible] * len(scores)).log()
    pairs = torch.stack([etas.reshape(-1), taus.reshape(-1)], dim=1).to(scores.device)
    if solver == "newton":
        potentials, iterations, converged = _along_eta(costs, log_counts, pairs)
    elif solver == "alternating":
        count = check_count("half_iterations", half_iterations)
        potentials, iterations, converged = _alternate(costs, log_counts, pairs, count)
    else:
        raise InvalidInput("solver", "'newton' or 'alternating'", repr(solver))
    rows = _rows(costs, potentials, pairs[:, 0])[1]
    achieved = rows.new_zeros((len(pairs), len(given)))
    achieved[:, possible] = rows.mean(dim=2)
    if not bool(possible.all()):
        rows = rows.new_zeros((len(pairs), *scores.t().shape)).index_copy_(1, possible.nonzero().squeeze(1), rows)
    adjusted = rows.transpose(1, 2).to(scores.dtype, memory_format=torch.contiguous_format)
    shape = etas.shape
    return Carot(
        scores=adjusted.reshape(*shape, *scores.shape),
        iterations=iterations.view(shape),
        converged=converged.view(shape),
        ratios=achieved.view(*shape, -1),
    )


def _broadcast(eta: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    try:
        etas, taus = torch.broadcast_tensors(eta, tau)
    except RuntimeError as error:
        given = f"shapes {list(eta.shape)} and {list(tau.shape)}"
        raise InvalidInput("eta, tau", "shapes that broadcast", given) from error
    return etas, taus


def _rows(log_p: Tensor, v: Tensor, eta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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
    """F and the concave dual of (7) at v, shifted so that sum_j r_j exp(-v_j / tau) = 1.

    That shift holds at the solution, where the column sums add up to n, and P' does not depend on it. It is not
    stored in v, whose differences alone then set the precision.
    """
    log2_rows, rows, free = _rows(log_p, v, eta)
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


def _along_eta(log_p: Tensor, log_counts: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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
    """Newton for many instances from v = 0, with the Jacobian of every sixteenth.

    The exact F then takes two products with one matrix, exp(log P / eta), and no further exponentials. It ends when F
    is small or falls too slowly; ``_newton`` goes on from there.
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
        going = (size > _TOLERANCE) & (size < 0.5 * last)
        if not bool(going.any()):
            return v, steps, size <= _TOLERANCE
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
        finished = state.residual.abs().amax(dim=1) <= _TOLERANCE
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


def _alternate(log_p: Tensor, log_counts: Tensor, pairs: Tensor, half_iterations: int) -> tuple[Tensor, Tensor, Tensor]:
    """Algorithm 2: rows and columns in turn, rows first; the rows' potential is implied by v."""
    eta, tau = pairs[:, 0], pairs[:, 1]
    v = log_p.new_zeros((len(pairs), len(log_counts)))
    residual = torch.full_like(v, float("inf"))
    for _ in range(half_iterations // 2):
        log_b, _ = _columns(_rows(log_p, v, eta)[0])
        residual = v / tau.unsqueeze(1) + log_b - log_counts
        v = v - (eta * tau / (eta + tau)).unsqueeze(1) * residual
    steps = torch.full((len(pairs),), half_iterations, dtype=torch.int64, device=v.device)
    return v, steps, residual.abs().amax(dim=1) <= _TOLERANCE
