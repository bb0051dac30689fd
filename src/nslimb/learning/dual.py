"""The dual of the transport over pre-images, and its ascent by a quasi-Newton method.

For log-scores log P [n, M, c], ratios r and potentials v, both [R, c], with R = M rows that count T = n labels each, or
one row that counts all T = n M:

    D(v) = -eta sum_l log Z_l((log P + v) / eta)  +  tau T sum_ij r_ij (1 - exp(-v_ij / tau)),

Z_l the weighted count of the pre-image of sample l. Its derivatives are the marginals Q of sigma's posterior at scores
(log P + v) / eta, so that D and its gradient take one pass over the diagram. D is concave, and highest where the counts
b = sum_l Q[l] satisfy

    F_ij(v) = log b_ij + v_ij / tau - log(T r_ij) = 0.

diag(b) F has the Jacobian C / eta + diag(b) / tau, C the sum over samples of the covariance of the labels' indicators.
Within a position C follows from Q, as in CAROT; between positions it would take M c passes. There it is made up for by
BFGS updates with the last steps and the changes of F that they brought.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from nslimb.sigma.component import Sigma

_TINY = 1e-300  # counts below it count as that, so that they have a logarithm
_NEGLIGIBLE = 1e-12  # labels with less than this share, had and wanted, are left as they are
_MAX_STEPS = 1000
_MEMORY = 8  # steps that the BFGS updates use


def weigh(sigma: Sigma, scores: Tensor, weak: Tensor) -> tuple[Tensor, Tensor]:
    """log Z of each sample's pre-image, [B], and its derivative, the posterior of the labels, [B, M, c]: one pass."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = scores.detach().clone().requires_grad_()
        log_z = sigma.log_prob(leaf).gather(1, weak.clone().unsqueeze(1)).squeeze(1)
        (posterior,) = torch.autograd.grad(log_z.sum(), leaf)
    return log_z.detach(), posterior


class State(NamedTuple):
    """Where the ascent stands, for each of G settings of eta and tau."""

    v: Tensor  # [G, R, c]
    level: Tensor  # what to add to each row of v to bring D up, [G, R, 1]
    q: Tensor  # [G, n, M, c]
    counts: Tensor  # b, [G, R, c]
    free: Tensor  # -eta sum_l log Z_l, [G]
    dual: Tensor  # D at v + level, [G]
    gradient: Tensor  # of D there, [G, R, c]
    residual: Tensor  # F there, [G, R, c], 0 for labels that do not matter

    def keep(self, which: Tensor) -> State:
        return State(*(part[which] for part in self))

    def replace(self, good: Tensor, new: State) -> State:
        """The new state where it is good."""
        pairs = zip(new, self, strict=True)
        return State(*(torch.where(good.view(-1, *[1] * (one.dim() - 1)), one, old) for one, old in pairs))


@dataclass(frozen=True, eq=False)
class Dual:
    """D for one batch; ``live`` are the labels with a finite potential, the others keep theirs."""

    scores: Tensor  # float64 [n, M, c]
    weak: Tensor  # int64 [n]
    sigma: Sigma
    log_counts: Tensor  # log(T r), [R, c]
    live: Tensor  # bool [R, c]

    @property
    def total(self) -> int:
        """T, the labels that a row counts."""
        return self.scores[..., 0].numel() // len(self.live)

    def rows(self, q: Tensor) -> Tensor:
        """[G, n, M, c] -> [G, R, T, c]."""
        return q.transpose(1, 2).reshape(len(q), *self.live.shape[:1], -1, q.shape[3])

    def evaluate(self, v: Tensor, eta: Tensor, tau: Tensor) -> State:
        """The state at v.

        A shift of a row of v changes no q. D is highest where sum_j r_j exp(-v_j / tau) = 1, as at the solution. That
        level is kept apart from v, whose differences alone then set the precision.
        """
        scaled = (self.scores + v.unsqueeze(1)) / eta[:, None, None, None]
        weak = self.weak.repeat(len(v), *[1] * (self.weak.dim() - 1))
        log_z, posterior = weigh(self.sigma, scaled.flatten(0, 1), weak)
        q = posterior.view(scaled.shape)
        counts = self.rows(q).sum(dim=2)
        wanted = (self.log_counts - v / tau[:, None, None]).where(self.live, -math.inf)
        shift = wanted.logsumexp(dim=2, keepdim=True) - math.log(self.total)
        wanted, level = wanted - shift, shift * tau[:, None, None]
        log_counts = counts.clamp_min(_TINY).log()
        matters = self.live & (torch.maximum(log_counts, wanted) > math.log(_NEGLIGIBLE * self.total))
        free = -eta * log_z.view(len(v), -1).sum(dim=1)
        return State(
            v=v,
            level=level,
            q=q,
            counts=counts,
            free=free,
            dual=free - self.total * level.sum(dim=(1, 2)),
            gradient=wanted.exp() - counts,
            residual=(log_counts - wanted).where(matters, 0.0),
        )

    def direction(self, state: State, eta: Tensor, tau: Tensor, steps: Tensor, changes: Tensor) -> Tensor:
        """A way up: the quasi-Newton step, or Sinkhorn's where that does not lead up. [G, R, c]

        In the unknowns sqrt(b) v the matrix is I (1 / eta + 1 / tau) - W / eta, W = X^T X within each row and
        X = Q / sqrt(b). Its eigenvalue for a shift of the row is only 1 / tau; as a shift is of no account, that part
        of W is taken out.
        """
        root = state.counts.clamp_min(_TINY).sqrt().where(self.live, 0.0)
        scale = root.reciprocal().where(self.live, 0.0)
        x = self.rows(state.q) * scale.unsqueeze(2)
        within = x.transpose(2, 3) @ x - root.unsqueeze(3) * root.unsqueeze(2) / self.total
        matrix = torch.diag_embed(within.permute(0, 2, 3, 1)).permute(0, 3, 1, 4, 2)  # [G, R, c, R, c]
        matrix = matrix.reshape(len(root), self.live.numel(), -1) * (-1 / eta[:, None, None])
        matrix.diagonal(dim1=1, dim2=2).add_((1 / eta + 1 / tau).unsqueeze(1))
        if steps.shape[1]:
            matrix = _bfgs(matrix, *(self._level(pairs, root) for pairs in (steps, changes)))
        solution = torch.linalg.solve_ex(matrix, -(root * state.residual).flatten(1))[0]
        newton = solution.view(root.shape) * scale
        upward = (state.gradient * newton).sum(dim=(1, 2)) > 0
        sinkhorn = -state.residual * (eta * tau / (eta + tau))[:, None, None]
        chosen = torch.where(upward[:, None, None], newton, sinkhorn)
        mean = chosen.sum(dim=2, keepdim=True) / self.live.sum(dim=1, keepdim=True)
        return (chosen - mean).where(self.live, 0.0)

    def _level(self, pairs: Tensor, root: Tensor) -> Tensor:
        """Steps or changes [G, k, R c] in the unknowns sqrt(b) v, without what is a shift of a row."""
        scaled = pairs.view(*pairs.shape[:2], *self.live.shape) * root.unsqueeze(1)
        shift = (scaled * root.unsqueeze(1)).sum(dim=3, keepdim=True) / self.total
        return (scaled - shift * root.unsqueeze(1)).flatten(2)


