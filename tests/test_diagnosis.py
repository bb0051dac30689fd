"""The diagnosis against listing all label vectors, and its words."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.diagnosis import examine
from nslimb.errors import InvalidInput, TooLarge


@settings(max_examples=40)
@given(st.data())
def test_against_listing(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = rng.dirichlet(np.full(sigma.num_classes, 3.0)) * 0.99 + 0.01 / sigma.num_classes
    found = nslimb.diagnose(sigma, ratios, samples=500, partial_risks=[0.1])
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    valid = table >= 0
    joint = ratios[vectors].prod(axis=1)
    weak = np.bincount(table[valid], weights=joint[valid], minlength=len(sigma.weak_labels)) / joint[valid].sum()
    np.testing.assert_allclose(found.probabilities, weak, atol=1e-12)
    np.testing.assert_allclose(found.expected, 500 * weak, atol=1e-9)
    assert Counter(table[valid].tolist()) == Counter(dict(enumerate(found.preimage_sizes)))
    for label in range(sigma.num_classes):
        has = (vectors == label).any(axis=1)
        only = (vectors == label).all(axis=1)
        every = range(len(sigma.weak_labels))
        proven = sum(weak[s] for s in every if has[table == s].all())
        alone = sum(weak[s] for s in every if only[table == s].all())
        assert found.proven[label] == pytest.approx(proven, abs=1e-12)
        assert found.alone[label] == pytest.approx(alone, abs=1e-12)
    diagonal = [table[(vectors == label).all(axis=1)][0] for label in range(sigma.num_classes)]
    assert found.m_unambiguous == (min(diagonal) >= 0 and len(set(diagonal)) == sigma.num_classes)
    assert found.bounds is not None
    assert found.bounds.upper.shape == (1, sigma.num_classes)
    json.dumps(found.as_dict())


def test_max_3_in_words() -> None:
    found = nslimb.diagnose(nslimb.sigma.maximum(3))
    assert found.summary[:2] == (
        "of 10 weak labels the rarest, 0, makes up 0.1 % of samples: 3 of 3,000",
        "class 0 is seen alone in 0.1 % of samples (3 of 3,000); the weak label proves it to be there in 0.1 %",
    )
    text = " ".join(found.summary)
    assert "class 1 is never seen alone" in text
    assert "sigma is M-unambiguous" in text
    assert "rank 9 of 9" in text
    assert "with 1 % of weak labels wrong, classes 0, 1 and 2 may still be wrong always, class 9 in up to 4.1 %" in text


def test_the_bounds_are_the_theorys() -> None:
    sigma = nslimb.sigma.maximum(2)
    found = nslimb.diagnose(sigma, partial_risks=[0.01, 0.05])
    expected = nslimb.class_risk_bounds(sigma, np.full(10, 0.1), [0.01, 0.05], certify=False)
    assert found.bounds is not None
    np.testing.assert_array_equal(found.bounds.upper, expected.upper)
    assert any("not proven" in note or "proven where" in note for note in found.notes)
    thorough = nslimb.diagnose(sigma, partial_risks=[0.01], thorough=True)
    assert thorough.bounds is not None
    assert (thorough.bounds.status == "certified").all()
    assert thorough.notes == ()


def test_the_counterexample_has_a_twin() -> None:
    found = nslimb.diagnose(nslimb.sigma.counterexample(), [0.5, 0.5])
    assert found.identifiability is not None
    twin = found.identifiability.twin
    assert twin is not None
    t = np.array([0.5, twin[1]])
    values = t**4 + 6 * t**2 * (1 - t) ** 2 + 4 * t * (1 - t) ** 3
    assert values[0] == pytest.approx(values[1], abs=1e-10)
    assert abs(t[1] - t[0]) > 0.1
    assert "(0.500, 0.500) and (0.695, 0.305) give the same weak labels" in " ".join(found.summary)


def test_classes_that_cannot_be_told_apart_are_named() -> None:
    sigma = Sigma.from_function(lambda y: sum(label >= 1 for label in y), num_classes=3, arity=2)
    text = " ".join(nslimb.diagnose(sigma).summary)
    assert "sigma is not M-unambiguous" in text
    assert "no weak label proves classes 1 and 2 to be there" in text
    assert "the hidden ratios cannot be told from weak labels" in text


def test_large_sigmas_leave_out_what_is_slow_and_say_so() -> None:
    found = nslimb.diagnose(nslimb.sigma.maximum(200))
    assert found.bounds is None
    assert found.identifiability is None
    assert len(found.notes) == 3
    assert found.probabilities.sum() == pytest.approx(1)
    json.dumps(nslimb.diagnose(nslimb.sigma.maximum(5000)).as_dict())  # integers of 5,000 digits


def test_one_label_that_is_seen() -> None:
    found = nslimb.diagnose(Sigma.from_function(lambda y: y[0], num_classes=4, arity=1), partial_risks=[0.1])
    assert found.bounds is not None
    np.testing.assert_allclose(found.bounds.upper, np.full((1, 4), 0.4))
    assert found.notes == ()


def test_what_does_not_fit_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "_MAX_EDGES", 100)
    with pytest.raises(TooLarge, match=r"has 110 edges, more than the 100 that a pass over them may hold in memory"):
        nslimb.diagnose(nslimb.sigma.maximum(2))


def test_passes_are_cut_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nslimb.diagnose(nslimb.sigma.total(3))
    monkeypatch.setattr(examine, "_MAX_CELLS", 1)
    cut = nslimb.diagnose(nslimb.sigma.total(3))
    np.testing.assert_array_equal(whole.proven, cut.proven)
    assert cut.identifiability is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": max}, "sigma"),
        ({"ratios": [0.5, 0.5, 0.0]}, "ratios"),
        ({"ratios": [0.5, 0.5]}, "ratios"),
        ({"samples": 0}, "samples"),
        ({"partial_risks": [1.5]}, "partial_risks"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"sigma": nslimb.sigma.maximum(2, num_classes=3)}
    with pytest.raises(InvalidInput, match=message):
        nslimb.diagnose(**(given | options))  # type: ignore[arg-type]


def test_readings_that_go_unnoticed_are_told() -> None:
    """Balanced MAX-4: only 0.3 of 3,000 samples are all 0."""
    found = nslimb.diagnose(nslimb.sigma.maximum(4))
    assert found.confusions is not None
    np.testing.assert_array_equal(
        found.confusions.evidence, nslimb.confusions(nslimb.sigma.maximum(4), np.full(10, 0.1), 3000).evidence
    )
    assert "reading every 0 as a 1 would go unnoticed: 0.3 of 3,000 samples speak against it" in found.summary
    told = "class 0 is lost that way: without luck at most 90 % of hidden labels can be told right"
    assert told in found.summary
    content = json.loads(json.dumps(found.as_dict()))["confusions"]
    assert content["lost"] == ["0"]
    assert content["goes_to"][:3] == ["1", "1", "2"]
    assert content["groups"][0] == ["1", "0"]
    assert content["ceiling"] == pytest.approx(0.9)
    assert content["evidence"][0][1] == pytest.approx(0.3)


def test_the_least_evidence_is_told_where_no_class_is_lost() -> None:
    text = " ".join(nslimb.diagnose(nslimb.sigma.smallest_parent()).summary)
    assert (
        "the samples tell all classes apart: at least 90 of 3,000 speak against reading a class as another "
        "(reading every airplane as a ship)"
    ) in text
    assert "lost" not in text


def test_many_lost_classes_are_named_together() -> None:
    text = " ".join(nslimb.diagnose(nslimb.sigma.maximum(7), samples=100).summary)
    assert text.count("would go unnoticed") == 3
    assert "reading every 0 as a 1 would go unnoticed: 1e-05 of 100 samples" in text
    assert "classes 0, 1, 2, 3 and 4 are lost that way: without luck at most 50 % of hidden labels" in text


def test_readings_are_left_out_where_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "_QUICK_READINGS", 100)
    found = nslimb.diagnose(nslimb.sigma.maximum(2))
    assert found.confusions is None
    assert found.as_dict()["confusions"] is None
    assert any("readings of one class as another were not examined" in note for note in found.notes)
    assert nslimb.diagnose(nslimb.sigma.maximum(2), thorough=True).confusions is not None


@pytest.mark.parametrize("arity", [1, 2])
def test_a_single_class_has_nothing_to_be_read_as(arity: int) -> None:
    found = nslimb.diagnose(Sigma.from_function(max, num_classes=1, arity=arity))
    assert found.bounds is None
    assert "single class" in " ".join(found.notes)
    assert found.confusions is not None
    assert found.confusions.groups == ((0,),)
    assert found.confusions.ceiling == 1
    assert not any("reading" in sentence for sentence in found.summary)


HALF = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]
EVEN_ODD = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]


def test_ways_to_read_the_classes_of_a_support() -> None:
    found = nslimb.diagnose(nslimb.sigma.total(2), support=HALF)
    told = [sentence for sentence in found.summary if "ways" in sentence]
    assert told[0].startswith("6 ways to read the classes explain every sample; only classes 0 and 1 are safe")
    assert any("only the true one keeps the ratios" in sentence for sentence in found.summary)
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.probabilities[5] == found.probabilities[6] == pytest.approx(2 / 7)
    assert found.bounds is None
    assert found.identifiability is None
    assert found.confusions is None
    assert any("not independent" in note for note in found.notes)
    assert found.ratios.tolist() == pytest.approx([4 / 14, 2 / 14, 4 / 14, 2 / 14, 2 / 14, 0, 0, 0, 0, 0])
    assert found.proven[[0, 2, 4]].tolist() == pytest.approx([3 / 7, 4 / 7, 2 / 7])
    assert found.alone[0] == pytest.approx(1 / 7)
    assert found.as_dict()["shortcuts"]["count"] == 6
    both_ways = EVEN_ODD + [(b, a) for a, b in EVEN_ODD]
    odd = nslimb.diagnose(nslimb.sigma.total(2), support=both_ways).summary
    assert any("36 ways to read the classes explain every sample; no class is safe" in told for told in odd)
    assert any("2 of them keep the ratios" in told for told in odd)


def test_transport_is_recommended_where_the_count_says_that_ratios_help() -> None:
    def advice(sigma: nslimb.Sigma, support: list[tuple[int, ...]]) -> list[str]:
        return [told for told in nslimb.diagnose(sigma, support=support).summary if "transport" in told]

    both_ways = EVEN_ODD + [(b, a) for a, b in EVEN_ODD]
    parity = nslimb.Sigma.from_function(lambda y: sum(y) % 2, num_classes=2, arity=2)
    [cure] = advice(nslimb.sigma.total(2), HALF)
    assert cure.endswith("where you know these, train with them (transport)")
    [twin] = advice(nslimb.sigma.total(2), both_ways)
    assert twin == "2 of them keep the ratios of the classes: training with known ratios (transport) leaves these"
    assert advice(parity, [(0, 0), (0, 1), (1, 0), (1, 1)]) == []  # the swap keeps them: no cure
    assert advice(nslimb.sigma.total(2), [(i, i) for i in range(10)]) == []  # one way alone: nothing to cure


def test_ways_to_read_the_classes_of_many_samples() -> None:
    assert any("11 ways to read the classes" in told for told in nslimb.diagnose(nslimb.sigma.maximum(5)).summary)
    assert any("in the true way alone" in told for told in nslimb.diagnose(nslimb.sigma.total(2)).summary)
    xor = nslimb.Sigma.from_function(lambda y: sum(y) % 2, num_classes=2, arity=4)
    assert any("all of them keep the ratios" in told for told in nslimb.diagnose(xor).summary)
    large = nslimb.diagnose(nslimb.sigma.total(9))
    assert large.shortcuts is None
    assert any("were not counted" in note for note in large.notes)


def test_ratios_that_contradict_the_support_are_refused() -> None:
    with pytest.raises(InvalidInput, match="classes that occur in the support"):
        nslimb.diagnose(nslimb.sigma.total(2), [0.1] * 10, support=HALF)
    with pytest.raises(InvalidInput, match="support: expected label vectors of 2 integers"):
        nslimb.diagnose(nslimb.sigma.total(2), support=[(0, 10)])
