"""Soft pseudolabels: optimal transport over pre-images, CAROT at training time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nslimb.adjustment.inputs import check_positive
from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import check_log_scores, check_ratios
from nslimb.errors import InvalidInput
from nslimb.learning.dual import Dual, State, by_row, climb, weigh
from nslimb.sigma.component import Sigma
from nslimb.sigma.sets import members

# Scores below e ** -1000 count as that: a label of probability 0 can still be transported to, at a price.
_LOWEST = -1e3
# Eta below 1 is approached from 1, a factor of 4 at a time, each but the last solved to this tolerance.
_FACTOR = 4.0
_ON_THE_WAY = 0.1
_SAME = 1e-9  # ratios that differ by less are the same


class SoftPseudoLabels(NamedTuple):
    """Soft pseudolabels of a batch, for each of the settings in the shape of eta and tau (none for two numbers)."""

    q: Tensor  # [..., B, M, c], each row a distribution
    potentials: Tensor  # float64 [..., M, c]
    objective: Tensor  # float64 [...], what is minimised, at q
    iterations: Tensor  # int64 [...], steps tried, one pass over the diagram each
    converged: Tensor  # bool [...]


def soft_pseudolabels(
    log_scores: Tensor,
    weak: Any,
    sigma: Sigma,
    ratios: Any,
    eta: Any = 1.0,
    tau: Any = 10.0,
    pooled: bool | Sequence[int] = False,
    *,
    tolerance: float = 1e-6,
) -> SoftPseudoLabels:
    """Distributions q_l over the pre-image of each weak label, close to the scores and together to the label ratios.

    For log-scores log P [B, M, c] and weak labels, [B] or sequences [B, L], with Q_i[l] the marginals of q_l, they
    minimise

        sum_l (<-log P, Q>_l - eta H(q_l))  +  tau sum_i KL(sum_l Q_i[l] || B r_i),

    KL(a || b) = sum a log(a / b) - a + b. ``ratios`` is [c], or [M, c] where positions differ. ``pooled=True`` counts
    the labels of all positions together: one KL(sum_l sum_i Q_i[l] || B M r), with ``ratios`` [c] and c potentials. A
    number for each position, such as ``sigma.groups``, counts those of the same number together.
    ``eta > 0`` and ``tau >= 0`` may be arrays that broadcast: all settings are then solved together.

    Weak labels may be sets (bool [B, S]: q_l lives on the union of their pre-images) or log-weights w (float [B, S]),
    which join the scores of a label vector y as w_{l, sigma(y)}. In a family, a position that a sample's member lacks
    has q = 0 and counts for nothing: B is the number of samples that have the position.

    q_l is the posterior at scores (log P + v + w) / eta, v the potentials; with ``tau=0`` they are 0, and the ratios do
    not matter. A label that no weak label of the batch allows at its position takes no part: its potential is 0. A
    class of ratio 0 gets no mass, its potential is -inf; that is refused where the weak labels prove it to be there.
    ``converged`` says whether all counts are as the potentials want them, to a relative error of ``tolerance``.
    About ten passes over the diagram are enough with eta = 1; the smaller eta is, the more there are, each factor of 4
    being solved on the way (``iterations``; SUM-5 with eta = 0.03 takes about 160).
    With sigma of one weak label and one position q is what ``carot`` gives: to about 1e-7 at the tolerance of 1e-6,
    and to 1e-8 with ``tolerance=1e-10``.

    Parameters
    ----------
    log_scores
        Log-probabilities [B, M, c], ``logits.log_softmax(-1)``.
    weak
        Weak labels as indices [B] into ``sigma.weak_labels``, or sequences [B, L] for a transducer.
    sigma
        The symbolic component.
    ratios
        Label ratios [c], or [M, c] where positions differ.
    eta, tau
        Smoothing above 0, and the pull of the ratios; numbers or arrays that broadcast.
    pooled
        Count the labels of all positions together, or of those with the same number; they then share their ratios.
    tolerance
        The relative error of the counts at which it has converged.

    Returns
    -------
    SoftPseudoLabels
        ``q`` [B, M, c], ``potentials`` [M, c], ``objective``, ``iterations`` and ``converged``.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> scores = torch.tensor([[[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.8, 0.2]]]).log()
    >>> soft_pseudolabels(scores, [1, 1], sigma, ratios=[0.3, 0.7], tau=0.0).q[:, :, 1].sum(0)  # the posterior's counts
    tensor([0.8835, 1.5038])
    >>> soft_pseudolabels(scores, [1, 1], sigma, ratios=[0.3, 0.7], tau=10.0).q[:, :, 1].sum(0)  # 1.4 were asked for
    tensor([1.3448, 1.3778])
    """
    Sigma.check(sigma, families=True)
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    observed = sigma.check_explained(weak, len(log_scores), log_scores.device)
    etas, taus = _settings(eta, tau, log_scores.device)
    places, first = _pooling(pooled, sigma.arity)
    each = check_ratios(ratios, None if pooled is True else sigma.arity, sigma.num_classes)
    given = torch.from_numpy(_of_rows(each, places, first))
    if not isinstance(tolerance, float) or not 0 < tolerance < 1:
        raise InvalidInput("tolerance", "a number between 0 and 1", repr(tolerance))
    shape, size = etas.shape, log_scores.shape[1:]
    if len(log_scores) == 0:
        zero = torch.zeros_like(etas)
        q, potentials = log_scores.new_zeros((*shape, 0, *size)), zero.new_zeros((*shape, *size))
        return SoftPseudoLabels(q, potentials, zero, zero.long(), zero == 0)
    etas, taus = etas.reshape(-1), taus.reshape(-1)
    if not bool((taus > 0).any()):  # then ratios do not matter, not even those of 0
        given = torch.full_like(given, 1 / sigma.num_classes)
    rows, row_of = given.to(log_scores.device), torch.from_numpy(places).to(log_scores.device)
    with torch.inference_mode(False), torch.no_grad():
        dual, start = _dual(log_scores.double().clamp_min(_LOWEST), observed.clone(), sigma, rows, row_of)
        state, iterations, converged = _along_eta(dual, start, etas, taus, tolerance)
        objective, potentials = _objective(dual, state, taus), _potentials(dual, state, taus)
    return SoftPseudoLabels(
        q=state.q.to(log_scores.dtype).view(*shape, *log_scores.shape),
        potentials=potentials[:, row_of].reshape(*shape, *size),
        objective=objective.view(shape),
        iterations=iterations.view(shape),
        converged=converged.view(shape),
    )


def _settings(eta: Any, tau: Any, device: torch.device) -> tuple[Tensor, Tensor]:
    """eta and tau, checked and broadcast against each other."""
    etas, taus = check_positive("eta", eta), check_positive("tau", tau, allow_zero=True)
    try:
        etas, taus = torch.broadcast_tensors(etas, taus)
    except RuntimeError as error:
        given = f"shapes {list(etas.shape)} and {list(taus.shape)}"
        raise InvalidInput("eta, tau", "shapes that broadcast", given) from error
    return etas.to(device), taus.to(device)


def _pooling(pooled: Any, arity: int) -> tuple[IntArray, IntArray]:
    """Which of R rows each position counts for, [M], and a position of each row, [R]."""
    if isinstance(pooled, bool):
        numbers: Any = [0] * arity if pooled else range(arity)
    else:
        numbers = pooled if isinstance(pooled, (Sequence, np.ndarray)) and not isinstance(pooled, str) else ()
        if len(numbers) != arity or not all(isinstance(number, (int, np.integer)) for number in numbers):
            expected = f"True, False, or a whole number for each of {arity} positions"
            raise InvalidInput("pooled", expected, repr(pooled))
    _, first, row_of = np.unique(np.asarray(numbers), return_index=True, return_inverse=True)
    return row_of.reshape(-1), first


def _of_rows(ratios: FloatArray, row_of: IntArray, first: IntArray) -> FloatArray:
    """The ratios [R, c] of the rows, from [c] or [M, c]."""
    each = np.broadcast_to(ratios, (len(row_of), ratios.shape[-1]))
    rows = each[first]
    other = np.flatnonzero((np.abs(each - rows[row_of]) > _SAME).any(axis=1))
    if len(other):
        told = f"others at position {other[0]} than at {first[row_of[other[0]]]}"
        raise InvalidInput("ratios", "the same ratios at positions that are pooled", told)
    return rows


def _dual(scores: Tensor, weak: Tensor, sigma: Sigma, ratios: Tensor, row_of: Tensor) -> tuple[Dual, Tensor]:
    """The dual for ratios [R, c], and the potentials to start from: 0, or -inf where a ratio is 0."""
    allowed = weak if weak.dtype == torch.int64 else members(weak)
    some = allowed.unique(dim=0)
    even = scores.new_zeros((len(some), *scores.shape[1:]))
    live = _any(weigh(sigma, even, some)[1], row_of, len(ratios))
    start = torch.zeros_like(ratios).masked_fill(live & (ratios == 0), -math.inf)
    if bool((start < 0).any()):
        # What is left may exclude further labels, whose ratios are above 0.
        log_z, posterior = weigh(sigma, even + start[row_of], some)
        if bool((log_z == -math.inf).any()):
            _refuse(allowed, some[log_z == -math.inf][0], ratios[row_of])
        live = _any(posterior, row_of, len(ratios))
    used = sigma.used(weak)
    each = scores.new_full((scores.shape[1], 1), len(scores))
    if used is not None:
        each = used.sum(dim=0).to(scores).unsqueeze(1)
    totals = by_row(each, row_of, len(ratios), dim=0)
    return Dual(scores, weak, sigma, row_of, totals.clamp_min(1.0), (ratios * totals).log(), live), start


def _any(posterior: Tensor, row_of: Tensor, rows: int) -> Tensor:
    """Which labels are possible at some position of each row, [R, c]."""
    return by_row((posterior > 0).any(dim=0).long(), row_of, rows, dim=0) > 0


def _refuse(weak: Tensor, label: Tensor, ratios: Tensor) -> None:
    """Say which ratios of 0 one weak label contradicts."""
    sample = int((weak == label).view(len(weak), -1).all(dim=1).nonzero()[0])
    zero = ratios == 0
    everywhere = bool((zero == zero[0]).all())
    places = zero[:1].nonzero() if everywhere else zero.nonzero()
    named = (f"{j}" if everywhere else f"{j} at position {i}" for i, j in places.tolist())
    raise InvalidInput(
        "ratios",
        "ratios above 0 for classes that the weak labels prove to be there (or tau=0)",
        f"0 for class {', '.join(named)}, without which sample {sample} (weak label {label.tolist()}) has no "
        "label vector",
    )


def _along_eta(dual: Dual, start: Tensor, eta: Tensor, tau: Tensor, tolerance: float) -> tuple[State, Tensor, Tensor]:
    """The state at the top of D, the steps and the success of each setting. With tau = 0 the potentials stay 0."""
    steps = torch.zeros_like(eta, dtype=torch.int64)
    v = start.where((tau > 0).view(-1, 1, 1), 0.0)
    now = eta.clamp_min(1.0).where(tau > 0, eta)
    while True:
        goal = torch.where(now > eta, _ON_THE_WAY, tolerance).where(tau > 0, math.inf)
        state, taken, converged = climb(dual, v, now, tau.where(tau > 0, 1.0), goal)
        steps += taken
        if bool((now == eta).all()):
            return state, steps, converged
        nearer = torch.maximum(now / _FACTOR, eta)
        v, now = state.v, torch.where(converged, nearer, eta)  # where the way fails, no more than the end is tried


def _potentials(dual: Dual, state: State, tau: Tensor) -> Tensor:
    """v at the level where it is -tau log(b / (T r)), [G, R, c]."""
    return (state.v + state.level).where(dual.live & (tau > 0).view(-1, 1, 1), state.v)


def _objective(dual: Dual, state: State, tau: Tensor) -> Tensor:
    """What is minimised, at q [G]; eta log Z_l = <log P + v, Q>_l + eta H(q_l) spares the entropy."""
    tau = tau.view(-1, 1, 1)
    price = state.v + (tau * (state.counts.log() - dual.log_counts)).where(tau > 0, 0.0)
    return state.free + (price * state.counts).where(dual.live | (tau == 0), 0.0).sum(dim=(1, 2))
