"""Weights by weak label, noise rates, and the loss that knows the prior, each against its definition written out."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import nslimb
from nslimb.data import Samples
from nslimb.errors import InvalidInput
from nslimb.learning import Batch, dual, make_method
from nslimb.learning.methods import method_class
from nslimb.learning.methods.sot import NotConverged, pools
from nslimb.learning.noise import estimate_noise
from nslimb.learning.weights import CAP, weak_weights
from nslimb.networks import build

SIGMA = nslimb.sigma.maximum(2, num_classes=4)


def samples(weak: Any) -> Samples:
    rows = np.zeros((len(weak), 2), dtype=np.int64)
    return Samples(
        train=rows, train_weak=np.asarray(weak), validation=rows, validation_weak=np.asarray(weak), test=rows[0]
    )


def batch(number: int = 6, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(number, 2, 4, generator=generator, requires_grad=True)
    weak = torch.randint(4, (number,), generator=generator)
    return Batch(logits, torch.zeros(number, 2, 1), weak, torch.arange(number), torch.nn.Identity())


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.floats(0, 2), st.floats(0, 0.9))
def test_weights_are_powers_of_the_frequency(weak: list[int], gamma: float, noise: float) -> None:
    share = {label: weak.count(label) / len(weak) for label in weak}
    raw = np.array([share[label] ** -gamma * max(0.0, 1 - noise / (4 * share[label])) for label in weak])
    if raw.sum() == 0:
        return
    found = weak_weights(weak, gamma, noise, 4)
    np.testing.assert_allclose(found, np.minimum(raw / raw.mean(), CAP), rtol=1e-12)


def test_sequences_are_weighed_as_a_whole() -> None:
    found = weak_weights([[0, 1], [0, 1], [1, 0]], gamma=1.0)
    np.testing.assert_allclose(found, [0.75, 0.75, 1.5])


def test_sets_are_weighed_by_their_own_frequency() -> None:
    sets = np.array([[True, True, False], [True, True, False], [False, True, True]])
    np.testing.assert_allclose(weak_weights(sets, gamma=1.0), [0.75, 0.75, 1.5])
    np.testing.assert_allclose(weak_weights(np.eye(4, dtype=bool) | [True, False, False, False], gamma=1.0), 1)


def test_a_weight_is_capped() -> None:
    assert weak_weights([0] * 9999 + [1], gamma=1.0).max() == CAP


WEIGHED = ["sl", "sl-decay", "sl-balanced", "sl-prior", "recipe", "records", "transport", "transport-named"]
WEIGHED += [f"{kind}-{origin}" for kind in ("ilp", "sot") for origin in ("emp", "alg1", "gold")]


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_multiply_the_losses_of_their_samples(name: str) -> None:
    drawn = replace_features(batch())
    known = {"estimated_ratios": RATIOS, "given_ratios": RATIOS, "gold_ratios": RATIOS}
    at_once = {"gamma_after": 0} if name == "recipe" else {}
    plain, balanced = (make_method(name, SIGMA, gamma=gamma, **at_once, **known) for gamma in (0.0, 0.5))
    for method in (plain, balanced):
        method.begin(samples(drawn.weak.numpy()))
    weights = torch.from_numpy(weak_weights(drawn.weak.numpy(), 0.5)).float()
    assert weights.min() < weights.max()
    torch.testing.assert_close(balanced.loss(drawn), weights * plain.loss(drawn))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.7])
def test_the_noise_rate_mixes_the_likelihood_with_a_uniform_one(noise: float) -> None:
    scores, weak = batch().logits.log_softmax(-1), batch().weak
    chance = SIGMA.log_prob(scores).exp().gather(1, weak.unsqueeze(1))[:, 0]
    found = nslimb.semantic_loss(scores, weak, SIGMA, noise=noise)
    torch.testing.assert_close(found, -((1 - noise) * chance + noise / 4).log())


@given(
    st.lists(st.floats(-40, 0), min_size=1, max_size=60),
    st.integers(2, 50),
)
def test_the_estimated_noise_rate_is_the_most_likely_one(log_likelihoods: list[float], num_weak: int) -> None:
    found = estimate_noise(torch.tensor(log_likelihoods, dtype=torch.float64), num_weak)
    chance = np.exp(log_likelihoods)

    def value(share: float) -> float:
        return float(np.log((1 - share) * chance + share / num_weak).sum())

    best = minimize_scalar(lambda share: -value(share), bounds=(0, 0.5), method="bounded", options={"xatol": 1e-9})
    assert 0 <= found.rate <= 0.5
    assert value(found.rate) >= max(-best.fun, value(0.0)) - 0.05  # in nats; the gate is 10
    assert found.gain == pytest.approx(value(found.rate) - value(0.0), abs=1e-6)


@pytest.mark.parametrize("given", [torch.zeros(0), torch.zeros(2, 2)])
def test_no_samples_tell_no_noise(given: torch.Tensor) -> None:
    with pytest.raises(InvalidInput, match="log_likelihoods"):
        estimate_noise(given, 4)


def trained_on(method: Any, drawn: Batch, epochs: int) -> None:
    for epoch in range(epochs):
        method.loss(drawn)
        method.end_epoch(epoch, lambda _: None)


def confident(number: int, wrong: int) -> Batch:
    """Samples whose labels a network is sure of, the first few with a weak label that contradicts it."""
    labels = torch.randint(4, (number, 2), generator=torch.Generator().manual_seed(3))
    weak = SIGMA.apply(labels)
    weak[:wrong] = (weak[:wrong] + 1) % 4
    return batch(number)._replace(logits=12 * torch.nn.functional.one_hot(labels, 4).float(), weak=weak)


def test_a_method_that_estimates_its_noise_takes_it_up_and_stores_it() -> None:
    drawn = confident(200, wrong=20)
    method = make_method("sl-balanced", SIGMA, noise="auto")
    method.begin(samples(drawn.weak.numpy()))
    trained_on(method, drawn, 2)
    assert method.noise == 0.0  # too early
    clean = method.loss(drawn)
    trained_on(method, drawn, 3)
    expected = estimate_noise(SIGMA.log_likelihood(drawn.logits.log_softmax(-1), drawn.weak), 4).rate
    assert method.noise == pytest.approx(expected, abs=1e-6)
    assert 0.1 < method.noise < 0.2  # a wrong label is another one: 4 / 3 of a tenth
    assert method.loss(drawn)[:20].sum() < clean[:20].sum()
    other = make_method("sl-balanced", SIGMA, noise="auto")
    other.begin(samples(drawn.weak.numpy()))
    other.load_state_dict(method.state_dict())
    torch.testing.assert_close(other.loss(drawn), method.loss(drawn))


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_few_surprises_are_no_noise(wrong: int) -> None:
    drawn = confident(200, wrong)
    drawn = drawn._replace(logits=drawn.logits / 2)
    method = make_method("sl", SIGMA, noise="auto")
    method.begin(samples(drawn.weak.numpy()))
    trained_on(method, drawn, 4)
    assert method.noise == 0.0


def test_sequences_and_families_have_no_noise_to_estimate() -> None:
    sigma = nslimb.sigma.addition(1)
    method = make_method("recipe", sigma, estimated_ratios=[0.1] * 10)
    weak = sigma.apply(np.zeros((4, 2), dtype=np.int64))
    method.begin(samples(weak))
    assert method.likelihoods is None
    assert method.noise == 0.0


def test_pseudolabels_cannot_tell_their_noise() -> None:
    with pytest.raises(InvalidInput, match="noise"):
        make_method("ilp-alg1", SIGMA, noise="auto")


def test_the_recipe_weighs_late() -> None:
    drawn = batch()
    recipe = make_method("recipe", SIGMA, noise=0.0, gamma_after=2, estimated_ratios=RATIOS)
    plain, balanced = make_method("sl", SIGMA), make_method("sl-balanced", SIGMA)
    for method in (recipe, plain, balanced):
        method.begin(samples(drawn.weak.numpy()))
    torch.testing.assert_close(recipe.loss(drawn), plain.loss(drawn))
    trained_on(recipe, drawn, 2)
    torch.testing.assert_close(recipe.loss(drawn), balanced.loss(drawn))


@pytest.mark.parametrize(("name", "begun"), [("recipe", 0.7), ("sl-decay", 0.5)])
def test_some_methods_take_ever_smaller_steps_in_the_end(name: str, begun: float) -> None:
    method, plain = make_method(name, SIGMA), make_method("sl", SIGMA)
    shares = (0.0, begun, begun + 0.5 * (1 - begun), begun + 0.9 * (1 - begun))
    assert [method.pace(done) for done in shares] == pytest.approx([1.0, 1.0, 0.5, 0.1])
    constant = make_method(name, SIGMA, decay_after=1.0)
    assert {method.pace(done) for method in (plain, constant) for done in (0.0, 0.5, 0.99, 1.0)} == {1.0}
    with pytest.raises(InvalidInput, match="decay_after"):
        make_method(name, SIGMA, decay_after=1.5)


def test_supervised_decay_is_supervised_with_the_steps_of_sl_decay() -> None:
    drawn, gold = batch(), np.zeros((len(batch().weak), SIGMA.arity), dtype=np.int64)
    found, plain = (make_method(name, SIGMA, gold_labels=gold) for name in ("supervised-decay", "supervised"))
    assert found.oracle
    torch.testing.assert_close(found.loss(drawn), plain.loss(drawn))
    shares = [0.0, 0.4, 0.6, 0.9]
    assert [found.pace(done) for done in shares] == [make_method("sl-decay", SIGMA).pace(done) for done in shares]
    assert {plain.pace(done) for done in shares} == {1.0}


def test_a_handful_of_wrong_labels_makes_no_class_for_the_recipe() -> None:
    weak = np.array([3] * 995 + [0] * 5)  # four zeros in 1,000 pairs would make zeros 7 % of all labels
    trusting, wary = (make_method("recipe", SIGMA, noise=noise) for noise in (0.0, "auto"))
    for method in (trusting, wary):
        method.begin(samples(weak))
    assert wary.ratios[0] < trusting.ratios[0]


@pytest.mark.parametrize("name", ["sl-prior", "recipe", "ilp-alg1", "sot-alg1", "transport"])
def test_the_grids_ratios_are_not_asked_for_where_wrong_labels_are_allowed_for(name: str) -> None:
    """They take all labels to be right; the method's own estimate has its noise rate."""
    made, drawn = method_class(name), samples(np.repeat([0, 1, 2, 3], [10, 30, 60, 100]))
    for noise in (0.0, 0.05):
        asked = made.asks(made.Settings(noise=noise), SIGMA, drawn)
        assert ("estimated_ratios" in asked) == (noise == 0)
        assert ("given_ratios" in asked) == (name == "transport")
        method = make_method(name, SIGMA, noise=noise, **({"ratios": "estimated"} if name == "transport" else {}))
        method.begin(drawn)
        expected = nslimb.estimate_marginal(drawn.train_weak, SIGMA, regularise="entropy", noise=noise).ratios
        torch.testing.assert_close(method.ratios, expected)


