"""Passes over the diagram in torch: one set of integer arrays, several semirings.

All passes run layer by layer with the batch as the last, contiguous axis, so that moving along
edges is a gather of whole rows. A layer with n states and L live labels has the table

    T[state, label, b] = alpha[state, b] + log_scores[b, i, label]

and the next alpha reduces the rows of T that lead to each state. States are grouped by their number
of incoming edges, so that each reduction is a dense one with little padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.sigma.diagram import DEAD, Diagram

_NEG_INF = float("-inf")
_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2)
# Padding rows that cost less than the launch of another group of operations.
_CHEAP_ROWS = 256


@dataclass(frozen=True)
class LayerPlan:
    """One layer as index tensors, with n states, L live labels and ``following`` states after it.

    A *cell* is an entry of the groups, counted through all of them: an incoming edge or padding.
    """

    states: int
    live: int
    labels: Tensor  # [L]
    groups: tuple[Tensor, ...]  # [states, width] each: incoming rows of T, padded with its last row
    order: Tensor | None  # [following], position of each state in the concatenated groups
    cells: Tensor  # [n * L], the cell of each edge; dead edges share a cell of padding


def plan(diagram: Diagram, device: torch.device) -> tuple[LayerPlan, ...]:
    """The index tensors of every layer on ``device``."""
    widths = diagram.widths
    return tuple(
        _plan_layer(targets, following, device) for targets, following in zip(diagram.targets, widths[1:], strict=True)
    )


def _plan_layer(targets: IntArray, following: int, device: torch.device) -> LayerPlan:
    labels = np.flatnonzero((targets != DEAD).any(axis=0))
    flat = targets[:, labels].reshape(-1)
    edges = np.flatnonzero(flat != DEAD)
    edges = edges[np.argsort(flat[edges], kind="stable")]
    degree = np.bincount(flat[edges], minlength=following)
    start = np.cumsum(degree) - degree
    by_degree = np.argsort(degree, kind="stable")
    some_dead = len(edges) < len(flat)
    groups = []
    for members in _split_by_width(by_degree, degree):
        column = np.arange(degree[members[-1]] + some_dead)
        inside = column < degree[members, None]
        slot = np.where(inside, start[members, None] + column, 0)
        groups.append(np.where(inside, edges[slot], len(flat)))
    # Written in cell order: what remains in the row past the edges is some cell of padding.
    all_cells = np.concatenate([group.reshape(-1) for group in groups])
    cells = np.empty(len(flat) + 1, dtype=np.int64)
    cells[all_cells] = np.arange(len(all_cells))
    if some_dead:
        cells[:-1][flat == DEAD] = cells[-1]
    position = np.empty(following, dtype=np.int64)
    position[by_degree] = np.arange(following)
    in_order = bool((position == np.arange(following)).all())
    return LayerPlan(
        states=len(targets),
        live=len(labels),
        labels=torch.from_numpy(labels).to(device),
        groups=tuple(torch.from_numpy(group).to(device) for group in groups),
        order=None if in_order else torch.from_numpy(position).to(device),
        cells=torch.from_numpy(cells[:-1]).to(device),
    )


def _split_by_width(by_degree: IntArray, degree: IntArray) -> list[IntArray]:
    """Cut states, sorted by in-degree, where a narrower group saves more padding than it costs."""
    sorted_degree = degree[by_degree]
    cuts = []
    end = len(by_degree)
    while end > 0:
        width = sorted_degree[end - 1]
        cut = int(np.searchsorted(sorted_degree, width // 2, side="right"))
        saved = int((width - sorted_degree[:cut]).sum())
        if saved <= _CHEAP_ROWS:
            cut = 0
        cuts.append(by_degree[cut:end])
        end = cut
    return cuts[::-1]


def _batch_last(log_scores: Tensor) -> Tensor:
    """[B, M, c] -> [M, c, B], contiguous."""
    return log_scores.permute(1, 2, 0).contiguous()


def _edge_scores(layer: LayerPlan, alpha: Tensor, scores: Tensor) -> Tensor:
    """T [n * L + 1, ..., B] from alpha [n, ..., B] and scores [c, B]; the last row is -inf."""
    live = scores if layer.live == len(scores) else scores.index_select(0, layer.labels)
    between = (1,) * (alpha.dim() - 2)
    rows = layer.states * layer.live
    table = alpha.new_empty((rows + 1, *alpha.shape[1:]))
    edges = table[:rows].view(layer.states, layer.live, *alpha.shape[1:])
    torch.add(alpha.unsqueeze(1), live.view(layer.live, *between, -1), out=edges)
    table[rows].fill_(_NEG_INF)
    return table


def _incoming(group: Tensor, table: Tensor) -> Tensor:
    """Rows of T that lead to each state of the group: [states, width, ...]."""
    return table.index_select(0, group.view(-1)).view(*group.shape, *table.shape[1:])


def _in_state_order(layer: LayerPlan, parts: list[Tensor]) -> Tensor:
    joined = parts[0] if len(parts) == 1 else torch.cat(parts)
    return joined if layer.order is None else joined.index_select(0, layer.order)


def _in_group_order(layer: LayerPlan, rows: Tensor) -> list[Tensor]:
    """The inverse of ``_in_state_order``."""
    if layer.order is not None:
        rows = torch.empty_like(rows).index_copy_(0, layer.order, rows)
    return list(rows.split([len(group) for group in layer.groups]))


def log_sum(log_scores: Tensor, layers: tuple[LayerPlan, ...]) -> Tensor:
    """log P(sigma = s) for every s: [B, M, c] -> [B, S], differentiable."""
    result: Tensor = _LogSum.apply(log_scores, layers)  # type: ignore[no-untyped-call]
    return result


def _log_sum_composed(log_scores: Tensor, layers: tuple[LayerPlan, ...]) -> Tensor:
    """``log_sum`` out of torch's own operations: slower, and differentiable as often as one likes."""
    scores = log_scores.permute(1, 2, 0)
    alpha = scores.new_zeros((1, scores.shape[-1]))
    for i, layer in enumerate(layers):
        edges = (alpha.unsqueeze(1) + scores[i].index_select(0, layer.labels)).flatten(0, 1)
        table = torch.cat([edges, edges.new_full((1, edges.shape[1]), _NEG_INF)])
        alphas = []
        for group in layer.groups:
            incoming = _incoming(group, table)
            peak = incoming.detach().amax(dim=1).clamp_(min=torch.finfo(scores.dtype).min)
            total = (incoming - peak.unsqueeze(1)).exp().sum(dim=1)
            reached = total > 0
            alphas.append(total.where(reached, 1.0).log().where(reached, _NEG_INF) + peak)
        alpha = _in_state_order(layer, alphas)
    return alpha.t()


