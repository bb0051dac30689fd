"""A compiled sigma as plain values and arrays, and back: the function that it was compiled from is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD, Diagram
from nslimb.sigma.emitting import SILENT, Emitting
from nslimb.sigma.sequences import digits_of_sum
from nslimb.sigma.tagged import from_tagged, to_tagged
from nslimb.sigma.transducer import Transducer

Arrays = dict[str, IntArray]


def take_apart(sigma: Sigma) -> tuple[dict[str, Any], Arrays]:
    """Everything that the passes over a sigma need, as JSON values and as arrays by name.

    The program for Scallop is not kept. A family is refused.
    """
    diagram = Sigma.check(sigma).diagram if not isinstance(sigma, Transducer) else sigma.emitting
    described: dict[str, Any] = {
        "kind": "sigma",
        "name": sigma.name,
        "class_names": list(sigma.class_names),
        "order": None if diagram.order is None else list(diagram.order),
        "weak_labels": [to_tagged(label) for label in diagram.weak_labels],
        "arity": sigma.arity,
        "spaces": _spaces(sigma),
    }
    arrays = {f"targets {i}": targets for i, targets in enumerate(diagram.targets)}
    if isinstance(diagram, Emitting):
        described |= {
            "kind": "transducer",
            "symbols": [to_tagged(symbol) for symbol in diagram.symbols],
            "length": diagram.length,
            "digits": sigma.options.get("digits"),  # of an addition, whose sums may be given as integers
        }
        arrays |= {f"emissions {i}": part for i, part in enumerate(diagram.emissions)}
        arrays |= {f"places {i}": part for i, part in enumerate(diagram.places)}
        arrays["last"] = diagram.last
    return described, arrays


def put_together(described: Mapping[str, Any], arrays: Mapping[str, IntArray]) -> Sigma:
    """The sigma that ``take_apart`` was given; arrays that lead out of the diagram are refused."""
    try:
        arity = int(described["arity"])
        targets = tuple(_table(arrays[f"targets {i}"], 2) for i in range(arity))
        labels = tuple(from_tagged(label) for label in described["weak_labels"])
        order = None if described["order"] is None else tuple(map(int, described["order"]))
        _check(targets, len(labels), order)
        name, classes = str(described["name"]), list(described["class_names"])
        if described["kind"] == "sigma":
            return _with_spaces(Sigma(Diagram(targets, labels, order), name, class_names=classes), described)
        emitting = Emitting(
            targets,
            labels,
            order,
            emissions=tuple(_table(arrays[f"emissions {i}"], 2) for i in range(arity)),
            places=tuple(_table(arrays[f"places {i}"], 1) for i in range(arity)),
            symbols=tuple(from_tagged(symbol) for symbol in described["symbols"]),
            last=_table(arrays["last"], 1),
            length=int(described["length"]),
        )
        _check_emissions(emitting)
        digits = described.get("digits")  # files of before have none
        options, spell = ({}, None) if digits is None else ({"digits": digits}, partial(digits_of_sum, int(digits)))
        return _with_spaces(Transducer(emitting, name, options, classes, spell), described)
    except (KeyError, TypeError, ValueError, IndexError, InvalidInput) as error:
        raise DataError(f"a saved sigma that cannot be put together ({error!r})") from error


def _spaces(sigma: Sigma) -> dict[str, dict[str, Any]]:
    """The labels, their names and the positions of each space; nothing where there is one."""
    several = sigma.spaces if len(sigma.spaces) > 1 else ()
    return {
        space.name: {
            "labels": list(space.labels),
            "names": list(space.class_names),
            "positions": list(space.positions),
        }
        for space in several
    }


def _with_spaces(sigma: Sigma, described: Mapping[str, Any]) -> Sigma:
    spaces = described.get("spaces")  # files of version 0.2 have none
    if not spaces:
        return sigma
    positions = {name: space["positions"] for name, space in spaces.items()}
    labels = {name: _named_labels(space) for name, space in spaces.items()}
    return sigma.with_spaces(positions, labels)


def _named_labels(space: Mapping[str, Any]) -> Any:
    """Labels with their names, which files of before lack."""
    return dict(zip(space["labels"], space["names"], strict=True)) if "names" in space else space["labels"]


def _table(values: Any, axes: int) -> IntArray:
    table = np.ascontiguousarray(values)
    if table.dtype != np.int64 or table.ndim != axes:
        raise ValueError(f"expected int64 with {axes} axes, got {table.dtype} with {table.ndim}")
    return table


def _check(targets: tuple[IntArray, ...], last: int, order: tuple[int, ...] | None) -> None:
    if not targets or len({table.shape[1] for table in targets}) != 1 or len(targets[0]) != 1:
        raise ValueError("expected one first state, and the same classes in every layer")
    if order is not None and sorted(order) != list(range(len(targets))):
        raise ValueError(f"expected each position once, got the order {order}")
    for table, states in zip(targets, [*(len(below) for below in targets[1:]), last], strict=True):
        if table.size and (table.min() < DEAD or table.max() >= states):
            raise ValueError("a state that is not there")


def _check_emissions(emitting: Emitting) -> None:
    for targets, emissions, places in zip(emitting.targets, emitting.emissions, emitting.places, strict=True):
        if emissions.shape != targets.shape or places.shape != targets.shape[:1]:
            raise ValueError("expected an emission for each edge and a place for each state")
    for part in (*emitting.emissions, emitting.last):
        if part.size and (part.min() < SILENT or part.max() >= len(emitting.symbols)):
            raise ValueError("a symbol that is not there")
    if emitting.last.shape != (len(emitting.weak_labels),):
        raise ValueError("expected a last symbol for each last state")
