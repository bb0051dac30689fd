"""Runs whose network has learned another reading of the classes than the true one, in a sentence for each method."""

from __future__ import annotations

from collections import Counter, defaultdict

from nslimb.experiment.gather import GridRun

_SHOWN = 2


def told(runs: list[GridRun]) -> str:
    """Which methods are on reasoning shortcuts, how often, and on which; nothing where none is."""
    finished: Counter[tuple[str, str]] = Counter()
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for run in runs:
        if run.metrics is not None:
            key = (run.scenario, run.printed)
            finished[key] += 1
            if run.metrics.shortcut is not None:
                found[key][described(run.metrics.shortcut)] += 1
    sentences = []
    for (scenario, printed), maps in found.items():
        shown = "; ".join(f"{reading} ({times})" for reading, times in maps.most_common(_SHOWN))
        number, of = sum(maps.values()), finished[scenario, printed]
        more = f" and {len(maps) - _SHOWN} others" if len(maps) > _SHOWN else ""
        sentences.append(
            f"{scenario}: {printed} is on a reasoning shortcut in {number} of {of} runs, right on every weak label of "
            f"the training samples: {shown}{more}."
        )
    return "\n".join(sentences)


def described(reading: list[int]) -> str:
    """A map of the classes in words.

    Examples
    --------
    >>> described([0, 1, 5, -1])
    '2 read as 5'
    """
    return ", ".join(f"{label} read as {other}" for label, other in enumerate(reading) if other not in (-1, label))
