"""Training methods by name: each turns a batch's logits and weak labels into one loss a sample."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, Method
from nslimb.registry import Registry
from nslimb.sigma.component import Sigma

__all__ = ["METHODS", "Batch", "Method", "make_method", "method_class"]

METHODS: Registry[type[Method]] = Registry(
    "method",
    {
        "sl": "nslimb.learning.methods.sl:Semantic",
        "sl-decay": "nslimb.learning.methods.sl_decay:SlDecay",
        "sl-balanced": "nslimb.learning.methods.sl_balanced:SlBalanced",
        "sl-prior": "nslimb.learning.methods.prior:SlPrior",
        "recipe": "nslimb.learning.methods.recipe:Recipe",
        "records": "nslimb.learning.methods.records:Debiased",
        "ilp-emp": "nslimb.learning.methods.ilp:IlpEmp",
        "ilp-alg1": "nslimb.learning.methods.ilp:IlpAlg1",
        "ilp-gold": "nslimb.learning.methods.ilp:IlpGold",
        "sot-emp": "nslimb.learning.methods.sot:SotEmp",
        "sot-alg1": "nslimb.learning.methods.sot:SotAlg1",
        "sot-gold": "nslimb.learning.methods.sot:SotGold",
        "transport": "nslimb.learning.methods.transport:Transport",
        "transport-named": "nslimb.learning.methods.transport_named:TransportNamed",
        "supervised": "nslimb.learning.methods.supervised:Supervised",
        "supervised-decay": "nslimb.learning.methods.supervised:SupervisedDecay",
    },
)


def method_class(name: str, base: Path | None = None) -> type[Method]:
    """The class of a method, by its registered name or as ``file.py:Class``."""
    found = METHODS.get(name, base)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise InvalidInput("method", "a class derived from nslimb.learning.Method", f"{name}, which is {found!r}")
    return found


def make_method(
    name: str,
    sigma: Sigma,
    *,
    estimated_ratios: Any = None,
    given_ratios: Any = None,
    gold_ratios: Any = None,
    gold_labels: Any = None,
    **settings: Any,
) -> Method:
    """The method by its name in the tables, with ``settings`` of its own (the fields of its ``Settings``).

    A method is given those of the other arguments that it asks for: ``estimated_ratios`` are Algorithm 1's, which a
    method estimates itself from the training samples where they are missing; ``given_ratios`` are those that the user
    knows (``transport``); ``gold_ratios`` and ``gold_labels`` serve oracles (``ilp-gold``, ``supervised``) alone.

    Parameters
    ----------
    name
        Such as ``sl``, ``recipe`` or ``ilp-alg1``.
    sigma
        The symbolic component.
    estimated_ratios, given_ratios, gold_ratios, gold_labels
        What some methods need, see above.
    **settings
        Fields of the method's ``Settings``.

    Returns
    -------
    Method
        For ``train``.

    Raises
    ------
    InvalidInput
        If there is no such method or setting; the message lists those that there are.
    """
    made = method_class(name)
    known = [field.name for field in fields(made.Settings)]
    for key in settings:
        if key not in known:
            raise InvalidInput(f"settings of {name}", ", ".join(known) or "none", repr(key))
    given = {
        "estimated_ratios": estimated_ratios,
        "given_ratios": given_ratios,
        "gold_ratios": gold_ratios,
        "gold_labels": gold_labels,
    }
    return made(Sigma.check(sigma, families=True), made.Settings(**settings), **{key: given[key] for key in made.needs})
