"""Reasoning shortcuts, counted: all maps of the classes under which every weak label stays right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nslimb.arrays import BoolArray, FloatArray, IntArray
from nslimb.checks import check_count, check_ratios
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.families import Family
from nslimb.sigma.support import Support as Listed
from nslimb.sigma.support import known_ratios, read_support
from nslimb.theory.consistent import Found, by_combining, search
from nslimb.theory.contradictions import ListedSupport, ProductSupport, Support
from nslimb.theory.spaced import readable, support_apart, told_apart

# Listed label vectors up to which each becomes a diagram; for more, the search is faster.
_MAX_CONSTRAINTS = 100


@dataclass(frozen=True, eq=False)
class Shortcuts:
    """The maps tau of the classes that explain the weak labels as well as the truth does, the identity among them.

    tau[i] is what class i is read as. Where ``complete`` is False there are more maps than the limit allows: ``count``
    is a lower bound, ``by_class`` is None, no class is called safe, and the rest is about the maps that were found.
    """

    count: int
    by_class: FloatArray | None  # [c, c]: the share of maps that read i as j; NaN for classes that do not occur
    safe: tuple[int, ...]  # classes that every map reads as themselves
    worst: IntArray  # [c]: the map under which the most labels are wrong
    maps: IntArray  # [K, c] in lexicographic order, -1 for classes that do not occur
    preserving: IntArray  # [K', c]: those that keep the ratios of the classes
    distance: FloatArray  # [K]: how far the ratios of what is read are from those of the classes, in total variation
    ratios: FloatArray  # [c], of the classes that occur
    ceiling: float  # the ratios of classes that no map reads as a more frequent one, summed
    complete: bool


def shortcuts(
    sigma: Sigma,
    support: Any = None,
    ratios: Any = None,
    samples: float | None = None,
    budget: float = 0,
    tolerance: float = 1e-6,
    limit: int = 10_000,
) -> Shortcuts:
    """All maps tau of the classes with sigma(tau(y_1), ..., tau(y_M)) = sigma(y) for every y that occurs.

    A classifier that reads each class i as tau(i) gets every weak label right: if tau is not the identity, that is a
    reasoning shortcut, and weak labels alone cannot tell it from the truth.

    Maps consistent with a listed support are found as a diagram, a product of one constraint for each label vector;
    otherwise by branch and bound over partial maps, since what contradicts the classes mapped so far only grows.

    Parameters
    ----------
    sigma
        A transducer is taken with its weak labels listed. For a family a map has to explain every member. Where sigma
        has several spaces, there is a map for each: classes are those of all spaces, one after another
        (``sigma.by_space().class_names``).
    support
        Which label vectors occur: None for all, an array [n, M] of equally likely ones, or a mapping
        {vector: probability}. Those without a weak label never reach a learner and constrain nothing; to read a valid
        vector as one without a weak label is a contradiction. Maps run from the classes that occur to all classes.
    ratios
        Of the classes, [c] or [M, c] where positions differ. None: those of the listed support, or uniform ones. A
        class of ratio 0 does not occur; a listed support must not say otherwise.
    samples, budget
        With a number of ``samples``, maps are kept for which samples * P(sigma(tau(y)) != sigma(y)) is at most the
        budget, given that y has a weak label: y from the support or, where that is None, with independent labels of
        these ratios. (Members of a family have equal shares of the samples.) Without it no y may contradict a map.
    tolerance
        Maps keep the ratios where the total variation is at most this.
    limit
        The most maps to list.

    Returns
    -------
    Shortcuts
        How many maps there are (``count``), the ``maps``, the classes that are ``safe``, and whether the list is
        ``complete``.

    Examples
    --------
    >>> half = shortcuts(Sigma.from_function(sum, num_classes=5, arity=2), [(0, 0), (0, 1), (2, 3), (2, 4)])
    >>> half.count, half.safe
    (3, (0, 1))
    >>> half.maps.tolist()
    [[0, 1, 2, 3, 4], [0, 1, 3, 2, 3], [0, 1, 4, 1, 2]]
    >>> shortcuts(Sigma.from_function(max, num_classes=10, arity=4), samples=3000, budget=1).count
    3
    """
    support = support_apart(sigma, support)
    sigma, ratios = told_apart(sigma, ratios)
    members, arity, size = _members(sigma)
    rate, allowed, kept_distance = _numbers(samples, budget, tolerance)
    limit = check_count("limit", limit)
    given = None if ratios is None else np.broadcast_to(check_ratios(ratios, arity, size), (arity, size))
    if support is None:
        by_position = np.full((arity, size), 1 / size) if given is None else given
        known: Support = _product(members, by_position)
        shares = by_position.mean(axis=0)
        found = search(known, readable(sigma), rate, allowed, limit)
    else:
        occurring = _listed(support, members, arity, size)
        shares = known_ratios(occurring, size, given)
        listed = ListedSupport(members, *occurring)
        known = listed
        shares = shares if shares.ndim == 1 else shares.mean(axis=0)
        found = _of_listed(members, listed, readable(sigma), rate, allowed, limit)
    shares = np.where(np.isin(np.arange(size), known.order), shares, 0)
    return _result(found, shares / shares.sum(), kept_distance)


def _of_listed(
    members: Sequence[Sigma],
    support: ListedSupport,
    readable: BoolArray,
    samples: float | None,
    budget: float,
    limit: int,
) -> Found:
    if samples is None and len(support.vectors) * len(members) <= _MAX_CONSTRAINTS:
        try:
            return by_combining(members, support, len(readable), limit)
        except TooLarge:
            pass
    return search(support, readable, samples, budget, limit)


def _result(found: Found, ratios: FloatArray, tolerance: float) -> Shortcuts:
    maps, size = found.maps, len(ratios)
    occurring = np.flatnonzero(ratios > 0)
    by_class = np.full((size, size), np.nan)
    pushed = np.zeros((len(maps), size))
    for label in occurring:
        by_class[label] = np.bincount(maps[:, label], minlength=size) / len(maps)
        pushed[np.arange(len(maps)), maps[:, label]] += ratios[label]
    distance = np.abs(pushed - ratios).sum(axis=1) / 2
    wrong = (maps != np.arange(size)) @ ratios
    every = np.arange(size)
    higher = (ratios > ratios[:, None]) | ((ratios == ratios[:, None]) & (every > every[:, None]))  # [i, j]: j above i
    lost = ((np.nan_to_num(by_class) > 0) & higher).any(axis=1)
    safe = tuple(int(label) for label in occurring if by_class[label, label] == 1)
    return Shortcuts(
        count=found.number,
        by_class=by_class if found.complete else None,
        safe=safe if found.complete else (),
        worst=maps[np.argmax(wrong >= wrong.max() - 1e-12)],
        maps=maps,
        preserving=maps[distance <= tolerance],
        distance=distance,
        ratios=ratios,
        ceiling=min(1.0, float(ratios[~lost].sum())),
        complete=found.complete,
    )


def _members(sigma: Any) -> tuple[list[Sigma], int, int]:
    """The functions that a map has to respect, their arity and the number of classes."""
    checked = Sigma.check(sigma, families=True)
    members = [checked.listed()]
    if isinstance(checked, Family):
        members = [checked.member(name) for name in checked.members]
    return members, checked.arity, checked.num_classes


def _numbers(samples: Any, budget: Any, tolerance: Any) -> tuple[float | None, float, float]:
    """Checked; no samples where nothing may contradict a map."""
    for name, value in (("budget", budget), ("tolerance", tolerance), ("samples", samples)):
        if name == "samples" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
            raise InvalidInput(name, "a number of at least 0", repr(value))
    if budget > 0 and samples is None:
        raise InvalidInput("samples", "a number of samples for the budget", None)
    return None if budget == 0 else float(samples), float(budget), float(tolerance)


def _product(members: Sequence[Sigma], ratios: FloatArray) -> ProductSupport:
    support = ProductSupport(members, ratios)
    if not len(support.order):
        raise InvalidInput("ratios", "a weak label of probability above 0", "ratios that make every one impossible")
    return support


def _listed(support: Any, members: Sequence[Sigma], arity: int, size: int) -> Listed:
    """The label vectors that occur, each once, with a weak label by some member, and their probabilities."""
    found = read_support(support, arity, size)
    there = np.any([sigma.apply(found.vectors[:, : sigma.arity]) != DEAD for sigma in members], axis=0)
    if not there.any():
        raise InvalidInput("support", "a label vector with a weak label and of probability above 0", "none")
    return found.keep(there)
