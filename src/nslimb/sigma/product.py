"""Sigmas out of sigmas: a function of several, and one of several for each sample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD, MAX_STATES, Diagram, finish_family, finish_layers
from nslimb.sigma.families import Family
from nslimb.sigma.walk import walk


def combine(function: Callable[..., Hashable], *sigmas: Sigma, max_states: int = MAX_STATES) -> Sigma:
    """The sigma y -> function(s_1(y), ..., s_n(y)), where s_i(y) is the weak label of the i-th part.

    A label vector is invalid where one of the parts is, or where the function returns None. The parts are walked side
    by side, so that a state is a tuple of their states; the function is called once for each tuple of weak labels that
    occurs together. The result is the same, array by array, as if its function had been compiled in any other way.
    All parts read the same number of labels of the same classes in the same order.

    Parameters
    ----------
    function
        Of one weak label of each part.
    *sigmas
        The parts.
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        Compiled.

    Raises
    ------
    InvalidInput, TooLarge
        If the parts do not fit together, or their product is too large.

    Examples
    --------
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


def family(members: Mapping[Hashable, Sigma]) -> Family:
    """A sigma for each sample, chosen by name: one diagram with a root for each member, and one pass for a mixed batch.

    A weak label is the pair (member, outcome): which sigma the sample has, and its value. Members have the same classes
    and the same order of reading. They may have different numbers of labels: the arity is the largest, and positions
    that a member lacks enter no pass. There its samples may have any scores and labels.

    Parameters
    ----------
    members
        A sigma for each name.

    Returns
    -------
    Family
        One sigma for mixed batches.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> import torch
    >>> from nslimb.sigma import maximum, total
    >>> sigma = family({"max": maximum(2), "sum": total(2)})
    >>> sigma
    Family(2 members, 10 classes, arity 2, 29 weak labels, 40 states)
    >>> weak = sigma.encode([("max", 3), ("sum", 3)])
    >>> sigma.preimage_sizes(weak), sigma.decode(sigma.apply([[1, 2], [1, 2]], ["max", "sum"]))
    ((7, 4), [('max', 2), ('sum', 3)])
    >>> sigma.log_likelihood(torch.zeros(2, 2, 10).log_softmax(-1), weak).exp()
    tensor([0.0700, 0.0400])

    A position whose label is observed needs no sigma of its own: its scores are 0 for that label and -inf for others.

    >>> scores = torch.zeros(1, 2, 10).log_softmax(-1)
    >>> scores[0, 1] = torch.where(torch.arange(10) == 2, 0.0, -torch.inf)  # the second label is 2
    >>> total(2).posterior(scores, [3])[0].argmax(-1)
    tensor([1, 2])
    """
    if not isinstance(members, Mapping) or not members:
        raise InvalidInput("members", 'a mapping {"name": Sigma, ...} of at least one member', repr(members))
    sigmas = [Sigma.check(sigma) for sigma in members.values()]
    class_names = common_class_names(sigmas)
    arity = max(sigma.arity for sigma in sigmas)
    orders = {sigma.diagram.order for sigma in sigmas}
    if len(orders) > 1 or (orders != {None} and min(sigma.arity for sigma in sigmas) < arity):
        given = " and ".join(sorted(map(str, orders)))
        raise InvalidInput("members", "one order of reading for all (None where their arities differ)", given)
    padded = [_padded(sigma.diagram, arity) for sigma in sigmas]
    diagram, roots = finish_family(
        [_side_by_side([layers[i] for layers in padded]) for i in range(arity)],
        [outcome for sigma in sigmas for outcome in sigma.weak_labels],
    )
    lengths = [sigma.arity for sigma in sigmas]
    return Family(replace(diagram, order=orders.pop()), roots, tuple(members), lengths, class_names)


def _padded(diagram: Diagram, arity: int) -> list[IntArray]:
    """Layers up to ``arity``; where the member has none, label 0 keeps the state and there is no other label."""
    keep = np.full((len(diagram.weak_labels), diagram.num_classes), DEAD)
    keep[:, 0] = np.arange(len(keep))
    return [*diagram.targets, *[keep] * (arity - diagram.arity)]


def _side_by_side(layers: Sequence[IntArray]) -> IntArray:
    """One layer out of those of all members, states numbered through."""
    offsets = np.cumsum([0, *(int(layer.max()) + 1 for layer in layers[:-1])])
    return np.concatenate(
        [np.where(layer == DEAD, DEAD, layer + offset) for layer, offset in zip(layers, offsets, strict=True)]
    )


def _check_parts(sigmas: Sequence[Any]) -> tuple[Sigma, tuple[str, ...] | None]:
    """The first part and the names of the classes, if all parts fit together."""
    if not sigmas:
        raise InvalidInput("sigmas", "at least one Sigma to combine", "none")
    first = Sigma.check(sigmas[0])
    class_names = common_class_names(sigmas)
    for i, sigma in enumerate(sigmas, start=1):
        for what in ("arity", "order"):
            ours, theirs = getattr(first.diagram, what), getattr(sigma.diagram, what)
            if ours != theirs:
                raise InvalidInput("sigmas", f"the same {what} for all parts", f"{ours} and, in part {i}, {theirs}")
    return first, class_names


def common_class_names(sigmas: Sequence[Any]) -> tuple[str, ...] | None:
    """The names of the classes, where all sigmas have the same classes; a sigma without names goes with any."""
    first = Sigma.check(sigmas[0])
    names: tuple[str, ...] | None = None
    for i, sigma in enumerate(sigmas, start=1):
        if Sigma.check(sigma).num_classes != first.num_classes:
            given = f"{first.num_classes} classes and, in part {i}, {sigma.num_classes}"
            raise InvalidInput("sigmas", "the same number of classes for all parts", given)
        if sigma.class_names != tuple(map(str, range(sigma.num_classes))):
            if names is not None and names != sigma.class_names:
                given = f"{', '.join(names)} and, in part {i}, {', '.join(sigma.class_names)}"
                raise InvalidInput("sigmas", "the same classes for all parts", given)
            names = sigma.class_names
    return names
