"""Long tails: how many images of each class are kept."""

from __future__ import annotations

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import InvalidInput


def shares(rho: float, num_classes: int, reverse: bool = False) -> FloatArray:
    """What each class keeps, as a share of the average class, by rank.

    ``exp``: rho^-(k / (c - 1)) for k = 0 .. c - 1, the head first; reversed, as in the paper's MAX runs:
    rho^-((c - k) / (c - 1)), the head last. rho = 0 keeps everything.

    Examples
    --------
    >>> shares(50, 3).round(3).tolist()
    [1.0, 0.141, 0.02]
    """
    if not 0 <= rho < np.inf or 0 < rho < 1:
        raise InvalidInput("rho", "0 (no long tail) or a number of at least 1", rho)
    if rho == 0 or num_classes == 1:
        return np.ones(num_classes)
    rank = np.arange(num_classes)
    exponent = (num_classes - rank if reverse else rank) / (num_classes - 1)
    return np.asarray(rho**-exponent)


def thin(
    labels: IntArray,
    num_classes: int,
    rho: float,
    rng: np.random.Generator,
    reverse: bool = False,
    order: tuple[int, ...] | None = None,
) -> IntArray:
    """Indices of the images to keep, in increasing order: min(available, floor(share * N / c)) of each class.

    N is the number of all images and c that of the classes, so that shares are of the average class, as in the paper's
    released code. rho = 0 keeps everything.

    ``order`` lists the classes from rank 0 on (HWF mixes digits and operators); by default as numbered. A class that
    would be left without images is an error.

    Parameters
    ----------
    labels
        Of all images, [N].
    num_classes
        c.
    rho
        The largest share over the smallest.
    rng
        Which images of a class are kept.
    reverse
        Whether the last rank is the head, as for MAX.
    order
        The classes from rank 0 on.

    Returns
    -------
    IntArray
        Indices of the images to keep.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.
    """
    counts = np.bincount(labels, minlength=num_classes)
    ranked = tuple(range(num_classes)) if order is None else order
    if sorted(ranked) != list(range(num_classes)):
        raise InvalidInput("order", f"each of the classes 0 to {num_classes - 1} once", order)
    wanted = np.empty(num_classes, dtype=np.int64)
    average = len(labels) / num_classes
    wanted[list(ranked)] = np.floor(shares(rho, num_classes, reverse) * average + 1e-9)
    wanted = counts if rho == 0 else np.minimum(wanted, counts)
    if wanted.min() == 0:
        empty = ", ".join(map(str, np.flatnonzero(wanted == 0)))
        raise InvalidInput(
            "rho",
            f"a long tail that leaves images in every class (the average one has {average:g})",
            f"{rho:g}, which empties class {empty}",
        )
    kept = [rng.permutation(np.flatnonzero(labels == k))[: wanted[k]] for k in range(num_classes)]
    return np.sort(np.concatenate(kept))