def _bfgs(matrix: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """``matrix`` [G, d, d] after BFGS updates by the pairs s, y [G, k, d], oldest first: B s = y for the newest.

    All at once, by the compact form of Byrd, Nocedal and Schnabel. Pairs without curvature are left out.
    """
    moved = s @ matrix
    curvature = (s * y).sum(dim=2)
    bad = ~(curvature > 1e-10 * (s * moved).sum(dim=2))
    s, y, moved = (part.masked_fill(bad.unsqueeze(2), 0.0) for part in (s, y, moved))
    corner = moved @ s.transpose(1, 2) + torch.diag_embed(bad.to(s.dtype))
    lower = (s @ y.transpose(1, 2)).tril(-1)
    diagonal = torch.diag_embed(curvature.masked_fill(bad, 1.0))
    middle = torch.cat([torch.cat([corner, lower], dim=2), torch.cat([lower.transpose(1, 2), -diagonal], dim=2)], dim=1)
    both = torch.cat([moved, y], dim=1)
    change: Tensor = both.transpose(1, 2) @ torch.linalg.solve_ex(middle, both)[0]
    return matrix - change


def climb(dual: Dual, v: Tensor, eta: Tensor, tau: Tensor, goal: Tensor) -> tuple[State, Tensor, Tensor]:
    """From v [G, R, c] up to |F| <= goal [G]: the state, steps [G] and success [G] of each setting; tau > 0.

    As in CAROT a step must bring D up, except where what it can gain is lost in rounding: there it must bring F closer
    to 0. Else the trust radius shrinks.
    """
    steps = torch.zeros_like(tau, dtype=torch.int64)
    solved = torch.zeros_like(tau, dtype=torch.bool)
    active = torch.arange(len(tau), device=tau.device)
    radius = torch.full_like(tau, math.inf)
    state = dual.evaluate(v, eta, tau)
    final = State(*(part.clone() for part in state))
    moves = changes = v.new_zeros((len(v), 0, v[0].numel()))
    while True:
        solved[active] = state.residual.abs().amax(dim=(1, 2)) <= goal[active]
        going = ~solved[active] & (steps[active] < _MAX_STEPS) & (radius > 1e-15)
        if not bool(going.all()):
            for part, reached in zip(final, state, strict=True):
                part[active[~going]] = reached[~going]
            active, state, radius = active[going], state.keep(going), radius[going]
            moves, changes = moves[going], changes[going]
            if len(active) == 0:
                return final, steps, solved
        e, t = eta[active], tau[active]
        direction = dual.direction(state, e, t, moves, changes)
        length = direction.abs().amax(dim=(1, 2))
        shrink = (radius / length).clamp(max=1.0)
        step = shrink[:, None, None] * direction
        found = dual.evaluate(state.v + step, e, t)
        good = _good(state, found, step, shrink, t * dual.total)
        change = (found.counts.clamp_min(_TINY).log() - state.counts.clamp_min(_TINY).log()) + step / t[:, None, None]
        moves = torch.cat([moves, step.flatten(1).unsqueeze(1)], dim=1)[:, -_MEMORY:]
        changes = torch.cat([changes, change.flatten(1).unsqueeze(1)], dim=1)[:, -_MEMORY:]
        length = length * shrink
        radius = torch.where(good, torch.maximum(radius, 4 * length), length / 4)
        state = state.replace(good, found)
        steps[active] += 1


def _good(old: State, new: State, step: Tensor, shrink: Tensor, scale: Tensor) -> Tensor:
    """Whether a step may be taken, [G]; ``scale`` is the size of the terms that cancel in D."""
    ascent = (old.gradient * step).sum(dim=(1, 2))
    rounding = 1e-12 * old.dual.abs().clamp_min(1.0) + 2e-14 * scale
    higher = new.dual >= old.dual + 1e-3 * ascent
    closer = new.residual.flatten(1).norm(dim=1) <= (1 - 1e-3 * shrink) * old.residual.flatten(1).norm(dim=1)
    return torch.where(ascent > rounding, higher, closer & (new.dual >= old.dual - rounding))
