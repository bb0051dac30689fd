"""Passes over the diagram in torch: one set of integer arrays, several semirings.

All passes run layer by layer with the batch as the last, contiguous axis, so that moving along
edges is a gather of whole rows. A layer with n states and L live labels has the table

    T[state, label, b] = alpha[state, b] + log_scores[b, i, label]

and the next alpha reduces the rows of T that lead to each state. States are grouped by their number
of incoming edges, so that each reduction is a dense one with little padding.

Where edges emit symbols and ``observed`` [places, B] says which were seen, T is -inf on every edge that
emits another one: what follows is the same pass, over the paths that explain the observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from nslimb.sigma.layers import Emission, LayerPlan

_NEG_INF = float("-inf")
_LOG2_E = math.log2(math.e)
_LN_2 = math.log(2)


def _batch_last(log_scores: Tensor) -> Tensor:
    """[B, M, c] -> [M, c, B], contiguous."""
    return log_scores.permute(1, 2, 0).contiguous()


def _table(layer: LayerPlan, alpha: Tensor | None, scores: Tensor, observed: Tensor | None) -> Tensor:
    """T [n * L, B], with a last row of -inf where the layer is padded; alpha None is one state that is certain."""
    live = scores if layer.live == len(scores) else scores.index_select(0, layer.labels)
    emission = None if observed is None else layer.emission
    rows = layer.states * layer.live
    if not layer.padded:
        if alpha is None and emission is None:
            return live
        edges = live.unsqueeze(0).clone() if alpha is None else alpha.unsqueeze(1) + live
        return _emitting(edges, emission, observed).reshape(rows, -1)  # for one sample, a sum may have odd strides
    table = scores.new_empty((rows + 1, scores.shape[-1]))
    edges = table[:rows].view(layer.states, layer.live, -1)
    if alpha is None:
        edges.copy_(live)
    else:
        torch.add(alpha.unsqueeze(1), live, out=edges)
    table[rows].fill_(_NEG_INF)
    _emitting(edges, emission, observed)
    return table


def _emitting(edges: Tensor, emission: Emission | None, observed: Tensor | None) -> Tensor:
    """The same, with -inf in place of the edges [n, L, B] that do not emit what was observed."""
    if emission is not None and observed is not None:
        edges.masked_fill_(emission.differs(observed), _NEG_INF)
    return edges


def _edge_scores(layer: LayerPlan, alpha: Tensor, scores: Tensor, observed: Tensor | None) -> Tensor:
    """T [n * L + 1, ..., B] from alpha [n, ..., B] and scores [c, B]; the last row is -inf."""
    live = scores if layer.live == len(scores) else scores.index_select(0, layer.labels)
    between = (1,) * (alpha.dim() - 2)
    rows = layer.states * layer.live
    table = alpha.new_empty((rows + 1, *alpha.shape[1:]))
    edges = table[:rows].view(layer.states, layer.live, *alpha.shape[1:])
    torch.add(alpha.unsqueeze(1), live.view(layer.live, *between, -1), out=edges)
    if observed is not None and layer.emission is not None:
        edges.masked_fill_(layer.emission.differs(observed).view(layer.states, layer.live, *between, -1), _NEG_INF)
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
    if len(layer.groups) == 1:
        return [rows]
    return list(rows.split([len(group) for group in layer.groups]))


def log_sum(
    log_scores: Tensor, layers: tuple[LayerPlan, ...], observed: Tensor | None = None, roots: Tensor | None = None
) -> Tensor:
    """log P(last state = s), along paths that emit what was ``observed``, for every s: [B, M, c] -> [B, S].

    Paths start in the first layer's only state, or in those that ``roots`` [B] name. Differentiable.
    """
    result: Tensor = _LogSum.apply(log_scores, layers, observed, roots, None)  # type: ignore[no-untyped-call]
    return result


def log_sum_at(
    log_scores: Tensor,
    layers: tuple[LayerPlan, ...],
    last: Tensor,
    observed: Tensor | None = None,
    roots: Tensor | None = None,
) -> Tensor:
    """``log_sum`` at one last state a sample: [B], -inf where that is S, past the last of them.

    Of the last layer, often the widest, it sums no other edges.
    """
    if layers[-1].entrance is None:
        return _at(log_sum(log_scores, layers, observed, roots), last)
    result: Tensor = _LogSum.apply(log_scores, layers, observed, roots, last)  # type: ignore[no-untyped-call]
    return result


def _at(log_probs: Tensor, last: Tensor) -> Tensor:
    """Of log-probabilities [B, S] each sample's own: [B], -inf for S."""
    one_more = torch.nn.functional.pad(log_probs, (0, 1), value=_NEG_INF)
    return one_more.gather(1, last.unsqueeze(1)).squeeze(1)


