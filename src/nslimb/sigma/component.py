"""``Sigma``: a symbolic component s = sigma(y_1, ..., y_M) and every question about it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count, check_log_scores, check_range, check_weak
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma import counting, passes
from nslimb.sigma.diagram import (
    DEAD,
    MAX_STATES,
    Diagram,
    compile_function,
    compile_steps,
)
from nslimb.sigma.layers import LayerPlan, plan
from nslimb.sigma.logic import read_dimacs
from nslimb.sigma.positions import Positions, read_positions
from nslimb.sigma.sets import decode_sets, encode_sets, log_weights, members, read_sets, total_sizes
from nslimb.sigma.spaces import Space, laid_apart, read_spaces
from nslimb.sigma.tracing import compile_expression
from nslimb.sigma.values import check_class_names, decode_listed, encode_listed

if TYPE_CHECKING:
    from nslimb.sigma.candidates import Candidates
    from nslimb.sigma.transducer import Transducer


class Best(NamedTuple):
    """The k most probable label vectors of each sample's weak label, best first."""

    labels: Tensor  # int64 [B, k, M], -1 where fewer than k exist
    log_probs: Tensor  # [B, k], -inf where fewer than k exist; differentiable


class Observed(NamedTuple):
    """What a pass over the diagram has to know of a batch of weak labels."""

    last: Tensor  # [B], the state of the last layer; their number where there is none
    symbols: Tensor | None = None  # [places, B], what the edges have to emit (transducers)
    roots: Tensor | None = None  # [B], the state of the first layer (families)
    weights: Tensor | None = None  # [B, last states], sets or log-weights of them; ``last`` is then not used


