"""What chance alone may do: how far apart two accuracies must be before one may be called the better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

_TWO_SIDED = 1.96  # 95 % of a normal distribution


class Interval(NamedTuple):
    """A mean with the interval that it lies in."""

    mean: float
    low: float
    high: float

    @property
    def bounds(self) -> str:
        """Where a gain in points lies."""
        return f"{signed(self.low)} to {signed(self.high)}"

    @property
    def gain(self) -> str:
        """A gain in points with its bounds."""
        return f"{signed(self.mean)} ({self.bounds})"


def signed(points: float, digits: int = 1) -> str:
    """A gain in points; a dash where it is not known.

    Examples
    --------
    >>> signed(2.0), signed(-0.04), signed(-0.04, 2), signed(math.inf), Interval(2.0, 1.0, 3.0).gain
    ('+2.0', '+0.0', '-0.04', '-', '+2.0 (+1.0 to +3.0)')
    """
    return f"{round(float(points), digits) + 0.0:+.{digits}f}" if math.isfinite(points) else "-"


def interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of values [n] and its interval by Student's t; infinite for a single value, NaN the mean of none.

    Examples
    --------
    >>> [round(bound, 1) for bound in interval([97.0, 98.0, 99.0])], interval([97.0]).high
    ([98.0, 95.5, 100.5], inf)
    """
    numbers = np.asarray(values, dtype=float)
    number = len(numbers)
    mean = float(numbers.mean()) if number else math.nan
    if number < 2:
        return Interval(mean, -math.inf, math.inf)
    half = float(stats.t.ppf((1 + level) / 2, number - 1) * numbers.std(ddof=1) / math.sqrt(number))
    return Interval(mean, mean - half, mean + half)


class Accuracy(NamedTuple):
    """An accuracy in per cent, mean over seeds."""

    mean: float
    std: float  # over seeds; NaN for one
    seeds: int
    images: float  # test images

    @property
    def variance(self) -> float:
        """Of the mean, in points squared: of which test images there are, and of the seeds' own luck.

        Another set of ``images`` test images would give another accuracy, by the binomial distribution; all seeds share
        one test set, so that more seeds do not help there.
        """
        share = min(max(self.mean / 100, 1 / (self.images + 2)), 1 - 1 / (self.images + 2))
        sampling = 1e4 * share * (1 - share) / self.images
        return sampling + (0.0 if math.isnan(self.std) else self.std**2 / self.seeds)


def told_apart(one: Accuracy, other: Accuracy) -> bool:
    """Whether chance alone would seldom, in one case of twenty at most, put two equally good ones so far apart.

    As if both had been measured on test images of their own; they share them, which only makes this more careful.
    """
    return abs(one.mean - other.mean) > _TWO_SIDED * math.sqrt(one.variance + other.variance)


def clear_winner(rivals: Sequence[Accuracy]) -> int | None:
    """The place of the best, if chance cannot account for its lead over any other; else None."""
    known = [place for place, rival in enumerate(rivals) if not math.isnan(rival.mean)]
    if not known:
        return None
    best = max(known, key=lambda place: rivals[place].mean)
    return best if all(told_apart(rivals[best], rivals[place]) for place in known if place != best) else None


def resolution(images: float, accuracy: float) -> float:
    """Points by which two accuracies near ``accuracy`` (%) must differ to be told apart on so many test images."""
    return _TWO_SIDED * math.sqrt(2 * Accuracy(accuracy, math.nan, 1, images).variance)