def _start(scores: Tensor, layers: tuple[LayerPlan, ...], roots: Tensor | None) -> Tensor:
    """log P of the first states [n, B]: each sample begins at its root."""
    if roots is None:
        return scores.new_zeros((1, scores.shape[-1]))
    return scores.new_full((layers[0].states, len(roots)), _NEG_INF).scatter_(0, roots.unsqueeze(0), 0.0)


def log_total(values: Tensor, dim: int) -> Tensor:
    """log-sum-exp along an axis, whose gradient is 0 where all values are -inf."""
    # Not -inf, from which -inf cannot be subtracted.
    peak = values.detach().amax(dim=dim, keepdim=True).clamp_min(torch.finfo(values.dtype).min)
    mass = ((values - peak) * _LOG2_E).exp2().sum(dim=dim)  # exp is slow where it underflows (see _LogSum)
    reached = mass > 0
    return mass.where(reached, 1.0).log().where(reached, _NEG_INF) + peak.squeeze(dim)


def _log_sum_composed(
    log_scores: Tensor, layers: tuple[LayerPlan, ...], observed: Tensor | None, roots: Tensor | None
) -> Tensor:
    """``log_sum`` out of torch's own operations: slower, and differentiable as often as one likes."""
    scores = log_scores.permute(1, 2, 0)
    alpha = _start(scores, layers, roots)
    for layer in layers:
        edges = alpha.unsqueeze(1) + scores[layer.position].index_select(0, layer.labels)
        if observed is not None and layer.emission is not None:
            edges = edges.masked_fill(layer.emission.differs(observed), _NEG_INF)
        table = torch.cat([edges.flatten(0, 1), edges.new_full((1, edges.shape[-1]), _NEG_INF)])
        alpha = _in_state_order(layer, [log_total(_incoming(group, table), dim=1) for group in layer.groups])
    return alpha.t()