def k_best(log_scores: Tensor, layers: tuple[LayerPlan, ...], k: int) -> tuple[Tensor, list[Tensor]]:
    """Log-probabilities [S, k', B] of the k best label vectors of every s, falling, and the pointers to them.

    k' is k, or less where no weak label has k label vectors; what is missing is -inf. Differentiable.
    """
    pointers: list[Tensor] = []
    values: Tensor = _KBest.apply(log_scores, layers, k, pointers)  # type: ignore[no-untyped-call]
    return values, pointers


class _LogSum(torch.autograd.Function):
    """Forward in (log-sum-exp, +), backward by the local softmax.

    The derivative of a state's log-sum with respect to an incoming edge is the edge's share of it,
    a number in [0, 1]; products of shares never overflow, and a state that no path reaches
    (log 0) passes on no gradient.

    Logarithms are to base 2 inside: on CPUs torch's exp is up to 80 times slower than its exp2 where it
    underflows, which padding and improbable labels do all the time.
    """

    @staticmethod
    def forward(ctx: Any, log_scores: Tensor, layers: tuple[LayerPlan, ...]) -> Tensor:
        scores = _batch_last(log_scores) * _LOG2_E
        lowest = torch.finfo(scores.dtype).min
        alpha = scores.new_zeros((1, scores.shape[-1]))
        saved = []
        for i, layer in enumerate(layers):
            table = _edge_scores(layer, alpha, scores[i])
            alphas = []
            for group in layer.groups:
                incoming = _incoming(group, table)
                # Not -inf, from which -inf cannot be subtracted.
                peak = incoming.amax(dim=1).clamp_(min=lowest)
                incoming.sub_(peak.unsqueeze(1)).exp2_()
                total = incoming.sum(dim=1)
                alphas.append(total.log2().add_(peak))
                saved += [incoming, total]
            alpha = _in_state_order(layer, alphas)
        ctx.layers, ctx.shape = layers, scores.shape
        ctx.save_for_backward(log_scores, *saved)
        return (alpha * _LN_2).t()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        log_scores, *saved = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient itself is to be differentiated
            composed = _log_sum_composed(log_scores, ctx.layers)
            return torch.autograd.grad(composed, log_scores, grad, create_graph=True)[0], None
        gradient = grad.new_zeros(ctx.shape)
        flow = grad.t()
        for i in range(len(ctx.layers) - 1, -1, -1):
            layer: LayerPlan = ctx.layers[i]
            parts = []
            for part in reversed(_in_group_order(layer, flow)):
                total, weight = saved.pop(), saved.pop()
                # The total is at least 1, the peak's own weight, unless no path arrives at all.
                per_weight = part / total.clamp_min(1.0)
                parts.append((weight * per_weight.unsqueeze(1)).flatten(0, 1))
            by_cell = parts[0] if len(parts) == 1 else torch.cat(parts[::-1])
            by_edge = by_cell.index_select(0, layer.cells).view(layer.states, layer.live, -1)
            gradient[i].index_copy_(0, layer.labels, by_edge.sum(dim=0))
            flow = by_edge.sum(dim=1)
        return gradient.permute(2, 0, 1), None


