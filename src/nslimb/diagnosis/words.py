"""A diagnosis in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nslimb.arrays import FloatArray
    from nslimb.diagnosis.result import Diagnosis

_SHOWN = 3


def summarise(found: Diagnosis) -> Diagnosis:
    """The same with its ``summary``."""
    told = (
        _rarest(found),
        *_seen(found),
        *_ambiguity(found),
        *_readings(found),
        *_shortcuts(found),
        *_identifiable(found),
        *_risks(found),
    )
    return replace(found, summary=told)


def percent(share: float) -> str:
    """A share in per cent with two significant digits, and never more than 100 %.

    Examples
    --------
    >>> percent(0.001), percent(0.2713), percent(0.99999)
    ('0.1 %', '27 %', '100 %')
    """
    return f"{100 * share:.2g} %" if 100 * share < 99.5 else "100 %"


def number(expected: float) -> str:
    """A number of samples to expect.

    Examples
    --------
    >>> number(2999.6), number(3.04), number(0.3)
    ('3,000', '3', '0.3')
    """
    return f"{expected:,.0f}" if expected >= 1 else f"{expected:.2g}"


def short(count: int) -> str:
    """All digits of a number that has few, else its magnitude.

    Examples
    --------
    >>> short(1234), short(10**5000)
    ('1,234', '1.00e5000')
    """
    if count < 10**15:
        return f"{count:,}"
    exponent = math.log10(count)
    return f"{10 ** (exponent % 1):.2f}e{int(exponent)}"


def names(classes: Sequence[str]) -> str:
    """Up to eight names as words.

    Examples
    --------
    >>> names(["0"]), names(["0", "1", "2"])
    ('class 0', 'classes 0, 1 and 2')
    """
    if len(classes) == 1:
        return f"class {classes[0]}"
    if len(classes) > 8:
        return f"{len(classes)} classes ({', '.join(classes[:7])}, ...)"
    return f"classes {', '.join(classes[:-1])} and {classes[-1]}"


def with_article(name: str) -> str:
    """A name as one of its kind.

    Examples
    --------
    >>> with_article("1"), with_article("8"), with_article("airplane")
    ('a 1', 'an 8', 'an airplane')
    """
    spoken_with_vowel = name[:1].lower() in "aeiou8" or name in ("11", "18")
    return f"an {name}" if name and spoken_with_vowel else f"a {name}"


def _rarest(found: Diagnosis) -> str:
    occurring = np.flatnonzero(found.probabilities > 0) if found.listed_support else np.arange(len(found.weak_labels))
    rarest = int(occurring[np.argmin(found.probabilities[occurring])])
    share = found.probabilities[rarest]
    return (
        f"of {len(occurring):,} weak labels the rarest, {found.weak_labels[rarest]}, makes up {percent(share)} "
        f"of samples: {number(found.expected[rarest])} of {found.samples:,}"
    )


def _seen(found: Diagnosis) -> list[str]:
    """How often the weak label gives a class away, for the classes where that is rarest, and where it never happens."""
    known = zip(found.classes, found.proven, found.ratios, strict=True)
    never = [name for name, share, ratio in known if share == 0 and ratio > 0]
    seen = np.flatnonzero(found.proven)
    sentences = []
    for label in seen[np.argsort(found.proven[seen], kind="stable")][:_SHOWN]:
        alone, proven = found.alone[label], found.proven[label]
        often = (
            f"is seen alone in {percent(alone)} of samples ({number(alone * found.samples)} of {found.samples:,})"
            if alone > 0
            else "is never seen alone"
        )
        sentences.append(
            f"class {found.classes[label]} {often}; the weak label proves it to be there in {percent(proven)}"
        )
    if never:
        sentences.append(f"no weak label proves {names(never)} to be there")
    return sentences


def _ambiguity(found: Diagnosis) -> list[str]:
    if found.listed_support:  # samples of one class only need not be among those that occur
        return []
    if found.m_unambiguous:
        return ["sigma is M-unambiguous: a classifier whose weak labels are all right is right on every class"]
    return [
        "sigma is not M-unambiguous: samples of one class only do not tell all classes apart, so that right weak "
        "labels need not mean right classes"
    ]


def _readings(found: Diagnosis) -> list[str]:
    """Readings that would go unnoticed, those with the least evidence first, and what they cost."""
    known = found.confusions
    if known is None or len(found.classes) == 1:
        return []
    readings = known.nearest
    against = known.evidence[np.arange(len(readings)), readings]

    def told(label: int) -> str:
        return f"reading every {found.classes[label]} as {with_article(found.classes[readings[label]])}"

    if not known.lost.any():
        least = int(against.argmin())
        return [
            f"the samples tell all classes apart: at least {number(against[least])} of {found.samples:,} speak against "
            f"reading a class as another ({told(least)})"
        ]
    lost = np.flatnonzero(known.lost)
    shown = lost[np.argsort(against[lost], kind="stable")][:_SHOWN]
    sentences = [
        f"{told(label)} would go unnoticed: {number(against[label])} of {found.samples:,} samples speak against it"
        for label in shown.tolist()
    ]
    gone = names([found.classes[label] for label in lost])
    verb = "is" if len(lost) == 1 else "are"
    sentences.append(
        f"{gone} {verb} lost that way: without luck at most {percent(known.ceiling)} of hidden labels can be told right"
    )
    return sentences


def _shortcuts(found: Diagnosis) -> list[str]:
    """How many ways there are to read the classes, which classes they agree on, and whether ratios tell them apart."""
    known = found.shortcuts
    if known is None or len(found.classes) == 1:
        return []
    if known.count == 1:
        against = "samples that occur" if found.listed_support else f"more than one of {found.samples:,} samples"
        return [f"the classes can be read in the true way alone: {against} would contradict any other"]
    what = (
        "explain every sample" if found.listed_support else f"explain all but at most one of {found.samples:,} samples"
    )
    ways = f"{known.count:,} ways" if known.complete else f"more than {known.count - 1:,} ways"
    safe = names([found.classes[label] for label in known.safe]) if known.safe else ""
    trust = f"only {safe} {'is' if len(known.safe) == 1 else 'are'} safe" if safe else "no class is safe"
    changed = [
        f"{found.classes[label]} as {found.classes[other]}"
        for label, other in enumerate(known.worst.tolist())
        if other not in (-1, label)
    ]
    shown = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
    sentences = [f"{ways} to read the classes {what}; {trust} (at worst: {shown})"]
    kept = len(known.preserving)
    if not known.complete:
        return sentences
    if kept == 1:
        told = "only the true one keeps the ratios of the classes: where you know these, train with them (transport)"
    elif kept < known.count:
        told = f"{kept} of them keep the ratios of the classes: training with known ratios (transport) leaves these"
    else:
        told = "all of them keep the ratios of the classes: knowing these does not help"
    return [*sentences, told]


def _identifiable(found: Diagnosis) -> list[str]:
    known = found.identifiability
    if known is None:
        return []
    if known.twin is not None:
        return [
            "the hidden ratios cannot be told from weak labels: "
            f"{_vector(found.ratios)} and {_vector(known.twin)} give the same weak labels equally often"
        ]
    of = len(known.singular_values)
    if known.locally_identifiable:
        return [f"the hidden ratios can be estimated from weak labels (rank {known.rank} of {of}; no twin was found)"]
    return [f"some changes of the hidden ratios do not show in the weak labels (rank {known.rank} of {of})"]


def _risks(found: Diagnosis) -> list[str]:
    bounds = found.bounds
    if bounds is None:
        return []
    sentences = []
    for risk, upper in zip(found.partial_risks, bounds.upper, strict=True):
        free = [found.classes[label] for label in np.flatnonzero(upper > 0.995)]
        worst, best = int(np.argmax(upper)), int(np.argmin(upper))
        alike = upper[best] > upper[worst] - 0.005
        who = "every class" if alike else names(free) if free else f"class {found.classes[worst]}"
        much = "always" if free else f"in up to {percent(upper[worst])} of cases"
        told = f"with {percent(risk)} of weak labels wrong, {who} may still be wrong {much}"
        if not alike:
            told += f", class {found.classes[best]} in up to {percent(upper[best])}"
        sentences.append(told)
    return sentences


def _vector(ratios: FloatArray) -> str:
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios[:5])
    return f"({shown}{', ...' if len(ratios) > 5 else ''})"
