"""``Transducer``: a Sigma whose weak labels are sequences of symbols, far too many to be listed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count, check_range
from nslimb.errors import InvalidInput
from nslimb.sigma import counting
from nslimb.sigma.component import Chosen, Observed, Sigma
from nslimb.sigma.diagram import DEAD, Diagram
from nslimb.sigma.emitting import SILENT, Emitting, list_weak_labels
from nslimb.sigma.values import decode_sequences, encode_sequences


class _Tables(NamedTuple):
    """What is emitted, as tensors on one device."""

    edges: list[tuple[Tensor, Tensor]]  # for each layer symbol and place, [n + 1, c], the last row that of dead ends
    ends: Tensor  # [last states + 1], the symbol that finish gives; SILENT for dead ends, and for all without finish
    last_states: Tensor  # [symbols], the last state whose symbol it is, or their number


class Transducer(Sigma):
    """A function of M hidden labels whose weak label is a sequence of L symbols (``Sigma.from_transducer``).

    Weak labels are passed around as int tensors [B, L] of indices into ``symbols``. What needs one number for each
    weak label there is (``weak_labels``, ``log_prob``, ``log_mass``, ``preimage``) is refused; ``listed`` gives the
    same function as an ordinary Sigma, where that is small enough.

    Examples
    --------
    >>> import nslimb
    >>> sigma = nslimb.sigma.addition(digits=2)
    >>> sigma
    Transducer(addition, 10 classes, arity 4, sequences of 3 out of 10 symbols, 26 states)
    >>> sigma.apply([1, 7, 2, 5])  # 17 + 25 = 42
    array([2, 4, 0])
    >>> sigma.preimage_sizes([[2, 4, 0]])
    (43,)
    """

    is_listed = False
    _weak_dims = 1

    def __init__(
        self,
        diagram: Emitting,
        name: str,
        options: Mapping[str, Any] | None = None,
        class_names: Sequence[str] | None = None,
        spell: Callable[[Any], Sequence[Hashable]] | None = None,
    ) -> None:
        super().__init__(diagram, name, options, class_names)
        self._emitting = diagram
        self._spell = spell  # writes a value that is no sequence as one
        self._has_finish = bool(diagram.last[0] != SILENT)
        self._emitted: dict[torch.device, _Tables] = {}

    @property
    def emitting(self) -> Emitting:
        """The reduced diagram with what its edges emit."""
        return self._emitting

    @property
    def length(self) -> int:
        """L, the number of symbols of a weak label."""
        return self._emitting.length

    @property
    def symbols(self) -> tuple[Hashable, ...]:
        """The symbols that weak labels are made of, sorted where they can be."""
        return self._emitting.symbols

    def __repr__(self) -> str:
        return (
            f"Transducer({self.name}, {self.num_classes} classes, arity {self.arity}, "
            f"sequences of {self.length} out of {len(self.symbols)} symbols, {self.num_states} states)"
        )

    def encode(self, values: Iterable[Any]) -> Tensor:
        """Weak labels given by value, each a sequence of L symbols: int64 [n, L].

        Examples
        --------
        >>> import nslimb
        >>> nslimb.sigma.addition(digits=2).encode([(2, 4, 0), 42])  # an addition takes integers too
        tensor([[2, 4, 0],
                [2, 4, 0]])
        """
        return encode_sequences(values, self.symbols, self.length, self._spell)

    def decode(self, indices: Any) -> list[Hashable]:
        """The values of weak labels [n, L], as tuples: the inverse of ``encode``; None for invalid ones (-1)."""
        return decode_sequences(indices, self.symbols, self.length)

    def check_weak(self, weak: Any, batch: int, device: torch.device) -> Tensor:
        """``weak`` as the int64 tensor on ``device`` that the passes take, for a batch of this size: [batch, L]."""
        checked = self._check_observed(weak)
        if checked.shape != (batch, self.length):
            expected = f"{batch} sequences of {self.length} symbols (shape [{batch}, {self.length}])"
            raise InvalidInput("weak", expected, f"shape {list(checked.shape)}")
        return checked.to(device)

    def check_explained(self, weak: Any, batch: int, device: torch.device) -> Tensor:
        """The same; a sequence that no label vector gives is refused."""
        checked = self.check_weak(weak, batch, device)
        any_label = torch.zeros((batch, self.arity, self.num_classes), device=device)
        with torch.no_grad():
            unexplained = (self.log_likelihood(any_label, checked) == float("-inf")).nonzero().flatten().tolist()
        if unexplained:
            (value,) = self.decode(checked[unexplained[:1]])
            given = f"{value!r} (sample {unexplained[0]})"
            raise InvalidInput("weak", "sequences that some label vector gives", given)
        return checked

    def preimage_sizes(self, weak: Any = None) -> tuple[int, ...]:
        """How many label vectors give each of the weak labels [n, L]: exact integers of any size."""
        if weak is None:
            self._not_listed()
        observed = self._check_observed(weak).cpu().reshape(-1, self.length)
        counts = counting.count(self._emitting, observed.numpy().T)
        counts = np.concatenate([counts, np.zeros_like(counts[:1])])  # of no last state
        return tuple(int(size) for size in counts[self._observe(observed).last.numpy(), np.arange(len(observed))])

    def listed(self, limit: int = 10_000) -> Sigma:
        """The same function as an ordinary Sigma, whose weak labels are tuples; more than ``limit`` are refused."""
        diagram = list_weak_labels(self._emitting, check_count("limit", limit))
        same = Sigma(diagram, self.name, self.options, self.class_names)
        same._spaces = self._spaces
        return same

    def _observe(self, weak: Tensor) -> Observed:
        symbols = weak.t()
        if not self._has_finish:
            return Observed(torch.zeros_like(symbols[0]), symbols)
        return Observed(self._emission_tables(weak.device).last_states[symbols[-1]], symbols)

    def _k_best(self, log_scores: Tensor, observed: Observed, k: int) -> Chosen:
        there = observed.last < len(self._emitting.last)
        found = super()._k_best(log_scores, observed._replace(last=observed.last.where(there, 0)), k)
        return found._replace(values=found.values.where(there.unsqueeze(1), float("-inf")))

    def _check_observed(self, weak: Any) -> Tensor:
        """Weak labels of any leading shape: int64 [..., L]."""
        size = len(self.symbols)
        expected = f"integers 0 to {size - 1} (indices into sigma.symbols) of shape [..., {self.length}]"
        indices = as_integers("weak", weak, expected)
        if indices.dim() == 0 or indices.shape[-1] != self.length:
            raise InvalidInput("weak", expected, f"shape {list(indices.shape)}")
        check_range("weak", indices, size, expected)
        return indices

    def _walk(self, vectors: Tensor) -> Tensor:
        """What label vectors emit, [..., L]; -1 for invalid ones."""
        tables = self._emission_tables(vectors.device)
        state = torch.zeros(vectors.shape[:-1], dtype=torch.int64, device=vectors.device)
        # What silent edges "emit" goes to a place of its own past the end.
        emitted = torch.full((*vectors.shape[:-1], self.length + 1), SILENT, device=vectors.device)
        layers = zip(self._diagram.positions, self._following(vectors.device), tables.edges, strict=True)
        for position, following, (symbols, places) in layers:
            label = vectors[..., position]
            emitted.scatter_(-1, places[state, label].unsqueeze(-1), symbols[state, label].unsqueeze(-1))
            state = following[state, label]
        if self._has_finish:
            emitted[..., self.length - 1] = tables.ends[state]
        return emitted[..., : self.length].masked_fill(state.unsqueeze(-1) == DEAD, DEAD)

    def _same(self, weak: Tensor, observed: Tensor) -> Tensor:
        return (weak == observed).all(dim=-1)

    def _emission_tables(self, device: torch.device) -> _Tables:
        if device not in self._emitted:
            dead = np.full((1, self.num_classes), SILENT)
            edges = []
            for symbols, places in zip(self._emitting.emissions, self._emitting.places, strict=True):
                symbol = np.concatenate([symbols, dead])
                place = np.where(symbol == SILENT, self.length, np.append(places, 0)[:, None])
                edges.append((torch.from_numpy(symbol).to(device), torch.from_numpy(place).to(device)))
            last_states = np.full(len(self.symbols), len(self._emitting.last))
            if self._has_finish:
                last_states[self._emitting.last] = np.arange(len(self._emitting.last))
            ends = np.append(self._emitting.last, SILENT)
            with torch.inference_mode(False):  # they outlive the mode they are first asked for in
                both = [torch.from_numpy(table).to(device) for table in (ends, last_states)]
            self._emitted[device] = _Tables(edges, *both)
        return self._emitted[device]

    def _not_listed(self) -> NoReturn:
        given = (
            f"{self!r}; sigma.listed(limit=10_000) is the same function as an ordinary Sigma, where it is small enough"
        )
        raise InvalidInput("sigma", "a sigma whose weak labels are listed", given)

    @property
    def diagram(self) -> Diagram:
        """Refused: what reads the last states of a diagram takes them for weak labels."""
        self._not_listed()

    @property
    def weak_labels(self) -> tuple[Hashable, ...]:
        """Refused: there are too many."""
        self._not_listed()

    def log_prob(self, log_scores: Tensor) -> Tensor:  # noqa: ARG002
        """Refused: ``log_likelihood`` is the observed weak label's."""
        self._not_listed()

    def log_mass(self, log_scores: Tensor, proofs: int) -> Tensor:  # noqa: ARG002
        """Refused: ``log_likelihood(..., proofs=k)`` is the observed weak label's."""
        self._not_listed()

    def preimage(self, weak_index: int, limit: int = 1_000_000) -> IntArray:  # noqa: ARG002
        """Refused: ``best`` lists the most probable label vectors of a weak label."""
        self._not_listed()
