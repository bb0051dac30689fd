"""Everything that can be said about sigma before any training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from nslimb.arrays import FloatArray
from nslimb.checks import check_count, check_ratios
from nslimb.diagnosis import dependent
from nslimb.diagnosis.result import Diagnosis
from nslimb.diagnosis.words import summarise
from nslimb.errors import TooLarge
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.support import Support, known_ratios
from nslimb.theory.bounds import ClassRiskBounds, class_risk_bounds
from nslimb.theory.confusions import Confusions, confusions
from nslimb.theory.identify import Identifiability, identifiability
from nslimb.theory.inputs import check_positive_ratios, check_risks
from nslimb.theory.readings import MAX_EDGES
from nslimb.theory.shortcuts import Shortcuts, shortcuts
from nslimb.theory.spaced import of_an_image, support_apart, told_apart
from nslimb.theory.totals import is_m_unambiguous

# A pass keeps a few numbers for every edge of the diagram and every row of its batch: 20 million are about a gigabyte.
_MAX_EDGES = 20_000_000
_MAX_CELLS = 20_000_000
# A search for bounds takes some 3e-5 s for each pair of edges of the same layer.
_QUICK_PAIRS = 100_000
_QUICK_ARITY = 50
# A second.
_QUICK_READINGS = 20_000_000
_QUICK_SHORTCUTS, _FEW_SHORTCUTS = 500_000, 1000


def diagnose(
    sigma: Sigma,
    ratios: Any = None,
    samples: int = 3000,
    partial_risks: Sequence[float] = (0.01, 0.05, 0.1),
    *,
    support: Any = None,
    thorough: bool = False,
) -> Diagnosis:
    """Everything that can be said about sigma for hidden labels with ``ratios`` r [c] (uniform if not given).

    Pre-images and probabilities of the weak labels, with the number of each to expect in ``samples``; how often a weak
    label proves a class to be there; M-unambiguity; which classes could be read as others without showing in that many
    samples (``nslimb.confusions``); whether r can be estimated; and the risk bound Phi_j of each class at each of
    the ``partial_risks``; and every way to read the classes that the samples hardly contradict, one of them at most
    (``nslimb.shortcuts``). ``support`` lists the label vectors that occur, or is a mapping {vector: probability},
    where not all do; then the ways to read the classes are those that nothing contradicts, and what rests on
    independent labels is left out. Readings, bounds and twins are looked at only where that takes a few seconds, and
    bounds are not certified; ``thorough`` lifts both limits. A sigma whose passes would not fit in memory is refused.

    Parameters
    ----------
    sigma
        The symbolic component. Where its spaces share labels, classes are those of all spaces, one after another.
    ratios
        Label ratios [c]; uniform if not given. Where sigma has several spaces also [M, c].
    samples
        How many samples there will be.
    partial_risks
        The shares of wrong weak labels to bound class risks at.
    support
        The label vectors that occur, where not all do.
    thorough
        Certify bounds and look at everything, however long it takes.

    Returns
    -------
    Diagnosis
        Arrays, ``summary`` in plain words, ``plot`` and ``as_dict``.

    Raises
    ------
    TooLarge
        If a pass would not fit in memory.

    Examples
    --------
    >>> found = diagnose(Sigma.from_function(max, num_classes=10, arity=3))
    >>> float(found.alone[0].round(6)), float(found.proven[9].round(6)), found.m_unambiguous
    (0.001, 0.271, True)
    >>> found.summary[1]
    'class 0 is seen alone in 0.1 % of samples (3 of 3,000); the weak label proves it to be there in 0.1 %'

    References
    ----------
    Section 3 of the paper.
    """
    support = support_apart(Sigma.check(sigma), support)
    sigma, ratios = told_apart(sigma, ratios)
    ratios = of_an_image(ratios, sigma)
    edges = [int((targets != DEAD).sum()) for targets in sigma.diagram.targets]
    if sum(edges) > _MAX_EDGES:
        raise TooLarge(
            f"diagnose: {sigma!r} has {sum(edges):,} edges, more than the {_MAX_EDGES:,} that a pass over them may "
            "hold in memory; a smaller arity or fewer classes may show the same"
        )
    size = sigma.num_classes
    known = None if support is None else dependent.valid_support(sigma, support)
    if known is None:
        checked = check_positive_ratios(np.full(size, 1 / size) if ratios is None else ratios, size)
    else:
        checked = known_ratios(known, size, None if ratios is None else check_ratios(ratios, None, size))
    risks = np.atleast_1d(check_risks("partial_risks", list(partial_risks)))
    count = check_count("samples", samples)
    pairs = sum(n * n for n in edges)
    sizes = sigma.preimage_sizes()
    notes: list[str] = []
    if known is None:
        probabilities = _probabilities(sigma, checked)
        proven, alone = _proven(sigma, sum(edges)), _alone(sigma, sizes)
    else:
        notes.append(dependent.NOTE)
        probabilities = dependent.probabilities_of(sigma, known)
        proven, alone = (dependent.shown_by(sigma, known, alone=only) for only in (False, True))
    result = Diagnosis(
        sigma=repr(sigma),
        arity=sigma.arity,
        states=sigma.num_states,
        samples=count,
        classes=sigma.class_names,
        ratios=checked,
        weak_labels=sigma.weak_labels,
        preimage_sizes=sizes,
        probabilities=probabilities,
        expected=count * probabilities,
        proven=proven @ probabilities,
        alone=alone @ probabilities,
        m_unambiguous=is_m_unambiguous(sigma),
        confusions=None if known else _confusions(sigma, checked, count, thorough, notes),
        identifiability=None if known else _identifiability(sigma, checked, sum(edges), thorough, notes),
        partial_risks=risks,
        bounds=None if known else _bounds(sigma, checked, risks, pairs, thorough, notes),
        shortcuts=_shortcuts(sigma, known, checked, count, pairs, thorough, notes),
        listed_support=known is not None,
        notes=tuple(notes),
        summary=(),
    )
    return summarise(result)


def _probabilities(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """Psi_sigma(r) [S] in one pass of a single row."""
    with torch.no_grad():
        log_ratios = torch.from_numpy(np.log(ratios)).expand(1, sigma.arity, -1)
        return sigma.log_prob(log_ratios)[0].softmax(0).numpy()


def _proven(sigma: Sigma, edges: int) -> FloatArray:
    """1 where every label vector of weak label s has class j somewhere, [c, S]: without j there is no way to s."""
    size = sigma.num_classes
    without = torch.zeros((size, size), dtype=torch.float64).fill_diagonal_(float("-inf"))
    rows = max(1, _MAX_CELLS // edges)
    with torch.no_grad():
        reached = [
            sigma.log_prob(part.unsqueeze(1).expand(-1, sigma.arity, -1)) > float("-inf")
            for part in without.split(rows)
        ]
    return (~torch.cat(reached)).double().numpy()


def _alone(sigma: Sigma, sizes: tuple[int, ...]) -> FloatArray:
    """1 where weak label s has the one label vector (j, ..., j), [c, S]."""
    every = np.arange(sigma.num_classes)
    weak = sigma.apply(np.repeat(every[:, None], sigma.arity, axis=1))
    alone = np.zeros((sigma.num_classes, len(sizes)))
    single = np.array([index != DEAD and sizes[index] == 1 for index in weak])
    alone[every[single], weak[single]] = 1
    return alone


def _confusions(sigma: Sigma, ratios: FloatArray, samples: int, thorough: bool, notes: list[str]) -> Confusions | None:
    try:
        return confusions(sigma, ratios, samples, max_edges=MAX_EDGES if thorough else _QUICK_READINGS)
    except TooLarge as error:
        notes.append(f"readings of one class as another were not examined: {error}")
        return None


def _shortcuts(
    sigma: Sigma,
    support: Support | None,
    ratios: FloatArray,
    samples: int,
    pairs: int,
    thorough: bool,
    notes: list[str],
) -> Shortcuts | None:
    try:
        if support is not None:
            listed = dict(zip(map(tuple, support.vectors.tolist()), support.probabilities.tolist(), strict=True))
            return shortcuts(sigma, listed, ratios)
        if pairs > _QUICK_SHORTCUTS and not thorough:
            notes.append(f"ways to read the classes were not counted: {pairs:,} pairs of edges take too long")
            return None
        return shortcuts(sigma, None, ratios, samples=samples, budget=1, limit=10_000 if thorough else _FEW_SHORTCUTS)
    except TooLarge as error:
        notes.append(f"ways to read the classes were not counted: {error}")
        return None


def _identifiability(
    sigma: Sigma, ratios: FloatArray, edges: int, thorough: bool, notes: list[str]
) -> Identifiability | None:
    cells = edges * len(sigma.weak_labels)
    if cells > _MAX_CELLS:
        notes.append(f"identifiability was not examined: {len(sigma.weak_labels):,} weak labels times {edges:,} edges")
        return None
    if sigma.arity > _QUICK_ARITY and not thorough:
        notes.append(f"identifiability was not examined: arity {sigma.arity} is more than {_QUICK_ARITY}")
        return None
    return identifiability(sigma, ratios)


def _bounds(
    sigma: Sigma, ratios: FloatArray, risks: FloatArray, pairs: int, thorough: bool, notes: list[str]
) -> ClassRiskBounds | None:
    if sigma.num_classes == 1:
        notes.append("there are no risk bounds for a single class")
        return None
    if pairs > _QUICK_PAIRS and not thorough:
        notes.append(f"risk bounds were not searched: {pairs:,} pairs of edges take too long")
        return None
    found = class_risk_bounds(sigma, ratios, risks, certify=thorough)
    if found.note:
        notes.append(f"risk bounds: {found.note}")
    if (found.status == "local").any():
        notes.append("risk bounds are the worst that a search found; they are proven where they are certified only")
    return found
