"""The paper's symbolic components, each given by what its diagram has to remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nslimb.checks import check_bool, check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import MAX_STATES, compile_steps

FORMULA_CLASSES = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "-", "*")

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

CIFAR10_HIERARCHY: Mapping[str, Sequence[str]] = {
    "entity": ("transportation", "animal"),
    "transportation": ("land_transportation", "other_transportation"),
    "land_transportation": ("automobile", "truck"),
    "other_transportation": ("airplane", "ship"),
    "animal": ("land_animal", "other_animal"),
    "land_animal": ("home_land_animal", "wild_land_animal"),
    "home_land_animal": ("cat", "dog"),
    "wild_land_animal": ("deer", "horse"),
    "other_animal": ("bird", "frog"),
}


def maximum(arity: int, num_classes: int = 10, max_states: int = MAX_STATES) -> Sigma:
    """MAX-M: s = max(y_1, ..., y_M). Remembers the running maximum.

    Parameters
    ----------
    arity
        The number M of labels.
    num_classes
        Of the labels 0, 1, ...
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        Compiled.

    Raises
    ------
    InvalidInput, TooLarge
        If the arity does not fit, or the diagram would have too many states.

    Examples
    --------
    >>> maximum(arity=5).preimage_sizes()[9] == 10**5 - 9**5
    True
    """
    diagram = compile_steps(0, max, _itself, num_classes, arity, max_states)
    return Sigma(diagram, "maximum", program=partial(_scallop, "maximum"))


def total(arity: int, num_classes: int = 10, max_states: int = MAX_STATES) -> Sigma:
    """SUM-M: s = y_1 + ... + y_M. Remembers the running sum.

    Parameters
    ----------
    arity
        The number M of labels.
    num_classes
        Of the labels 0, 1, ...
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        Compiled.

    Raises
    ------
    InvalidInput, TooLarge
        If the arity does not fit, or the diagram would have too many states.

    Examples
    --------
    >>> len(total(arity=7).weak_labels)
    64
    """
    diagram = compile_steps(0, lambda state, label: state + label, _itself, num_classes, arity, max_states)
    return Sigma(diagram, "total", program=partial(_scallop, "total"))


def formula(arity: int, precedence: bool = True, max_states: int = MAX_STATES) -> Sigma:
    """HWF-M: the value of a formula, digits at odd positions and + - * at even ones (13 classes).

    ``precedence=True`` multiplies before it adds, as the paper's text says; ``False`` evaluates strictly
    left to right, as its released code does. Any other placement of symbols has no weak label.

    The value as a function of the last operand d is always a + b d, so a state is the pair (a, b),
    with d folded in or still to come.

    Parameters
    ----------
    arity
        The number M of labels.
    precedence
        Multiply before adding; else strictly from left to right.
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        Compiled.

    Raises
    ------
    InvalidInput, TooLarge
        If the arity does not fit, or the diagram would have too many states.

    Examples
    --------
    >>> sigma = formula(arity=5)
    >>> sigma.weak_labels[sigma.apply([2, 10, 3, 12, 4])]  # 2 + 3 * 4
    14
    >>> sigma = formula(arity=5, precedence=False)
    >>> sigma.weak_labels[sigma.apply([2, 10, 3, 12, 4])]  # (2 + 3) * 4
    20
    """
    if check_count("arity", arity) % 2 == 0:
        raise InvalidInput("arity", "an odd number (digits at odd positions, operators at even ones)", arity)
    check_bool("precedence", precedence)
    plus, minus, times = (FORMULA_CLASSES.index(operator) for operator in "+-*")

    def step(state: tuple[str, int, int], label: int) -> tuple[str, int, int] | None:
        expects, a, b = state
        if expects == "digit":
            return ("operator", a, b * label) if label < plus else None
        value = a + b
        if label == plus:
            return ("digit", value, 1)
        if label == minus:
            return ("digit", value, -1)
        if label == times:
            return ("digit", a, b) if precedence else ("digit", 0, value)
        return None

    def finish(state: tuple[str, int, int]) -> int:
        return state[1] + state[2]

    diagram = compile_steps(("digit", 0, 1), step, finish, len(FORMULA_CLASSES), arity, max_states)
    options = {"precedence": precedence}
    whole = Sigma(diagram, "formula", options, FORMULA_CLASSES, partial(_scallop, "formula"))
    if arity == 1:
        return whole
    positions = {"digit": range(0, arity, 2), "operator": range(1, arity, 2)}
    return whole.with_spaces(positions, {"digit": range(plus), "operator": (plus, minus, times)})


def smallest_parent(
    hierarchy: Mapping[str, Sequence[str]] = CIFAR10_HIERARCHY,
    arity: int = 2,
    classes: Sequence[str] | None = None,
    max_states: int = MAX_STATES,
) -> Sigma:
    """Smallest Parent: the lowest node of a hierarchy that lies above (or is) every label.

    ``hierarchy`` maps each inner node to its children and must be a tree whose leaves are the classes.
    ``classes`` fixes their order; by default the leaves in the order in which a walk from the root meets
    them, except that CIFAR-10's leaves keep that data set's order. Remembers the common ancestor so far.

    Parameters
    ----------
    hierarchy
        The children of each parent; CIFAR-10's if not given.
    arity
        The number M of labels.
    classes
        The leaves in the order of their numbers.
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        Compiled; its weak labels are names of the hierarchy.

    Raises
    ------
    InvalidInput
        If the hierarchy is no tree, or the classes are not its leaves.

    Examples
    --------
    >>> sigma = smallest_parent()
    >>> sigma.weak_labels[sigma.apply([CIFAR10_CLASSES.index("cat"), CIFAR10_CLASSES.index("horse")])]
    'land_animal'
    """
    paths = paths_from_root(hierarchy)
    leaves = tuple(node for node in paths if node not in hierarchy)
    if classes is None:
        classes = CIFAR10_CLASSES if set(leaves) == set(CIFAR10_CLASSES) else leaves
    expected = f"the leaves of the hierarchy {list(leaves)}"
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        raise InvalidInput("classes", expected, repr(classes))
    names = tuple(classes)
    if len(names) != len(leaves) or set(names) != set(leaves):
        difference = sorted(map(str, set(names) ^ set(leaves))) or [name for name in names if names.count(name) > 1]
        raise InvalidInput("classes", expected, f"a mismatch at {difference}")

    def step(node: Any, label: int) -> str:
        return names[label] if node == _NOTHING_YET else common_ancestor(paths, node, names[label])

    diagram = compile_steps(_NOTHING_YET, step, _itself, len(names), arity, max_states)
    options = {"hierarchy": dict(hierarchy)}
    return Sigma(diagram, "smallest_parent", options, names, partial(_scallop, "smallest_parent"))


def counterexample() -> Sigma:
    """The paper's 4-ary binary sigma whose marginal is not identifiable: 1 if the sum is 1, 2 or 4, else 0.

    P(s = 1) = t^4 + 6 t^2 (1 - t)^2 + 4 t (1 - t)^3 with t = P(y = 1), which is not injective.

    Returns
    -------
    Sigma
        Of two classes.
    """
    diagram = compile_steps(0, lambda state, y: state + y, lambda state: int(state in (1, 2, 4)), 2, 4, MAX_STATES)
    return Sigma(diagram, "counterexample")


_NOTHING_YET = ("nothing yet",)


def _itself(state: Any) -> Any:
    return state


def _scallop(writer: str, sigma: Sigma) -> Any:
    """The Scallop program of one of the above; the optional engine is imported only when asked for."""
    from nslimb.sigma import scallop

    return getattr(scallop, writer)(sigma)


def common_ancestor(paths: Mapping[str, tuple[str, ...]], a: str, b: str) -> str:
    """The lowest node that lies above, or is, both ``a`` and ``b``."""
    return [x for x, y in zip(paths[a], paths[b], strict=False) if x == y][-1]


def paths_from_root(hierarchy: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Each node's path from the root, in the order of a walk; refuses what is not a tree."""
    if not isinstance(hierarchy, Mapping) or not hierarchy:
        raise InvalidInput("hierarchy", 'a mapping {"parent": ["child", ...]}', repr(hierarchy))
    parent: dict[str, str] = {}
    for node, children in hierarchy.items():
        if not isinstance(node, str):
            raise InvalidInput("hierarchy", "names as nodes", repr(node))
        if isinstance(children, str) or not isinstance(children, Sequence) or not children:
            raise InvalidInput(f"hierarchy[{node!r}]", "a list of at least one child", repr(children))
        for child in children:
            if not isinstance(child, str):
                raise InvalidInput(f"hierarchy[{node!r}]", "names", repr(child))
            if child in parent:
                raise InvalidInput(
                    "hierarchy", "one parent for each node", f"{child!r} below both {parent[child]!r} and {node!r}"
                )
            parent[child] = node
    roots = [node for node in hierarchy if node not in parent]
    if len(roots) != 1:
        given = f"the roots {roots}" if roots else f"a cycle among {_cycle(parent, next(iter(parent)))}"
        raise InvalidInput("hierarchy", "a tree with one root", given)
    paths: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(roots[0], ())]
    while waiting:
        node, above = waiting.pop()
        paths[node] = (*above, node)
        waiting += [(child, paths[node]) for child in reversed(hierarchy.get(node, ()))]
    cut_off = [node for node in hierarchy if node not in paths]
    if cut_off:
        raise InvalidInput("hierarchy", "a tree", f"a cycle among {_cycle(parent, cut_off[0])}")
    return paths


def _cycle(parent: Mapping[str, str], node: str) -> list[str]:
    """The nodes of the cycle that is reached by going up from ``node``."""
    path: list[str] = []
    while node not in path:
        path.append(node)
        node = parent[node]
    return sorted(path[path.index(node) :])