RATIOS = [0.1, 0.2, 0.3, 0.4]


def test_the_last_bias_starts_at_the_log_ratios() -> None:
    method = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS)
    network = build("lenet", 4, seed=1)
    method.begin_network(network)
    expected = torch.tensor(RATIOS).add(1e-4).log()
    torch.testing.assert_close(network.last_layer.bias.detach(), expected - expected.mean())
    assert network.last_layer.out_features == 4


def test_the_mean_prediction_must_explain_the_weak_labels() -> None:
    method = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS, psi=2.0)
    plain = make_method("sl", SIGMA)
    weak = np.array([0, 1, 1, 3, 3, 3])
    for each in (method, plain):
        each.begin(samples(weak))
    method.epochs_done = 3
    mean = torch.tensor(RATIOS)
    shares = torch.tensor([1, 2, 0, 3]) / 6
    for seed in (0, 1):
        drawn = batch(seed=seed)
        newest = drawn.logits.softmax(-1).mean(dim=(0, 1))
        mean = 0.9 * mean.detach() + 0.1 * newest
        # P(max of two = s) = F(s)^2 - F(s - 1)^2
        cumulated = torch.cat([torch.zeros(1), mean.cumsum(0)]) ** 2
        term = -(shares * (cumulated[1:] - cumulated[:-1]).log()).sum()
        found = method.loss(drawn)
        torch.testing.assert_close(found, plain.loss(drawn) + 2 * term)
        (ours,) = torch.autograd.grad(found.sum(), drawn.logits, retain_graph=True)
        (expected,) = torch.autograd.grad((plain.loss(drawn) + 2 * term).sum(), drawn.logits)
        torch.testing.assert_close(ours, expected)


