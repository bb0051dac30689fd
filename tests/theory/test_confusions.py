"""Evidence against readings, lost classes and the ceiling, against listing all label vectors."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.data.tails import shares
from nslimb.errors import InvalidInput, TooLarge
from nslimb.theory import Confusions, reading_evidence, readings


def draw_ratios(rng: np.random.Generator, sigma: Sigma, by_position: bool) -> np.ndarray:
    """Some classes rare, and some missing; every position may have ratios of its own."""
    shape = (sigma.arity, sigma.num_classes) if by_position else (sigma.num_classes,)
    ratios = rng.dirichlet(np.full(sigma.num_classes, 0.5), size=shape[:-1]) + 1e-3
    ratios *= (rng.random(shape) < 0.85) | (ratios == ratios.max(axis=-1, keepdims=True))
    return np.asarray(ratios / ratios.sum(axis=-1, keepdims=True))


def listed(sigma: Sigma, ratios: np.ndarray, reading: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(sigma(y) = s) and P(sigma(y) = s, sigma(reading(y)) != s) [S] by calling the function on every label vector."""
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    places = (reading[vectors] * sigma.num_classes ** np.arange(sigma.arity)[::-1]).sum(axis=1)
    by_position = np.broadcast_to(ratios, (sigma.arity, sigma.num_classes))
    joint = by_position[np.arange(sigma.arity), vectors].prod(axis=1)
    whole, wrong = np.zeros(len(sigma.weak_labels)), np.zeros(len(sigma.weak_labels))
    for s in range(len(whole)):
        whole[s] = joint[table == s].sum()
        wrong[s] = joint[(table == s) & (table[places] != s)].sum()
    return whole, wrong


def pair_reading(size: int, i: int, j: int) -> np.ndarray:
    reading = np.arange(size)
    reading[i] = j
    return reading


def check_losses(found: Confusions, ratios: np.ndarray) -> None:
    """The rules of loss in plain Python; where evidence ties, any of the classes will do."""
    size = len(ratios)
    larger = [[j for j in range(size) if (ratios[j], j) > (ratios[i], i)] for i in range(size)]
    lost = [any(found.evidence[i, j] < 1 - 1e-9 for j in larger[i]) for i in range(size)]
    assert found.lost.tolist() == lost
    ends = []
    for i in range(size):
        others = [j for j in range(size) if j != i]
        nearest = int(found.nearest[i])
        if lost[i]:
            assert nearest == found.goes_to[i]
            assert found.goes_to[i] in larger[i]
            assert found.evidence[i, found.goes_to[i]] <= min(found.evidence[i, j] for j in larger[i]) + 1e-9
        else:
            assert found.goes_to[i] == i
            assert nearest in others
            assert found.evidence[i, nearest] <= min(found.evidence[i, others]) * (1 + 2e-9) + 2e-9
        end = i
        while lost[end]:
            end = int(found.goes_to[end])
        ends.append(end)
    kept = [i for i in range(size) if not lost[i]]
    assert found.groups == tuple((k, *(i for i in range(size) if ends[i] == k and i != k)) for k in kept)
    assert found.ceiling == pytest.approx(sum(ratios[k] for k in kept), abs=1e-12)


