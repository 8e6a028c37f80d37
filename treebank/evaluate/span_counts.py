"""Counts of the brackets that a predicted tree and a gold tree have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from treebank.core.tree import Span
from treebank.evaluate.align import Bracketing
from treebank.evaluate.averaging import Counts
from treebank.evaluate.conventions import BracketRule

GOLD_REPEATS = ("missed", "gold")  # rules by which repeated brackets count in gold trees only


def counted_spans(brackets: Bracketing, rule: BracketRule, *, gold: bool) -> Collection[Span]:
    """The spans that count by a rule: a set, or a list with repeated spans if these may count separately.

    If only the bracket of the root node is dropped, a prediction loses all full-sentence brackets, because unary chains
    over the whole sentence come from deleted words there.
    """
    shortest = 1 if rule.trivial == "keep" else 2
    whole = (0, brackets.length)
    once = rule.repeats == "once" or (rule.repeats in GOLD_REPEATS and not gold)
    drops_whole = rule.root == "drop" or (rule.root == "node" and once and not gold)
    if once and drops_whole:
        return {span for span in brackets.spans if span[1] - span[0] >= shortest and span != whole}
    spans = [span for span in brackets.spans if span[1] - span[0] >= shortest and not (drops_whole and span == whole)]
    if rule.root == "node" and whole in spans:
        spans.remove(whole)
    return set(spans) if once else spans


def count_spans(predicted: Collection[Span], gold: Collection[Span], repeats: str = "once") -> Counts:
    """Numbers of matched, predicted and gold spans of one sentence.

    ``repeats`` is the rule for spans that occur several times, as in unary chains. By default, a span matches as often
    as it occurs on both sides (once, if both sides are sets). The other two are the rules of published programs:

    - "missed": a repeated gold span counts again only if it was not predicted,
    - "gold": a span counts as often as it occurs in ``gold``; a predicted one does, too.
    """
    if repeats in GOLD_REPEATS:
        return expected_counts(gold, dict.fromkeys(predicted, 1), len(predicted), repeats)
    spans, reference = (side if isinstance(side, set) else set(side) for side in (predicted, gold))
    matched = len(spans & reference)
    if len(spans) < len(predicted) and len(reference) < len(gold):
        matched = (Counter(predicted) & Counter(gold)).total()
    return Counts(matched, len(predicted), len(gold))


def expected_counts(
    gold: Collection[Span], chances: Mapping[Span, float], predicted: int, repeats: str = "once"
) -> Counts:
    """The expected counts of one sentence if spans are predicted with ``chances``, ``predicted`` spans in total."""
    if repeats not in GOLD_REPEATS:
        return Counts(sum(chances.values()), predicted, len(gold))
    times = Counter(gold)
    once = sum(chances.get(span, 0) for span in times)
    often = sum(number * chances.get(span, 0) for span, number in times.items())
    if repeats == "missed":
        return Counts(once, predicted, len(gold) - often + once)
    return Counts(often, predicted - once + often, len(gold))
