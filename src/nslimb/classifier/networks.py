"""The network of a classifier: a name, a file, a factory or a module, made into a factory of fresh ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from nslimb.errors import InvalidInput
from nslimb.files import digest
from nslimb.learning.loop import Factory
from nslimb.networks import NETWORKS, Classifier, Offset, small

Make = Callable[[int], nn.Module]


class Plan(NamedTuple):
    """How to make a network: what it is known by, and a function of the number of classes."""

    name: str | dict[str, str]  # "auto", a built-in name, file.py:factory; for an object what tells it from another
    own: bool  # whether its code is the user's, or that of one of several
    factory: Factory


def plan_network(network: Any, image_shape: tuple[int, ...], base: Path | None = None) -> Plan:
    """A plan from "auto", a name, ``file.py:factory``, a function, a module, or a mapping {space: one of these}."""
    if not isinstance(network, Mapping):
        return Plan(*_plan(network, image_shape, base))
    plans = {str(space): _plan(one, image_shape, base) for space, one in network.items()}
    return Plan(
        {space: name for space, (name, _, _) in plans.items()},
        any(own for _, own, _ in plans.values()),
        {space: make for space, (_, _, make) in plans.items()},
    )


def _plan(network: Any, image_shape: tuple[int, ...], base: Path | None) -> tuple[str, bool, Make]:
    """A plan from "auto", a name, ``file.py:factory``, a function of the number of classes, or a module.

    A module is trained from the weights that it has. What is no ``nslimb.networks.Classifier`` gets a bias for
    each class behind it, so that a method may set one.
    """
    if isinstance(network, str) and network == "auto":
        channels = image_shape[2] if len(image_shape) == 3 else 1
        return ("auto", False, partial(small, channels=channels, size=min(image_shape[:2])))
    if isinstance(network, str):
        return (network, network not in NETWORKS, partial(_with_offset, NETWORKS.get(network, base)))
    if isinstance(network, nn.Module):
        weights = [part.detach().cpu().numpy().tobytes() for part in network.state_dict().values()]
        name = f"{type(network).__name__} {digest(*weights)[:16]}"
        return (name, True, partial(_with_offset, lambda _: copy.deepcopy(network)))
    if callable(network):
        return (getattr(network, "__qualname__", repr(network)), True, partial(_with_offset, network))
    expected = (
        f"'auto', one of {', '.join(NETWORKS)}, file.py:factory, a torch module or a function that makes one, or a "
        "mapping of the names of sigma's spaces to such"
    )
    raise InvalidInput("network", expected, repr(network))


def drawn_anew(factory: Factory) -> Factory:
    """The same, with all weights that can be drawn drawn anew: for another start of a module that brings its own."""
    if isinstance(factory, Mapping):
        return {space: _drawn_anew(one) for space, one in factory.items()}
    return _drawn_anew(factory)


def _drawn_anew(factory: Make) -> Make:
    def make(num_classes: int) -> nn.Module:
        made = factory(num_classes)
        for part in made.modules():
            reset = getattr(part, "reset_parameters", None)
            if callable(reset):
                reset()
        return made

    return make


def _with_offset(factory: Make, num_classes: int) -> nn.Module:
    made = factory(num_classes)
    return made if isinstance(made, Classifier) or not isinstance(made, nn.Module) else _offset(made, num_classes)


def _offset(made: nn.Module, num_classes: int) -> Classifier:
    return Classifier(made, Offset(num_classes))
