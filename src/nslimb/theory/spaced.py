"""Questions class by class, where classes are of several spaces: a class of one is never read as one of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import BoolArray, FloatArray
from nslimb.checks import check_ratios
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.spaces import apart, own_labels, ratios_apart
from nslimb.sigma.support import read_support


def told_apart(sigma: Sigma, ratios: Any) -> tuple[Sigma, Any]:
    """Sigma over the classes of all its spaces, one after another, and ratios [c] or [M, c] over these, [M, C].

    Both as they are where there is one space, or where no two spaces share a label. Ratios may also be [M, C] already.
    """
    if not isinstance(sigma, Sigma) or not sigma.lists_weak_labels or not sigma.spaces_share_labels:
        return sigma, ratios
    if ratios is None:
        return sigma.by_space(), None
    arity, size = sigma.arity, sigma.num_classes
    if _are_apart(ratios, sigma):
        return sigma.by_space(), ratios
    return sigma.by_space(), ratios_apart(
        sigma.spaces, np.broadcast_to(check_ratios(ratios, arity, size), (arity, size))
    )


def _are_apart(ratios: Any, sigma: Sigma) -> bool:
    """Whether ratios are over the classes of all spaces already, each position's over those of its own space."""
    own = own_labels(sigma.spaces, sigma.arity)
    try:
        return np.shape(ratios) == own.shape and not np.asarray(ratios, dtype=np.float64)[~own].any()
    except (TypeError, ValueError):
        return False  # what is wrong with them is said where they are checked


def of_an_image(ratios: Any, sigma: Sigma) -> Any:
    """Ratios [M, c] of spaces as those of an image at any position, [c]; as they are where there is one space.

    Given that a label vector is valid, only the ratios within a space matter, so that no position's are lost.
    """
    if not sigma.lists_weak_labels or len(sigma.spaces) == 1 or np.ndim(ratios) != 2:
        return ratios
    table = check_ratios(ratios, sigma.arity, sigma.num_classes)
    for space in sigma.spaces:
        if np.ptp(table[list(space.positions)], axis=0).max() > 1e-6:
            raise InvalidInput("ratios", f"the same ratios at all positions of space {space.name}", "others")
    return table.mean(axis=0)


def support_apart(sigma: Sigma, support: Any) -> Any:
    """Label vectors that occur, over the classes of all of sigma's spaces where ``told_apart`` has those."""
    if support is None or told_apart(sigma, None)[0] is sigma:
        return support
    listed = read_support(support, sigma.arity, sigma.num_classes)
    vectors = apart(sigma.spaces, listed.vectors)
    if (vectors < 0).any():
        given = tuple(listed.vectors[(vectors < 0).any(axis=1)][0].tolist())
        raise InvalidInput("support", "labels of each position's own space", repr(given))
    return dict(zip(map(tuple, vectors.tolist()), listed.probabilities.tolist(), strict=True))


def space_sums(sigma: Sigma) -> FloatArray:
    """1 where a class belongs to a space, [spaces, c]: what sums up ratios by space."""
    return readable(sigma)[[space.labels[0] for space in sigma.spaces]].astype(np.float64)


def readable(sigma: Sigma) -> BoolArray:
    """Which classes may be read as which, [c, c]: those of one space."""
    if not sigma.lists_weak_labels or len(sigma.spaces) == 1:
        return np.ones((sigma.num_classes, sigma.num_classes), dtype=np.bool_)
    of_class = np.repeat(np.arange(len(sigma.spaces)), [len(space.labels) for space in sigma.spaces])
    return np.asarray(of_class[:, None] == of_class)