@settings(max_examples=150)
@given(st.data())
def test_confusions_against_listing(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=4, max_classes=5, max_vectors=260))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = draw_ratios(rng, sigma, by_position=data.draw(st.booleans()))
    size, samples = sigma.num_classes, data.draw(st.sampled_from([1, 30, 3000]))
    whole, _ = listed(sigma, ratios, np.arange(size))
    if whole.sum() == 0:
        with pytest.raises(InvalidInput, match="make every one impossible"):
            nslimb.confusions(sigma, ratios, samples)
        return
    expected, drawn, noisy, to_come = np.zeros((4, size, size))
    weak = rng.choice(len(whole), size=20, p=whole / whole.sum())
    noise, number = data.draw(st.sampled_from([0.05, 0.3, 0.9])), len(whole)
    observed = np.where(rng.random(20) < noise, rng.integers(number, size=20), weak)
    clean = np.array([max(0.0, 1 - noise / (number * (observed == s).mean())) * (whole[s] > 0) for s in observed])
    mixed = (1 - noise) * whole / whole.sum() + noise / number
    kept = mixed * np.maximum(0, 1 - noise / (number * mixed))
    for i in range(size):
        for j in range(size):
            _, wrong = listed(sigma, ratios, pair_reading(size, i, j))
            expected[i, j] = samples * wrong.sum() / whole.sum()
            drawn[i, j] = (wrong[weak] / whole[weak]).sum()
            against = wrong / np.where(whole > 0, whole, 1)
            noisy[i, j] = (clean * against[observed]).sum()
            to_come[i, j] = samples * (kept * against).sum()
    shares = ratios if ratios.ndim == 1 else ratios.mean(axis=0)
    found = nslimb.confusions(sigma, ratios, samples)
    np.testing.assert_allclose(found.evidence, expected, rtol=1e-9, atol=1e-12)
    assert found.samples == samples
    check_losses(found, shares)
    seen = nslimb.confusions(sigma, ratios, weak=weak)
    np.testing.assert_allclose(seen.evidence, drawn, rtol=1e-9, atol=1e-12)
    assert seen.samples == 20
    check_losses(seen, shares)
    some_wrong = nslimb.confusions(sigma, ratios, weak=observed, noise=noise)
    np.testing.assert_allclose(some_wrong.evidence, noisy, rtol=1e-9, atol=1e-12)
    assert some_wrong.samples == 20
    check_losses(some_wrong, shares)
    found = nslimb.confusions(sigma, ratios, samples, noise=noise)
    np.testing.assert_allclose(found.evidence, to_come, rtol=1e-9, atol=1e-12)


