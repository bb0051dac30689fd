"""Studies by name: each a module that says what it needs, computes a table of numbers, and draws it.

One's own is a ``nslimb.experiment.studies.base.Study`` in a file of one's own.
"""

from __future__ import annotations

from nslimb.experiment.studies.base import Study
from nslimb.registry import Registry

__all__ = ["STUDIES", "Study"]

STUDIES: Registry[Study] = Registry(
    "study",
    {
        "risk_bounds": "nslimb.experiment.studies.risk_bounds:STUDY",
        "counterexample": "nslimb.experiment.studies.counterexample:STUDY",
        "sensitivity": "nslimb.experiment.studies.sensitivity:STUDY",
        "carot_robustness": "nslimb.experiment.studies.carot_robustness:STUDY",
        "order": "nslimb.experiment.studies.order:STUDY",
    },
)