def test_the_term_on_the_mean_allows_for_wrong_labels() -> None:
    """(1 - e) Psi_s + e / S in place of Psi_s."""
    weak, drawn = np.array([0, 1, 1, 3, 3, 3]), batch()
    method = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS, psi_after=0, noise=0.3)
    method.begin(samples(weak))
    mean = 0.9 * torch.tensor(RATIOS) + 0.1 * drawn.logits.softmax(-1).mean(dim=(0, 1))
    cumulated = torch.cat([torch.zeros(1), mean.cumsum(0)]) ** 2
    shares = torch.tensor([1, 2, 0, 3]) / 6
    term = -(shares * (0.7 * (cumulated[1:] - cumulated[:-1]) + 0.3 / 4).log()).sum()
    torch.testing.assert_close(method.mean_loss(drawn), term)


def test_the_settings_of_the_recipe_are_those_that_were_measured() -> None:
    settings = asdict(method_class("recipe").Settings())
    assert settings == {
        "proofs": None,
        "form": "nll",
        "gamma": 0.5,
        "noise": "auto",
        "bias": True,
        "psi": 0.0,
        "psi_after": 3,
        "decay_after": 0.7,
        "gamma_after": 8,
    }


def test_without_its_bias_the_network_starts_as_it_is() -> None:
    method, network = make_method("sl-prior", SIGMA, bias=False), build("lenet", 4, seed=1)
    method.begin_network(network)
    assert torch.equal(network.last_layer.bias, build("lenet", 4, seed=1).last_layer.bias)


