"""The paper's studies beyond its tables, as pure functions: arrays in, results out, no plots."""

from nslimb.studies.carot_robustness import CarotRobustness, carot_robustness
from nslimb.studies.counterexample import Curve, twins, weak_ratio_curve
from nslimb.studies.order import OrderAgreement, order_agreement
from nslimb.studies.sensitivity import Sensitivity, sensitivity

__all__ = [
    "CarotRobustness",
    "Curve",
    "OrderAgreement",
    "Sensitivity",
    "carot_robustness",
    "order_agreement",
    "sensitivity",
    "twins",
    "weak_ratio_curve",
]