@given(st.data())
def test_any_readings_against_listing(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=4, max_classes=5, max_vectors=260))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = rng.dirichlet(np.ones(sigma.num_classes))
    maps = rng.integers(sigma.num_classes, size=(2, 3, sigma.num_classes))
    found = reading_evidence(sigma, ratios, maps, 700)
    assert found.shape == (2, 3)
    for place in np.ndindex(2, 3):
        whole, wrong = listed(sigma, ratios, maps[place])
        assert found[place] == pytest.approx(700 * wrong.sum() / whole.sum(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("arity", [1, 3, 5, 60])
def test_the_closed_form_of_max(arity: int) -> None:
    """Reading all digits up to k as k + 1 shows where all M of them are: m F(k)^M."""
    ratios = np.random.default_rng(arity).dirichlet(np.ones(10))
    every = np.arange(10)
    maps = np.where(every <= every[:9, None], every[:9, None] + 1, every)
    sigma = nslimb.sigma.maximum(arity)
    found = reading_evidence(sigma, ratios, maps, 3000)
    np.testing.assert_allclose(found, 3000 * np.cumsum(ratios)[:9] ** arity, rtol=1e-10)
    assert nslimb.confusions(sigma, ratios).evidence[0, 1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize(
    ("arity", "ceiling", "group"), [(3, 0.938, (4, 0, 1, 2, 3)), (5, 0.835, (6, 0, 1, 2, 3, 4, 5))]
)
def test_the_ceiling_of_long_tails(arity: int, ceiling: float, group: tuple[int, ...]) -> None:
    kept = shares(50, 10, reverse=True)
    found = nslimb.confusions(nslimb.sigma.maximum(arity), kept / kept.sum(), 3000)
    assert found.ceiling == pytest.approx(ceiling, abs=1e-3)
    assert found.groups[0] == group


def test_one_lucky_sample_is_enough() -> None:
    """Balanced MAX-4: of 3,000 samples 0.3 have the maximum 0, and where one is among them no class is lost."""
    sigma, even = nslimb.sigma.maximum(4), np.full(10, 0.1)
    expected = nslimb.confusions(sigma, even, 3000)
    assert expected.evidence[0, 1] == pytest.approx(0.3)
    assert expected.groups[0] == (1, 0)
    without = np.array([9] * 1500 + [8] * 1000 + list(range(1, 8)) * 20)
    assert nslimb.confusions(sigma, even, weak=without).groups[0] == (1, 0)
    assert nslimb.confusions(sigma, even, weak=without).evidence[0, 1] == 0
    assert not nslimb.confusions(sigma, even, weak=[*without, 0]).lost.any()


@pytest.mark.parametrize(("arity", "rho", "off"), [(4, 15, 0.06), (5, 5, 0.1)])
@pytest.mark.parametrize("wrong", [0.01, 0.05])
def test_wrong_labels_are_no_lucky_samples(arity: int, rho: float, off: float, wrong: float) -> None:
    """MAX with wrong labels: without a noise rate the ceiling is near 1, with it near that of the right ones."""
    sigma, kept = nslimb.sigma.maximum(arity), shares(rho, 10, reverse=True)
    ratios, ceilings = kept / kept.sum(), np.zeros((8, 3))
    for seed, row in enumerate(ceilings):
        rng = np.random.default_rng(seed)
        clean = sigma.apply(rng.choice(10, p=ratios, size=(3000, arity)))
        weak = np.where(rng.random(3000) < wrong, (clean + rng.integers(1, 10, size=3000)) % 10, clean)
        told = {"clean": (clean, 0.0), "trusting": (weak, 0.0), "wary": (weak, wrong * 10 / 9)}
        row[:] = [nslimb.confusions(sigma, ratios, weak=labels, noise=e).ceiling for labels, e in told.values()]
    truth, trusting, wary = ceilings.mean(axis=0)
    assert trusting > 0.97 > truth + 0.05
    assert abs(wary - truth) < 0.04
    assert np.abs(ceilings[:, 2] - ceilings[:, 0]).mean() < off


def test_what_the_ratios_make_impossible_is_wrong() -> None:
    sigma, ratios = nslimb.sigma.maximum(2, num_classes=3), [0.0, 0.5, 0.5]
    weak = [0, 0, 1, 1, 1, 2, 2, 2, 2]
    found = nslimb.confusions(sigma, ratios, weak=weak, noise=0.3)
    assert found.evidence[1, 2] == pytest.approx(3 * (1 - 0.3 * 9 / (3 * 3)))


def test_chains_are_followed_to_their_end_and_ties_go_to_the_most_frequent() -> None:
    constant = Sigma.from_function(lambda y: 0, num_classes=4, arity=2)
    found = nslimb.confusions(constant, [0.4, 0.1, 0.4, 0.1])
    assert found.groups == ((2, 0, 1, 3),)
    assert found.goes_to.tolist() == [2, 2, 2, 2]
    assert found.ceiling == pytest.approx(0.4)
    chain = nslimb.confusions(nslimb.sigma.maximum(2, num_classes=4), [0.001, 0.01, 0.1, 0.889], 50)
    assert chain.goes_to.tolist() == [1, 2, 3, 3]
    assert chain.groups == ((3, 0, 1, 2),)


def test_exactly_one_sample_is_enough() -> None:
    sigma, even = nslimb.sigma.maximum(2, num_classes=10), np.full(10, 0.1)
    assert not nslimb.confusions(sigma, even, 100).lost[0]  # 100 * 0.1 ** 2, which rounding may put below 1
    assert nslimb.confusions(sigma, even, 99).lost[0]


def test_a_digit_is_not_read_as_an_operator() -> None:
    """Formulas with ratios by position: a digit in place of an operator has no value, so every use of it speaks up."""
    sigma = nslimb.sigma.formula(3)
    ratios = np.zeros((3, 13))
    ratios[::2, :10], ratios[1, 10:] = 0.1, 1 / 3
    found = nslimb.confusions(sigma, ratios, 3000)
    assert found.evidence[2, 10] == pytest.approx(3000 * (1 - 0.9**2))
    assert found.evidence[10, 2] == pytest.approx(1000)
    np.testing.assert_allclose(found.ratios[[0, 10]], [0.2 / 3, 1 / 9])
    pooled = nslimb.confusions(sigma, np.full(13, 1 / 13), 3000)
    np.testing.assert_allclose(pooled.evidence, found.evidence, rtol=1e-9)


def test_readings_are_cut_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    sigma, ratios = nslimb.sigma.formula(5), np.full(13, 1 / 13)
    whole = nslimb.confusions(sigma, ratios).evidence
    monkeypatch.setattr(readings, "_AT_ONCE", 1)
    np.testing.assert_allclose(nslimb.confusions(sigma, ratios).evidence, whole, rtol=1e-12)


def test_masses_do_not_underflow() -> None:
    """Of a thousand labels all but the first have to be 0: valid vectors have probability 10^-999."""
    sigma = Sigma.from_steps(
        None, lambda state, y: (y,) if state is None else state if y == 0 else None, lambda state: state[0], 10, 1000
    )
    assert nslimb.confusions(sigma, np.full(10, 0.1), 100).evidence[3, 4] == pytest.approx(10)


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge, match=r"more than max_edges=1,000 edges between pairs of states for 100 readings"):
        nslimb.confusions(nslimb.sigma.total(3), np.full(10, 0.1), max_edges=1000)
    monkeypatch.setattr(readings, "_MAX_AT_ONCE", 50)
    with pytest.raises(TooLarge, match="more than 50 edges in one layer"):
        reading_evidence(nslimb.sigma.total(3), np.full(10, 0.1), np.arange(10))
    with pytest.raises(TooLarge, match=r"300 \*\* 2 readings of 300 classes"):
        nslimb.confusions(nslimb.sigma.maximum(1, num_classes=300), np.full(300, 1 / 300))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": max}, "sigma"),
        ({"samples": 0}, "samples: expected an integer of at least 1, got 0"),
        ({"samples": 2.5}, "samples"),
        ({"ratios": [0.5, 0.5]}, r"ratios: expected ratios of at least 0 that sum to 1, shape \[3\] or \[2, 3\]"),
        ({"ratios": [0.5, 0.5, 0.5]}, "ratios"),
        ({"ratios": [[0.5, 0.5, 0.0]] * 3}, "ratios"),
        ({"weak": []}, "weak: expected at least one index"),
        ({"weak": [0, 3]}, r"weak: expected at least one index into sigma.weak_labels \(0 to 2\), shape \[n\], got 3"),
        ({"weak": [-1]}, "weak"),
        ({"weak": [[0, 1]]}, "weak"),
        ({"weak": [0.5]}, "weak"),
        ({"weak": [2, 0], "ratios": [0.0, 0.5, 0.5]}, "weak labels that are possible for the ratios, got 0, which has"),
        ({"max_edges": 0}, "max_edges"),
        ({"noise": 1.0}, "noise: expected the share of weak labels drawn at random, at least 0 and below 1, got 1.0"),
        ({"noise": -0.1}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"noise": True}, "noise"),
        ({"noise": None}, "noise"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"sigma": nslimb.sigma.maximum(2, num_classes=3), "ratios": [0.2, 0.3, 0.5]}
    with pytest.raises(InvalidInput, match=message):
        nslimb.confusions(**(given | options))  # type: ignore[arg-type]


@pytest.mark.parametrize("maps", [[0, 1], [0, 1, 3], [[0, -1, 2]], [0.0, 1.0, 2.0], 1])
def test_bad_readings(maps: object) -> None:
    with pytest.raises(InvalidInput, match=r"maps: expected integers 0 to 2 of shape \[\.\.\., 3\]"):
        reading_evidence(nslimb.sigma.maximum(2, num_classes=3), [0.2, 0.3, 0.5], maps)


def test_no_readings() -> None:
    empty = reading_evidence(nslimb.sigma.maximum(2, num_classes=3), [0.2, 0.3, 0.5], np.zeros((0, 3), dtype=int))
    assert empty.shape == (0,)
