"""Semantic loss: how improbable the classifier's scores make the observed weak label."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from nslimb.checks import check_choice, check_log_scores, check_normalised, check_share
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.sets import refuse_sets

Form = Literal["nll", "bce"]
Engine = Literal["native", "scallop"]


def semantic_loss(
    log_scores: Tensor,
    weak: Any,
    sigma: Sigma,
    proofs: int | None = None,
    form: Form = "nll",
    engine: Engine = "native",
    noise: float = 0.0,
) -> Tensor:
    """One loss a sample from log-scores [B, M, c] and weak labels (indices [B], or sequences [B, L]): returns [B].

    With P_s the weighted model count of the pre-images of s under the scores,

    - ``form="nll"``: -log P_s of the observed s;
    - ``form="bce"``: the paper's binary cross-entropy, the mean over all weak labels s' of -log P_s' for
      the observed one and -log(1 - P_s') for the others.

    ``proofs=None`` counts the whole pre-image, exactly; ``proofs=k`` only its k most probable label
    vectors. ``engine="scallop"`` computes P through scallopy instead of the decision diagram. ``noise`` e is the share
    of weak labels taken to be redrawn uniformly from all S of them: P_s becomes (1 - e) P_s + e / S ("nll" only). The
    binary cross-entropy, Scallop and a noise rate need every weak label listed, so that they refuse a transducer, and
    the same ones for every sample, so that they refuse a family. They also refuse weak labels that are sets (bool
    [B, S]: any of these) or log-weights (float [B, S]).

    The scores are log-probabilities, ``logits.log_softmax(-1)``: raw logits are refused, where they can be read without
    a wait (on the CPU).

    Parameters
    ----------
    log_scores
        Log-probabilities [B, M, c], ``logits.log_softmax(-1)``.
    weak
        Weak labels as indices [B] into ``sigma.weak_labels``, or sequences [B, L] for a transducer.
    sigma
        The symbolic component.
    proofs
        None for the whole pre-image, or k.
    form
        ``"nll"`` or ``"bce"``.
    engine
        ``"native"`` or ``"scallop"``.
    noise
        The share of weak labels that are taken to be random.

    Returns
    -------
    Tensor
        One loss a sample, [B].

    Raises
    ------
    InvalidInput
        If shapes do not fit, or the scores are no log-probabilities.
    MissingEngine
        If scallopy is asked for and not installed.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> uniform = torch.full((1, 2, 2), 0.5).log()
    >>> semantic_loss(uniform, [1], sigma).exp().reciprocal()
    tensor([0.7500])
    >>> semantic_loss(uniform, [1], sigma, proofs=2).exp().reciprocal()
    tensor([0.5000])
    """
    check_choice("form", form, get_args(Form))
    allowed = "a share from 0 to below 1, and 0 with form 'bce'"
    if check_share("noise", noise, allowed) and form == "bce":
        raise InvalidInput("noise", allowed, noise)
    Sigma.check(sigma, families=form == "nll" and engine == "native" and not noise)
    if form == "bce" or engine != "native" or noise:
        refuse_sets(weak, len(sigma.weak_labels), "the binary cross-entropy, Scallop and a noise rate")
    if form == "nll" and engine == "native":
        # Positions that a member of a family lacks may have any scores.
        check_log_scores(log_scores, sigma.arity, sigma.num_classes, normalised=not sigma.is_family)
        checked = sigma.check_weak(weak, len(log_scores), log_scores.device)
        observed = -sigma.log_likelihood_at(log_scores, checked, proofs)
        return with_noise(observed, noise, len(sigma.weak_labels)) if noise else observed
    num_weak = len(sigma.weak_labels)
    log_probs = _log_probs(log_scores, sigma, proofs, engine)
    check_normalised(log_scores)
    indices = sigma.check_weak(weak, len(log_probs), log_probs.device).unsqueeze(1)
    observed = -log_probs.gather(1, indices).squeeze(1)
    if form == "nll":
        return with_noise(observed, noise, num_weak) if noise else observed
    others = -log_complement(log_probs).scatter(1, indices, 0.0)
    return (observed + others.sum(dim=1)) / num_weak


def with_noise(observed: Tensor, noise: float, number: int) -> Tensor:
    """-log((1 - e) P + e / S) from -log P."""
    wrong = torch.full_like(observed, math.log(noise / number))
    return -torch.logaddexp(math.log1p(-noise) - observed, wrong)


def _log_probs(log_scores: Tensor, sigma: Sigma, proofs: int | None, engine: str) -> Tensor:
    if engine == "native":
        return sigma.log_prob(log_scores) if proofs is None else sigma.log_mass(log_scores, proofs)
    if engine == "scallop":
        from nslimb.sigma import scallop

        return scallop.log_prob(log_scores, sigma, proofs)
    raise InvalidInput("engine", "'native' or 'scallop'", repr(engine))


def log_complement(log_probs: Tensor) -> Tensor:
    """log(1 - P) from log P, without cancellation; P within rounding of 1 counts as 1 - eps, with gradient 0."""
    capped = log_probs.clamp(max=-torch.finfo(log_probs.dtype).eps)
    # Both branches are finite everywhere, so that the one not taken cannot turn the gradient into NaN.
    near_one = capped > -math.log(2)
    by_expm1 = (-torch.expm1(capped.clamp(min=-1.0))).log()
    by_log1p = torch.log1p(-torch.exp(capped))
    return torch.where(near_one, by_expm1, by_log1p)
