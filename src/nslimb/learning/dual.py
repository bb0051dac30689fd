"""The dual of the transport over pre-images, and its ascent by a quasi-Newton method.

For log-scores log P [n, M, c], ratios r and potentials v, both [R, c], each row for the T labels of one position or of
several (n a position; in a family, as many as the members of the samples have), v_i the potentials of position i's row:

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
_RADIUS = 4.0  # the first trust radius over eta: scores that far apart are as good as certain


def weigh(sigma: Sigma, scores: Tensor, weak: Tensor) -> tuple[Tensor, Tensor]:
    """log Z of each sample's pre-image, [B], and its derivative, the posterior of the labels, [B, M, c]: one pass."""
    with torch.enable_grad():
        leaf = scores.detach().requires_grad_()
        log_z = sigma.log_likelihood(leaf, weak)
        (posterior,) = torch.autograd.grad(log_z.sum(), leaf)
    return log_z.detach(), posterior


def by_row(values: Tensor, row_of: Tensor, rows: int, dim: int) -> Tensor:
    """The sums over the positions of each row, along the axis of the positions."""
    if rows == 1:
        return values.sum(dim=dim, keepdim=True)
    shape = list(values.shape)
    shape[dim] = rows
    return values.new_zeros(shape).index_add(dim, row_of, values)


class State(NamedTuple):
    """Where the ascent stands, for each of G settings of eta and tau."""

    v: Tensor  # [G, R, c]
    level: Tensor  # what to add to each row of v to bring D up, [G, R, 1]
    q: Tensor  # [G, n, M, c]
    counts: Tensor  # b, [G, R, c], at least a tiny number
    free: Tensor  # -eta sum_l log Z_l, [G]
    dual: Tensor  # D at v + level, [G]
    gradient: Tensor  # of D there, [G, R, c]
    residual: Tensor  # F there, [G, R, c], 0 for labels that do not matter

    def keep(self, which: Tensor) -> State:
        return State(*(part[which] for part in self))

    def replace(self, good: Tensor, new: State) -> State:
        """The new state where it is good."""
        if bool(good.all()):
            return new
        both = zip(new, self, strict=True)
        return State(*(torch.where(good.view(-1, *[1] * (one.dim() - 1)), one, old) for one, old in both))


@dataclass(frozen=True, eq=False)
class Dual:
    """D for one batch; ``live`` are the labels with a finite potential, the others keep theirs."""

    scores: Tensor  # float64 [n, M, c]
    weak: Tensor  # int64 [n] or sequences [n, L], or sets or log-weights [n, S]
    sigma: Sigma
    row_of: Tensor  # int64 [M], the row that counts the labels of each position
    totals: Tensor  # T of each row, at least 1, [R, 1]
    log_counts: Tensor  # log(T r), [R, c]
    live: Tensor  # bool [R, c]

    def evaluate(self, v: Tensor, eta: Tensor, tau: Tensor) -> State:
        """The state at v for eta and tau [G, 1, 1].

        A shift of a row of v changes no q. D is highest where sum_j r_j exp(-v_j / tau) = 1, as at the solution. That
        level is kept apart from v, whose differences alone then set the precision.
        """
        scaled = (self.scores + v[:, self.row_of].unsqueeze(1)) / eta.unsqueeze(1)
        weak = self.weak.repeat(v.shape[0], *[1] * (self.weak.dim() - 1))
        if weak.is_floating_point():
            weak = weak / eta.view(-1, 1).repeat_interleave(len(self.weak), dim=0)
        log_z, posterior = weigh(self.sigma, scaled.flatten(0, 1), weak)
        q = posterior.view(scaled.shape)
        counts = by_row(q.sum(dim=1), self.row_of, v.shape[1], dim=1).clamp_min_(_TINY)
        log_counts = counts.log()
        wanted = (self.log_counts - v / tau).where(self.live, -math.inf)
        counted = self.live.any(dim=1, keepdim=True)  # a position that no sample has has no live label
        shift = (wanted.logsumexp(dim=2, keepdim=True) - self.totals.log()).where(counted, 0.0)
        wanted, level = wanted - shift, shift * tau
        matters = self.live & (torch.maximum(log_counts, wanted) > (_NEGLIGIBLE * self.totals).log())
        free = log_z.view(v.shape[0], -1).sum(dim=1) * -eta.view(-1)
        return State(
            v=v,
            level=level,
            q=q,
            counts=counts,
            free=free,
            dual=free - (self.totals * level).sum(dim=(1, 2)),
            gradient=wanted.exp() - counts,
            residual=(log_counts - wanted).where(matters, 0.0),
        )

    def direction(self, state: State, eta: Tensor, tau: Tensor, pairs: Tensor) -> Tensor:
        """A way up: the quasi-Newton step, or Sinkhorn's where that does not lead up. [G, R, c]

        In the unknowns sqrt(b) v the matrix is I (1 / eta + 1 / tau) - W / eta, W = X^T X within each row and
        X = Q / sqrt(b). Its eigenvalue for a shift of the row is only 1 / tau; as a shift is of no account, that part
        of W is taken out.
        """
        root = state.counts.sqrt()
        x = state.q.transpose(1, 2) / root[:, self.row_of].unsqueeze(2)  # [G, M, n, c]
        within = by_row(x.transpose(2, 3) @ x, self.row_of, root.shape[1], dim=1)
        within = within - root.unsqueeze(3) * (root / self.totals).unsqueeze(2)
        if within.shape[1] > 1:  # [G, R, c, R, c]
            within = torch.diag_embed(within.permute(0, 2, 3, 1)).permute(0, 3, 1, 4, 2)
        matrix = within.reshape(root.shape[0], self.live.numel(), -1) / -eta
        matrix.diagonal(dim1=1, dim2=2).add_((1 / eta + 1 / tau).squeeze(2))
        if pairs.shape[2]:
            matrix = _bfgs(matrix, *self._level(pairs, root))
        solution: Tensor = torch.linalg.solve_ex(matrix, (root * state.residual).flatten(1))[0]
        step = solution.view(root.shape) / -root
        upward = (state.gradient * step).where(self.live, 0.0).sum(dim=(1, 2)) > 0
        if not bool(upward.all()):
            step = step.where(upward[:, None, None], -state.residual * (eta * tau / (eta + tau)))
        step = step.where(self.live, 0.0)
        step = step - step.sum(dim=2, keepdim=True) / self.live.sum(dim=1, keepdim=True).clamp_min(1)
        return step.where(self.live, 0.0)

    def _level(self, pairs: Tensor, root: Tensor) -> Tensor:
        """Pairs of steps and changes [2, G, k, R c] in the unknowns sqrt(b) v, without what is a shift of a row."""
        root = root.unsqueeze(1)
        scaled = pairs.unflatten(3, self.live.shape) * root
        shift = (scaled * root).sum(dim=4, keepdim=True) / self.totals
        level: Tensor = scaled - shift * root
        return level.flatten(3)


