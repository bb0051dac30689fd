"""Traced expressions against Python's own evaluation on every label vector."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from diagrams import assert_same_diagram
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.expression import all_of, any_of, as_expression, count, maximum, minimum, where


class Invalid(Exception):
    """The value of an invalid label vector, in the plain evaluation."""


Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # the traced form, and the plain one


def applied(traced: Callable[..., Any], plain: Callable[..., Any], *operands: Pair) -> Pair:
    """An operation on operands that all have to be there; an invalid one goes before a division by zero."""

    def evaluate(y: Any) -> Any:
        values, failures = [], []
        for _, operand in operands:
            try:
                values.append(operand(y))
            except (Invalid, ZeroDivisionError) as failure:
                failures.append(failure)
        for failure in sorted(failures, key=lambda failure: isinstance(failure, ZeroDivisionError)):
            raise failure
        return plain(*values)

    def build(y: Any) -> Any:  # what is done with constants alone, Python would do itself
        first, *rest = (form(y) for form, _ in operands)
        return traced(as_expression(first), *rest)

    return build, evaluate


class Grower:
    """Draws random expressions over positions of different sizes, some of them named."""

    ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.add)
    COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        arity = int(self.rng.integers(1, 5))
        self.classes: list[int | list[str]] = [int(size) for size in self.rng.integers(1, 4, size=arity)]
        if self.rng.random() < 0.4:
            self.classes[int(self.rng.integers(arity))] = ["b", "c", "a"]
        self.numbers = [i for i, entry in enumerate(self.classes) if isinstance(entry, int)]
        self.named = [i for i, entry in enumerate(self.classes) if not isinstance(entry, int)]

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def constant(self) -> Pair:
        value = self.pick([0, 1, 2, -1, 3, True, 0.5, np.int64(2)])
        plain = value.item() if isinstance(value, np.generic) else value  # numpy divides by zero
        return lambda y: value, lambda y: plain

    def number(self, depth: int) -> Pair:
        if depth == 0 or self.rng.random() < 0.15:
            if not self.numbers or self.rng.random() < 0.25:
                return self.constant()
            position = self.pick(self.numbers)
            return lambda y: y[position], lambda y: y[position]
        kind = self.pick(["binary", "binary", "binary", "unary", "sum", "extreme", "where", "count", "truth"])
        if kind == "binary":
            function = self.pick(self.ARITHMETIC)
            return applied(function, function, self.number(depth - 1), self.number(depth - 1))
        if kind == "unary":
            function = self.pick([operator.neg, abs])
            return applied(function, function, self.number(depth - 1))
        several = [self.number(depth - 1) for _ in range(self.rng.integers(1, 4))]
        if kind == "sum":
            return applied(lambda *v: sum(v), lambda *v: sum(v), *several)
        if kind == "extreme":
            return applied(*self.pick([(minimum, lambda *v: min(v)), (maximum, lambda *v: max(v))]), *several)
        if kind == "where":
            return self.where(self.number(depth - 1), self.number(depth - 1), depth)
        if kind == "count":
            truths = [self.truth(depth - 1) for _ in range(self.rng.integers(1, 4))]
            return applied(count, lambda *v: sum(v), *truths)
        return self.truth(depth - 1)

    def truth(self, depth: int) -> Pair:
        if depth == 0 or self.rng.random() < 0.3:
            if self.named and self.rng.random() < 0.4:
                position, name = self.pick(self.named), self.pick("abc")
                function = self.pick([operator.eq, operator.ne])
                return lambda y: function(y[position], name), lambda y: function(y[position], name)
            function = self.pick(self.COMPARISONS)
            operands = self.number(max(depth - 1, 0)), self.number(max(depth - 1, 0))
            return applied(function, function, *operands)
        kind = self.pick(["binary", "not", "several", "where"])
        if kind == "binary":
            function = self.pick([operator.and_, operator.or_, operator.xor])
            return applied(function, function, self.truth(depth - 1), self.truth(depth - 1))
        if kind == "not":
            return applied(operator.invert, operator.not_, self.truth(depth - 1))
        if kind == "where":
            return self.where(self.truth(depth - 1), self.truth(depth - 1), depth)
        truths = [self.truth(depth - 1) for _ in range(self.rng.integers(1, 4))]
        return applied(*self.pick([(all_of, lambda *v: all(v)), (any_of, lambda *v: any(v))]), *truths)

    def where(self, yes: Pair, no: Pair, depth: int) -> Pair:
        condition = self.truth(depth - 1)
        if self.rng.random() < 0.3:

            def invalid(_: Any) -> Any:
                raise Invalid

            no = (lambda y: None), invalid
        return (
            lambda y: where(condition[0](y), yes[0](y), no[0](y)),
            lambda y: yes[1](y) if condition[1](y) else no[1](y),
        )

    def whole(self) -> Pair:
        depth = int(self.rng.integers(1, 5))
        kind = self.pick(["number", "truth", "tuple", "nested"])
        if kind == "number":
            return self.number(depth)
        if kind == "truth":
            return self.truth(depth)
        first, second = self.number(2), self.truth(2)
        if kind == "tuple":
            return applied(lambda *v: v, lambda *v: v, first, second)
        return applied(lambda a, b: ((a, b), "x"), lambda a, b: ((a, b), "x"), first, second)

    def by_listing(self, plain: Callable[[Any], Any]) -> Callable[[tuple[int, ...]], Any]:
        """The same function of label numbers, one label vector at a time; ZeroDivisionError may come out."""

        def function(labels: tuple[int, ...]) -> Any:
            values: list[int | str] = []
            for label, entry in zip(labels, self.classes, strict=True):
                if label >= (entry if isinstance(entry, int) else len(entry)):
                    return None
                values.append(label if isinstance(entry, int) else entry[label])
            try:
                return plain(values)
            except Invalid:
                return None

        return function


@given(st.integers(0, 2**32 - 1))
def test_an_expression_is_the_function_that_python_evaluates(seed: int) -> None:
    grower = Grower(seed)
    traced, plain = grower.whole()
    function = grower.by_listing(plain)
    sizes = [entry if isinstance(entry, int) else len(entry) for entry in grower.classes]
    outcomes = {}
    for labels in product(*map(range, sizes)):
        try:
            outcomes[labels] = function(labels)
        except ZeroDivisionError:
            outcomes[labels] = "division"
    divisions = [labels for labels, value in outcomes.items() if value == "division"]
    if divisions:
        with pytest.raises(InvalidInput, match=r"function: expected no // or % by zero; .*where\(divisor") as caught:
            Sigma.from_expression(traced, grower.classes)
        assert any(str(list(labels)) in str(caught.value) for labels in divisions)
    elif all(value is None for value in outcomes.values()):
        with pytest.raises(InvalidInput, match="a weak label for at least one"):
            Sigma.from_expression(traced, grower.classes)
    else:
        sigma = Sigma.from_expression(traced, grower.classes)
        assert_same_diagram(sigma, Sigma.from_function(function, max(sizes), len(sizes)))


def test_the_random_expressions_reach_every_case() -> None:
    kinds = {"division": 0, "invalid": 0, "valid": 0}
    for seed in range(300):
        grower = Grower(seed)
        try:
            sigma = Sigma.from_expression(grower.whole()[0], grower.classes)
        except InvalidInput as error:
            kinds["division" if "by zero" in str(error) else "invalid"] += 1
        else:
            kinds["valid"] += 1
            kinds["invalid"] += sum(sigma.preimage_sizes()) < np.prod(sigma.accepted.sum(axis=1))
    assert min(kinds.values()) >= 10


EQUATIONS = (lambda y: y[0] + y[1] == y[2] + y[3], lambda y: y[4] * y[5] == y[6] * y[7])


def test_mnmath_has_165_states() -> None:
    sigma = Sigma.from_expression(lambda y: tuple(equation(y) for equation in EQUATIONS), classes=[10] * 8)
    assert sigma.num_states == 165
    sums = sum(sum(a + b == s for a, b in product(range(10), repeat=2)) ** 2 for s in range(19))
    products = sum(sum(a * b == p for a, b in product(range(10), repeat=2)) ** 2 for p in range(82))
    sizes = dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True))
    assert sizes == {
        (True, True): sums * products,
        (True, False): sums * (10**4 - products),
        (False, True): (10**4 - sums) * products,
        (False, False): (10**4 - sums) * (10**4 - products),
    }
    both = nslimb.sigma.combine(
        lambda a, b: (a, b), *(Sigma.from_expression(equation, [10] * 8) for equation in EQUATIONS)
    )
    assert_same_diagram(sigma, both)


def test_kandinsky_patterns() -> None:
    """Three figures of three objects, shapes and then colours: all alike, a pair or all distinct, in one of the two."""

    def function(y: Any) -> Any:
        parts = [[y[6 * i + 3 * k : 6 * i + 3 * k + 3] for i in range(3)] for k in (0, 1)]
        pairs = [[count(a == b, b == c, a == c) for a, b, c in part] for part in parts]
        return any_of(all_of(number == pattern for number in part) for part in pairs for pattern in (3, 1, 0))

    sigma = Sigma.from_expression(function, [3] * 18)
    assert sigma.num_states == 304
    one = 3**3 + 18**3 + 6**3  # of 27 triples 3 are all alike, 18 have a pair and 6 are distinct
    neither = (27**3 - one) ** 2
    assert dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True)) == {False: neither, True: 3**18 - neither}
    labels = np.random.default_rng(0).integers(3, size=(500, 18))
    kinds = [[[len(set(y[i : i + 3])) for i in (k, k + 6, k + 12)] for k in (0, 3)] for y in labels.tolist()]
    expected = [any(len(set(kind)) == 1 for kind in both) for both in kinds]
    assert 0 < sum(expected) < 500
    assert [sigma.weak_labels[i] for i in sigma.apply(labels)] == expected


def test_the_rule_of_bdd_oia() -> None:
    """A car may go forward, must stop, may turn left or right, by 21 things that it sees: all 2 ** 21 are listed."""

    def rule(seen: list[Any]) -> tuple[Any, tuple[Any, ...]]:
        green, follow, clear, red, sign, *obstacles = seen[:9]
        obstacle = reduce(operator.or_, obstacles)
        stop = red | sign | obstacle
        left, right = ((a | b | c) & ~(d | e | f) for a, b, c, d, e, f in (seen[9:15], seen[15:]))
        return ~(red & green) & (clear != obstacle), ((green | follow | clear) & ~stop, stop, left, right)

    sigma = Sigma.from_expression(lambda y: where(*rule([label == 1 for label in y]), None), [2] * 21)
    assert sigma.num_states == 101
    every = np.arange(2**21, dtype=np.int32)
    possible, actions = rule([every >> i & 1 == 1 for i in range(21)])
    codes = sum(bit * action[possible].astype(np.uint8) for bit, action in zip((8, 4, 2, 1), actions, strict=True))
    sizes = np.bincount(codes, minlength=16).tolist()
    expected = {tuple(bool(code & bit) for bit in (8, 4, 2, 1)): size for code, size in enumerate(sizes) if size}
    assert dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True)) == expected


def test_the_library_can_be_written_as_expressions() -> None:
    assert_same_diagram(Sigma.from_expression(sum, [10] * 7), nslimb.sigma.total(7))
    assert_same_diagram(Sigma.from_expression(maximum, [10] * 5), nslimb.sigma.maximum(5))

    def left_to_right(y: tuple[Any, ...]) -> Any:
        value, (*rest,) = y[0], y[1:]
        for symbol, digit in zip(rest[::2], rest[1::2], strict=True):
            value = where(symbol == "+", value + digit, where(symbol == "-", value - digit, value * digit))
        return value

    digits, operators = [str(d) for d in range(10)], ["+", "-", "*"]
    written = Sigma.from_expression(left_to_right, [10, operators, 10, operators, 10])
    formula = nslimb.sigma.formula(5, precedence=False)
    assert written.weak_labels == formula.weak_labels
    assert written.preimage_sizes() == formula.preimage_sizes()
    assert written.groups == formula.groups
    assert written.class_names == tuple(digits)


def test_addition_of_numbers() -> None:
    def value(digits: tuple[Any, ...]) -> Any:
        return sum(10**i * digit for i, digit in enumerate(reversed(digits)))

    sigma = Sigma.from_expression(lambda y: value(y[:3]) + value(y[3:]), classes=[10] * 6)
    assert sigma.weak_labels == tuple(range(1999))
    assert sigma.preimage_sizes() == tuple(1000 - abs(s - 999) for s in range(1999))
    assert max(sigma.diagram.widths) == 1999


def test_class_counts_by_position_leave_further_labels_dead() -> None:
    sigma = Sigma.from_expression(lambda y: where(y[1] == 0, y[0], y[2]), classes=[4, 2, 3])
    assert (sigma.num_classes, sigma.arity) == (4, 3)
    np.testing.assert_array_equal(sigma.accepted.sum(axis=1), [4, 2, 3])
    assert sigma.apply([[3, 0, 2], [3, 1, 2], [0, 2, 0], [0, 0, 3]]).tolist() == [3, 2, -1, -1]
    assert sum(sigma.preimage_sizes()) == 4 * 2 * 3
    assert sigma.class_names == ("0", "1", "2", "3")


def test_positions_by_name() -> None:
    shapes = ["circle", "square", "triangle"]
    sigma = Sigma.from_expression(lambda y: (y[0] == y[1], y[2]), classes=[shapes, shapes[:2], ["red", "blue"]])
    assert sigma.weak_labels == tuple((same, colour) for same in (False, True) for colour in ("blue", "red"))
    assert sigma.weak_labels[sigma.apply([1, 1, 0])] == (True, "red")
    assert sigma.class_names == ("0", "1", "2")  # colours and shapes share the class numbers
    same = Sigma.from_expression(lambda y: y[0] == y[1], classes=[shapes, shapes[:2]])
    assert same.class_names == tuple(shapes)


@given(st.data())
def test_loss_and_gradient_are_those_by_listing(data: st.DataObject) -> None:
    sigma = Sigma.from_expression(lambda y: where(y[0] * y[1] != 2, (y[0] + y[2]) % 3, None), classes=[3, 2, 4])

    def index_of(a: int, b: int, c: int) -> int:
        return -1 if a >= 3 or b >= 2 or a * b == 2 else (a + c) % 3

    table = np.array([index_of(*y) for y in oracles.all_vectors(sigma).tolist()])
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    theirs = oracles.log_prob(scores, table, 3)
    ours = sigma.log_prob(scores)
    torch.testing.assert_close(ours, theirs)
    weights = torch.from_numpy(np.random.default_rng(0).random(ours.shape))
    gradients = [torch.autograd.grad((p.exp() * weights).sum(), scores)[0] for p in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_truths_count_as_one_and_reflected_forms_work() -> None:
    def function(y: Any) -> tuple[Any, ...]:
        return (5 - y[0], 7 // (y[0] + 1), 7 % (y[0] + 1), 2 * y[0], True & (y[0] == 1), False | (1 == y[0]))  # noqa: SIM300

    sigma = Sigma.from_expression(function, classes=[3])
    assert sigma.weak_labels == tuple(
        sorted((5 - y, 7 // (y + 1), 7 % (y + 1), 2 * y, y == 1, y == 1) for y in range(3))
    )
    assert Sigma.from_expression(lambda y: (y[0] == 1) + (y[0] >= 1) + np.int64(2), [3]).weak_labels == (2, 3, 4)
    assert Sigma.from_expression(lambda y: np.int64(1) - y[0], [3]).weak_labels == (-1, 0, 1)
    assert Sigma.from_expression(lambda y: np.float64(0.5) * y[0] >= 1, [3]).preimage_sizes() == (2, 1)
    assert Sigma.from_expression(lambda y: (count(), all_of([]), any_of([])), [2]).weak_labels == ((0, True, False),)
    assert Sigma.from_expression(lambda y: count(y[0] == 1), [2]).weak_labels[1] is not True


def test_sums_of_floats_are_added_in_the_order_they_are_written_in() -> None:
    def function(y: Any) -> Any:
        return 0.1 * y[2] + (0.2 * y[0] + 0.3 * y[1])

    assert_same_diagram(Sigma.from_expression(function, [4] * 3), Sigma.from_function(function, 4, 3))


def test_only_the_chosen_value_of_where_counts() -> None:
    guarded = Sigma.from_expression(lambda y: where(y[1] != 0, y[0] // y[1], -1), [4, 3])
    assert_same_diagram(
        guarded, Sigma.from_function(lambda y: None if y[1] > 2 else y[0] // y[1] if y[1] else -1, 4, 2)
    )
    left_out = Sigma.from_expression(lambda y: y[0] // where(y[1] != 0, y[1], None), [4, 3])
    assert left_out.apply([[3, 0], [3, 1], [3, 2]]).tolist() == [-1, 3, 1]
    with pytest.raises(InvalidInput, match=r"got a zero for the label vector \[0, 0\]"):
        Sigma.from_expression(lambda y: (y[1] != 0) & (y[0] // y[1] == 1), [4, 3])
    with pytest.raises(InvalidInput, match=r"got a zero for the label vector \[\d, 2\]"):
        Sigma.from_expression(lambda y: y[0] % (y[1] - 2), [4, 3])


def test_what_is_written_twice_is_compiled_once() -> None:
    doubled = Sigma.from_expression(lambda y: doubling(y[0] + y[1], 60), [3, 3])
    assert doubled.weak_labels == tuple(2**60 * s for s in range(5))  # 2 ** 61 terms, if they were written out


def doubling(value: Any, times: int) -> Any:
    for _ in range(times):
        value = value + value
    return value


def test_long_sums_are_no_problem() -> None:
    sigma = Sigma.from_expression(lambda y: sum(y[i % 4] for i in range(3000)) % 7, [3] * 4)
    assert_same_diagram(sigma, Sigma.from_function(lambda y: 750 * sum(y) % 7, 3, 4))


UNTRACEABLE: dict[str, Callable[[Any], Any]] = {
    "if": lambda y: 1 if y[0] == 1 else 0,
    "bool": lambda y: bool(y[0]),
    "and": lambda y: y[0] == 1 and y[1] == 1,
    "or": lambda y: y[0] == 1 or y[1] == 1,
    "not": lambda y: not y[0],
    "chain": lambda y: 0 < y[0] < 2,
    "in a list": lambda y: y[0] in [1, 2],
    "in a set": lambda y: y[0] in {1, 2},
    "label in labels": lambda y: 1 in y,
    "sorted": lambda y: tuple(sorted(y)),
    "max": max,
    "min": lambda y: min(y[0], y[1]),
    "any": lambda y: any(v == 1 for v in y),
    "int": lambda y: int(y[0]),
    "float": lambda y: float(y[0]),
    "math": lambda y: math.sqrt(y[0]),
    "index": lambda y: [3, 1, 2][y[0]],
    "range": lambda y: len(range(y[0])),
    "hash": lambda y: hash(y[0]),
    "dictionary": lambda y: {0: 1}[y[0]],
    "set": lambda y: len(set(y)),
    "np.maximum": lambda y: np.maximum(y[0], y[1]),
    "np.max": lambda y: np.max(y),
    "np.sum": lambda y: np.sum(y),
    "np.array": lambda y: np.array(y).sum(),
    "np.where": lambda y: np.where(y[0] == 1, y[1], 0),
    "torch": lambda y: torch.tensor(y),
    "division": lambda y: y[0] / 2,
    "reflected division": lambda y: 2 / y[0],
    "power": lambda y: y[0] ** 2,
    "reflected power": lambda y: 2 ** y[0],
    "divmod": lambda y: divmod(y[0], 2),
    "round": lambda y: round(y[0]),
    "shift": lambda y: y[0] << 1,
    "loop": lambda y: [v for v in y[0]],  # noqa: C416
    "attribute": lambda y: y[0].bit_length(),
    "position": lambda y: y[5],
    "another error": lambda y: 1 / 0,
    "string": lambda y: y[0] + "a",
    "and of numbers": lambda y: y[0] & y[1],
    "not of a number": lambda y: ~y[0],
    "count of numbers": lambda y: count(y),
    "where of a number": lambda y: where(y[0], 1, 2),
    "all of numbers": lambda y: all_of(y[0] == 1, y[1]),
    "minimum of nothing": lambda y: minimum(),
    "None": lambda y: y[0] + None,
    "compared with None": lambda y: y[0] == None,  # noqa: E711
    "number and name": lambda y: y[0] == "a",
}


@pytest.mark.parametrize("case", UNTRACEABLE)
def test_what_cannot_be_traced_names_the_way_out(case: str) -> None:
    message = r"function: expected an expression of traced labels, got .*Sigma\.from_function or Sigma\.from_steps"
    with pytest.raises(InvalidInput, match=message):
        Sigma.from_expression(UNTRACEABLE[case], [3, 3])


@pytest.mark.parametrize(
    ("case", "given"),
    [
        ("if", r"bool\(\) of a traced value \(if, and, or, not, in, a < b < c, max, min, sorted, all, any\)"),
        ("hash", r"hash\(\) of a traced value"),
        ("np.where", "a function of numpy on traced values"),
        ("division", r"/ of traced values \(// is traced\)"),
        ("and of numbers", "& of a number and a number \\(it takes truth values"),
        ("number and name", "== of a number and 'a', which are never equal"),
        ("position", "IndexError"),
    ],
)
def test_what_was_given_is_said(case: str, given: str) -> None:
    with pytest.raises(InvalidInput, match=given):
        Sigma.from_expression(UNTRACEABLE[case], [3, 3])


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda y: y[1] == "x", r"== of 'x' and a label of position 1, whose names are '\+', '-'"),
        (lambda y: y[1] == 0, "== of a name and 0, which are never equal"),
        (lambda y: y[1] + 1, r"\+ of a name and 1"),
        (lambda y: y[1] < "b", "< of a name and 'b'"),
        (lambda y: maximum(y), "maximum of a number and a name"),
    ],
)
def test_names_are_no_numbers(function: Any, given: str) -> None:
    with pytest.raises(InvalidInput, match=given):
        Sigma.from_expression(function, [3, ["+", "-"]])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (10, "classes: expected one entry for each position, a number of classes or a list of their names, got 10"),
        ([], r"classes: expected one entry for each position, .* got \[\]"),
        ("ab", "classes: expected one entry for each position"),
        ([3, 0], r"classes\[1\]: expected an integer of at least 1, got 0"),
        ([3, 2.0], r"classes\[1\]: expected an integer of at least 1, got 2\.0"),
        ([3, "ab"], r"classes\[1\]: expected an integer of at least 1, got 'ab'"),
        ([3, ["a", "a"]], r"classes\[1\]: expected a number of classes or a list of distinct names"),
        ([3, ["a", 1]], r"classes\[1\]: expected a number of classes or a list of distinct names"),
        ([3, []], r"classes\[1\]: expected a number of classes or a list of distinct names"),
    ],
)
def test_bad_classes_are_refused(classes: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Sigma.from_expression(lambda y: 1, classes)


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [1, 0, 2], ["a", "b"], 3])
def test_bad_orders_are_refused(order: Any) -> None:
    with pytest.raises(InvalidInput, match="order: expected each of the positions 0 to 1 once"):
        Sigma.from_expression(sum, [2, 2], order=order)


@pytest.mark.parametrize("result", [[1], {1}, float("nan"), object()])
def test_results_that_are_no_weak_labels_are_refused(result: Any) -> None:
    with pytest.raises(InvalidInput, match="function: expected"):
        Sigma.from_expression(lambda y: (y[0], result), [2, 2])


def test_a_width_over_the_limit_names_the_widest_layer_and_the_order() -> None:
    def pairs(y: Any) -> Any:  # each label of the first half with its partner in the second
        return all_of(a == b for a, b in zip(y[:8], y[8:], strict=True))

    message = r"more than max_states=1000 states; its widest layer so far, 1024 states, follows position 4\. .*order="
    with pytest.raises(TooLarge, match=message):
        Sigma.from_expression(pairs, [4] * 16, max_states=1000)
    with pytest.raises(InvalidInput, match="max_states: expected an integer of at least 1"):
        Sigma.from_expression(sum, [2, 2], max_states=0)
    by_pairs = Sigma.from_expression(
        pairs, [4] * 16, order=[i + 8 * k for i in range(8) for k in (0, 1)], max_states=100
    )
    assert by_pairs.num_states < 100
    assert dict(zip(by_pairs.weak_labels, by_pairs.preimage_sizes(), strict=True))[True] == 4**8


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_reading_changes_nothing_but_the_diagram(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = [int(size) for size in rng.integers(1, 4, size=4)]
    weights = [int(weight) for weight in rng.integers(-2, 3, size=4)]
    order = rng.permutation(4).tolist()

    def function(y: Any) -> Any:
        return where(y[0] != y[3], sum(w * v for w, v in zip(weights, y, strict=True)), y[1] * y[2])

    sigma = Sigma.from_expression(function, classes, order=order)
    plain = Sigma.from_expression(function, classes)
    vectors = oracles.all_vectors(plain)
    assert sigma.weak_labels == plain.weak_labels
    np.testing.assert_array_equal(sigma.apply(vectors), plain.apply(vectors))
    np.testing.assert_array_equal(sigma.accepted, plain.accepted)
    scores = torch.from_numpy(rng.normal(size=(3, 4, plain.num_classes))).log_softmax(-1)
    torch.testing.assert_close(sigma.log_prob(scores), plain.log_prob(scores))
    weak = rng.integers(len(plain.weak_labels), size=3)
    torch.testing.assert_close(sigma.posterior(scores, weak), plain.posterior(scores, weak))

    def by_listing(read: tuple[int, ...]) -> int | None:
        y = [label for _, label in sorted(zip(order, read, strict=True))]
        if any(label >= size for label, size in zip(y, classes, strict=True)):
            return None
        return sum(w * v for w, v in zip(weights, y, strict=True)) if y[0] != y[3] else y[1] * y[2]

    steps = Sigma.from_steps((), lambda read, y: (*read, y), by_listing, max(classes), 4, order=order)
    assert_same_diagram(sigma, steps)