class _KBest(torch.autograd.Function):
    """Forward in (k-max, +), backward along the pointers.

    Every state keeps its k best prefixes in falling order and, for each, the row of the previous
    table it came from; the pointers serve the search back and the gradient alike.
    """

    @staticmethod
    def forward(ctx: Any, log_scores: Tensor, layers: tuple[LayerPlan, ...], k: int, pointers: list[Tensor]) -> Tensor:
        scores = _batch_last(log_scores)
        value = scores.new_zeros((1, 1, scores.shape[-1]))
        kept = []
        for i, layer in enumerate(layers):
            table = _edge_scores(layer, value, scores[i])
            keep = min(k, value.shape[1] * max(group.shape[1] for group in layer.groups))
            best = [_best_of(_incoming(group, table), group, keep, len(table) - 1) for group in layer.groups]
            kept.append(value.shape[1])
            value = _in_state_order(layer, [values for values, _ in best])
            pointers.append(_in_state_order(layer, [rows for _, rows in best]))
        ctx.layers, ctx.kept, ctx.shape = layers, kept, scores.shape
        ctx.save_for_backward(*pointers)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        gradient = grad.new_zeros(ctx.shape)
        flow = grad
        for i in range(len(ctx.layers) - 1, -1, -1):
            layer: LayerPlan = ctx.layers[i]
            pointer, kept = ctx.saved_tensors[i], ctx.kept[i]
            # Each prefix is chosen by one state at most, so nothing collides but the padding.
            rows = layer.states * layer.live * kept
            chosen = flow.new_zeros((rows + kept, flow.shape[-1]))
            chosen.scatter_(0, pointer.flatten(0, 1), flow.reshape(-1, flow.shape[-1]))
            chosen = chosen[:rows].view(layer.states, layer.live, kept, -1)
            gradient[i].index_copy_(0, layer.labels, chosen.sum(dim=(0, 2)))
            flow = chosen.sum(dim=1)
        return gradient.permute(2, 0, 1), None, None, None


def _best_of(incoming: Tensor, group: Tensor, keep: int, padding: int) -> tuple[Tensor, Tensor]:
    """The ``keep`` best of [states, width, kept, B] and, for each, its row among all prefixes (T row * kept + rank)."""
    states, width, kept, batch = incoming.shape
    candidates = incoming.reshape(states, width * kept, batch)
    found = min(keep, width * kept)
    if found == 1:
        values, choice = candidates.max(dim=1, keepdim=True)
    else:
        values, choice = candidates.topk(found, dim=1)
    prefixes = (group.unsqueeze(2) * kept + torch.arange(kept, device=group.device)).view(states, -1, 1)
    pointer = prefixes.expand(-1, -1, batch).gather(1, choice)
    if found < keep:
        missing = (states, keep - found, batch)
        values = torch.cat([values, values.new_full(missing, _NEG_INF)], dim=1)
        pointer = torch.cat([pointer, pointer.new_full(missing, padding * kept)], dim=1)
    return values, pointer


def trace_back(layers: tuple[LayerPlan, ...], pointers: list[Tensor], weak: Tensor, found: Tensor) -> Tensor:
    """Follow the pointers from the weak labels [B] to the label vectors [B, k, M]; -1 where not ``found`` [B, k]."""
    batch = torch.arange(len(weak), device=weak.device).unsqueeze(1)
    state, rank = weak.unsqueeze(1), torch.arange(found.shape[1], device=weak.device)
    labels = []
    for i in range(len(layers) - 1, -1, -1):
        kept = pointers[i - 1].shape[1] if i else 1
        pointer = pointers[i][state, rank, batch].where(found, 0)
        edge, rank = pointer // kept, pointer % kept
        state = edge // layers[i].live
        labels.append(layers[i].labels[edge % layers[i].live].where(found, -1))
    return torch.stack(labels[::-1], dim=-1)
