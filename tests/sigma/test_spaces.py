"""Label spaces: the same function with classes apart, a map for each space, and a network for each."""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import Sigma
from nslimb.data import ImageSource, draw_samples
from nslimb.errors import InvalidInput
from nslimb.learning.loop import Probe, Settings, network_of, predict, train
from nslimb.learning.methods import make_method
from nslimb.networks import Spaced
from nslimb.sigma import formula
from nslimb.sigma.expression import where
from nslimb.sigma.spaces import apart, own_labels
from nslimb.theory.spaced import told_apart

SEEN = ("green", "follow", "clear", "red", "sign", "car", "person", "rider", "other")


def forward_or_stop(y: Any) -> Any:
    """BDD-OIA's rule for going forward and stopping, by nine things that a car sees."""
    green, follow, clear, red, sign, car, person, rider, other = (label == 1 for label in y)
    obstacle = car | person | rider | other
    stop = red | sign | obstacle
    return where(~(red & green) & (clear != obstacle), ((green | follow | clear) & ~stop, stop), None)


def test_the_function_stays_the_same_with_classes_apart() -> None:
    sigma = Sigma.from_function(lambda y: (y[0] + y[1], y[2]) if y[0] != y[2] else None, num_classes=3, arity=3)
    spaced = sigma.with_spaces({"a": [0, 2], "b": [1]})
    both = spaced.by_space()
    assert both.num_classes == 6
    assert both.class_names == ("a 0", "a 1", "a 2", "b 0", "b 1", "b 2")
    vectors = np.array(list(product(range(3), repeat=3)))
    moved = apart(spaced.spaces, vectors)
    assert moved[:, 1].min() == 3
    assert both.weak_labels == sigma.weak_labels
    assert (both.apply(moved) == sigma.apply(vectors)).all()
    assert both.preimage_sizes() == sigma.preimage_sizes()
    assert (own_labels(spaced.spaces, 3) == both.accepted).all()
    assert spaced.groups == (0, 1, 0)
    assert sigma.groups is None
    assert [space.name for space in sigma.spaces] == ["class"]


def test_a_map_for_each_space() -> None:
    """Against brute force over both spaces' maps: 2 bits and 3 values."""
    function = {(a, b): (a and b > 0, b == 2) for a, b in product(range(2), range(3))}
    sigma = Sigma.from_expression(lambda y: ((y[0] == 1) & (y[1] > 0), y[1] == 2), classes=[2, 3])
    spaced = sigma.with_spaces({"bit": [0], "value": [1]})
    found = nslimb.shortcuts(spaced)
    expected = [
        (*first, *(2 + value for value in second))
        for first in product(range(2), repeat=2)
        for second in product(range(3), repeat=3)
        if all(function[first[a], second[b]] == function[a, b] for a, b in function)
    ]
    assert sorted(map(tuple, found.maps.tolist())) == sorted(expected)
    listed = nslimb.shortcuts(spaced, list(product(range(2), range(3))))
    assert sorted(map(tuple, listed.maps.tolist())) == sorted(expected)


def test_bdd_oia_has_eight_shortcuts() -> None:
    sigma = bdd()
    found = nslimb.shortcuts(sigma)
    assert found.count == 8
    assert found.by_class is not None
    follow = sigma.by_space().class_names.index("follow 1")
    assert found.by_class[follow, follow] == 0.5
    assert {sigma.by_space().class_names[label] for label in range(18)} - {
        sigma.by_space().class_names[label] for label in found.safe
    } == {"green 1", "follow 0", "follow 1"}


def test_bad_spaces_are_refused() -> None:
    sigma = nslimb.sigma.maximum(3, 4)
    for spaces, message in (
        ({"a": [0, 1]}, "position 2 in none of them"),
        ({"a": [0, 1], "b": [1, 2]}, "position 1 in 2 of them"),
        ({"a": [0, 1, 7], "b": [2]}, "distinct integers from 0 to 2"),
        ([[0, 1, 2]], "a mapping"),
    ):
        with pytest.raises(InvalidInput, match=message):
            sigma.with_spaces(spaces)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="3 is not among them"):
        sigma.with_spaces({"a": [0, 1, 2]}, {"a": [0, 1, 2]})


