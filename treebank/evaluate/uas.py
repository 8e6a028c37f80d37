"""UAS and UUAS: how many words get the right head, and how many arcs are right whichever way they point.

Predicted heads need not form a tree: there may be several roots, none, or cycles. A word that heads itself is a root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads
from treebank.core.head_rules import heads_from_tree
from treebank.core.sentence import ROOT, Treebank
from treebank.evaluate.align import HeadView
from treebank.evaluate.arcs import gold_arcs, recall_by_distance, recall_by_relation
from treebank.evaluate.averaging import by_length
from treebank.evaluate.conventions import AttachmentConvention
from treebank.evaluate.score import Counts, ScoreReport
from treebank.evaluate.statistics import bootstrap_interval
from treebank.evaluate.systems import HeadSystem

if TYPE_CHECKING:
    import numpy as np

DEFAULT_RULES = "collins"  # where there are trees but no heads


def count_directed(predicted: Sequence[int], view: HeadView) -> int:
    """How many of the words that count have the right head; roots of both are right."""
    gold = view.heads
    return sum(predicted[i] == gold[i] or (predicted[i] == i and gold[i] == ROOT) for i in view.counted)


def count_undirected(predicted: Sequence[int], view: HeadView, pairs: Literal["set", "each"]) -> int:
    """How many predicted arcs are gold ones in either direction: different arcs, or one for each word that counts."""
    if pairs == "set":
        return len(_pairs(predicted) & _pairs(view.heads))
    arcs = _pairs(view.heads)
    return sum(_pair(i, predicted[i]) in arcs for i in view.counted)


def _pair(i: int, head: int) -> tuple[int, int]:
    """The arc of word i without its direction; a root's is (i, i)."""
    return (i, i) if head == ROOT else (min(i, head), max(i, head))


def _pairs(heads: Sequence[int]) -> set[tuple[int, int]]:
    return {_pair(i, head) for i, head in enumerate(heads)}


def score_heads(
    gold: Treebank,
    systems: Sequence[HeadSystem],
    conventions: Iterable[AttachmentConvention],
    *,
    max_length: int | None = None,
    rules: str | None = None,
    details: bool = False,
) -> list[ScoreReport]:
    """UAS and UUAS for each convention and system, in the order given, conventions first.

    Gold heads come from the trees of ``gold`` by the head ``rules`` if these are named, or if it has no heads. Of each
    sentence at most ``max_length`` tokens may count. ``details`` adds scores by length, relation and distance.
    Raises SynparseError if no sentence is left.
    """
    data = gold.label
    gold_heads, made_by = _gold_heads(gold, rules)
    reports = []
    for convention in conventions:
        convention = replace(convention.fitted(gold).up_to(max_length), heads=made_by)
        views = [HeadView.of(*pair, convention) for pair in zip(gold.sentences, gold_heads, strict=True)]
        wanted = [len(view) > 0 and convention.includes(len(view)) for view in views]
        if not any(wanted):
            raise SynparseError(f"{data}: no sentence is left to score ({convention})")
        for system in systems:
            reports += score_system(system, views, wanted, convention, data=data, details=details)
    return reports


def score_system(
    system: HeadSystem,
    views: Sequence[HeadView],
    wanted: Sequence[bool],
    convention: AttachmentConvention,
    *,
    data: str,
    details: bool = False,
) -> list[ScoreReport]:
    """UAS and UUAS of one system over the views that are wanted, with intervals.

    ``details`` adds scores by sentence length and the recall of gold arcs by relation and distance.
    """
    given = system.heads(views, wanted)
    places = [i for i, is_wanted in enumerate(wanted) if is_wanted]
    matched = {
        "UAS": [count_directed(given[i], views[i]) for i in places],
        "UUAS": [count_undirected(given[i], views[i], convention.pairs) for i in places],
    }
    arcs = [arc for i in places for arc in gold_arcs(given[i], views[i])] if details else []
    reports = []
    for metric, numbers in matched.items():
        counts = [Counts(right, len(views[i]), len(views[i])) for i, right in zip(places, numbers, strict=True)]
        value = 100 * sum(numbers) / sum(len(views[i]) for i in places)
        low, high = bootstrap_interval(counts, _share)
        report = ScoreReport(
            system=system.name,
            metric=metric,
            convention=convention,
            data=data,
            value=value,
            precision=value,
            recall=value,
            interval=(100 * low, 100 * high),
            counts=counts,
            places=places,
            seed=system.seed,
            model=system.model,
            learned_from=system.learned_from,
            decoded=system.decoded,
        )
        if details:
            report = replace(
                report,
                by_length=by_length(counts, [len(views[i]) for i in places], convention),
                by_relation=recall_by_relation(arcs, metric),
                by_distance=recall_by_distance(arcs, metric),
            )
        reports.append(report)
    return reports


def _share(sums: np.ndarray) -> np.ndarray:
    """What was matched of what counts, for each row of summed counts."""
    return sums[:, 0] / sums[:, 1]


def _gold_heads(gold: Treebank, rules: str | None) -> tuple[list[Heads], str]:
    """The gold heads of each sentence, and the name of the head rules that gave them, "" if they were annotated."""
    lacking = [sentence for sentence in gold.sentences if len(sentence.heads) != len(sentence.words)]
    if rules is None and not lacking:
        return [sentence.heads for sentence in gold.sentences], ""
    bare = [sentence for sentence in lacking if sentence.tree is None]
    if bare:
        raise SynparseError(f"{bare[0].place}: this sentence has neither heads nor a tree to get them from")
    heads = []
    for sentence in gold.sentences:
        if sentence.tree is None:
            lack = "no tree to find heads in by rules" if rules else "heads and no tree, and others the other way round"
            raise SynparseError(f"{sentence.place}: this sentence has {lack}")
        heads.append(heads_from_tree(sentence.tree, rules or DEFAULT_RULES))
    return heads, rules or DEFAULT_RULES
