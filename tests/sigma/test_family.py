"""Families against their members, one sample at a time, and against listing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from diagrams import assert_same_diagram
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.sigma import Family, family, formula, maximum, smallest_parent, total


@st.composite
def families(draw: st.DrawFn) -> tuple[Family, dict[str, Sigma]]:
    """Up to four random members over the same classes, often of different lengths."""
    classes = draw(st.integers(2, 3))
    drawn = draw(st.lists(oracles.tables(max_arity=4, max_classes=3, max_vectors=90), min_size=1, max_size=4))
    members = {f"s{i}": sigma for i, sigma in enumerate(drawn) if sigma.num_classes == classes}
    if not members:
        members = {"max": maximum(2, classes)}
    if draw(st.booleans()):
        members["sum"] = total(3, classes)
    return family(members), members


def batch_for(sigma: Family, rng: np.random.Generator, number: int = 5) -> tuple[Tensor, Tensor]:
    scores = rng.normal(size=(number, sigma.arity, sigma.num_classes)) * 2
    weak = rng.integers(len(sigma.weak_labels), size=number)
    return torch.from_numpy(scores).log_softmax(-1), torch.from_numpy(weak)


def alone(members: dict[str, Sigma], sigma: Family, weak: int) -> tuple[Sigma, int]:
    """The member of a weak label, and the label's index there."""
    name, outcome = sigma.weak_labels[weak]  # type: ignore[misc]
    return members[name], members[name].weak_labels.index(outcome)


@given(families())
def test_members_are_what_they_were(drawn: tuple[Family, dict[str, Sigma]]) -> None:
    sigma, members = drawn
    assert sigma.members == tuple(members)
    assert sigma.arity == max(member.arity for member in members.values())
    for name, member in members.items():
        assert_same_diagram(sigma.member(name), member)
    pairs = [(name, outcome) for name, member in members.items() for outcome in member.weak_labels]
    assert sigma.weak_labels == tuple(pairs)
    assert sigma.decode(sigma.encode(pairs)) == pairs
    sizes = [size for member in members.values() for size in member.preimage_sizes()]
    assert sigma.preimage_sizes() == tuple(sizes)
    accepted = np.zeros((sigma.arity, sigma.num_classes), dtype=bool)
    for member in members.values():
        accepted[: member.arity] |= member.accepted
    np.testing.assert_array_equal(sigma.accepted, accepted)


@given(families(), st.integers(0, 2**32 - 1))
def test_labels_are_judged_by_the_samples_member(drawn: tuple[Family, dict[str, Sigma]], seed: int) -> None:
    sigma, members = drawn
    rng = np.random.default_rng(seed)
    names = [list(members)[i] for i in rng.integers(len(members), size=20)]
    labels = rng.integers(sigma.num_classes, size=(20, sigma.arity))
    for i, name in enumerate(names):
        labels[i, members[name].arity :] = rng.choice([-1, 0, 99])  # does not matter
    expected = []
    for name, vector in zip(names, labels, strict=True):
        index = members[name].apply(vector[: members[name].arity])
        expected.append(-1 if index < 0 else sigma.weak_labels.index((name, members[name].weak_labels[index])))
    found = sigma.apply(labels, names)
    assert found.tolist() == expected
    assert sigma.apply(torch.from_numpy(labels), names).tolist() == expected
    assert sigma.apply(labels.reshape(4, 5, -1)[:, 0], names[::5]).tolist() == expected[::5]
    assert sigma.apply(labels[0], names[0]) == expected[0]
    weak = rng.integers(len(sigma.weak_labels), size=20)
    for i, s in enumerate(weak.tolist()):
        member, index = alone(members, sigma, s)
        vector = rng.integers(sigma.num_classes, size=sigma.arity)
        assert sigma.explains([vector], [s]) == member.explains([vector[: member.arity]], [index])
        labels[i] = vector
    explained = sigma.explains(labels, weak)
    assert explained.tolist() == [bool(sigma.explains([y], [s])[0]) for y, s in zip(labels, weak, strict=True)]
    crossed = sigma.explains(labels[:3, None], weak[None, :4])
    assert crossed.tolist() == [[bool(sigma.explains([y], [s])[0]) for s in weak[:4]] for y in labels[:3]]


@given(families(), st.integers(0, 2**32 - 1))
def test_loss_gradient_and_posterior_are_those_by_listing(drawn: tuple[Family, dict[str, Sigma]], seed: int) -> None:
    sigma, members = drawn
    scores, weak = batch_for(sigma, np.random.default_rng(seed))
    leaf = scores.clone().requires_grad_()
    values = []
    for b, s in enumerate(weak.tolist()):
        member, index = alone(members, sigma, s)
        table = member.apply(oracles.all_vectors(member))
        own = oracles.log_prob(leaf[b : b + 1, : member.arity], table, len(member.weak_labels))
        values.append(own[0, index])
    theirs = torch.stack(values)
    ours = sigma.log_likelihood(scores, weak)
    torch.testing.assert_close(ours, theirs.detach())
    torch.testing.assert_close(nslimb.semantic_loss(scores, weak, sigma), -ours)
    (gradient,) = torch.autograd.grad(theirs.sum(), leaf, retain_graph=True)  # 0 at positions that a member lacks
    torch.testing.assert_close(sigma.posterior(scores, weak), gradient)


