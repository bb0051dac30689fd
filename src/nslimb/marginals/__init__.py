"""The marginal r of the hidden labels, estimated from weak labels or from predictions."""

from nslimb.marginals.adam import AdamOptions
from nslimb.marginals.bootstrap import Bootstrap, bootstrap_marginal
from nslimb.marginals.estimate import MarginalEstimate, NotIdentified, estimate_marginal
from nslimb.marginals.window import SlidingWindow

__all__ = [
    "AdamOptions",
    "Bootstrap",
    "MarginalEstimate",
    "NotIdentified",
    "SlidingWindow",
    "bootstrap_marginal",
    "estimate_marginal",
]