def pictures() -> ImageSource:
    """Thirteen kinds of bars, standing for digits, lying for operators."""
    rng = np.random.default_rng(0)
    labels = np.arange(13 * 40) % 13
    images = rng.integers(60, size=(len(labels), 28, 28), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        if label < 10:
            image[:, 2 * label + 2 : 2 * label + 5] += 150
        else:
            image[7 * (label - 10) + 2 : 7 * (label - 10) + 8] += 150
    names = formula(3).class_names
    return ImageSource("bars", images, labels, rng.random(len(labels)) < 0.3, names, "-", "drawn")


@pytest.mark.parametrize("name", ["sl", "sot-gold", "recipe"])
def test_two_networks_learn_formulas(tmp_path: Path, name: str) -> None:
    source, sigma = pictures(), formula(3)
    assert [space.name for space in sigma.spaces] == ["digit", "operator"]
    samples, gold = draw_samples(source, sigma, 400, seed=1, validation=40)
    method = make_method(name, sigma, gold_ratios=gold.ratios, gold_labels=gold.train)
    settings = Settings(network={"digit": "lenet", "operator": "lenet"}, epochs=6, batch_size=16)
    trained = train(source.images, samples, sigma, method, settings, tmp_path, test=Probe(samples.test, gold.test))
    assert isinstance(trained.network, Spaced)
    scores = predict(trained.network, trained.method, torch.from_numpy(source.images), samples.validation)
    assert bool((scores[:, ~trained.network.own] == -torch.inf).all())
    torch.testing.assert_close(scores.exp().sum(-1), torch.ones(scores.shape[:2]))
    assert trained.history[-1].test_accuracy is not None
    assert trained.history[-1].test_accuracy > 0.6
    assert trained.history[-1].train_weak_accuracy > 0.5


def test_networks_have_weights_of_their_own() -> None:
    sigma = formula(3)
    network = network_of({"digit": "lenet", "operator": "lenet"}, sigma, 1)
    assert isinstance(network, Spaced)
    images = torch.randn(4, 1, 28, 28)
    logits = network(images)
    assert logits.shape == (4, 13)
    logits[:, :10].sum().backward()
    operators = [p.grad for part in (network.features.parts[1], network.head.heads[1]) for p in part.parameters()]  # type: ignore[index,union-attr]
    assert all(gradient is None or not gradient.any() for gradient in operators)
    tuples = network.at_positions(torch.zeros(2, 3, 13)).softmax(-1)
    assert tuples[0, 0, 10:].sum() == 0
    assert tuples[0, 1, :10].sum() == 0
    alone = network.among_their_kind(logits.detach(), torch.tensor([0, 11, 9, 12]))
    assert alone.isinf().sum(dim=1).tolist() == [3, 10, 3, 10]
    for bad in ({"digit": "lenet"}, {"digit": "lenet", "sign": "lenet"}):
        with pytest.raises(InvalidInput, match="a network for each of the spaces digit, operator"):
            network_of(bad, sigma, 1)
    mixed = nslimb.sigma.maximum(2, 3).with_spaces({"a": [0], "b": [1]})
    with pytest.raises(InvalidInput, match="by_space"):
        network_of({"a": "lenet", "b": "lenet"}, mixed, 1)


def bdd() -> Sigma:
    return Sigma.from_expression(forward_or_stop, [2] * 9).with_spaces({name: [i] for i, name in enumerate(SEEN)})


def two_kinds() -> Sigma:
    """Two bits and a value of three, which share the labels 0 and 1 and mean other things."""
    sigma = Sigma.from_function(lambda y: (y[0] ^ y[1], y[2]) if max(y[:2]) < 2 else None, num_classes=3, arity=3)
    return sigma.with_spaces({"bit": [0, 1], "value": [2]})


RATIOS = np.array([[0.3, 0.7, 0.0], [0.3, 0.7, 0.0], [0.2, 0.3, 0.5]])


def test_ratios_are_estimated_by_space_unless_groups_are_given() -> None:
    sigma = two_kinds()
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.choice(3, size=4000, p=row) for row in RATIOS], axis=1)
    weak = sigma.apply(drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nslimb.marginals.NotIdentified)
        found = nslimb.estimate_marginal(weak, sigma)
        given = nslimb.estimate_marginal(weak, sigma, groups=[0, 0, 1])
        assert torch.equal(found.ratios, given.ratios)
        assert found.ratios.shape == (3, 3)
        np.testing.assert_allclose(found.ratios[2], np.bincount(drawn[:, 2]) / 4000, atol=1e-6)  # the value is seen
        assert torch.equal(found.ratios[0], found.ratios[1])
        intervals = nslimb.marginals.bootstrap_marginal(weak, sigma, resamples=5)
        assert intervals.lower.shape == (3, 3)
        assert nslimb.estimate_marginal([0, 1], nslimb.sigma.maximum(2, 2)).ratios.shape == (2,)