def twice(function: Callable[[Tensor], Tensor], scores: Tensor) -> Tensor:
    leaf = scores.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(leaf).sum(), leaf, create_graph=True)
    return torch.autograd.grad((gradient**2).sum(), leaf)[0]


@given(families(), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_each_sample_has_the_answers_of_its_member(drawn: tuple[Family, dict[str, Sigma]], seed: int, k: int) -> None:
    sigma, members = drawn
    scores, weak = batch_for(sigma, np.random.default_rng(seed))
    best, few = sigma.best(scores, weak, k), sigma.log_likelihood(scores, weak, proofs=k)
    everything, mass = sigma.log_prob(scores), sigma.log_mass(scores, k)
    curved = twice(lambda s: sigma.log_likelihood(s, weak), scores)
    for b, s in enumerate(weak.tolist()):
        member, index = alone(members, sigma, s)
        own, rest = scores[b : b + 1, : member.arity], sigma.arity - member.arity
        found = member.best(own, [index], k)
        torch.testing.assert_close(best.log_probs[b : b + 1], found.log_probs)
        torch.testing.assert_close(best.labels[b], torch.nn.functional.pad(found.labels[0], (0, rest), value=-1))
        torch.testing.assert_close(few[b : b + 1], member.log_likelihood(own, [index], proofs=k))
        torch.testing.assert_close(everything[b, s], member.log_prob(own)[0, index])
        torch.testing.assert_close(mass[b, s], member.log_mass(own, k)[0, index])
        expected = twice(lambda x, member=member, index=index: member.log_likelihood(x, [index]), own)
        torch.testing.assert_close(curved[b, : member.arity], expected[0])
        assert not curved[b, member.arity :].any()
        vectors = sigma.preimage(s)
        np.testing.assert_array_equal(vectors[:, : member.arity], member.preimage(index))
        assert (vectors[:, member.arity :] == -1).all()
    for name, member in members.items():
        torch.testing.assert_close(sigma.log_valid(scores, name), member.log_valid(scores[:, : member.arity]))


def test_probabilities_of_a_row_sum_to_the_number_of_members() -> None:
    sigma = family({"max": maximum(3, 4), "sum": total(3, 4), "two": maximum(2, 4)})
    scores = torch.randn(6, 3, 4, dtype=torch.float64).log_softmax(-1)
    torch.testing.assert_close(sigma.log_prob(scores).exp().sum(dim=1), torch.full((6,), 3.0, dtype=torch.float64))


def test_scores_at_positions_that_a_member_lacks_enter_nothing() -> None:
    sigma = family({"two": maximum(2, 4), "three": total(3, 4)})
    scores = torch.randn(2, 3, 4, dtype=torch.float64).log_softmax(-1)
    weak = sigma.encode([("two", 3), ("three", 5)])
    other = scores.clone()
    other[0, 2] = float("-inf")
    for answer in (sigma.log_likelihood, sigma.posterior):
        torch.testing.assert_close(answer(scores, weak), answer(other, weak))
    assert not sigma.posterior(scores, weak)[0, 2].any()


def test_equal_members_share_a_root_and_outcomes_are_shared_by_value() -> None:
    one, two = family({"a": maximum(3)}), family({"a": maximum(3), "b": Sigma.from_function(max, 10, 3)})
    assert two.num_states == one.num_states
    assert len(two.weak_labels) == 2 * len(one.weak_labels)
    negated = Sigma.from_function(lambda y: -max(y), 10, 3)
    shared = family({"a": maximum(3), "b": negated})
    assert shared.num_states < maximum(3).num_states + negated.num_states  # 0 is the same outcome for both


def test_an_observed_label_is_a_score_of_0_beside_minus_infinity() -> None:
    sigma = total(2, 4)
    scores = torch.randn(1, 2, 4, dtype=torch.float64).log_softmax(-1)
    seen = scores.clone()
    seen[0, 1] = torch.tensor([-np.inf, -np.inf, 0.0, -np.inf])  # the second label is known to be 2
    torch.testing.assert_close(sigma.log_likelihood(seen, [3]), scores[:, 0, 1])
    assert sigma.posterior(seen, [3])[0].argmax(-1).tolist() == [1, 2]


def test_members_read_in_one_order() -> None:
    def build(finish: Callable[[int], int]) -> Sigma:
        return Sigma.from_steps(0, lambda s, y: 2 * s + y, finish, 3, 3, order=[2, 0, 1])

    members = {"plain": build(lambda s: s), "odd": build(lambda s: s % 2)}
    sigma = family(members)
    for name, member in members.items():
        assert_same_diagram(sigma.member(name), member)
    vectors = list(product(range(3), repeat=3))
    found = sigma.decode(sigma.apply(vectors, "plain"))
    assert found == [("plain", 4 * y[2] + 2 * y[0] + y[1]) for y in vectors]


def test_names_of_the_classes_are_kept() -> None:
    assert family({"f": formula(3), "max": maximum(3, 13)}).class_names == formula(3).class_names


SIGMA = family({"max": maximum(2, 3), "sum": total(3, 3)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: family({}), "members: expected a mapping"),
        (lambda: family([maximum(2)]), "members: expected a mapping"),  # type: ignore[arg-type]
        (lambda: family({"a": max}), "sigma: expected a Sigma"),  # type: ignore[dict-item]
        (lambda: family({"a": SIGMA}), "sigma: expected one sigma for all samples"),
        (lambda: family({"a": nslimb.sigma.addition(2)}), r"sigma whose weak labels are listed.*listed\("),
        (lambda: family({"a": maximum(2), "b": maximum(2, 4)}), "the same number of classes for all parts"),
        (
            lambda: family({"a": maximum(2), "b": Sigma.from_steps(0, max, abs, 10, 2, order=[1, 0])}),
            r"members: expected one order of reading .* got \(1, 0\) and None",
        ),
        (
            lambda: family({"a": smallest_parent(), "b": smallest_parent(classes=nslimb.sigma.CIFAR10_CLASSES[::-1])}),
            "the same classes for all parts",
        ),
        (lambda: SIGMA.encode([("min", 1)]), r"values: expected a member of the family \('max', 'sum'\), got 'min'"),
        (lambda: SIGMA.encode([("max", 5)]), r"values: expected a sequence of weak labels .* got \('max', 5\)"),
        (lambda: SIGMA.encode([3]), r"values: expected pairs \(member, outcome\), got 3"),
        (lambda: SIGMA.encode([("max", 1, 2)]), r"values: expected pairs"),
        (lambda: SIGMA.encode(3), r"values: expected a sequence of pairs"),  # type: ignore[arg-type]
        (lambda: SIGMA.encode(torch.zeros(2, 2)), r"values: expected a sequence of pairs"),
        (lambda: SIGMA.apply([0, 1, 2]), r"member: expected a member of the family \('max', 'sum'\), got None"),
        (lambda: SIGMA.apply([0, 1, 2], "min"), "member: expected a member of the family .* got 'min'"),
        (lambda: SIGMA.apply([0, 1, 2], {"max"}), "member: expected a member of the family"),
        (lambda: SIGMA.apply([[0, 1, 2]], ["max", "sum"]), r"member: expected a name, or one for each .* got 2 names"),
        (lambda: SIGMA.apply([0, 1, 2], ["max"]), "member: expected a name, or one for each"),
        (lambda: SIGMA.apply([0, 1], "max"), r"labels: expected integers 0 to 2 of shape \[..., 3\], got shape \[2\]"),
        (lambda: SIGMA.apply([0, 3, 0], "max"), "labels: expected integers 0 to 2 .* got 3"),
        (lambda: SIGMA.apply([0, 1, -1], "sum"), "labels: expected integers 0 to 2 .* got -1"),
        (
            lambda: SIGMA.explains([[0, 1, 2]] * 2, [0, 1, 2]),
            r"weak: expected weak labels for label vectors .*\[2, 3\]",
        ),
        (lambda: SIGMA.explains([[0, 1, 2]], [40]), "weak: expected integers, each an index"),
        (lambda: SIGMA.preimage(40), "weak: expected integers, each an index"),
        (lambda: SIGMA.member("min"), "name: expected a member of the family"),
        (lambda: SIGMA.log_valid(torch.zeros(1, 3, 3)), "member: expected a member of the family .* got None"),
        (lambda: SIGMA.log_valid(torch.zeros(1, 4, 3), "max"), "log_scores: expected"),
        (lambda: SIGMA.log_likelihood(torch.zeros(1, 2, 3), [0]), "log_scores: expected"),
        (lambda: SIGMA.log_likelihood(torch.zeros(1, 3, 3), [40]), "weak: expected 1 integers"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: SIGMA.diagram,
        lambda: nslimb.semantic_loss(torch.zeros(1, 3, 3), [0], SIGMA, form="bce"),
        lambda: nslimb.semantic_loss(torch.zeros(1, 3, 3), [0], SIGMA, noise=0.1),
        lambda: nslimb.semantic_loss(torch.zeros(1, 3, 3), [0], SIGMA, engine="scallop"),
        lambda: nslimb.class_risk_bounds(SIGMA, [0.2, 0.3, 0.5], 0.1, method="cobyla"),
        lambda: nslimb.identifiability(SIGMA, [0.2, 0.3, 0.5]),
        lambda: nslimb.confusions(SIGMA, [0.2, 0.3, 0.5]),
        lambda: nslimb.diagnose(SIGMA),
        lambda: nslimb.sigma.combine(max, SIGMA),
    ],
)
def test_what_needs_one_sigma_for_all_samples_says_so(call: Callable[[], Any]) -> None:
    with pytest.raises(
        InvalidInput, match=r"sigma: expected one sigma for all samples, got Family\(2 .*member\(name\)"
    ):
        call()
