"""``Family``: another sigma for each sample, all of them in one diagram with a root for each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.arrays import BoolArray, IntArray
from nslimb.checks import as_integers, check_count, check_log_scores, check_range
from nslimb.errors import InvalidInput
from nslimb.sigma import passes
from nslimb.sigma.component import Best, Observed, Sigma
from nslimb.sigma.diagram import DEAD, Diagram, finish_layers
from nslimb.sigma.roots import log_sum_from_roots
from nslimb.sigma.sets import log_weights, members, total_sizes


class _Tables(NamedTuple):
    """What is known of members and weak labels, as tensors on one device."""

    roots: Tensor  # [members], the first state of each
    unused: Tensor  # [members, M], positions that a member lacks
    member: Tensor  # [S], of each weak label
    outcome: Tensor  # [S], the last state of each weak label
    weak: Tensor  # [members, outcomes + 1], the weak label of both, -1 where there is none, as in the last column


class Family(Sigma):
    """Several functions of hidden labels, of which each sample has one (``nslimb.sigma.family``).

    Weak labels are pairs (member, outcome). What needs one function for all samples refuses a family; ``member``
    gives each of them as a Sigma of its own.
    """

    is_family = True

    def __init__(
        self,
        diagram: Diagram,
        roots: IntArray,
        members: Sequence[Hashable],
        lengths: Sequence[int],
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(diagram, "family", class_names=class_names)
        self.members = tuple(members)
        self.lengths = tuple(lengths)  # the number of labels of each member
        self._index = {member: i for i, member in enumerate(self.members)}
        self._roots = roots
        self._ways = _ways_to_outcomes(diagram)[roots]  # label vectors of each member and outcome
        self._member, self._outcome = np.nonzero(self._ways)
        pairs = zip(self._member.tolist(), self._outcome.tolist(), strict=True)
        self._pairs = tuple((self.members[i], diagram.weak_labels[outcome]) for i, outcome in pairs)
        self._by_device: dict[torch.device, _Tables] = {}

    @property
    def diagram(self) -> Diagram:
        """Refused: whatever reads a diagram takes it for that of one function."""
        return Sigma.check(self).diagram

    @property
    def weak_labels(self) -> tuple[Hashable, ...]:
        """The pairs (member, outcome), member by member."""
        return self._pairs

    @property
    def accepted(self) -> BoolArray:
        """Which labels some valid label vector of some member has at each position, [M, c]."""
        accepted = np.zeros((self.arity, self.num_classes), dtype=np.bool_)
        lengths = np.array(self.lengths)
        for length in np.unique(lengths):
            states = self._roots[lengths == length]
            for position, targets in list(zip(self._diagram.positions, self._diagram.targets, strict=True))[:length]:
                rows = targets[np.unique(states)]
                accepted[position] |= (rows != DEAD).any(axis=0)
                states = rows[rows != DEAD]
        return accepted

    def __repr__(self) -> str:
        return (
            f"Family({len(self.members)} members, {self.num_classes} classes, arity {self.arity}, "
            f"{len(self.weak_labels)} weak labels, {self.num_states} states)"
        )

    def member(self, name: Hashable) -> Sigma:
        """One of the members, as a Sigma of its own."""
        index = self._find(name, "name")
        states = self._roots[[index]]
        layers: list[IntArray] = []
        for targets in self._diagram.targets[: self.lengths[index]]:
            rows = targets[states]
            states = np.unique(rows[rows != DEAD])
            layers.append(np.where(rows == DEAD, DEAD, np.searchsorted(states, rows)))
        for targets in self._diagram.targets[self.lengths[index] :]:
            states = targets[states, 0]
        outcomes = [(self._diagram.weak_labels[state],) for state in states.tolist()]
        diagram = finish_layers(layers, lambda outcome: outcome, outcomes)
        return Sigma(replace(diagram, order=self._diagram.order), "member", class_names=self.class_names)

    def encode(self, values: Iterable[Any]) -> Tensor:
        """Indices of weak labels given as pairs (member, outcome): int64 [n].

        An outcome may be a Python set of them, as in ``("sum", {3, 4})``; then bool [n, S].
        """
        if isinstance(values, (str, Tensor, np.ndarray)) or not isinstance(values, Iterable):
            raise InvalidInput("values", "a sequence of pairs (member, outcome)", repr(values))
        pairs = list(values)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidInput("values", "pairs (member, outcome)", repr(pair))
            self._find(pair[0], "values")
        return super().encode([_set_of_pairs(pair) for pair in pairs])

    def apply(self, labels: Any, member: Any = None) -> Any:
        """Indices of the weak labels of label vectors, by a member: int [..., M] -> int64 [...], -1 for invalid ones.

        ``member`` is a name, or a list of names, one for each entry of the first axis of ``labels``.
        """
        vectors = as_integers("labels", labels, self._expected_labels)
        if isinstance(member, (list, np.ndarray)):
            names = member if isinstance(member, list) else member.tolist()
            if vectors.dim() < 2 or len(names) != len(vectors):
                expected = f"a name, or one for each of the label vectors {list(vectors.shape)}"
                raise InvalidInput("member", expected, f"{len(names)} names")
            chosen = torch.tensor([self._find(name, "member") for name in names], device=vectors.device)
            chosen = chosen.view(-1, *(1,) * (vectors.dim() - 2)).expand(vectors.shape[:-1])
        else:
            chosen = torch.full(vectors.shape[:-1], self._find(member, "member"), device=vectors.device)
        weak = self._tables_on(vectors.device).weak[chosen, self._outcomes(vectors, chosen)]
        return weak if isinstance(labels, Tensor) else weak.numpy()

    def explains(self, labels: Any, weak: Any) -> Any:
        """Whether label vectors give these weak labels, by the members that these name: bool [...]."""
        vectors = as_integers("labels", labels, self._expected_labels)
        observed = self._check_observed(weak).to(vectors.device)
        member = self._member_of(observed)
        try:
            shape = torch.broadcast_shapes(vectors.shape[:-1], member.shape)
        except RuntimeError as error:
            expected = f"weak labels for label vectors of shape {list(vectors.shape)}"
            raise InvalidInput("weak", expected, f"shape {list(observed.shape)}") from error
        member = member.expand(shape)
        given = self._outcomes(vectors.expand(*shape, vectors.shape[-1]), member)
        same = self._same(self._tables_on(vectors.device).weak[member, given], observed)
        return same if isinstance(labels, Tensor) else same.numpy()

    def preimage_sizes(self, weak: Any = None) -> tuple[int, ...]:
        """How many label vectors give each weak label, or each of those in ``weak``: exact integers of any size."""
        sizes = self._ways[self._member, self._outcome].tolist()
        return tuple(sizes) if weak is None else total_sizes(sizes, self._check_observed(weak))

    def preimage(self, weak_index: int, limit: int = 1_000_000) -> IntArray:
        """All label vectors of one weak label: int64 [R, M], -1 at positions that its member lacks."""
        index = int(self._check_observed([weak_index])[0])
        name, outcome = self._pairs[index]
        alone = self.member(name)
        vectors = alone.preimage(alone.weak_labels.index(outcome), limit)
        return np.pad(vectors, ((0, 0), (0, self.arity - vectors.shape[1])), constant_values=-1)

    def log_prob(self, log_scores: Tensor) -> Tensor:
        """log P(outcome | member) of every pair: [B, M, c] -> [B, S]; a row's probabilities sum up member by member.

        One pass from the outcomes back to the roots, for all members of the same length.
        """
        check_log_scores(log_scores, self.arity, self.num_classes)
        tables = self._tables_on(log_scores.device)
        following, outcomes = self._following(log_scores.device), self._ways.shape[1]
        found: dict[int, Tensor] = {}
        for length in sorted(set(self.lengths)):
            lacking = (torch.arange(self.arity, device=log_scores.device) >= length).view(1, -1, 1)
            scores = log_scores.masked_fill(lacking, 0.0)
            found[length] = log_sum_from_roots(scores, following, self._diagram.positions, outcomes)
        if len(found) == 1:
            return found[self.arity][:, tables.roots[tables.member], tables.outcome]
        joined = torch.stack(list(found.values()), dim=1)
        own = torch.tensor([list(found).index(length) for length in self.lengths], device=log_scores.device)
        return joined[:, own[tables.member], tables.roots[tables.member], tables.outcome]

    def given_valid(self, log_probs: Tensor) -> Tensor:
        """log P(outcome | member, y has a weak label by it) from what ``log_prob`` gives, [B, S]."""
        member = self._tables_on(log_probs.device).member.expand(log_probs.shape)
        lowest = torch.finfo(log_probs.dtype).min
        shape = (len(log_probs), len(self.members))
        peak = log_probs.new_full(shape, lowest).scatter_reduce(1, member, log_probs.detach(), "amax")
        mass = log_probs.new_zeros(shape).scatter_add(1, member, (log_probs - peak.gather(1, member)).exp())
        return log_probs - (mass.clamp_min(torch.finfo(mass.dtype).tiny).log() + peak).gather(1, member)

    def log_mass(self, log_scores: Tensor, proofs: int) -> Tensor:
        """log of the probability of the ``proofs`` best label vectors of every pair: [B, M, c] -> [B, S]."""
        scores, roots = self._for_every_member(log_scores)
        count = check_count("proofs", proofs)
        values, _ = passes.k_best(scores, self._plan(scores.device), count, roots=roots)
        tables = self._tables_on(scores.device)
        found = passes.log_total(values, dim=1).t()
        return found.view(len(log_scores), len(self.members), -1)[:, tables.member, tables.outcome]

    def log_likelihood_at(self, log_scores: Tensor, weak: Tensor, proofs: int | None = None) -> Tensor:
        """log P(outcome | member) of each sample's own checked weak label: [B], in one pass for all members."""
        return super().log_likelihood_at(self._used(log_scores, weak), weak, proofs)

    def log_valid(self, log_scores: Tensor, member: Any = None) -> Tensor:
        """log P(y has a weak label) by one member: [B, M, c] -> [B], differentiable."""
        length = self.lengths[self._find(member, "member")]
        check_log_scores(log_scores, self.arity, self.num_classes)
        return self.member(member).log_valid(log_scores[:, :length])

    def log_valid_at(self, log_scores: Tensor, weak: Tensor) -> Tensor:
        """log P(y has a weak label) by the members of the samples' checked weak labels: [B]."""
        roots = self._tables_on(log_scores.device).roots[self._member_of(weak)]
        layers = self._plan(log_scores.device)
        return passes.log_total(passes.log_sum(self._used(log_scores, weak), layers, roots=roots), dim=1)

    def best(self, log_scores: Tensor, weak: Any, k: int) -> Best:
        """The k most probable label vectors of each sample's weak label, with -1 at positions that its member lacks."""
        check_log_scores(log_scores, self.arity, self.num_classes)
        checked = self.check_weak(weak, len(log_scores), log_scores.device)
        found = super().best(self._used(log_scores, checked), checked, k)
        tables = self._tables_on(log_scores.device)
        unused = tables.unused[self._member_of(checked)].unsqueeze(1)
        return Best(found.labels.masked_fill(unused, -1), found.log_probs)

    def used(self, weak: Tensor) -> Tensor | None:
        """Which positions the members of checked weak labels have: bool [B, M], or None where all have all of them."""
        if min(self.lengths) == self.arity:
            return None
        return ~self._tables_on(weak.device).unused[self._member_of(weak)]

    def _observe(self, weak: Tensor) -> Observed:
        tables = self._tables_on(weak.device)
        roots = tables.roots[self._member_of(weak)]
        if weak.dtype == torch.int64:
            return Observed(tables.outcome[weak], roots=roots)
        by_pair = weak if weak.is_floating_point() else log_weights(weak, torch.zeros(()))
        none = by_pair.new_full((len(weak), self._ways.shape[1]), float("-inf"))
        weights = none.scatter_reduce(1, tables.outcome.expand(weak.shape), by_pair, "amax")
        return Observed(weak, roots=roots, weights=weights)

    def _member_of(self, weak: Tensor) -> Tensor:
        """The member of each weak label [...], or of each set [..., S] of outcomes of one."""
        member = self._tables_on(weak.device).member
        if weak.dtype == torch.int64:
            return member[weak]
        allowed = members(weak)
        chosen = member[allowed.to(torch.uint8).argmax(dim=-1)]
        if weak.device.type == "cpu" and bool((allowed & (member != chosen.unsqueeze(-1))).any()):
            raise InvalidInput("weak", "sets of outcomes of one member of the family each", "a set of several members")
        return chosen

    def _used(self, log_scores: Tensor, weak: Tensor) -> Tensor:
        """The scores, with those of positions that a sample's member lacks left out: the one label there is sure."""
        used = self.used(weak)
        return log_scores if used is None else log_scores.masked_fill(~used.unsqueeze(-1), 0.0)

    def _for_every_member(self, log_scores: Tensor) -> tuple[Tensor, Tensor]:
        """Every sample once for each member, and their roots: [B * members, M, c] and [B * members]."""
        check_log_scores(log_scores, self.arity, self.num_classes)
        tables = self._tables_on(log_scores.device)
        scores = log_scores.unsqueeze(1).expand(-1, len(self.members), -1, -1)
        scores = scores.masked_fill(tables.unused.unsqueeze(-1), 0.0).flatten(0, 1)
        return scores, tables.roots.repeat(len(log_scores))

    @property
    def _expected_labels(self) -> str:
        return f"integers 0 to {self.num_classes - 1} of shape [..., {self.arity}]"

    def _outcomes(self, vectors: Tensor, member: Tensor) -> Tensor:
        """The outcomes [...] of label vectors [..., M] by their members [...], -1 for invalid ones."""
        if vectors.dim() == 0 or vectors.shape[-1] != self.arity:
            raise InvalidInput("labels", self._expected_labels, f"shape {list(vectors.shape)}")
        tables = self._tables_on(vectors.device)
        used = vectors.masked_fill(tables.unused[member], 0)
        check_range("labels", used, self.num_classes, self._expected_labels)
        state = tables.roots[member]
        for position, table in zip(self._diagram.positions, self._following(vectors.device), strict=True):
            state = table[state, used[..., position]]
        return state

    def _find(self, name: Any, argument: str) -> int:
        """The index of a member."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            shown = ", ".join(map(repr, self.members[:10])) + (", ..." if len(self.members) > 10 else "")
            raise InvalidInput(argument, f"a member of the family ({shown})", repr(name)) from None

    def _tables_on(self, device: torch.device) -> _Tables:
        if device not in self._by_device:
            unused = np.arange(self.arity) >= np.array(self.lengths)[:, None]
            weak = np.full((len(self.members), self._ways.shape[1] + 1), DEAD)
            weak[self._member, self._outcome] = np.arange(len(self._member))
            arrays = (self._roots, unused, self._member, self._outcome, weak)
            with torch.inference_mode(False):  # they outlive the mode they are first asked for in
                self._by_device[device] = _Tables(*(torch.from_numpy(array).to(device) for array in arrays))
        return self._by_device[device]


def _set_of_pairs(pair: tuple[Any, Any]) -> Any:
    """A pair; where its outcome is a set, the set of pairs."""
    return {(pair[0], outcome) for outcome in pair[1]} if isinstance(pair[1], set) else pair


def _ways_to_outcomes(diagram: Diagram) -> NDArray[Any]:
    """How many label vectors lead from each first state to each outcome: Python integers [first states, outcomes]."""
    ways = np.eye(len(diagram.weak_labels), dtype=object)
    for targets in reversed(diagram.targets):
        source, label = np.nonzero(targets != DEAD)
        before = np.zeros((len(targets), ways.shape[1]), dtype=object)
        np.add.at(before, source, ways[targets[source, label]])
        ways = before
    return ways
