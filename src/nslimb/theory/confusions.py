"""What can be learned at all: classes that could be read as others without the weak labels showing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nslimb.arrays import BoolArray, FloatArray, IntArray
from nslimb.checks import check_ratios
from nslimb.errors import TooLarge
from nslimb.sigma.component import Sigma
from nslimb.theory.readings import MAX_EDGES, reading_evidence, weak_counts
from nslimb.theory.spaced import readable, told_apart

# One sample is enough to speak against a reading; what is below one by rounding alone is one.
_ENOUGH = 1 - 1e-9
# Of the table of all readings; one of this size takes 160 MB.
_MAX_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class Confusions:
    """The evidence against reading one class as another, and the classes that are lost for want of it."""

    evidence: FloatArray  # [c, c]: how many samples speak against reading every i as j; 0 for i = j
    samples: int
    ratios: FloatArray  # [c], the mean over positions where those differ
    lost: BoolArray  # [c]: less than one sample speaks against reading the class as a more frequent one
    goes_to: IntArray  # [c]: the class that a lost one is read as; itself for the others
    nearest: IntArray  # [c]: the same for a lost class; for the others, the class with the least evidence of all
    groups: tuple[tuple[int, ...], ...]  # each class that is not lost, first, and those that are lost to it
    ceiling: float  # the accuracy to expect at best: the ratios of the classes that are not lost, summed


def confusions(
    sigma: Sigma,
    ratios: Any,
    samples: int = 3000,
    *,
    weak: Any = None,
    noise: float = 0.0,
    max_edges: int = MAX_EDGES,
) -> Confusions:
    """Which classes the weak labels tell apart, and the accuracy that can be had from them: the identifiable ceiling.

    The evidence against reading every i as j is

        E_ij = samples * P(sigma(y) != sigma(y with every i read as j)),

    for independent labels with ``ratios`` r, [c] or [M, c] where positions differ, given that y has a weak label. With
    the weak labels s_l of a data set as indices ``weak`` [n] in place of ``samples`` it is

        E_ij = sum over l of P(sigma(y with every i read as j) != s_l | sigma(y) = s_l),

    which knows of the one lucky sample that is enough to tell two classes apart. A class i is lost where E_ij < 1 for
    some j with (r_j, j) > (r_i, i), in lexicographic order; it goes to the one of least evidence among these (of
    several, to the largest (r_j, j)), and with it wherever that one goes. The ceiling is the sum of the ratios of the
    classes that are not lost; luck may pass it.

    A wrong weak label is no lucky sample. Where a share ``noise`` e of the weak labels was drawn anew, each of all S as
    likely as the next, each sample counts by the share of its weak label that is clean, max(0, 1 - e / (S p)), with p
    the label's frequency in the data set. (For ``samples`` to come p is (1 - e) P(sigma(y) = s) + e / S, so that E_ij
    is 1 - e times what it is without.) In about half of all data sets a label is drawn anew more than n e / S times,
    and what is above counts as clean, so that a class may slip through: with 1 and 5 % of 3,000 weak labels wrong the
    ceiling of MAX-4 (rho 15) is off that of the right labels by 0.04 on average, that of MAX-5 (rho 5) by 0.04 and
    0.07, to either side.

    Exact through the diagram, for all pairs (i, j) in one walk; ``nslimb.theory.reading_evidence`` answers for any
    other map of the classes, and says what ``max_edges`` is.

    Parameters
    ----------
    sigma
        The symbolic component. Where it has several spaces, a class is read only as one of its own space; where spaces
        share labels, classes are those of all spaces, one after another (``sigma.by_space().class_names``).
    ratios
        Label ratios [c], or [M, c] where positions differ.
    samples
        How many samples there are.
    weak
        The weak labels of a data set [n], in place of ``samples``.
    noise
        The share e of the weak labels that was drawn anew: S / (S - 1) times the share that is wrong. Where it is above
        0, weak labels that the ratios make impossible count as wrong, and are no error.
    max_edges
        The limit of the walk.

    Returns
    -------
    Confusions
        ``evidence`` [c, c], ``groups`` of classes that are not told apart, and the ``ceiling``.

    Raises
    ------
    TooLarge
        If the walk would take too long.

    Examples
    --------
    >>> found = confusions(Sigma.from_function(max, num_classes=4, arity=3), [0.04, 0.16, 0.3, 0.5])
    >>> found.evidence[0].round(3).tolist()  # of 3,000 samples; 0.04 ** 3 of them have nothing but 0
    [0.0, 0.192, 11.712, 82.992]
    >>> found.groups, round(found.ceiling, 6)
    (((1, 0), (2,), (3,)), 0.96)
    """
    sigma, ratios = told_apart(Sigma.check(sigma), ratios)
    size = sigma.num_classes
    checked = check_ratios(ratios, sigma.arity, size)
    count = int(np.sum(weak_counts(sigma, weak, samples)))
    if size**3 > _MAX_ENTRIES:
        raise TooLarge(f"confusions: {size} ** 2 readings of {size} classes are more than {_MAX_ENTRIES:,} entries")
    every = np.arange(size)
    maps = np.tile(every, (size, size, 1))
    maps[every, :, every] = every  # [i, j]: every i is read as j
    evidence = reading_evidence(sigma, checked, maps, samples, weak=weak, noise=noise, max_edges=max_edges)
    shares = checked if checked.ndim == 1 else checked.mean(axis=0)
    order = np.lexsort((every, shares))  # from the least (r_j, j) to the largest
    rank = np.argsort(order)
    kind = readable(sigma)
    nearest, _ = _least(evidence, rank, kind & (every[:, None] != every))
    onward, least = _least(evidence, rank, kind & (rank[:, None] < rank))
    lost = least < _ENOUGH
    goes_to = np.where(lost, onward, every)
    return Confusions(
        evidence=evidence,
        samples=count,
        ratios=shares,
        lost=lost,
        goes_to=goes_to,
        nearest=np.where(lost, onward, nearest),
        groups=_groups(lost, goes_to),
        ceiling=float(shares[~lost].sum()),
    )


def _least(evidence: FloatArray, rank: IntArray, allowed: BoolArray) -> tuple[IntArray, FloatArray]:
    """The allowed j of least evidence for each i, and that evidence; infinite, for any j, where none is allowed.

    Of several, which rounding may tell apart, the one of the largest rank.
    """
    against = np.where(allowed, evidence, np.inf)
    least = against.min(axis=1)
    tied = against <= least[:, None] * (1 + 1e-9) + 1e-9
    return np.where(tied, rank, -1).argmax(axis=1), least


def _groups(lost: BoolArray, goes_to: IntArray) -> tuple[tuple[int, ...], ...]:
    """Chains end, since each step leads to a larger (r_j, j); following them doubles its stride."""
    ends = goes_to
    while lost[ends].any():
        ends = ends[ends]
    return tuple(
        (kept, *(int(label) for label in np.flatnonzero(ends == kept) if label != kept))
        for kept in np.flatnonzero(~lost).tolist()
    )
