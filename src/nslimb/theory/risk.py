"""The partial risk as a function of the confusion matrix, by a pass over pairs of diagram states."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.checks import check_ratios
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.theory.inputs import check_several_classes

# Entries of the largest table of one confusion matrix; a table of this size takes 160 MB.
_MAX_ENTRIES = 20_000_000
# Confusion matrices go through the pass in batches whose tables have about so many entries, to fit the cache.
_BATCH_ENTRIES = 30_000
_LEAST_BATCH = 8
# Entries of Sigma_{sigma,r}, c ** 4 of them.
_MAX_MATRIX = 50_000_000


def partial_risk(sigma: Sigma, ratios: Any, confusion: Any) -> Any:
    """R_P(H) = P(sigma(f(x_1), ..., f(x_M)) != sigma(y_1, ..., y_M)), eq. (1), for any arity.

    ``confusion`` H [..., c, c] has the distribution of the prediction f(x) given the true class i in row i; the labels
    y_i are independent draws from ``ratios`` r [c]. A float64 tensor gives a tensor [...] that is differentiable with
    respect to H; anything else gives a numpy array or a float.

    Label vectors without a weak label never reach a learner, so y is conditioned on having one, as the paper's
    formulas are sampled. A prediction without a weak label is wrong.

    Layer by layer alpha[s, s'] is the probability that the true labels lead to state s and the predicted ones to s':

        alpha'[t, t'] = sum over (s, a) -> t and (s', a') -> t' of alpha[s, s'] r_a H[a, a'],

    and 1 - R_P is the trace of the last alpha over the probability of a valid y. Costs M n^2 c^2 for n states a layer.

    Parameters
    ----------
    sigma
        The symbolic component.
    ratios
        Label ratios [c].
    confusion
        H [..., c, c], rows of sum 1.

    Returns
    -------
    float, array or Tensor
        R_P, [...].

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> risk = partial_risk(sigma, [0.5, 0.5], [[0.8, 0.2], [0.0, 1.0]])
    >>> round(risk, 12)  # only (0, 0) can go wrong: (1 - 0.8 ** 2) / 4
    0.09

    References
    ----------
    Eq. (1) of the paper.
    """
    check_several_classes(sigma)
    checked = check_ratios(ratios, None, sigma.num_classes)
    matrices = check_confusion(confusion, sigma.num_classes)
    risk = 1.0 - agreement(sigma, checked, matrices.reshape(-1, *matrices.shape[-2:])).reshape(matrices.shape[:-2])
    if isinstance(confusion, Tensor):
        return risk
    return risk.numpy() if risk.dim() else float(risk)


def risk_matrix(sigma: Sigma, ratios: Any) -> FloatArray:
    """The paper's Sigma_{sigma,r} [c^2, c^2]: the symmetric matrix with R_P = h^T Sigma h, for arity 2.

    Here h = H.reshape(-1), row after row. That is vec(H^T) in the paper's notation, the only reading under which its
    w_j and its normalisation constraint mean what its text says. Entry ((i, i'), (j, j')) is the mean over both orders
    of r_i r_j 1{sigma(i, j) != sigma(i', j')}.

    Parameters
    ----------
    sigma
        Of arity 2.
    ratios
        Label ratios [c].

    Returns
    -------
    FloatArray
        [c^2, c^2], symmetric.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> risk_matrix(sigma, [0.5, 0.5])[0].tolist()  # 0 seen as 0, together with (i, i') = (0,0), (0,1), (1,0), (1,1)
    [0.0, 0.25, 0.25, 0.0]
    """
    if check_several_classes(sigma).arity != 2:
        raise InvalidInput("sigma", "arity 2 (the partial risk is a quadratic form only then)", f"arity {sigma.arity}")
    return _pair_matrix(sigma, check_ratios(ratios, None, sigma.num_classes), agree=False)


def agreement_matrix(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """The symmetric matrix S [c^2, c^2] with 1 - R_P = h^T S h, h = H.reshape(-1), for arity 2."""
    return _pair_matrix(sigma, ratios, agree=True)


def _pair_matrix(sigma: Sigma, ratios: FloatArray, agree: bool) -> FloatArray:
    size = sigma.num_classes
    if size**4 > _MAX_MATRIX:
        raise TooLarge(f"risk matrix: {size} ** 4 entries are more than {_MAX_MATRIX}")
    table = np.asarray(sigma.apply(np.indices((size, size)).transpose(1, 2, 0)))
    weights = (table != DEAD) * np.outer(ratios, ratios) / valid_probability(sigma, ratios)
    counted = (table[:, None, :, None] == table[None, :, None, :]) == agree  # axes i, i', j, j'
    matrix = (counted * weights[:, None, :, None]).reshape(size**2, size**2)
    return np.asarray((matrix + matrix.T) / 2)


def valid_probability(sigma: Sigma, ratios: FloatArray) -> float:
    """P(y has a weak label) for independent y_i from ``ratios``."""
    if all((targets != DEAD).all() for targets in sigma.diagram.targets):
        return 1.0
    with np.errstate(divide="ignore"):
        log_scores = torch.from_numpy(np.log(np.tile(ratios, (1, sigma.arity, 1))))
    mass = float(sigma.log_prob(log_scores).exp().sum())
    if mass <= 0:
        raise InvalidInput("ratios", "a weak label of probability above 0", "ratios that make every one impossible")
    return mass


def agreement(sigma: Sigma, ratios: FloatArray, confusion: Tensor) -> Tensor:
    """1 - R_P for confusion matrices [N, c, c], already checked: [N], differentiable."""
    entries = pair_entries(sigma)
    if entries > _MAX_ENTRIES:
        raise TooLarge(
            f"partial risk: {sigma!r} needs tables of {entries} pairs of states and labels, "
            f"more than {_MAX_ENTRIES}; a sigma with fewer states is needed"
        )
    steps = [_Step(targets, after, ratios) for targets, after in _layers(sigma)]
    size = max(_LEAST_BATCH, _BATCH_ENTRIES // entries)
    parts = [_pass(steps, part) for part in confusion.split(size)] if len(confusion) else [confusion.sum(dim=(1, 2))]
    return torch.cat(parts) / valid_probability(sigma, ratios)


def pair_entries(sigma: Sigma) -> int:
    """The size of the largest table of the pass: true states after a layer, predicted states before it, labels."""
    return max(after * targets.size for targets, after in _layers(sigma))


def _layers(sigma: Sigma) -> list[tuple[np.ndarray, int]]:
    """The targets of each layer and the number of states after it."""
    return list(zip(sigma.diagram.targets, sigma.diagram.widths[1:], strict=True))


class _Step:
    """One layer as index tensors: its live edges, their targets and the ratios of their labels."""

    def __init__(self, targets: np.ndarray, after: int, ratios: FloatArray) -> None:
        self.before, self.classes = targets.shape
        self.after = after
        state, label = np.nonzero(targets != DEAD)
        target = targets[state, label]
        self.state = torch.from_numpy(state)
        self.row = torch.from_numpy(target * self.classes + label)  # (target, label), of the true chain
        self.weight = torch.from_numpy(ratios[label]).unsqueeze(1)
        self.edge = torch.from_numpy(state * self.classes + label)  # (state, label), of the predicted chain
        self.target = torch.from_numpy(target)


def _pass(steps: list[_Step], confusion: Tensor) -> Tensor:
    batch, classes = confusion.shape[:2]
    alpha = confusion.new_ones((batch, 1, 1))
    for i, step in enumerate(steps):
        moved = alpha.new_zeros((batch, step.after * classes, step.before))
        moved = moved.index_add(1, step.row, alpha.index_select(1, step.state) * step.weight)
        # [B, (true target, predicted state), true label] @ H = [B, (true target, predicted state), predicted label]
        by_label = moved.view(batch, step.after, classes, step.before).transpose(2, 3).reshape(batch, -1, classes)
        edges = (by_label @ confusion).view(batch, step.after, -1)
        if i == len(steps) - 1:  # of the last alpha only the trace is wanted
            return edges[:, step.target, step.edge].sum(dim=1)
        alpha = alpha.new_zeros((batch, step.after, step.after))
        alpha = alpha.index_add(2, step.target, edges.index_select(2, step.edge))
    raise AssertionError("a diagram has at least one layer")


def check_confusion(confusion: Any, num_classes: int) -> Tensor:
    """Confusion matrices as a float64 tensor [..., c, c] with rows that are distributions."""
    expected = f"confusion matrices of shape [..., {num_classes}, {num_classes}] whose rows are at least 0 and sum to 1"
    if isinstance(confusion, Tensor):
        if confusion.dtype != torch.float64:
            raise InvalidInput("confusion", f"{expected}, in double precision", f"dtype {confusion.dtype}")
        matrices = confusion
    else:
        try:
            matrices = torch.from_numpy(np.array(confusion, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InvalidInput("confusion", expected, f"values that are no numbers ({error})") from error
    if matrices.dim() < 2 or matrices.shape[-2:] != (num_classes, num_classes):
        raise InvalidInput("confusion", expected, f"shape {list(matrices.shape)}")
    values = matrices.detach()
    if not bool((values >= 0).all()) or not bool(((values.sum(dim=-1) - 1).abs() <= 1e-6).all()):
        raise InvalidInput("confusion", expected, "rows with other values")
    return matrices