@pytest.mark.parametrize("name", ["sot-alg1", "transport"])
def test_transport_trains_towards_pooled_soft_pseudolabels_with_its_settings(name: str) -> None:
    given = {"given_ratios" if name == "transport" else "estimated_ratios": RATIOS}
    method, drawn = make_method(name, SIGMA, eta=0.7, tau=3.0, **given), batch()
    method.begin(samples(drawn.weak.numpy()))
    log_scores = drawn.logits.log_softmax(-1)
    for pooled in (True, False):
        q = nslimb.soft_pseudolabels(log_scores.detach(), drawn.weak, SIGMA, RATIOS, 0.7, 3.0, pooled).q
        expected = -(q * log_scores).sum(dim=-1).mean(dim=-1)
        assert torch.allclose(method.loss(drawn), expected) == pooled


def test_transport_pools_positions_that_share_a_marginal() -> None:
    """The digits of a formula, and its operators; ratios that differ within a group keep its positions apart."""
    sigma = nslimb.sigma.formula(5)
    digits, operators = np.repeat([0.1, 0.0], [10, 3]), np.repeat([0.0, 1 / 3], [10, 3])
    shared = torch.tensor(np.stack([digits, operators] * 2 + [digits]))
    assert pools(sigma, shared) == [0, 1, 0, 1, 0]
    assert pools(sigma, shared[0]) is True
    own = shared.clone()
    own[2, :2] = torch.tensor([0.15, 0.05])
    assert pools(sigma, own) == [0, 1, 2, 1, 0]
    method = make_method("sot-gold", sigma, gold_ratios=shared.numpy())
    generator = torch.Generator().manual_seed(1)
    least, most = torch.tensor([0, 10] * 2 + [0]), torch.tensor([10, 13] * 2 + [10])
    labels = (least + torch.rand(8, 5, generator=generator) * (most - least)).long()
    scores = torch.randn(8, 5, 13, generator=generator).log_softmax(-1)
    weak = sigma.apply(labels)
    expected = nslimb.soft_pseudolabels(scores, weak, sigma, shared, pooled=[0, 1, 0, 1, 0])
    method.begin(Samples(*([labels.numpy(), weak.numpy()] * 2), test=labels[:, 0].numpy()))
    torch.testing.assert_close(method.targets(scores, weak), expected.q)
    assert not torch.equal(expected.potentials[0], expected.potentials[1])
    assert torch.equal(expected.potentials[0], expected.potentials[2])


