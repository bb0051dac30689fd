"""What a diagnosis holds, as arrays, as plain values and as a figure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nslimb.arrays import FloatArray
from nslimb.diagnosis.words import short
from nslimb.theory.bounds import ClassRiskBounds
from nslimb.theory.confusions import Confusions
from nslimb.theory.identify import Identifiability
from nslimb.theory.shortcuts import Shortcuts


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is known about sigma for hidden labels that are independent with ratios r [c]. S weak labels, K risks."""

    sigma: str
    arity: int
    states: int
    samples: int
    classes: tuple[str, ...]  # [c], their names
    ratios: FloatArray  # [c]
    weak_labels: tuple[Hashable, ...]  # [S]
    preimage_sizes: tuple[int, ...]  # [S]
    probabilities: FloatArray  # [S], of each weak label, given that the label vector is valid
    expected: FloatArray  # [S], how many of each to expect among the samples
    proven: FloatArray  # [c]: probability of a weak label that proves that the class is among the hidden labels
    alone: FloatArray  # [c]: probability of a weak label that proves that all hidden labels are of the class
    m_unambiguous: bool
    confusions: Confusions | None  # None where the walk would take too long
    identifiability: Identifiability | None  # None where the search would take too long
    partial_risks: FloatArray  # [K]
    bounds: ClassRiskBounds | None  # shapes [K, c]; None where the search would take too long
    shortcuts: Shortcuts | None  # None where the search would take too long
    listed_support: bool  # whether only listed label vectors occur: then what rests on independent labels is None
    notes: tuple[str, ...]  # what was left out, and why
    summary: tuple[str, ...]  # all of it in plain words

    def plot(self, path: str | Path | None = None) -> Any:
        """The diagnosis as a matplotlib figure, also saved to ``path`` (.png, .svg or .pdf) where one is given."""
        from nslimb.diagnosis.figure import draw_diagnosis
        from nslimb.plotting import check_plot, save

        target = None if path is None else Path(path)
        check_plot(target, "path")
        figure = draw_diagnosis(self)
        if target is not None:
            save(figure, target)
        return figure

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; counts too long to be exact numbers there, and weak labels, as text."""
        found, bounds = self.identifiability, self.bounds
        return {
            "sigma": self.sigma,
            "arity": self.arity,
            "states": self.states,
            "samples": self.samples,
            "weak_labels": [
                {
                    "label": str(label),
                    "preimage_size": size if size < 2**53 else short(size),
                    "probability": p,
                    "expected": number,
                }
                for label, size, p, number in zip(
                    self.weak_labels,
                    self.preimage_sizes,
                    self.probabilities.tolist(),
                    self.expected.tolist(),
                    strict=True,
                )
            ],
            "classes": [
                {"class": name, "ratio": ratio, "proven": proven, "alone": alone}
                for name, ratio, proven, alone in zip(
                    self.classes, self.ratios.tolist(), self.proven.tolist(), self.alone.tolist(), strict=True
                )
            ],
            "m_unambiguous": self.m_unambiguous,
            "confusions": self._confusions_as_dict(),
            "identifiability": found
            and {
                "locally_identifiable": found.locally_identifiable,
                "rank": found.rank,
                "twin": None if found.twin is None else found.twin.tolist(),
            },
            "partial_risks": self.partial_risks.tolist(),
            "risk_bounds": bounds
            and {"upper": bounds.upper.tolist(), "local": bounds.local.tolist(), "status": bounds.status.tolist()},
            "shortcuts": self._shortcuts_as_dict(),
            "notes": list(self.notes),
            "summary": list(self.summary),
        }

    def _confusions_as_dict(self) -> dict[str, Any] | None:
        """Classes by name, as in the rest of it."""
        found = self.confusions
        if found is None:
            return None
        return {
            "evidence": found.evidence.tolist(),
            "lost": [self.classes[label] for label in found.lost.nonzero()[0]],
            "goes_to": [self.classes[label] for label in found.goes_to],
            "groups": [[self.classes[label] for label in group] for group in found.groups],
            "ceiling": found.ceiling,
        }

    def _shortcuts_as_dict(self) -> dict[str, Any] | None:
        found = self.shortcuts
        if found is None:
            return None
        return {
            "count": found.count,
            "complete": found.complete,
            "safe": [self.classes[label] for label in found.safe],
            "keep_the_ratios": len(found.preserving),
            "worst": {
                self.classes[label]: self.classes[other] for label, other in enumerate(found.worst) if other >= 0
            },
            "ceiling": found.ceiling,
        }
