"""What the figures of a grid share: a method has its colour and mark in every one of them."""

from __future__ import annotations

from nslimb.plotting import COLOURS

METHOD_COLOURS = dict(
    zip(("sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "supervised"), COLOURS, strict=True),
)
METHOD_MARKS = dict(zip(METHOD_COLOURS, "osD^v*", strict=True))
