"""Inside and outside of a simple grammar: the children of a rule are drawn one by one (Liu et al. 2023).

With p(A -> B C) = left[A, B] right[A, C], the inside probabilities of a span are multiplied by both matrices once, by
one product; what remains for each split is a product of S numbers:

    b(i, j) = w(i, j) sum_k l(i, k) * r(k, j)   with   l = left b, r = right b

The outside pass, with a(i, j) the gradient of Z at b(i, j): the gradient at l(i, k) is the sum over j of
a(i, j) * r(k, j), that at r(k, j) the sum over i of a(i, j) * l(i, k), and a = left^T dl + right^T dr. Tables lie
width-first, so that l and r of all spans of a width, and their gradients, are matrices without gaps.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from induce.models.grammars.rule_products import SpanWeights, gradient, product

IN_CACHE = 300_000  # numbers; larger sums over splits are taken split by split


class SimpleChart(NamedTuple):
    """What the outside pass needs of the inside pass."""

    phrases: Tensor  # (S, 2 S): left and right for a child that is a phrase, transposed; or (B, S, 2 S)
    words: Tensor  # (T, 2 S): for a child that is a word; or (B, T, 2 S)
    as_left: Tensor  # (N, N, B, S): width, start
    as_right: Tensor  # (N, N + 1, B, S): N - width, end
    inside: list[Tensor]  # by width: (spans, B, S); the first two are empty


class Outside(NamedTuple):
    """Gradients of Z at inside probabilities, and at both factors of the splits."""

    by_width: list[Tensor]  # (spans, B, S)
    factors: list[Tensor]  # by width: (spans, B, 2 S), of the spans that are children


def inside(
    emissions: Tensor, root: Tensor, left: Tensor, right: Tensor, weights: SpanWeights, *, keep: bool
) -> tuple[Tensor, SimpleChart]:
    """Z (B,) of ``emissions`` (N, B, T), N at least 2, and the chart; ``keep`` makes no difference here."""
    count, batch, _ = emissions.shape
    size = root.shape[-1]
    both = torch.cat([left, right], -2).transpose(-1, -2)  # (..., M, 2 S)
    phrases, words = both[..., :size, :].contiguous(), both[..., size:, :].contiguous()
    as_left = emissions.new_empty(count, count, batch, size)
    as_right = emissions.new_empty(count, count + 1, batch, size)
    charts = [emissions.new_zeros(0), emissions.new_zeros(0)]
    factors = product(emissions, words)
    for width in range(1, count + 1):
        spans = count - width + 1
        if width > 1:
            x = sum_of_products(as_left[1:width, :spans], as_right[count - width + 1 :, width:])
            if weights is not None:
                x *= weights[width]
            charts.append(x)
            if width == count:
                break
            factors = product(x, phrases)
        as_left[width, :spans] = factors[..., :size]
        as_right[count - width, width:] = factors[..., size:]
    return (charts[count][0] * root).sum(-1), SimpleChart(phrases, words, as_left, as_right, charts)


def outside(root: Tensor, d: Tensor, chart: SimpleChart, weights: SpanWeights) -> Outside:
    """Gradients at the inside probabilities before their weights, for ``d`` (B,) at Z."""
    count = len(chart.as_left)
    at_left, at_right = torch.zeros_like(chart.as_left), torch.zeros_like(chart.as_right)
    by_width, factors = [d.new_zeros(0)] * (count + 1), [d.new_zeros(0)] * (count + 1)
    a = (d[:, None] * root)[None]
    for width in range(count, 0, -1):
        spans = count - width + 1
        if width < count:
            factors[width] = torch.cat([at_left[width, :spans], at_right[count - width, width:]], -1)
            if width == 1:
                break
            a = product(factors[width], chart.phrases.transpose(-1, -2))
        if weights is not None:
            a = a * weights[width]
        by_width[width] = a
        here, there = slice(1, width), slice(count - width + 1, count)
        add_products(at_left[here, :spans], a, chart.as_right[there, width:])
        add_products(at_right[there, width:], a, chart.as_left[here, :spans])
    return Outside(by_width, factors)


def sum_of_products(x: Tensor, y: Tensor) -> Tensor:
    """The sum over the first axis of ``x * y``."""
    if x.numel() <= IN_CACHE:
        return (x * y).sum(0)
    total = x[0] * y[0]
    for one, other in zip(x[1:], y[1:], strict=True):
        total.addcmul_(one, other)
    return total


def add_products(total: Tensor, a: Tensor, x: Tensor) -> None:
    """``total += a * x``, where ``a`` has no first axis."""
    if x.numel() <= IN_CACHE:
        total.addcmul_(a[None], x)
        return
    for one, other in zip(total, x, strict=True):
        one.addcmul_(a, other)


def gradients(
    emissions: Tensor, root: Tensor, d: Tensor, chart: SimpleChart, a: Outside
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients at emissions (N, B, T), root, left and right, shaped as they are; ``d`` (B,) is the gradient at Z."""
    count, size, rank = len(emissions), root.shape[-1], chart.words.dim()
    whole = chart.inside[count][0]
    d_root = d @ whole if root.dim() == 1 else d[:, None] * whole
    d_emissions = product(a.factors[1], chart.words.transpose(-1, -2))
    d_words = gradient(emissions, a.factors[1], rank)
    d_phrases = torch.zeros_like(chart.phrases)
    if count > 2:
        d_phrases = gradient(torch.cat(chart.inside[2:count]), torch.cat(a.factors[2:count]), rank)
    d_both = torch.cat([d_phrases, d_words], -2).transpose(-1, -2)
    return d_emissions, d_root, d_both[..., :size, :].contiguous(), d_both[..., size:, :].contiguous()
