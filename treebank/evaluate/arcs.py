"""Which gold arcs are found: by their relation, and by how far the head is away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from treebank.core.sentence import ROOT
from treebank.evaluate.align import HeadView

FAR = 5  # places between word and head; arcs as long and longer are one group
ROOT_WORD = "root"


class GoldArc(NamedTuple):
    """A word that counts and its gold head, and whether a system found them."""

    relation: str  # nsubj of nsubj:pass; "" where gold names none
    distance: str  # places from the word to its head, such as "-1" for the word before it; or "root"
    directed: bool  # the head is right
    undirected: bool  # the arc is among the predicted ones, whichever way they point


def gold_arcs(predicted: Sequence[int], view: HeadView) -> list[GoldArc]:
    """The arcs of all words that count, those of roots included."""
    sentence = view.sentence
    own = [i for i, counts in enumerate(view.mask) if counts]  # places in the sentence of the words that count
    found = []
    for place, i in zip(own, view.counted, strict=True):
        head = view.heads[i]
        relation = sentence.relations[place].partition(":")[0] if sentence.relations else ""
        if head == ROOT:
            right = predicted[i] in (ROOT, i)
            found.append(GoldArc(relation, ROOT_WORD, right, right))
        else:
            right = predicted[i] == head
            found.append(GoldArc(relation, _distance(head - i), right, right or predicted[head] == i))
    return found


def _distance(places: int) -> str:
    if abs(places) < FAR:
        return f"{places:+}"
    return f"+{FAR} and more" if places > 0 else f"-{FAR} and more"


def recall_by_relation(arcs: Iterable[GoldArc], metric: str) -> Mapping[str, tuple[int, int]] | None:
    """Per gold relation how many arcs are found, of how many; frequent ones first. None if gold names none.

    As ``metric`` says, in the right direction (UAS) or in either (UUAS).
    """
    found = _recall(((arc.relation, arc) for arc in arcs if arc.relation), metric)
    return dict(sorted(found.items(), key=lambda item: (-item[1][1], item[0]))) or None


def recall_by_distance(arcs: Iterable[GoldArc], metric: str) -> Mapping[str, tuple[int, int]]:
    """Per distance from word to gold head how many arcs are found, of how many; roots first, then heads before."""
    found = _recall(((arc.distance, arc) for arc in arcs), metric)
    order = [ROOT_WORD, *(_distance(places) for places in range(-FAR, FAR + 1) if places)]
    return {distance: found[distance] for distance in order if distance in found}


def _recall(arcs: Iterable[tuple[str, GoldArc]], metric: str) -> dict[str, tuple[int, int]]:
    found, total = Counter[str](), Counter[str]()
    for key, arc in arcs:
        total[key] += 1
        found[key] += arc.directed if metric == "UAS" else arc.undirected
    return {key: (found[key], total[key]) for key in total}
