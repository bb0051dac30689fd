"""Diagrams side by side: the product that combines several sigmas into one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import MAX_STATES, finish_layers
from nslimb.sigma.walk import walk


def combine(function: Callable[..., Hashable], *sigmas: Sigma, max_states: int = MAX_STATES) -> Sigma:
    """The sigma y -> function(s_1(y), ..., s_n(y)), where s_i(y) is the weak label of the i-th part.

    A label vector is invalid where one of the parts is, or where the function returns None. The parts are walked side
    by side, so that a state is a tuple of their states; the function is called once for each tuple of weak labels that
    occurs together. The result is the same, array by array, as if its function had been compiled in any other way.
    All parts read the same number of labels of the same classes in the same order.

    >>> from nslimb.sigma import maximum, total
    >>> sigma = combine(lambda largest, s: (largest, s), maximum(arity=3), total(arity=3))
    >>> sigma
    Sigma(combined, 10 classes, arity 3, 100 weak labels, 166 states)
    >>> sigma.weak_labels[sigma.apply([1, 9, 4])]
    (9, 14)
    """
    first, class_names = _check_parts(sigmas)
    max_states = check_count("max_states", max_states)
    num_labels = [first.num_classes] * first.arity
    walked = walk([sigma.diagram.targets for sigma in sigmas], num_labels, first.diagram.positions, max_states)
    labels = [sigma.weak_labels for sigma in sigmas]
    met = ([part[state] for part, state in zip(labels, states, strict=True)] for states in walked.ends.tolist())
    diagram = finish_layers(walked.layers, function, map(tuple, met))
    return Sigma(replace(diagram, order=first.diagram.order), "combined", class_names=class_names)


def _check_parts(sigmas: Sequence[Any]) -> tuple[Sigma, Sequence[str] | None]:
    """The first part and the names of the classes, if all parts fit together."""
    if not sigmas:
        raise InvalidInput("sigmas", "at least one Sigma to combine", "none")
    first = Sigma.check(sigmas[0])
    numbers = tuple(map(str, range(first.num_classes)))
    names: Sequence[str] | None = None
    for i, sigma in enumerate(sigmas, start=1):
        diagram = Sigma.check(sigma).diagram
        for what in ("arity", "num_classes", "order"):
            ours, theirs = getattr(first.diagram, what), getattr(diagram, what)
            if ours != theirs:
                raise InvalidInput("sigmas", f"the same {what} for all parts", f"{ours} and, in part {i}, {theirs}")
        if sigma.class_names != numbers:  # a part without names goes with any
            if names is not None and names != sigma.class_names:
                given = f"{', '.join(names)} and, in part {i}, {', '.join(sigma.class_names)}"
                raise InvalidInput("sigmas", "the same classes for all parts", given)
            names = sigma.class_names
    return first, names
