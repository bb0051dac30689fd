"""The choice of an adjustment's setting by weak labels: no gold label is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from nslimb.adjustment.base import Adjustment, Setting, as_adjustment
from nslimb.adjustment.batches import adjusted
from nslimb.adjustment.inputs import check_positive
from nslimb.checks import check_count, check_float_tensor, check_log_scores
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma

Rule = Literal["least-change", "paper"]
Criterion = Literal["accuracy", "likelihood"]

# Means of the criterion that differ by no more are ties.
_TIE = {"accuracy": 0.0, "likelihood": 1e-6}
# A sample that the scores rule out must not decide alone.
_LOWEST = -1e3
# At most so many numbers, or samples in a pass over sigma's diagram, in memory at a time.
_NUMBERS, _SAMPLES = 2**25, 2**14
CHANCE = 2.5  # standard errors: a gain of no more may be chance, as the best of up to 200 settings is looked at
PAPER_BATCH = 32  # validation samples that the paper adjusts together


class Selection(NamedTuple):
    """The setting chosen on weak validation samples, and how all the others did."""

    method: str  # the adjustment's name; "none" where no setting beats the scores as they are
    setting: dict[str, float]  # empty for "none"
    accuracy: float  # weak accuracy with the chosen setting
    baseline: float  # weak accuracy without adjustment
    settings: list[dict[str, float]]  # all K that were tried
    accuracies: Tensor  # float64 [K], their weak accuracy
    values: Tensor  # float64 [K], what was maximised: the accuracies, or mean log-likelihoods
    adjustment: Adjustment  # what ``adjust`` applies


class _Outcome(NamedTuple):
    """How K settings do on the validation samples, [K] each."""

    right: Tensor  # samples whose weak label comes out
    changed: Tensor  # predictions that are not what they were
    value: Tensor  # float64, the criterion
    error: Tensor  # float64, the standard error of its gain over no adjustment, sample by sample

    @staticmethod
    def join(parts: list[_Outcome]) -> _Outcome:
        return _Outcome(*(torch.cat(column).cpu() for column in zip(*parts, strict=True)))


def select(
    log_scores: Tensor,
    weak: Any,
    sigma: Sigma,
    ratios: Any,
    adjustment: Any,
    settings: Sequence[Setting] | None = None,
    *,
    rule: Rule = "least-change",
    criterion: Criterion = "accuracy",
    chance: float = CHANCE,
    batch: int | None = None,
    seed: int = 0,
) -> Selection:
    """Choose the setting of an adjustment under which weak samples fare best.

    ``log_scores`` [B, M, c] and ``weak``, [B] or sequences [B, L], are samples with their weak labels. ``adjustment``
    is "la", "carot", one's own as ``path/to/file.py:Class``, or an ``Adjustment``; its grid is the paper's unless
    ``settings`` are given.

    ``rule="least-change"``: the highest ``criterion``, which is the share of samples for which sigma(argmax scores) = s
    ("accuracy") or the mean of log P(sigma(y) = s) under the adjusted scores ("likelihood"). Ties go to the setting
    that changes the fewest predictions, then to the milder one. The scores are left alone unless that gains more than
    ``chance`` standard errors of the difference, sample by sample: the best of many settings is always a little better
    on the samples that chose it.

    ``rule="paper"``: samples are adjusted in batches of ``batch`` (32), shuffled by ``seed``; the first setting of the
    grid with the highest accuracy wins, never "none". CAROT is then the paper's iteration.

    Parameters
    ----------
    log_scores
        Log-probabilities [B, M, c], ``logits.log_softmax(-1)``.
    weak
        Weak labels as indices [B] into ``sigma.weak_labels``, or sequences [B, L] for a transducer.
    sigma
        The symbolic component.
    ratios
        Label ratios [c], or [M, c] where positions differ.
    adjustment
        ``"la"``, ``"carot"``, one's own as ``path/to/file.py:Class``, or an ``Adjustment``.
    settings
        The settings to choose from; by default the adjustment's own grid.
    rule, criterion, chance
        How to choose, see above; ``chance=0`` takes any gain.
    batch, seed
        Of the rule ``"paper"``: size and shuffling of batches.

    Returns
    -------
    Selection
        The ``setting`` (empty where scores are best left alone) and the weak accuracy of every one that was tried.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> from nslimb.sigma import maximum
    >>> scores = torch.tensor([[[0.6, 0.4]], [[0.9, 0.1]]]).log()
    >>> two, tried = maximum(1, num_classes=2), [{"tau": 1.0}, {"tau": 9.0}]
    >>> select(scores, [1, 0], two, [0.75, 0.25], "la", tried, chance=0).setting
    {'tau': 1.0}
    >>> select(scores, [1, 0], two, [0.75, 0.25], "la", tried).method  # one sample more may be chance
    'none'
    """
    Sigma.check(sigma, families=True)
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    if len(log_scores) == 0:
        raise InvalidInput("log_scores", "at least one sample", "none")
    truth = sigma.check_weak(weak, len(log_scores), log_scores.device)
    if sigma.used(truth) is not None:
        raise InvalidInput("sigma", "members of one length, as all positions are adjusted together", repr(sigma))
    check_rule(rule, criterion, "batch", batch)
    check_positive("chance", chance, allow_zero=True)
    chosen = as_adjustment(adjustment)
    if rule == "paper":
        chosen, batch = chosen.in_paper(), PAPER_BATCH if batch is None else batch
    tried = [dict(setting) for setting in _checked(chosen.grid() if settings is None else settings)]
    with torch.no_grad():
        plain = _values(log_scores.unsqueeze(0), truth, sigma, criterion)
        per = max(1, _NUMBERS // log_scores.numel())
        parts = []
        for start in range(0, len(tried), per):
            moved = adjusted(chosen, log_scores, ratios, tried[start : start + per], batch, seed)
            parts.append(_outcome(moved, log_scores, plain, truth, sigma, criterion))
    outcome = _Outcome.join(parts)
    if rule == "paper":
        best: int | None = int(outcome.value.argmax())
    else:
        strengths = [chosen.strength(setting) for setting in tried]
        best = _least_change(outcome, float(plain.mean()), strengths, _TIE[criterion], chance)
    accuracies = outcome.right.double() / len(truth)
    baseline = float(sigma.explains(log_scores.argmax(dim=-1), truth).double().mean())
    return Selection(
        method="none" if best is None else chosen.name,
        setting={} if best is None else tried[best],
        accuracy=baseline if best is None else float(accuracies[best]),
        baseline=baseline,
        settings=tried,
        accuracies=accuracies,
        values=outcome.value,
        adjustment=chosen,
    )


def adjust(log_scores: Tensor, ratios: Any, selection: Selection, *, batch: int | None = None, seed: int = 0) -> Tensor:
    """Apply a selected setting to log-scores [n, M, c] or [n, c]: log-scores again.

    All of them at once, or in batches of ``batch`` that are shuffled by ``seed``, as the paper's protocol has it.

    Parameters
    ----------
    log_scores
        Log-probabilities [n, M, c] or [n, c].
    ratios
        Label ratios [c], or [M, c] where positions differ.
    selection
        What ``select`` chose.
    batch, seed
        Adjust in shuffled batches of this size; by default all together.

    Returns
    -------
    Tensor
        Log-probabilities of the same shape. Instances that are adjusted together influence each other under CAROT.
    """
    expected = "a float32 or float64 tensor of shape [n, c] or [n, M, c], n at least 1"
    check_float_tensor(log_scores, expected)
    if log_scores.dim() not in (2, 3) or log_scores.numel() == 0:
        raise InvalidInput("log_scores", expected, f"shape {list(log_scores.shape)}")
    if selection.method == "none":
        return log_scores
    whole = log_scores.unsqueeze(1) if log_scores.dim() == 2 else log_scores
    moved = adjusted(selection.adjustment, whole, ratios, [selection.setting], batch, seed)
    return moved[0].view_as(log_scores)


def check_rule(rule: Any, criterion: Any, argument: str, batch: Any) -> None:
    """Refuse a rule that there is not, and a criterion or a size of batches that does not go with it."""
    if rule not in ("least-change", "paper"):
        raise InvalidInput("rule", "'least-change' or 'paper'", repr(rule))
    if criterion not in _TIE:
        raise InvalidInput("criterion", "'accuracy' or 'likelihood'", repr(criterion))
    if rule == "paper" and criterion != "accuracy":
        raise InvalidInput("criterion", "'accuracy' with rule='paper'", repr(criterion))
    if rule == "least-change" and batch is not None:
        raise InvalidInput(argument, "none with rule='least-change', which adjusts all together", repr(batch))
    if batch is not None:
        check_count(argument, batch)


def _checked(settings: Any) -> Sequence[Setting]:
    expected = "a list of mappings, one for each setting"
    if not isinstance(settings, Sequence) or isinstance(settings, str) or len(settings) == 0:
        raise InvalidInput("settings", expected, repr(settings))
    for setting in settings:
        if not isinstance(setting, Mapping) or not setting:
            raise InvalidInput("settings", expected, f"one that is {setting!r}")
    return settings


def _outcome(
    moved: Tensor, log_scores: Tensor, plain: Tensor, truth: Tensor, sigma: Sigma, criterion: Criterion
) -> _Outcome:
    """Of adjusted log-scores [K, B, M, c], beside the criterion of each sample without adjustment, [1, B]."""
    predicted = moved.argmax(dim=-1)
    changed = (predicted != log_scores.argmax(dim=-1)).sum(dim=(1, 2))
    values = _values(moved, truth, sigma, criterion)
    error = (values - plain).std(dim=1, correction=0) / len(truth) ** 0.5
    return _Outcome(sigma.explains(predicted, truth).sum(dim=1), changed, values.mean(dim=1), error)


def _values(scores: Tensor, truth: Tensor, sigma: Sigma, criterion: Criterion) -> Tensor:
    """The criterion of each sample under log-scores [K, B, M, c]; float64 [K, B]."""
    if criterion == "accuracy":
        right: Tensor = sigma.explains(scores.argmax(dim=-1), truth)
        return right.double()
    weak = truth.expand(len(scores), *truth.shape).flatten(0, 1)
    likelihoods = [
        sigma.log_likelihood(part.double(), labels)
        for part, labels in zip(scores.flatten(0, 1).split(_SAMPLES), weak.split(_SAMPLES), strict=True)
    ]
    return torch.cat(likelihoods).clamp_min(_LOWEST).view(len(scores), -1)


def _least_change(
    outcome: _Outcome, plain: float, strengths: list[tuple[float, ...]], tie: float, chance: float
) -> int | None:
    """The best setting, the least invasive among ties; None where what it gains over ``plain`` may be chance."""
    enough = float(outcome.value.max()) - tie
    if plain >= enough:
        return None
    tied = [k for k, value in enumerate(outcome.value.tolist()) if value >= enough]
    best = min(tied, key=lambda k: (int(outcome.changed[k]), strengths[k], k))
    return best if float(outcome.value[best]) - plain > chance * float(outcome.error[best]) else None