def test_the_term_on_the_mean_waits_for_its_epochs() -> None:
    method, plain = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS), make_method("sl", SIGMA)
    drawn = batch()
    for each in (method, plain):
        each.begin(samples(drawn.weak.numpy()))
    assert torch.equal(method.loss(drawn), plain.loss(drawn))


@pytest.mark.parametrize("noise", [0.0, "auto"])
def test_the_recipe_keeps_ratios_that_it_is_given(noise: Any) -> None:
    recipe = make_method("recipe", SIGMA, noise=noise, estimated_ratios=RATIOS)
    recipe.begin(samples([0, 1, 1, 3, 3, 3]))
    torch.testing.assert_close(recipe.ratios, torch.tensor(RATIOS, dtype=torch.float64))
    assert (recipe.likelihoods is None) == (noise == 0.0)


@pytest.mark.parametrize("name", ["sl-prior", "recipe", "ilp-alg1", "sot-alg1", "transport"])
def test_each_data_set_has_ratios_of_its_own(name: str) -> None:
    options = {"ratios": "estimated"} if name == "transport" else {}
    first, second = (samples(np.repeat([0, 1, 2, 3], counts)) for counts in ([10, 30, 60, 100], [100, 60, 30, 10]))
    used, fresh = (make_method(name, SIGMA, **options) for _ in range(2))
    used.begin(first)
    before = used.ratios
    used.begin(second)
    fresh.begin(second)
    assert torch.equal(used.ratios, fresh.ratios)
    assert not torch.allclose(used.ratios, before)
    told = make_method(name, SIGMA, estimated_ratios=RATIOS, **options)
    for each in (first, second):
        told.begin(each)
        torch.testing.assert_close(told.ratios, torch.tensor(RATIOS, dtype=torch.float64))


def test_each_data_set_has_noise_of_its_own() -> None:
    method = make_method("sl", SIGMA, noise="auto")
    method.begin(samples([0, 1, 2, 3]))
    assert method.likelihoods is not None
    method.begin(samples(np.eye(4, dtype=bool)))  # sets, which tell no noise
    assert method.likelihoods is None


