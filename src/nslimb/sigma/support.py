"""Which label vectors occur at all, where not every combination of labels does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import as_integers, check_range, check_ratios
from nslimb.errors import InvalidInput


class Support(NamedTuple):
    """Distinct label vectors [V, M] and their probabilities [V], all above 0."""

    vectors: IntArray
    probabilities: FloatArray

    def ratios(self, num_classes: int) -> FloatArray:
        """How often each position has each label, [M, c]."""
        shares = np.zeros((self.vectors.shape[1], num_classes))
        np.add.at(shares, (np.arange(len(shares)), self.vectors), self.probabilities[:, None])
        return shares

    def keep(self, there: NDArray[np.bool_]) -> Support:
        """Some of them, with probabilities that sum to 1 again."""
        kept = self.probabilities[there]
        return Support(self.vectors[there], kept / kept.sum())


def read_support(support: Any, arity: int, num_classes: int) -> Support:
    """Label vectors given as an array [n, M], equally likely, or as a mapping {vector: probability}."""
    expected = f"label vectors of {arity} integers from 0 to {num_classes - 1}, or a mapping from such to probabilities"
    weights: NDArray[Any] | None = None
    if isinstance(support, Mapping):
        try:
            weights = np.array(list(support.values()), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput("support", expected, f"probabilities that are no numbers ({error})") from error
        support = list(support)
    table = as_integers("support", list(support) if isinstance(support, (set, frozenset)) else support, expected)
    if table.dim() != 2 or table.shape[1] != arity or len(table) == 0:
        raise InvalidInput("support", expected, f"shape {list(table.shape)}")
    check_range("support", table, num_classes, expected)
    vectors, inverse = np.unique(table.cpu().numpy(), axis=0, return_inverse=True)
    if weights is None:
        weights = np.full(len(table), 1 / len(table))
    if not np.isfinite(weights).all() or weights.min() < 0 or abs(weights.sum() - 1) > 1e-4:
        raise InvalidInput("support", "probabilities of at least 0 that sum to 1", f"a sum of {weights.sum():g}")
    probabilities = np.bincount(inverse.reshape(-1), weights).astype(np.float64)
    return Support(vectors, probabilities).keep(probabilities > 0)


def known_ratios(support: Support, num_classes: int, ratios: Any) -> FloatArray:
    """The ratios of the classes: as given, [c] or [M, c], if they do not contradict the support; else its own, [c]."""
    own = support.ratios(num_classes)
    if ratios is None:
        return np.asarray(own.mean(axis=0))
    given = check_ratios(ratios, len(own), num_classes)
    table = np.broadcast_to(given, own.shape)
    never = (own > 0).sum(axis=0) == 0
    wrong = np.argwhere(((table == 0) & (own > 0)) | ((table > 0) & never))
    if len(wrong):
        place, label = wrong[0]
        expected = "ratios above 0 for the classes that occur in the support, and 0 for the others"
        raise InvalidInput("ratios", expected, f"{table[place, label]:g} for class {label}")
    return given
