"""Recall of gold arcs by relation and by distance of the head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import NamedTuple

from treebank.core.sentence import ROOT
from treebank.evaluate.align import HeadView, ReducedHeads
from treebank.evaluate.labels import LabelCounts, LabelScores

FAR = 5  # words between dependent and head; longer arcs are grouped
ROOT_WORD = "root"


class GoldArc(NamedTuple):
    """A counted word with its gold head, and whether a system found the arc.

    ``relation`` is the relation without its subtype, "" if gold has none. ``distance`` is the number of words from the
    dependent to its head, such as "-1" for the word before it, or "root". ``directed`` is true if the predicted head is
    correct, ``undirected`` if the arc was predicted in either direction. ``predicted`` is the predicted relation, "" if
    there is none.
    """

    relation: str
    predicted: str
    distance: str
    directed: bool
    undirected: bool


def gold_arcs(reduced: ReducedHeads, view: HeadView) -> list[GoldArc]:
    """The arcs of all counted words, including those of roots."""
    relations, predicted = view.sentence.relations, reduced.heads
    names = reduced.relations or [""] * len(view.counted)
    arcs = []
    for word, i, name in zip(compress(range(len(view.mask)), view.mask), view.counted, names, strict=True):
        head = view.heads[i]
        relation = relations[word].partition(":")[0] if relations else ""
        if head == ROOT:
            correct = predicted[i] in (ROOT, i)
            arcs.append(GoldArc(relation, name, ROOT_WORD, correct, correct))
        else:
            correct = predicted[i] == head
            arcs.append(GoldArc(relation, name, _distance(head - i), correct, correct or predicted[head] == i))
    return arcs


def _distance(words: int) -> str:
    if abs(words) < FAR:
        return f"{words:+}"
    return f"+{FAR} or more" if words > 0 else f"-{FAR} or more"


def recall_by_relation(arcs: Iterable[GoldArc], metric: str) -> Mapping[str, tuple[int, int]] | None:
    """For each gold relation, the number of predicted arcs and their total, or None if gold has no relations.

    ``metric`` chooses the correct direction (UAS) or either direction (UUAS). Frequent relations come first.
    """
    recall = _recall(((arc.relation, arc) for arc in arcs if arc.relation), metric)
    return dict(sorted(recall.items(), key=lambda item: (-item[1][1], item[0]))) or None


def recall_by_distance(arcs: Iterable[GoldArc], metric: str) -> Mapping[str, tuple[int, int]]:
    """For each distance from word to head, the number of predicted arcs and their total: roots, then heads before."""
    recall = _recall(((arc.distance, arc) for arc in arcs), metric)
    order = [ROOT_WORD, *(_distance(words) for words in range(-FAR, FAR + 1) if words)]
    return {distance: recall[distance] for distance in order if distance in recall}


def relation_scores(arcs: Iterable[GoldArc]) -> LabelScores | None:
    """Scores of the predicted relations of correct arcs between words, or None without predicted or gold relations."""
    counts = LabelCounts()
    for arc in arcs:
        if arc.relation and arc.distance != ROOT_WORD:
            counts.add_arc(arc.relation, arc.predicted.partition(":")[0], arc.directed)
    return counts.scores()


def _recall(arcs: Iterable[tuple[str, GoldArc]], metric: str) -> dict[str, tuple[int, int]]:
    hits, totals = Counter[str](), Counter[str]()
    for key, arc in arcs:
        totals[key] += 1
        hits[key] += arc.directed if metric == "UAS" else arc.undirected
    return {key: (hits[key], totals[key]) for key in totals}