@pytest.mark.parametrize("sigma", [SIGMA, nslimb.sigma.formula(3)], ids=repr)
@pytest.mark.parametrize("sets", [False, True])
def test_what_the_mean_is_held_against_is_made_ready_once(
    sigma: nslimb.Sigma, sets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tensor made of host memory would stop a GPU with each batch."""
    number = sigma.num_classes
    logits = torch.randn(6, sigma.arity, number, generator=torch.Generator().manual_seed(0))
    weak = torch.arange(6) % min(4, len(sigma.weak_labels))
    observed = torch.nn.functional.one_hot(weak, len(sigma.weak_labels)).bool() if sets else weak
    drawn = Batch(logits, torch.zeros(6, sigma.arity, 1), observed, torch.arange(6), torch.nn.Identity())
    ratios = np.where(sigma.accepted, 1.0, 0.0) / sigma.accepted.sum(axis=1, keepdims=True)
    method = make_method("sl-prior", sigma, psi_after=0, estimated_ratios=ratios)
    method.begin(replace(samples(observed.numpy()), train=np.zeros((6, sigma.arity), dtype=np.int64)))
    uploaded: list[str] = []
    for name in ("tensor", "from_numpy"):
        made = getattr(torch, name)

        def noted(*given: Any, made: Any = made, name: str = name, **named: Any) -> torch.Tensor:
            if sys._getframe(1).f_globals["__name__"] == "nslimb.learning.methods.prior":
                uploaded.append(name)
            return made(*given, **named)

        monkeypatch.setattr(torch, name, noted)
    assert torch.isfinite(method.mean_loss(drawn))
    assert not uploaded


def test_pseudolabels_that_are_no_solution_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = batch()
    method = make_method("sot-alg1", SIGMA, eta=0.1, estimated_ratios=RATIOS)
    method.begin(samples(drawn.weak.numpy()))
    with monkeypatch.context() as patched:
        method.loss(drawn)
        patched.setattr(dual, "_MAX_STEPS", 1)
        method.loss(drawn)
        method.loss(drawn)
    with pytest.warns(NotConverged, match="2 of the epoch's 3 batches did not converge"):
        method.end_epoch(0, lambda _: None)
    trained_on(method, drawn, 2)  # without a warning, which would be an error here


def test_ratios_are_estimated_where_none_are_given() -> None:
    weak = np.repeat([0, 1, 2, 3], [10, 30, 60, 100])
    for name in ("sl-prior", "ilp-alg1", "recipe"):
        method = make_method(name, SIGMA)
        with pytest.raises(InvalidInput, match="estimated_ratios: expected ratios, or training samples"):
            _ = method.ratios
        method.begin(samples(weak))
        suspected = 0.02 if name == "recipe" else 0.0
        expected = nslimb.estimate_marginal(weak, SIGMA, regularise="entropy", noise=suspected).ratios
        torch.testing.assert_close(method.ratios, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": -1.0}, "gamma: expected a finite number of at least 0, got -1.0"),
        ({"noise": 1.0}, "noise: expected a share from 0 to below 1, or 'auto', got 1.0"),
        ({"noise": -0.1}, "noise: expected"),
        ({"noise": "some"}, "noise: expected"),
        ({"noise": 0.1, "form": "bce"}, "noise: expected 0 with form 'bce'"),
        ({"epsilon": 0.5}, "settings of sl: expected proofs, form, gamma, noise, got 'epsilon'"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_method("sl", SIGMA, **options)


def test_a_network_without_a_bias_cannot_start_at_the_prior() -> None:
    network = build("lenet", 4, seed=1)
    network.head = torch.nn.Linear(256, 4, bias=False)
    with pytest.raises(InvalidInput, match="network: expected a last linear layer with a bias"):
        make_method("sl-prior", SIGMA, estimated_ratios=RATIOS).begin_network(network)


def test_records_that_debias_nowhere_are_plain_sl() -> None:
    drawn = replace_features(batch())
    plain, released = make_method("sl", SIGMA), make_method("records", SIGMA, debias="none")
    for each in (plain, released):
        each.begin(samples(drawn.weak.numpy()))
    assert torch.equal(released.loss(drawn), plain.loss(drawn))
    assert torch.equal(released.debias(drawn.logits, drawn.head), drawn.logits)


def replace_features(drawn: Batch) -> Batch:
    return drawn._replace(features=torch.ones(len(drawn.weak), 2, 3), head=torch.nn.Linear(3, 4))
