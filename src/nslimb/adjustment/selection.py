"""The choice of tau (logit adjustment) and (eta, tau) (CAROT) by weak accuracy: no gold label is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from nslimb.adjustment.carot import carot
from nslimb.adjustment.inputs import check_positive
from nslimb.adjustment.logit import logit_adjustment
from nslimb.checks import check_log_scores, check_ratios, check_weak
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma

Method = Literal["la", "carot"]


class Selection(NamedTuple):
    """The setting chosen on weak validation samples, and how all the others did."""

    method: Literal["none", "la", "carot"]  # "none" where no setting beats the scores as they are
    eta: float | None
    tau: float | None
    accuracy: float  # weak accuracy with the chosen setting
    baseline: float  # weak accuracy without adjustment
    etas: Tensor  # [E] (empty for logit adjustment)
    taus: Tensor  # [T]
    accuracies: Tensor  # weak accuracy of every setting, [T] or [E, T]


def select(
    log_scores: Tensor,
    weak: Any,
    sigma: Sigma,
    ratios: Any,
    method: Method,
    etas: Any = None,
    taus: Any = None,
) -> Selection:
    """Choose the setting with the highest share of samples for which sigma(argmax scores) = s.

    ``log_scores`` [B, M, c] and ``weak`` [B] are validation samples. The default grids are the paper's: 10 values of
    eta and 20 of tau, evenly spaced in logarithm from 1e-5 to 1e4. Ties go to the setting that changes the fewest
    predictions, then to the smaller tau, then to eta closest to 1; leaving the scores alone changes none, so that the
    choice is never below it.
    """
    Sigma.check(sigma)
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    if len(log_scores) == 0:
        raise InvalidInput("log_scores", "at least one validation sample", "none")
    truth = check_weak(weak, len(log_scores), len(sigma.weak_labels), log_scores.device)
    grid_tau = _grid("taus", taus, 20)
    grid_eta = _grid("etas", etas, 10) if method == "carot" else torch.empty(0, dtype=torch.float64)
    if method == "carot":
        shape: tuple[int, ...] = (len(grid_eta), len(grid_tau))
        adjusted = _by_position(
            log_scores, ratios, lambda scores, r: _solved(scores, r, grid_eta.unsqueeze(1), grid_tau)
        )
    elif method == "la":
        shape = (len(grid_tau),)
        adjusted = _by_position(log_scores, ratios, lambda scores, r: logit_adjustment(scores, r, grid_tau))
    else:
        raise InvalidInput("method", "'la' or 'carot'", repr(method))
    plain = log_scores.argmax(dim=-1)
    predicted = adjusted.argmax(dim=-1)  # [settings, B, M]
    right = (sigma.apply(predicted) == truth).sum(dim=1)
    changed = (predicted != plain).sum(dim=(1, 2))
    baseline = int((sigma.apply(plain) == truth).sum())
    accuracies = (right.double() / len(truth)).cpu()
    order = _preference(right.tolist(), changed.tolist(), grid_eta.tolist(), grid_tau.tolist())
    best = order[0]
    if right[best] <= baseline:
        method_chosen: Literal["none", "la", "carot"] = "none"
        eta = tau = None
    else:
        method_chosen = method
        tau = grid_tau[best % len(grid_tau)].item()
        eta = grid_eta[best // len(grid_tau)].item() if method == "carot" else None
    return Selection(
        method=method_chosen,
        eta=eta,
        tau=tau,
        accuracy=max(baseline, int(right[best])) / len(truth),
        baseline=baseline / len(truth),
        etas=grid_eta,
        taus=grid_tau,
        accuracies=accuracies.view(shape),
    )


def adjust(log_scores: Tensor, ratios: Any, selection: Selection) -> Tensor:
    """Apply a selected setting to log-scores [n, M, c] or [n, c], all of them at once: log-scores again."""
    if selection.method == "none":
        return log_scores
    whole = log_scores.unsqueeze(1) if log_scores.dim() == 2 else log_scores
    if selection.method == "la":
        adjusted = _by_position(whole, ratios, lambda scores, r: logit_adjustment(scores, r, [selection.tau]))
    else:
        adjusted = _by_position(
            whole, ratios, lambda scores, r: _solved(scores, r, [selection.eta], selection.tau).log()
        )
    return adjusted[0].view_as(log_scores)


def _solved(scores: Tensor, ratios: Any, etas: Any, taus: Any) -> Tensor:
    """CAROT's scores [settings, n, c]; a setting that was not solved leaves the scores as they are."""
    found = carot(scores, ratios, etas, taus)
    kept = torch.where(found.converged[..., None, None], found.scores, scores.exp())
    return kept.flatten(0, -3)


def _preference(right: list[int], changed: list[int], etas: list[float], taus: list[float]) -> list[int]:
    """Settings from the best to the worst."""

    def key(setting: int) -> tuple[float, ...]:
        eta = etas[setting // len(taus)] if etas else 1.0
        return -right[setting], changed[setting], taus[setting % len(taus)], max(eta, 1 / eta)

    return sorted(range(len(right)), key=key)


def _grid(argument: str, values: Any, number: int) -> Tensor:
    if values is None:
        return torch.logspace(-5, 4, number, dtype=torch.float64)
    grid = check_positive(argument, values)
    if grid.dim() != 1:
        raise InvalidInput(argument, "a sequence of numbers", f"shape {list(grid.shape)}")
    return grid


def _by_position(log_scores: Tensor, ratios: Any, adjustment: Callable[[Tensor, Any], Tensor]) -> Tensor:
    """Adjust [B, M, c] to [settings, B, M, c]: all instances together, or position by position for ratios [M, c]."""
    _, arity, classes = log_scores.shape
    checked = check_ratios(ratios, arity, classes)
    if checked.ndim == 1:
        flat = adjustment(log_scores.reshape(-1, classes), checked)
        return flat.view(len(flat), *log_scores.shape)
    columns = [adjustment(log_scores[:, i].contiguous(), checked[i]) for i in range(arity)]
    return torch.stack(columns, dim=2)