def test_confusions_are_within_a_space() -> None:
    """Against brute force: the probability that every i of its own space read as j changes the weak label."""
    sigma = two_kinds()
    found = nslimb.confusions(sigma, RATIOS, samples=1000)
    classes = [("bit", 0), ("bit", 1), ("value", 0), ("value", 1), ("value", 2)]
    assert [f"{space} {label}" for space, label in classes] == list(sigma.by_space().class_names)
    kind = ("bit", "bit", "value")
    for i, (space, label) in enumerate(classes):
        for j, (other, read) in enumerate(classes):
            if space != other:
                continue
            wrong = 0.0
            for y in product(range(2), range(2), range(3)):
                taken = [read if (kind[k], y[k]) == (space, label) else y[k] for k in range(3)]
                wrong += np.prod(RATIOS[range(3), y]) * (sigma.apply([taken]) != sigma.apply([y])).item()
            assert found.evidence[i, j] == pytest.approx(1000 * wrong)
    assert set(found.nearest[:2].tolist()) == {0, 1}
    assert set(found.nearest[2:].tolist()) <= {2, 3, 4}
    np.testing.assert_allclose(found.ratios, [0.2, 1.4 / 3, 0.2 / 3, 0.1, 0.5 / 3])


def test_bounds_are_by_space() -> None:
    """Of a value that is seen as it is, at most R / P(value) may be wrong; a bit may be taken for the other always."""
    sigma = two_kinds()
    bounds = nslimb.class_risk_bounds(sigma, RATIOS, 0.05)
    assert bounds.upper.shape == (5,)
    np.testing.assert_allclose(bounds.upper[2:], [0.25, 0.05 / 0.3, 0.1], atol=1e-4)
    np.testing.assert_allclose(bounds.upper[:2], 1, atol=1e-6)
    with pytest.raises(InvalidInput, match="the same ratios at all positions of space bit"):
        nslimb.class_risk_bounds(sigma, RATIOS[[0, 2, 2]], 0.05)


def test_a_ratio_of_another_spaces_label_does_not_count() -> None:
    """Label 2 is none of a bit's: what is left of its row is scaled to sum to 1, and so is every row of ratios [c]."""
    _, table = told_apart(two_kinds(), np.array([[0.2, 0.6, 0.2], [0.25, 0.75, 0], [0.2, 0.3, 0.5]]))
    np.testing.assert_allclose(table, [[0.25, 0.75, 0, 0, 0], [0.25, 0.75, 0, 0, 0], [0, 0, 0.2, 0.3, 0.5]])
    _, table = told_apart(two_kinds(), [0.2, 0.3, 0.5])
    np.testing.assert_allclose(table, [[0.4, 0.6, 0, 0, 0], [0.4, 0.6, 0, 0, 0], [0, 0, 0.2, 0.3, 0.5]])
    _, again = told_apart(two_kinds(), table)  # over the classes of all spaces already
    np.testing.assert_allclose(again, table)
    with pytest.raises(InvalidInput, match="a ratio above 0 for some label of space bit"):
        told_apart(two_kinds(), [0, 0, 1])


