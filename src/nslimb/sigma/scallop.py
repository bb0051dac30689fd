"""The same probabilities through Scallop, to check the diagram against an independent engine and to time it.

Scallop keeps, for each derived fact, its k most probable proofs, and counts models over them. The native engine needs
no proofs: it sums over whole pre-images at the cost of the diagram's edges. scallopy has no package in the Python
registry; its users build it from its own sources. ``tests/data/scallop_golden.npz`` holds what a real build (version
0.2.5) computed for the programs below, and the tests compare with it wherever they run.

With one proof (the paper's setting) both engines give the same number, and so they do without a limit, where Scallop
adds and multiplies along the derivations. With 2 or more proofs Scallop's model count takes the labels of one image
for independent facts, not for exclusive ones: it is the inclusion-exclusion over the k best label vectors, and lower
than their total probability (by up to 0.22 in those values). Declaring the labels of an image exclusive
(``disjunctive=True``) is no way out: all relations then fall into one exclusion, and every probability is 0.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nslimb.checks import check_count, check_log_scores
from nslimb.errors import InvalidInput, MissingEngine
from nslimb.sigma.component import Sigma
from nslimb.sigma.library import common_ancestor, paths_from_root

# No result of the native engine depends on this module: an edit of it is no reason to compute anything anew.
OPTIONAL = True


class Program(NamedTuple):
    """A Datalog program that derives ``result(constant)`` from ``label_1(y), ..., label_M(y)``."""

    facts: list[str]
    rules: list[str]
    outputs: list[tuple[int]]  # Scallop's constant for each weak label


def log_prob(log_scores: Tensor, sigma: Sigma, proofs: int | None = None) -> Tensor:
    """log P(sigma = s) of every weak label by Scallop: [B, M, c] -> [B, S].

    ``proofs=k`` uses its provenance ``difftopkproofs``, ``proofs=None`` the exact ``diffaddmultprob``.
    """
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    forward = _forward_function(sigma, None if proofs is None else check_count("proofs", proofs))
    # Scallop computes on the CPU and takes probabilities.
    probabilities = log_scores.exp().cpu()
    inputs = {f"label_{i + 1}": probabilities[:, i] for i in range(sigma.arity)}
    outputs: Tensor = forward(**inputs).to(log_scores)
    return outputs.clamp_min(torch.finfo(outputs.dtype).tiny).log()


def program(sigma: Sigma) -> Program:
    """The program that sigma's constructor has given it."""
    if sigma.program is None:
        expected = "a sigma with a Scallop program (nslimb.sigma.maximum, total, formula, smallest_parent)"
        raise InvalidInput("sigma", f"{expected} for engine 'scallop'", repr(sigma))
    written: Program = sigma.program(sigma)
    return written


@lru_cache(maxsize=16)
def _forward_function(sigma: Sigma, proofs: int | None) -> Callable[..., Tensor]:
    facts, rules, outputs = program(sigma)
    scallopy = _import_scallopy()
    if proofs is None:
        context = scallopy.ScallopContext(provenance="diffaddmultprob")
    else:
        context = scallopy.ScallopContext(provenance="difftopkproofs", k=proofs)
    for i in range(sigma.arity):
        context.add_relation(f"label_{i + 1}", int, input_mapping=list(range(sigma.num_classes)))
    for fact in facts:
        context.add_program(fact)
    for rule in rules:
        context.add_rule(rule)
    # scallopy 0.2.5 clones Python objects in its parallel workers without holding the interpreter's lock, and panics.
    forward: Callable[..., Tensor] = context.forward_function("result", output_mapping=outputs, dispatch="serial")
    return forward


def _import_scallopy() -> Any:
    try:
        return importlib.import_module("scallopy")
    except ImportError as error:
        raise MissingEngine(
            "engine 'scallop': scallopy cannot be imported. It has no package in the Python registry; build it from "
            "its own sources (version 0.2.5 is known to work). engine='native' needs nothing more and gives the same "
            "numbers for proofs=None and proofs=1; for more proofs it sums the k best label vectors, whose labels "
            "exclude each other, where Scallop counts models as if they did not"
        ) from error


def _values(sigma: Sigma) -> list[tuple[int]]:
    """Weak labels that are numbers stand for themselves."""
    return [(int(label),) for label in sigma.weak_labels]  # type: ignore[call-overload]


def maximum(sigma: Sigma) -> Program:
    """MAX-M."""
    variables = [f"y{i}" for i in range(1, sigma.arity + 1)]
    head = f"$max({', '.join(variables)})" if sigma.arity > 1 else variables[0]
    return Program([], [f"result({head}) = {_labels(variables)}"], _values(sigma))


def total(sigma: Sigma) -> Program:
    """SUM-M."""
    variables = [f"y{i}" for i in range(1, sigma.arity + 1)]
    return Program([], [f"result({' + '.join(variables)}) = {_labels(variables)}"], _values(sigma))


def _labels(variables: list[str]) -> str:
    return " and ".join(f"label_{i}({variable})" for i, variable in enumerate(variables, start=1))


def formula(sigma: Sigma) -> Program:
    """HWF-M. value_i(a, b): the formula up to position i is a + b, b its last term (all of it, left to right)."""
    rules = ["value_1(0, d) = label_1(d) and d < 10"]
    for i in range(1, sigma.arity - 1, 2):
        if sigma.options["precedence"]:
            heads = ("a + b, d", "a + b, 0 - d", "a, b * d")
        else:
            heads = ("0, b + d", "0, b - d", "0, b * d")
        rules += [
            f"value_{i + 2}({head}) = label_{i + 1}(o) and o == {o} and label_{i + 2}(d) and d < 10 and value_{i}(a, b)"
            for o, head in enumerate(heads, start=10)
        ]
    return Program([], [*rules, f"result(a + b) = value_{sigma.arity}(a, b)"], _values(sigma))


def smallest_parent(sigma: Sigma) -> Program:
    """Smallest Parent. node_i(x): the lowest node above the first i labels is x, an index into the weak labels."""
    paths = paths_from_root(sigma.options["hierarchy"])
    nodes = [str(label) for label in sigma.weak_labels]
    leaf = [(y, nodes.index(name)) for y, name in enumerate(sigma.class_names)]
    above = [
        (x, y, nodes.index(common_ancestor(paths, node, name)))
        for x, node in enumerate(nodes)
        for y, name in enumerate(sigma.class_names)
    ]
    facts = [
        f"rel {relation} = {{{', '.join(map(str, tuples))}}}" for relation, tuples in (("leaf", leaf), ("above", above))
    ]
    rules = ["node_1(x) = label_1(y) and leaf(y, x)"]
    rules += [f"node_{i}(z) = node_{i - 1}(x) and label_{i}(y) and above(x, y, z)" for i in range(2, sigma.arity + 1)]
    return Program(facts, [*rules, f"result(x) = node_{sigma.arity}(x)"], [(index,) for index in range(len(nodes))])