def k_best(
    log_scores: Tensor,
    layers: tuple[LayerPlan, ...],
    k: int,
    observed: Tensor | None = None,
    roots: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Log-probabilities [S, k', B] of the k best label vectors of every s, falling, and the pointers to them.

    k' is k, or less where no weak label has k label vectors; what is missing is -inf. Differentiable.
    """
    pointers: list[Tensor] = []
    values: Tensor = _KBest.apply(log_scores, layers, k, observed, roots, pointers)  # type: ignore[no-untyped-call]
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
    def forward(
        ctx: Any,
        log_scores: Tensor,
        layers: tuple[LayerPlan, ...],
        observed: Tensor | None,
        roots: Tensor | None,
        last: Tensor | None,
    ) -> Tensor:
        batch_last = log_scores.permute(1, 2, 0)
        scores = torch.mul(batch_last, _LOG2_E, out=log_scores.new_empty(batch_last.shape))
        lowest = torch.finfo(scores.dtype).min
        alpha = None if roots is None else _start(scores, layers, roots)
        saved = []
        rows = None
        for layer in layers:
            entrance = None if last is None else layer.entrance
            by_symbol = entrance is not None and entrance.symbols is not None
            table = _table(layer, alpha, scores[layer.position], None if by_symbol else observed)
            if layer.one_each:
                alpha = table if layer.in_place else table.index_select(0, layer.groups[0].view(-1))
                continue
            if entrance is not None and last is not None:
                rows = entrance.of(last, observed)
            alphas = []
            for incoming in _arriving(layer, table, rows):
                # Not -inf, from which -inf cannot be subtracted.
                peak = incoming.amax(dim=1).clamp_(min=lowest)
                incoming.sub_(peak.unsqueeze(1)).exp2_()
                total = incoming.sum(dim=1)
                alphas.append(total.log2().add_(peak))
                saved += [incoming, total]
            alpha = _in_state_order(layer, alphas) if rows is None else alphas[0]
        assert alpha is not None  # of the last layer, of which there is one at least
        ctx.layers, ctx.shape, ctx.observed, ctx.roots = layers, scores.shape, observed, roots
        ctx.last, ctx.rows = last, rows
        ctx.save_for_backward(log_scores, *saved)
        return alpha.t() * _LN_2 if last is None else alpha[0] * _LN_2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        log_scores, *saved = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient itself is to be differentiated
            composed = _log_sum_composed(log_scores, ctx.layers, ctx.observed, ctx.roots)
            if ctx.last is not None:
                composed = _at(composed, ctx.last)
            return torch.autograd.grad(composed, log_scores, grad, create_graph=True)[0], None, None, None, None
        every_label = all(layer.live == ctx.shape[1] for layer in ctx.layers)
        gradient = grad.new_empty(ctx.shape) if every_label else grad.new_zeros(ctx.shape)
        flow = grad.t() if ctx.last is None else grad.unsqueeze(0)
        layer: LayerPlan
        for layer in reversed(ctx.layers):
            if layer.one_each:  # a state that no path reaches gets no flow from the layer that follows
                by_edge = flow if layer.in_place else flow.index_select(0, layer.cells)
            elif ctx.rows is not None and layer is ctx.layers[-1]:
                by_edge = flow.new_zeros((layer.states * layer.live + 1, flow.shape[-1]))
                by_edge = by_edge.scatter_(0, ctx.rows, _shares(flow, saved))[:-1]
            else:
                parts = [_shares(part, saved) for part in reversed(_in_group_order(layer, flow))]
                by_cell = parts[0] if len(parts) == 1 else torch.cat(parts[::-1])
                by_edge = by_cell.index_select(0, layer.cells)
            by_edge = by_edge.reshape(layer.states, layer.live, -1)
            if layer.live == ctx.shape[1]:
                torch.sum(by_edge, dim=0, out=gradient[layer.position])
            else:
                gradient[layer.position].index_copy_(0, layer.labels, by_edge.sum(dim=0))
            if layer is not ctx.layers[0]:
                flow = by_edge.sum(dim=1)
        return gradient.permute(2, 0, 1), None, None, None, None


def _arriving(layer: LayerPlan, table: Tensor, rows: Tensor | None) -> Iterator[Tensor]:
    """Rows of T that lead to the states of each group, or to the one that ``rows`` [width, B] belong to."""
    if rows is not None:
        yield table.gather(0, rows).unsqueeze(0)
        return
    for group in layer.groups:
        yield _incoming(group, table)


def _shares(flow: Tensor, saved: list[Tensor]) -> Tensor:
    """What flows back to a group of states, shared out among their cells by weight: [cells, B]."""
    total, weight = saved.pop(), saved.pop()
    # The total is at least 1, the peak's own weight, unless no path arrives at all.
    per_weight = flow / total.clamp_min(1.0)
    return (weight * per_weight.unsqueeze(1)).flatten(0, 1)


class _KBest(torch.autograd.Function):
    """Forward in (k-max, +), backward along the pointers.

    Every state keeps its k best prefixes in falling order and, for each, the row of the previous
    table it came from; the pointers serve the search back and the gradient alike.
    """

    @staticmethod
    def forward(
        ctx: Any,
        log_scores: Tensor,
        layers: tuple[LayerPlan, ...],
        k: int,
        observed: Tensor | None,
        roots: Tensor | None,
        pointers: list[Tensor],
    ) -> Tensor:
        scores = _batch_last(log_scores)
        value = _start(scores, layers, roots).unsqueeze(1)
        kept = []
        for layer in layers:
            table = _edge_scores(layer, value, scores[layer.position], observed)
            keep = min(k, value.shape[1] * max(group.shape[1] for group in layer.groups))
            best = [_best_of(_incoming(group, table), group, keep, len(table) - 1) for group in layer.groups]
            kept.append(value.shape[1])
            value = _in_state_order(layer, [values for values, _ in best])
            pointers.append(_in_state_order(layer, [rows for _, rows in best]))
        ctx.layers, ctx.kept, ctx.shape = layers, kept, scores.shape
        ctx.save_for_backward(*pointers)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None, None]:
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
            gradient[layer.position].index_copy_(0, layer.labels, chosen.sum(dim=(0, 2)))
            flow = chosen.sum(dim=1)
        return gradient.permute(2, 0, 1), None, None, None, None, None


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


def trace_back(
    layers: tuple[LayerPlan, ...], pointers: list[Tensor], state: Tensor, rank: Tensor, found: Tensor
) -> Tensor:
    """Follow the pointers to the label vectors [B, k, M]; -1 where not ``found`` [B, k].

    They begin at last states and ranks among the best of these, which broadcast to [B, k].
    """
    batch = torch.arange(len(found), device=found.device).unsqueeze(1)
    labels = {}
    for i in range(len(layers) - 1, -1, -1):
        kept = pointers[i - 1].shape[1] if i else 1
        pointer = pointers[i][state, rank, batch].where(found, 0)
        edge, rank = pointer // kept, pointer % kept
        state = edge // layers[i].live
        labels[layers[i].position] = layers[i].labels[edge % layers[i].live].where(found, -1)
    return torch.stack([labels[position] for position in range(len(layers))], dim=-1)