def test_what_ratios_can_be_told_is_asked_by_space() -> None:
    """No weak label says how many positions are of which space, and nobody asks."""
    found = nslimb.identifiability(two_kinds(), RATIOS)
    assert len(found.singular_values) == 3
    assert found.locally_identifiable
    assert found.twin is not None  # the two bits are told apart by nothing
    np.testing.assert_allclose(found.twin[[1, 0, 2, 3, 4]], [0.2, 1.4 / 3, 0.2 / 3, 0.1, 0.5 / 3], atol=1e-6)
    seen = Sigma.from_function(lambda y: y, num_classes=3, arity=2).with_spaces({"a": [0], "b": [1]})
    alone = nslimb.identifiability(seen)
    assert (alone.rank, alone.twin) == (4, None)


def test_a_diagnosis_is_by_space() -> None:
    found = nslimb.diagnose(bdd())
    assert found.classes == bdd().by_space().class_names
    assert any("8 ways to read the classes" in sentence for sentence in found.summary)
    assert found.shortcuts is not None
    assert found.as_dict()["shortcuts"]["worst"]["follow 1"] == "follow 0"
    listed = nslimb.diagnose(two_kinds(), support=[(0, 1, 2), (1, 0, 0)])
    assert listed.shortcuts is not None
    assert listed.classes[listed.shortcuts.ratios.argmax()].startswith("bit")
    with pytest.raises(InvalidInput, match="labels of each position's own space"):
        nslimb.diagnose(two_kinds(), support=[(2, 1, 2), (1, 0, 0)])


def test_spaces_have_class_names_of_their_own() -> None:
    """Those that were told by position, or those that are given; without any, those of the classes."""
    classes = [("green", "red"), ("none", "car", "person"), ("green", "red")]
    sigma = Sigma.from_expression(lambda y: (y[0] == "green") & (y[2] == "green") & (y[1] == "none"), classes)
    lights = sigma.with_spaces({"light": [0, 2], "thing": [1]})
    assert [space.class_names for space in lights.spaces] == [("green", "red"), ("none", "car", "person")]
    told = ("light green", "light red", "thing none", "thing car", "thing person")
    assert lights.by_space().class_names == told
    assert lights.by_space().spaces[1].class_names == told[2:]
    assert nslimb.shortcuts(lights).count > 1
    assert nslimb.diagnose(lights).classes == told
    mixed = sigma.with_spaces({"a": [0, 1], "b": [2]})
    assert [space.class_names for space in mixed.spaces] == [("0", "1", "2"), ("green", "red")]
    given = two_kinds().with_spaces({"bit": [0, 1], "value": [2]}, {"bit": {0: "off", 1: "on"}})
    assert given.by_space().class_names == ("bit off", "bit on", "value 0", "value 1", "value 2")
    for names in ({0: "off", 1: "off"}, {0: "off", 1: 3}):
        with pytest.raises(InvalidInput, match="2 distinct names"):
            two_kinds().with_spaces({"bit": [0, 1], "value": [2]}, {"bit": names})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="1 is not among them"):
        two_kinds().with_spaces({"bit": [0, 1], "value": [2]}, {"bit": {0: "off"}})


def test_a_logic_programs_names_by_position_are_kept() -> None:
    pytest.importorskip("clingo")
    path = Path(__file__).resolve().parents[2] / "examples" / "logic" / "traffic.lp"
    classes = [("green", "red", "off"), ("nothing", "person", "car"), ("sign", "none")]
    sigma = Sigma.from_asp(path, classes).with_spaces({"light": [0], "thing": [1], "sign": [2]})
    assert sigma.by_space().class_names[:4] == ("light green", "light red", "light off", "thing nothing")
    assert sigma.by_space().class_names[-1] == "sign none"


def test_names_of_spaces_follow_those_of_the_classes() -> None:
    from nslimb.sigma.resolve import resolve_sigma

    made = resolve_sigma("hwf", 3)
    assert made.spaces[1].class_names == ("+", "-", "*")
    plain = two_kinds()
    plain.class_names = ("a", "b", "c")
    assert [space.class_names for space in plain.spaces] == [("a", "b"), ("a", "b", "c")]
