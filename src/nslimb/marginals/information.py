"""What of the marginal the weak labels determine: the expected information, and where it vanishes."""

from __future__ import annotations

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.marginals.likelihood import WeakLikelihood


def flat_directions(likelihood: WeakLikelihood, ratios: FloatArray) -> FloatArray:
    """Orthonormal directions [d, G, c] of the simplex along which the standard error is at least 1.

    The expected information is samples * sum_j (dP_j)(dP_j)^T / P_j, restricted to changes that keep every group's
    sum; where the Jacobian of P loses rank it is 0 along some direction, for any number of samples. Where weak labels
    are sequences, the samples' own scores stand for the expectation.
    """
    floor = np.where(likelihood.possible, np.maximum(ratios, 1e-12), 0.0)
    rows = likelihood.information_rows(floor)
    rows = np.divide(rows, floor, out=np.zeros_like(rows), where=floor > 0)
    tangent = _tangent(likelihood)
    _, singular, axes = np.linalg.svd(rows.reshape(len(rows), -1) @ tangent)
    information = likelihood.samples * np.pad(singular, (0, len(axes) - len(singular))) ** 2
    return np.asarray(axes[information <= 1.0] @ tangent.T).reshape(-1, *likelihood.possible.shape)


def directions(likelihood: WeakLikelihood) -> int:
    """The number of directions in which the ratios can change at all: possible labels less groups."""
    return int(likelihood.possible.sum()) - len(likelihood.possible)


def _tangent(likelihood: WeakLikelihood) -> FloatArray:
    """An orthonormal basis [G * c, d] of the changes that keep each group's sum and leave impossible labels alone."""
    constraints = []
    for group, possible in enumerate(likelihood.possible):
        row = np.zeros(likelihood.possible.shape)
        row[group, possible] = 1
        constraints.append(row.reshape(-1))
    fixed = np.eye(likelihood.possible.size)[~likelihood.possible.reshape(-1)]
    rows = np.concatenate([np.array(constraints), fixed])
    return np.asarray(np.linalg.svd(rows)[2][len(rows) :].T)
