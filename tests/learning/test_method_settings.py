"""Settings of methods that nothing can be trained with are refused when they are made, in Python and in a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb.data import draw_samples
from nslimb.errors import InvalidInput
from nslimb.experiment.config import read_config
from nslimb.learning import make_method
from nslimb.learning.weights import MOST_GAMMA, weak_weights

SIGMA = nslimb.sigma.maximum(2)
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "key", "values"),
    [
        ("sl", "proofs", (0, -1, 1.5)),
        ("sl", "form", ("sum", None)),
        ("sl", "gamma", (-1.0, NAN, INF, 1e6, "x", None)),
        ("sl", "noise", (1.0, -0.1, NAN, "x", None)),
        ("sl-decay", "decay_after", (-0.1, 1.5, NAN, "x")),
        ("sl-balanced", "gamma", (MOST_GAMMA + 1,)),
        ("sl-prior", "psi", (-1, NAN, INF, "x")),
        ("sl-prior", "psi_after", (-1, 1.5, None)),
        ("sl-prior", "bias", ("x", 2, None)),
        ("recipe", "gamma_after", (-2, 1.5)),
        ("recipe", "psi", (-1.0,)),
        ("recipe", "decay_after", (2.0,)),
        ("records", "momentum", (1.0, -0.1, NAN, "x")),
        ("records", "debias", ("never",)),
        ("ilp-alg1", "epsilon", (-1, NAN, INF, "x")),
        ("ilp-alg1", "warm_up", (-1, 0.5)),
        ("ilp-alg1", "encoding", ("sat",)),
        ("ilp-alg1", "noise", ("auto",)),
        ("ilp-alg1", "integer", ("x", 2)),
        ("ilp-emp", "pre_epochs", (-1,)),
        ("sot-alg1", "eta", (-1, 0, NAN, INF, "x")),
        ("sot-alg1", "tau", (-1.0, NAN, INF)),
        ("sot-emp", "pre_epochs", (-1,)),
        ("transport", "eta", (0.0,)),
        ("transport", "ratios", ("guessed",)),
        ("transport", "restarts", (-1,)),
        ("transport", "other_taus", ((-1,), (NAN,), 3.0)),
        ("transport", "other_etas", ((0.0,), (0.3, -1.0), None)),
        ("transport-named", "rename_after", ((0,), 10)),
    ],
)
def test_settings_that_cannot_be_trained_with_are_refused(name: str, key: str, values: tuple[Any, ...]) -> None:
    block = {"source": "mnist5k", "network": "lenet", "samples": 20, "M": [2], "ratios": [0.1] * 10}
    for value in values:
        with pytest.raises(InvalidInput, match=rf"^{key}: expected "):
            make_method(name, SIGMA, **{key: value})
        for grid, own in (({name: {key: value}}, name), ({}, {"mine": {"method": name, key: value}})):
            config = {"name": "tiny", "protocol": "exact", "seeds": [1], "methods": grid}
            config["benchmarks"] = {"max": {**block, "methods": [own]}}
            with pytest.raises(InvalidInput, match=rf"methods\.{'mine' if grid == {} else name}\.{key}[.\d\w]*: exp"):
                read_config(config)


def test_what_looks_true_is_not_taken_for_it() -> None:
    uniform = torch.full((1, 2, 10), 0.1).log()
    calls = (
        lambda value: make_method("sl-prior", SIGMA, bias=value),
        lambda value: make_method("ilp-alg1", SIGMA, integer=value),
        lambda value: nslimb.pseudolabels(uniform, [1], SIGMA, [0.1] * 10, integer=value),
    )
    for call in calls:
        for value in ("no", 0):
            with pytest.raises(InvalidInput, match=r"expected True or False, got "):
                call(value)


def test_the_largest_power_has_finite_weights() -> None:
    seen = np.repeat([0, 1], [10**6, 1])
    assert np.isfinite(weak_weights(seen, MOST_GAMMA)).all()


@pytest.mark.parametrize("noise", ["x", None, True, float("nan"), 1.0])
def test_noise_that_is_no_share_is_refused(noise: Any) -> None:
    uniform = torch.full((1, 2, 10), 0.1).log()
    with pytest.raises(InvalidInput, match="noise: expected a share from 0 to below 1"):
        nslimb.semantic_loss(uniform, [1], SIGMA, noise=noise)
    from test_loop import SOURCE

    for key in ("noise", "ambiguity"):
        with pytest.raises(InvalidInput, match=rf"{key}: expected a .* from 0 to below 1"):
            draw_samples(SOURCE, nslimb.sigma.maximum(2, 4), 10, seed=1, validation=4, **{key: noise})
