"""What the tests of diagrams share."""

from __future__ import annotations

import numpy as np

from nslimb import Sigma


def assert_same_diagram(a: Sigma, b: Sigma) -> None:
    """Equal weak labels and equal arrays, layer by layer."""
    assert a.weak_labels == b.weak_labels
    assert a.diagram.order == b.diagram.order
    assert a.diagram.widths == b.diagram.widths
    for ours, theirs in zip(a.diagram.targets, b.diagram.targets, strict=True):
        np.testing.assert_array_equal(ours, theirs)