class Sigma:
    """A known function of M hidden labels, compiled into a reduced layered decision diagram.

    Build one with ``nslimb.sigma``'s constructors, ``from_function``, ``from_steps`` or, where the weak
    labels are sequences, ``from_transducer``. Weak labels are passed around as indices into ``weak_labels``
    (``encode`` turns values into indices, ``decode`` turns them back). Where it is not sure which one it is, ``weak``
    may be bool [B, S], any of these weak labels, or float [B, S], log-weights of all of them: the type of the array
    decides. ``log_scores`` are logarithms of the classifier's softmax scores, [B, M, c]; the passes take any scores,
    also such as do not sum to 1, and sum and multiply them as they are. (``nslimb.semantic_loss`` refuses raw logits.)

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=10, arity=2)
    >>> sigma
    Sigma(function, 10 classes, arity 2, 10 weak labels, 21 states)
    >>> sigma.preimage(1).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    is_listed = True  # whether all weak labels are listed, as those of a transducer are not
    is_family = False  # whether samples have sigmas of their own (nslimb.sigma.family)
    _weak_dims = 0  # axes of one weak label

    def __init__(
        self,
        diagram: Diagram,
        name: str,
        options: Mapping[str, Any] | None = None,
        class_names: Sequence[str] | None = None,
        program: Callable[[Sigma], Any] | None = None,
    ) -> None:
        self._diagram = diagram
        self.name = name
        self.options = dict(options or {})
        self.program = program  # writes sigma down for the engine "scallop"
        self.class_names = check_class_names(class_names, diagram.num_classes)
        self._spaces: tuple[Space, ...] | None = None
        self._names: tuple[tuple[str, ...] | None, ...] = ()  # of the labels by position, where they differ
        self._plans: dict[torch.device, tuple[LayerPlan, ...]] = {}
        self._tables: dict[torch.device, tuple[Tensor, ...]] = {}

    @classmethod
    def from_function(
        cls,
        function: Callable[[tuple[int, ...]], Hashable],
        num_classes: int,
        arity: int,
        max_states: int = MAX_STATES,
        class_names: Sequence[str] | None = None,
    ) -> Sigma:
        """Any function of a tuple of labels, by calling it on all c ** M of them.

        A label vector for which the function returns None is invalid: it has no weak label.
        More than ``max_states`` label vectors are refused; use ``from_steps`` for those. ``class_names`` are what
        tables and messages call the classes; the function itself always sees their numbers.
        """
        diagram = compile_function(function, num_classes, arity, max_states)
        return cls(diagram, "function", class_names=class_names)

    @classmethod
    def from_steps(
        cls,
        initial: Hashable,
        step: Callable[[Any, int], Hashable],
        finish: Callable[[Any], Hashable],
        num_classes: int,
        arity: int,
        max_states: int = MAX_STATES,
        class_names: Sequence[str] | None = None,
        order: Sequence[int] | None = None,
    ) -> Sigma:
        """A function read label by label: ``state = step(state, label)``, then ``finish(state)``.

        States and weak labels are hashable; None, from ``step`` or ``finish``, is a dead end.
        The cost grows with the number of distinct states, at most ``max_states`` before reduction.
        ``order[k]`` is the position that step k reads, by default k; everything else keeps the order of the positions.

        Examples
        --------
        >>> parity = Sigma.from_steps(0, lambda state, y: (state + y) % 2, bool, num_classes=10, arity=50)
        >>> parity.weak_labels, parity.num_states
        ((False, True), 101)
        """
        diagram = compile_steps(initial, step, finish, num_classes, arity, max_states, order)
        return cls(diagram, "steps", class_names=class_names)

    @staticmethod
    def from_transducer(
        initial: Hashable,
        step: Callable[[Any, int], tuple[Hashable, Hashable] | None],
        finish: Callable[[Any], Hashable] | None,
        num_classes: int,
        arity: int,
        order: Sequence[int] | None = None,
        max_states: int = MAX_STATES,
        class_names: Sequence[str] | None = None,
    ) -> Transducer:
        """A function whose weak label is a sequence, read label by label: ``state, emitted = step(state, label)``.

        The weak label is the tuple of all that is emitted, with ``finish(state)`` as one last symbol. ``emitted`` None
        emits nothing; a step that returns None is a dead end, and so is a finish that does; ``finish=None`` appends
        nothing. Symbols are hashable (a tuple is one symbol), and every label vector emits equally many. The passes
        follow only edges that emit what was observed, so that they cost arity x states x classes, however many weak
        labels there are (``nslimb.sigma.Transducer``). ``order`` is as in ``from_steps``.

        Examples
        --------
        >>> twice = Sigma.from_transducer(  # twice a number, digit by digit, least significant first
        ...     0, lambda carry, y: ((carry + 2 * y) // 10, (carry + 2 * y) % 10), lambda carry: carry, 10, arity=3
        ... )
        >>> twice.decode(twice.apply([[5, 2, 1]]))  # 2 * 125 = 250
        [(0, 5, 2, 0)]
        """
        from nslimb.sigma.emitting import compile_transducer
        from nslimb.sigma.transducer import Transducer

        diagram = compile_transducer(initial, step, finish, num_classes, arity, order, max_states)
        return Transducer(diagram, "transducer", class_names=class_names)

    @classmethod
    def from_expression(
        cls,
        function: Callable[[tuple[Any, ...]], Any],
        classes: Sequence[int | Sequence[str]],
        order: Sequence[int] | None = None,
        max_states: int = MAX_STATES,
    ) -> Sigma:
        """A function written with operators, which is called only once, on labels that note what is done with them.

        ``classes`` has an entry for each position: its number of classes, or their names; a label that a position
        lacks makes the label vector invalid. Labels are numbers, or names where a position has names. The function may
        use + - * // % abs, sum, comparisons (true counts as 1), & | ^ ~ of truth values, and ``where``, ``all_of``,
        ``any_of``, ``count``, ``minimum`` and ``maximum`` of ``nslimb.sigma.expression``; its result may be a tuple,
        also a nested one. Where the value is None (by ``where``), the label vector is invalid. ``order[k]`` is the
        position read at step k: the diagram is small where labels that decide something together are read one after
        the other.

        Examples
        --------
        >>> equations = lambda y: (y[0] + y[1] == y[2] + y[3], y[4] * y[5] == y[6] * y[7])
        >>> Sigma.from_expression(equations, classes=[10] * 8)  # of 10 ** 8 label vectors
        Sigma(expression, 10 classes, arity 8, 4 weak labels, 165 states)
        >>> sign = Sigma.from_expression(lambda y: (y[1] == "+") & (y[0] > 1), classes=[4, ["+", "-"]])
        >>> sign.weak_labels, sign.preimage_sizes()
        ((False, True), (6, 2))
        """
        positions = read_positions(classes, order)
        diagram = compile_expression(function, positions, check_count("max_states", max_states))
        return cls._of_positions(diagram, "expression", positions)

    @classmethod
    def from_dimacs(
        cls,
        path: str | Path,
        arity: int | None = None,
        order: Sequence[int] | None = None,
        max_states: int = MAX_STATES,
    ) -> Sigma:
        """A formula in conjunctive normal form, from a DIMACS file: the weak label says whether it holds.

        Variable i of the file is the i-th position, and class 1 means true. ``arity`` is the number of variables, or
        larger: further labels do not matter. ``order`` is as in ``from_expression``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "rule.cnf")
        ...     _ = path.write_text("p cnf 3 2\\n1 -2 0\\n2 3 0\\n")  # (x1 or not x2) and (x2 or x3)
        ...     sigma = Sigma.from_dimacs(path)
        >>> sigma.preimage(1).tolist()
        [[0, 0, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
        """
        formula = read_dimacs(path)
        size = check_count("arity", formula.variables if arity is None else arity)
        if size < formula.variables:
            raise InvalidInput("arity", f"a position for each of the {formula.variables} variables of {path}", size)
        positions = read_positions([2] * size, order)
        diagram = compile_expression(formula.holds, positions, check_count("max_states", max_states))
        return cls(diagram, "dimacs")

    @classmethod
    def from_asp(
        cls,
        path: str | Path,
        classes: Sequence[int | Sequence[str]],
        weak: str = "weak",
        order: Sequence[int] | None = None,
        max_states: int = MAX_STATES,
    ) -> Sigma:
        """A logic program in a file, in the language of clingo (``pip install 'nslimb[asp]'``).

        The program sees ``label(I, C)``, I from 1, C a class name or number, and derives ``weak(S)``; several arguments
        make a tuple. Where it has no answer, or derives no weak atom, the label vector is invalid; two answers, or two
        weak labels in one, are an error that names the label vector. Stratified programs (also with aggregates, and
        with positive recursion) become diagrams; those with choice rules, disjunction, negation that depends on itself,
        #edge, or an #external that is true or free are solved for one label vector after another, up to 100,000.
        Optimisation is refused. A class name that is neither a number nor a constant of clingo, such as "New York" or
        "not", is a string there. ``classes`` and ``order`` are as in ``from_expression``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "addition.lp")
        ...     _ = path.write_text("weak(A + B) :- label(1, A), label(2, B).")
        ...     sigma = Sigma.from_asp(path, classes=[10, 10])  # doctest: +SKIP
        """
        from nslimb.sigma.logic_programs import compile_program

        positions = read_positions(classes, order)
        diagram = compile_program(path, positions, weak, check_count("max_states", max_states))
        return cls._of_positions(diagram, "asp", positions)

    @classmethod
    def _of_positions(cls, diagram: Diagram, name: str, positions: Positions) -> Sigma:
        made = cls(diagram, name, class_names=positions.class_names)
        if positions.class_names is None:
            made._names = positions.names
        return made

    @staticmethod
    def from_candidates(
        candidates: Iterable[Any], num_classes: int, class_names: Sequence[str] | None = None
    ) -> Candidates:
        """Label vectors listed for each sample, one of which is right: the paper's (x, {sigma_i}).

        A family with a member for each distinct list, which is True on the list and False elsewhere. ``encode`` takes
        such lists too, so that the weak labels are ``sigma.encode(candidates)``. Label vectors of one list are equally
        long; lists of different samples may differ in that (``nslimb.sigma.family``).

        Examples
        --------
        >>> candidates = [[(0, 1), (1, 0)], [(2, 2)], [(1, 0), (0, 1)]]
        >>> sigma = Sigma.from_candidates(candidates, num_classes=3)
        >>> weak = sigma.encode(candidates)
        >>> weak, sigma.preimage(int(weak[2])).tolist()
        (tensor([1, 3, 1]), [[0, 1], [1, 0]])
        """
        from nslimb.sigma.candidates import compile_candidates

        return compile_candidates(candidates, num_classes, class_names)

    @property
    def diagram(self) -> Diagram:
        """The reduced decision diagram."""
        return self._diagram

    @property
    def arity(self) -> int:
        """M, the number of hidden labels."""
        return self._diagram.arity

    @property
    def num_classes(self) -> int:
        """c, the number of classes."""
        return self._diagram.num_classes

    @property
    def weak_labels(self) -> tuple[Hashable, ...]:
        """The values that sigma takes, sorted where they can be."""
        return self.diagram.weak_labels

    @property
    def num_states(self) -> int:
        """States of the reduced diagram over all M + 1 layers, the weak labels included."""
        return sum(self._diagram.widths)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which labels some valid label vector has at each position, [M, c]."""
        accepted = np.empty((self.arity, self.num_classes), dtype=bool)
        for position, targets in zip(self._diagram.positions, self._diagram.targets, strict=True):
            accepted[position] = (targets != DEAD).any(axis=0)
        return accepted

    @property
    def groups(self) -> tuple[int, ...] | None:
        """The group of each position, where positions of one group share a marginal; None where all do.

        Positions of one space share one (``spaces``); where there are no spaces, those that accept the same labels:
        in a formula the digits do, and the operators.

        Examples
        --------
        >>> from nslimb.sigma import formula, maximum
        >>> formula(5).groups, maximum(3).groups
        ((0, 1, 0, 1, 0), None)
        """
        if self._spaces is not None:
            of_position = {position: k for k, space in enumerate(self._spaces) for position in space.positions}
            return tuple(of_position[i] for i in range(self.arity)) if len(self._spaces) > 1 else None
        index: dict[bytes, int] = {}
        groups = tuple(index.setdefault(row.tobytes(), len(index)) for row in self.accepted)
        return groups if len(index) > 1 else None

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The kinds of labels, each with the positions that have it; one for all where nothing else was said."""
        if self._spaces is not None:
            return tuple(space if space.class_names else space.named(self.class_names) for space in self._spaces)
        every = tuple(range(self.num_classes))
        return (Space("class", every, self.class_names, tuple(range(self.arity))),)

    @property
    def spaces_share_labels(self) -> bool:
        """Whether a label may mean one thing in one space and another in the next; ``by_space()`` tells them apart."""
        numbered = [label for space in self.spaces for label in space.labels]
        return len(self.spaces) > 1 and numbered != list(range(self.num_classes))

    def with_spaces(
        self,
        spaces: Mapping[str, Sequence[int]],
        labels: Mapping[str, Sequence[int] | Mapping[int, str]] | None = None,
    ) -> Sigma:
        """The same sigma with ``spaces`` {name: positions}, each of which may have a classifier of its own.

        A space covers the labels that its positions accept, or those that ``labels`` {name: labels} give it. Two spaces
        may have the same labels: they then mean different things. So they may be called differently: by the names that
        ``labels`` gives them, {name: {label: class name}}, else by those that ``from_expression`` or ``from_asp`` were
        told for the positions, else as in ``class_names``.

        Examples
        --------
        >>> sigma = Sigma.from_function(lambda y: y[0] and y[1], num_classes=2, arity=2)
        >>> apart = sigma.with_spaces({"red": [0], "stop": [1]})
        >>> [space.name for space in apart.spaces], apart.groups
        (['red', 'stop'], (0, 1))
        >>> sigma.with_spaces({"red": [0], "stop": [1]}, {"stop": {0: "no", 1: "yes"}}).by_space().class_names
        ('red 0', 'red 1', 'stop no', 'stop yes')
        """
        same = copy.copy(self)
        same._spaces = read_spaces(spaces, labels, self, self._names)
        return same

    def by_space(self) -> Sigma:
        """The same function over the labels of all spaces, one after another: class k of space A is never one of B.

        What is asked class by class (shortcuts, confusions, risk bounds, ratios) is then answered space by space: a map
        of these classes that explains the weak labels is a map for each space.

        Examples
        --------
        >>> sigma = Sigma.from_function(lambda y: y[0] ^ y[1], num_classes=2, arity=2)
        >>> apart = sigma.with_spaces({"red": [0], "stop": [1]}).by_space()
        >>> apart.class_names
        ('red 0', 'red 1', 'stop 0', 'stop 1')
        """
        names = [
            f"{space.name} {name}" if len(self.spaces) > 1 else name
            for space in self.spaces
            for name in space.class_names
        ]
        apart = Sigma(laid_apart(self.diagram, self.spaces), self.name, self.options, names)
        offset, placed = 0, []
        for space in self.spaces:
            labels = tuple(range(offset, offset + len(space.labels)))
            placed.append(Space(space.name, labels, (), space.positions))  # called as the classes are
            offset += len(labels)
        apart._spaces = tuple(placed)
        return apart

    def __repr__(self) -> str:
        return (
            f"Sigma({self.name}, {self.num_classes} classes, arity {self.arity}, "
            f"{len(self.weak_labels)} weak labels, {self.num_states} states)"
        )

    def encode(self, values: Iterable[Hashable]) -> Tensor:
        """Indices of weak labels given by value: int64 [n]; bool [n, S] where some values are Python sets of them.

        Examples
        --------
        >>> parity = Sigma.from_function(lambda y: "even" if sum(y) % 2 == 0 else "odd", 3, 2)
        >>> parity.encode(["odd", "even"]), parity.encode(["odd", {"even", "odd"}])
        (tensor([1, 0]), tensor([[False,  True],
                [ True,  True]]))
        """
        sets = encode_sets(values, {label: i for i, label in enumerate(self.weak_labels)})
        return encode_listed(values, self.weak_labels) if sets is None else sets

    def decode(self, indices: Any) -> list[Hashable]:
        """The values of weak labels given by index: the inverse of ``encode``; None for -1, which is invalid.

        Rows of a bool array [n, S] are frozensets.

        Examples
        --------
        >>> sigma = Sigma.from_function(lambda y: "even" if sum(y) % 2 == 0 else "odd", 3, 2)
        >>> sigma.decode(sigma.apply([[0, 1], [2, 2]]))
        ['odd', 'even']
        """
        sets = decode_sets(indices, self.weak_labels)
        return decode_listed(indices, self.weak_labels) if sets is None else sets

    def apply(self, labels: Any) -> Any:
        """Indices of the weak labels of label vectors: int [..., M] -> int64 [...], -1 for invalid vectors.

        A tensor gives a tensor on its device; an array or a nested list gives a numpy array.
        """
        weak = self._walk(self._check_labels(labels))
        return weak if isinstance(labels, Tensor) else weak.numpy()

    def explains(self, labels: Any, weak: Any) -> Any:
        """Whether label vectors give these weak labels: int [..., M] and weak labels [...] -> bool [...].

        The leading shapes are broadcast against each other. Invalid label vectors explain nothing. Sets, or log-weights
        [..., S], are explained by each of their members.

        Examples
        --------
        >>> Sigma.from_function(max, 3, 2).explains([[0, 2], [2, 2], [0, 1]], [2, 2, 2])
        array([ True,  True, False])
        """
        vectors = self._check_labels(labels)
        observed = self._check_observed(weak).to(vectors.device)
        try:
            dims = self._weak_dims if observed.dtype == torch.int64 else 1
            torch.broadcast_shapes(vectors.shape[:-1], observed.shape[: observed.dim() - dims])
        except RuntimeError as error:
            expected = f"weak labels for label vectors of shape {list(vectors.shape)}"
            raise InvalidInput("weak", expected, f"shape {list(observed.shape)}") from error
        same = self._same(self._walk(vectors), observed)
        return same if isinstance(labels, Tensor) else same.numpy()

    def check_weak(self, weak: Any, batch: int, device: torch.device) -> Tensor:
        """``weak`` as the tensor on ``device`` that the passes take, for a batch of this size.

        int64 [batch]; or sets, bool [batch, S]; or log-weights, float [batch, S].
        """
        size = len(self.weak_labels)
        sets = read_sets(weak, size)
        if sets is None:
            return check_weak(weak, batch, size, device)
        if sets.shape != (batch, size):
            raise InvalidInput("weak", f"{batch} sets of weak labels (shape [{batch}, {size}])", list(sets.shape))
        return sets.to(device)

    def used(self, weak: Tensor) -> Tensor | None:  # noqa: ARG002
        """Which positions the samples of checked weak labels have: bool [B, M], or None where all have all of them."""
        return None

    def check_explained(self, weak: Any, batch: int, device: torch.device) -> Tensor:
        """The same, and each must be given by some label vector; listed weak labels always are."""
        return self.check_weak(weak, batch, device)

    def may_be_invalid(self, labels: NDArray[np.bool_]) -> bool:
        """Whether a vector of these labels, bool [M, c], may have no weak label."""
        layers = zip(self._diagram.positions, self._diagram.targets, strict=True)
        return any(bool((targets[:, labels[position]] == DEAD).any()) for position, targets in layers)

    def preimage_sizes(self, weak: Any = None) -> tuple[int, ...]:
        """How many label vectors give each weak label, or each of those in ``weak``: exact integers of any size."""
        sizes = tuple(int(size) for size in counting.count(self.diagram)[:, 0])
        return sizes if weak is None else total_sizes(sizes, self._check_observed(weak))

    def preimage(self, weak_index: int, limit: int = 1_000_000) -> IntArray:
        """All label vectors of one weak label in lexicographic order: int64 [R, M]; R over ``limit`` is refused."""
        size = len(self.weak_labels)
        expected = f"an index into sigma.weak_labels (0 to {size - 1})"
        if isinstance(weak_index, bool) or not isinstance(weak_index, (int, np.integer)):
            raise InvalidInput("weak_index", expected, repr(weak_index))
        if not 0 <= weak_index < size:
            raise InvalidInput("weak_index", expected, repr(weak_index))
        count = self.preimage_sizes()[weak_index]
        if count > check_count("limit", limit):
            raise TooLarge(
                f"preimage: weak label {self.weak_labels[weak_index]!r} has {count} label vectors, more than "
                f"limit={limit}; best() and posterior() answer without listing them"
            )
        return counting.vectors(self.diagram, int(weak_index))

    def listed(self, limit: int = 10_000) -> Sigma:  # noqa: ARG002
        """The same function with its weak labels listed: itself, unless it is a transducer."""
        return self

    def log_prob(self, log_scores: Tensor) -> Tensor:
        """log P(sigma(y) = s) for independent y_i with P(y_i = j) = exp(log_scores[b, i, j]): [B, M, c] -> [B, S].

        Exact and differentiable; -inf where every label vector of s has probability 0, with gradient 0 there.
        """
        check_log_scores(log_scores, self.arity, self.num_classes)
        return passes.log_sum(log_scores, self._plan(log_scores.device))

    def log_likelihood(self, log_scores: Tensor, weak: Any, proofs: int | None = None) -> Tensor:
        """log P(sigma(y) = s_b) of each sample's own weak label: [B]. Exact, and differentiable as ``log_prob``.

        It is not conditioned on y having a weak label (``log_valid``). ``proofs=k`` counts only the k most probable
        label vectors of s_b. For sets it is log P(sigma(y) in S_b), for log-weights w the logarithm of the sum over all
        s of exp(w_bs) P(sigma(y) = s).
        """
        check_log_scores(log_scores, self.arity, self.num_classes)
        return self.log_likelihood_at(log_scores, self.check_weak(weak, len(log_scores), log_scores.device), proofs)

    def log_likelihood_at(self, log_scores: Tensor, weak: Tensor, proofs: int | None = None) -> Tensor:
        """``log_likelihood`` of checked log-scores and checked weak labels: [B]."""
        observed = self._observe(weak)
        if proofs is not None:
            return passes.log_total(self._k_best(log_scores, observed, check_count("proofs", proofs)).values, dim=1)
        layers = self._plan(log_scores.device)
        if observed.weights is not None:
            every = passes.log_sum(log_scores, layers, observed.symbols, observed.roots)
            return passes.log_total(every + log_weights(observed.weights, every), dim=1)
        return passes.log_sum_at(log_scores, layers, observed.last, observed.symbols, observed.roots)

    def log_valid(self, log_scores: Tensor) -> Tensor:
        """log P(y has a weak label): [B, M, c] -> [B], differentiable."""
        check_log_scores(log_scores, self.arity, self.num_classes)
        return passes.log_total(passes.log_sum(log_scores, self._plan(log_scores.device)), dim=1)

    def log_valid_at(self, log_scores: Tensor, weak: Tensor) -> Tensor:  # noqa: ARG002
        """``log_valid`` by the sigma that the samples of checked weak labels have: [B]."""
        return self.log_valid(log_scores)

    def given_valid(self, log_probs: Tensor) -> Tensor:
        """log P(s | y has a weak label) from what ``log_prob`` gives, [B, S]."""
        return log_probs - log_probs.logsumexp(dim=1, keepdim=True)

    def posterior(self, log_scores: Tensor, weak: Any) -> Tensor:
        """P(y_i = j | sigma(y) = s_b): [B, M, c]. All zero for a sample whose weak label has probability 0."""
        check_log_scores(log_scores, self.arity, self.num_classes)
        checked = self.check_weak(weak, len(log_scores), log_scores.device)
        # The derivative of log P(s) with respect to log P(y_i = j) is P(y_i = j | s).
        with torch.inference_mode(False), torch.enable_grad():
            leaf = log_scores.detach().clone().requires_grad_()
            (posterior,) = torch.autograd.grad(self.log_likelihood_at(leaf, checked.clone()).sum(), leaf)
        return posterior

    def best(self, log_scores: Tensor, weak: Any, k: int) -> Best:
        """The k most probable label vectors of each sample's weak label.

        Label vectors of probability 0 count as missing. The log-probabilities are differentiable. For sets and
        log-weights these are the k best of all that are allowed, with log-probabilities that include the weights.
        """
        check_log_scores(log_scores, self.arity, self.num_classes)
        observed = self._observe(self.check_weak(weak, len(log_scores), log_scores.device))
        chosen, pointers, last, rank = self._k_best(log_scores, observed, check_count("k", k))
        found = chosen.detach() > float("-inf")
        chosen = chosen.where(found, float("-inf"))
        labels = passes.trace_back(self._plan(log_scores.device), pointers, last, rank, found)
        missing = k - chosen.shape[1]
        return Best(
            torch.nn.functional.pad(labels, (0, 0, 0, missing), value=-1),
            torch.nn.functional.pad(chosen, (0, missing), value=float("-inf")),
        )

    def log_mass(self, log_scores: Tensor, proofs: int) -> Tensor:
        """log of the probability of the ``proofs`` best label vectors of every weak label: [B, M, c] -> [B, S].

        At most ``log_prob``, and equal to it when ``proofs`` is at least every pre-image's size.
        """
        check_log_scores(log_scores, self.arity, self.num_classes)
        values, _ = passes.k_best(log_scores, self._plan(log_scores.device), check_count("proofs", proofs))
        return passes.log_total(values, dim=1).t()

    @property
    def lists_weak_labels(self) -> bool:
        """Whether a weak label is one of a list that all samples share: not a sequence, nor a member's outcome."""
        return self.is_listed and not self.is_family

    @staticmethod
    def check(value: Any, families: bool = False) -> Sigma:
        """``value`` if it is a Sigma, and no family unless these are welcome: called first by all that take one."""
        if not isinstance(value, Sigma):
            given = f"an object of type {type(value).__name__}"
            raise InvalidInput("sigma", "a Sigma (nslimb.sigma.maximum, Sigma.from_function, ...)", given)
        if value.is_family and not families:
            raise InvalidInput(
                "sigma", "one sigma for all samples", f"{value!r}; sigma.member(name) is one of its members"
            )
        return value

    def _plan(self, device: torch.device) -> tuple[LayerPlan, ...]:
        if device not in self._plans:
            with torch.inference_mode(False):  # they outlive the mode they are first asked for in
                self._plans[device] = plan(self._diagram, device)
        return self._plans[device]

    def _observe(self, weak: Tensor) -> Observed:
        """What the passes have to know of checked weak labels."""
        return Observed(weak, weights=None if weak.dtype == torch.int64 else weak)

    def _k_best(self, log_scores: Tensor, observed: Observed, k: int) -> Chosen:
        """The best label vectors of each sample's weak label, and how to find them."""
        values, pointers = passes.k_best(log_scores, self._plan(log_scores.device), k, observed.symbols, observed.roots)
        if observed.weights is not None:
            every = (values.permute(2, 0, 1) + log_weights(observed.weights, values).unsqueeze(2)).flatten(1)
            chosen, place = every.topk(min(k, every.shape[1]), dim=1)
            kept = values.shape[1]
            return Chosen(chosen, pointers, place // kept, place % kept)
        chosen = values[observed.last, :, torch.arange(len(observed.last), device=values.device)]
        rank = torch.arange(chosen.shape[1], device=values.device)
        return Chosen(chosen, pointers, observed.last.unsqueeze(1), rank)

    def _check_labels(self, labels: Any) -> Tensor:
        expected = f"integers 0 to {self.num_classes - 1} of shape [..., {self.arity}]"
        vectors = as_integers("labels", labels, expected)
        if vectors.dim() == 0 or vectors.shape[-1] != self.arity:
            raise InvalidInput("labels", expected, f"shape {list(vectors.shape)}")
        check_range("labels", vectors, self.num_classes, expected)
        return vectors

    def _check_observed(self, weak: Any) -> Tensor:
        """Weak labels of any shape: int64 [...]; or sets or log-weights [..., S]."""
        size = len(self.weak_labels)
        sets = read_sets(weak, size)
        if sets is not None:
            return sets
        expected = f"integers, each an index into sigma.weak_labels (0 to {size - 1})"
        indices = as_integers("weak", weak, expected)
        check_range("weak", indices, size, expected)
        return indices

    def _walk(self, vectors: Tensor) -> Tensor:
        """The weak labels of checked label vectors."""
        state = torch.zeros(vectors.shape[:-1], dtype=torch.int64, device=vectors.device)
        for position, table in zip(self._diagram.positions, self._following(vectors.device), strict=True):
            state = table[state, vectors[..., position]]
        return state

    def _same(self, weak: Tensor, observed: Tensor) -> Tensor:
        """Whether weak labels, the first perhaps of invalid vectors, are the same, or among the observed."""
        if observed.dtype == torch.int64:
            return weak == observed
        allowed = members(observed).expand(*torch.broadcast_shapes(weak.shape, observed.shape[:-1]), -1)
        among = allowed.gather(-1, weak.clamp_min(0).expand(allowed.shape[:-1]).unsqueeze(-1)).squeeze(-1)
        return among & (weak != DEAD)

    def _following(self, device: torch.device) -> tuple[Tensor, ...]:
        if device not in self._tables:
            # DEAD is -1 and so picks the row added last, from which every label leads to DEAD again.
            dead = np.full((1, self.num_classes), DEAD)
            tables = (np.concatenate([targets, dead]) for targets in self._diagram.targets)
            self._tables[device] = tuple(torch.from_numpy(table).to(device) for table in tables)
        return self._tables[device]


class Chosen(NamedTuple):
    """Label vectors found by a pass for the k best."""

    values: Tensor  # [B, k'], their log-probabilities
    pointers: list[Tensor]
    last: Tensor  # [B, k'] or [B, 1], the last state of each
    rank: Tensor  # [B, k'] or [k'], which of the best of that state it is
