"""A stand-in for scallopy, small enough to read: Datalog whose tags are lists of proofs.

It speaks the part of scallopy's interface that nslimb uses, so that the programs written for Scallop are run and
checked wherever the tests run. It shows that their logic is right; that Scallop accepts their spelling and means the
same is what its own values (``tests/data/scallop_golden.npz``) and the tests with the real scallopy are for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

Proof = frozenset[tuple[str, int]]
Relation = dict[tuple[int, ...], list[Proof]]

_ATOM = re.compile(r"(\w+)\((.*)\)")


class ScallopContext:
    def __init__(self, provenance: str, k: int | None = None) -> None:
        # Of the model counts over several proofs only the sum over all of them is imitated.
        assert (provenance, k) in (("difftopkproofs", 1), ("diffaddmultprob", None))
        self.k = k
        self.inputs: list[str] = []
        self.facts: dict[str, Relation] = defaultdict(dict)
        self.rules: list[tuple[str, str]] = []

    def add_relation(self, name: str, kind: type, input_mapping: list[int]) -> None:
        assert kind is int
        self.inputs.append(name)
        self.facts[name] = {(value,): [frozenset({(name, value)})] for value in input_mapping}

    def add_program(self, text: str) -> None:
        match = re.fullmatch(r"rel (\w+) = (\{.*\})", text)
        assert match, text
        self.facts[match[1]] = {row: [frozenset()] for row in eval(match[2])}

    def add_rule(self, text: str) -> None:
        head, body = text.split(" = ", 1)
        self.rules.append((head, body))

    def forward_function(self, relation: str, output_mapping: list[tuple[int]], dispatch: str) -> Callable[..., Tensor]:
        assert dispatch == "serial"  # the parallel one of the real scallopy 0.2.5 panics
        for head, body in self.rules:
            name, arguments = self._atom(head)
            derived = self.facts[name]
            for binding, proof in self._solve(body.split(" and "), {}, frozenset()):
                row = tuple(_value(argument, binding) for argument in arguments)
                derived.setdefault(row, []).append(proof)

        def forward(**inputs: Tensor) -> Tensor:
            assert sorted(inputs) == sorted(self.inputs)
            columns = [self._mass(self.facts[relation].get(row, []), inputs) for row in output_mapping]
            return torch.stack(columns, dim=1)

        return forward

    def _mass(self, proofs: list[Proof], inputs: dict[str, Tensor]) -> Tensor:
        # Every proof names one value of every input.
        chosen = torch.tensor([[dict(proof)[name] for name in self.inputs] for proof in proofs], dtype=torch.int64)
        chosen = chosen.view(-1, len(self.inputs))
        each = torch.stack([inputs[name][:, chosen[:, i]] for i, name in enumerate(self.inputs)]).prod(0)
        return each.sum(1) if self.k is None or not proofs else each.amax(1)

    def _solve(self, body: list[str], binding: dict[str, int], proof: Proof) -> Iterator[tuple[dict[str, int], Proof]]:
        if not body:
            yield binding, proof
            return
        match = _ATOM.fullmatch(body[0])
        if match is None:
            if eval(body[0], {}, binding):
                yield from self._solve(body[1:], binding, proof)
            return
        name, arguments = self._atom(body[0])
        for row, proofs in list(self.facts[name].items()):
            extended = {**binding, **dict(zip(arguments, row, strict=True))}
            if all(extended[key] == value for key, value in binding.items()):
                for other in proofs:
                    yield from self._solve(body[1:], extended, proof | other)

    @staticmethod
    def _atom(text: str) -> tuple[str, list[str]]:
        match = _ATOM.fullmatch(text)
        assert match, text
        if match[2].startswith("$max("):
            return match[1], [match[2]]
        return match[1], [argument.strip() for argument in match[2].split(",")]


def _value(expression: str, binding: dict[str, Any]) -> int:
    return int(eval(expression.replace("$max", "max"), {"max": max}, binding))