def _bfgs(matrix: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """``matrix`` B [G, d, d] after BFGS updates by the pairs s, y [G, k, d], oldest first: B s = y for the newest.

    All at once, by the compact form of Byrd, Nocedal and Schnabel. Pairs without curvature are left out.
    """
    good = (s * y).sum(dim=2) > 1e-10 * (s * (s @ matrix)).sum(dim=2)
    if not bool(good.all()):
        s, y = s * good.unsqueeze(2), y * good.unsqueeze(2)
    both = torch.cat([s @ matrix, y], dim=1)
    products = both @ s.transpose(1, 2)
    corner, curvature = products.chunk(2, dim=1)
    if not bool(good.all()):
        corner, curvature = corner + torch.diag_embed(~good), curvature + torch.diag_embed(~good)
    upper = curvature.triu(1)
    diagonal = torch.diag_embed(-curvature.diagonal(dim1=1, dim2=2))
    middle = torch.cat([torch.cat([corner, upper], dim=1), torch.cat([upper.transpose(1, 2), diagonal], dim=1)], dim=2)
    change: Tensor = both.transpose(1, 2) @ torch.linalg.solve_ex(middle, both)[0]
    return matrix - change


def climb(dual: Dual, v: Tensor, eta: Tensor, tau: Tensor, goal: Tensor) -> tuple[State, Tensor, Tensor]:
    """From v [G, R, c] up to |F| <= goal [G]: the state, steps [G] and success [G] of each setting; tau > 0.

    As in CAROT a step must bring D up, except where what it can gain is lost in rounding: there it must bring F closer
    to 0. Else the trust radius shrinks.
    """
    eta, tau = eta.view(-1, 1, 1), tau.view(-1, 1, 1)
    state = dual.evaluate(v, eta, tau)
    final = State(*(part.clone() for part in state))
    steps = torch.zeros_like(goal, dtype=torch.int64)
    solved = torch.zeros_like(goal, dtype=torch.bool)
    active = torch.arange(v.shape[0], device=v.device)
    radius = _RADIUS * eta.view(-1)
    pairs = v.new_zeros((2, v.shape[0], 0, v[0].numel()))
    largest = dual.totals.max()
    for taken in range(_MAX_STEPS + 1):
        reached = state.residual.abs().amax(dim=(1, 2)) <= goal
        ended = reached | (radius < 1e-15) | (taken == _MAX_STEPS)
        if bool(ended.any()):
            there, left = active[ended], ~ended
            steps[there], solved[there] = taken, reached[ended]
            for all_of_it, part in zip(final, state, strict=True):
                all_of_it[there] = part[ended]
            if bool(ended.all()):
                break
            active, state, radius, pairs = active[left], state.keep(left), radius[left], pairs[:, left]
            eta, tau, goal = eta[left], tau[left], goal[left]
        direction = dual.direction(state, eta, tau, pairs)
        length = direction.abs().amax(dim=(1, 2))
        shrink = (radius / length).clamp(max=1.0)
        step = shrink.view(-1, 1, 1) * direction
        found = dual.evaluate(state.v + step, eta, tau)
        good = _good(state, found, step, shrink, largest * tau.view(-1))
        change = (found.counts / state.counts).log() + step / tau
        pairs = torch.cat([pairs, torch.stack([step, change]).flatten(2).unsqueeze(2)], dim=2)[:, :, -_MEMORY:]
        length = length * shrink
        radius = torch.where(good, torch.maximum(radius, 4 * length), length / 4)
        state = state.replace(good, found)
    return final, steps, solved


def _good(old: State, new: State, step: Tensor, shrink: Tensor, scale: Tensor) -> Tensor:
    """Whether a step may be taken, [G]; ``scale`` is the size of the terms that cancel in D."""
    ascent = (old.gradient * step).sum(dim=(1, 2))
    rounding = 1e-12 * old.dual.abs().clamp_min(1.0) + 2e-14 * scale
    higher, clear = new.dual >= old.dual + 1e-3 * ascent, ascent > rounding
    if bool(clear.all()):
        return higher
    before, after = (state.residual.flatten(1).norm(dim=1) for state in (old, new))
    closer = after <= (1 - 1e-3 * shrink) * before
    return torch.where(clear, higher, closer & (new.dual >= old.dual - rounding))
