"""UAS and UUAS: the share of words with the correct head, and of arcs that are correct in either direction.

Gold arcs are also counted by relation and by distance of the head.

Predicted heads need not form a tree: there may be several roots, none, or cycles. A word that heads itself is a root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Literal, NamedTuple

from treebank.base.errors import SynparseError
from treebank.core.baselines import HEAD_BASELINES
from treebank.core.dependency import Heads
from treebank.core.head_rules import DEFAULT_RULES, check_labels, heads_from_tree
from treebank.core.sentence import ROOT, Treebank
from treebank.evaluate.align import HeadView, ReducedHeads, by_sentence
from treebank.evaluate.conventions import AttachmentConvention
from treebank.evaluate.score import HeadScore, LabelCounts, LabelScores, SentenceCounts, by_length, interval
from treebank.evaluate.systems import System, SystemInfo

FAR = 5  # words between dependent and head; longer arcs are grouped
ROOT_WORD = "root"


def count_directed(predicted: Sequence[int], view: HeadView) -> int:
    """Number of counted words with the correct head. A word that is a root in both is correct."""
    gold = view.heads
    return sum(predicted[i] == gold[i] or (predicted[i] == i and gold[i] == ROOT) for i in view.counted)


def count_undirected(predicted: Sequence[int], view: HeadView, pairs: Literal["set", "each"]) -> int:
    """Number of predicted arcs that are gold arcs in either direction: different arcs, or one per counted word."""
    gold = {_pair(i, head) for i, head in enumerate(view.heads)}
    if pairs == "set":
        return len(gold & {_pair(i, head) for i, head in enumerate(predicted)})
    return sum(_pair(i, predicted[i]) in gold for i in view.counted)


def _pair(i: int, head: int) -> tuple[int, int]:
    """The arc of word i without its direction, or (i, i) for a root."""
    return (i, i) if head == ROOT else (min(i, head), max(i, head))


def score_heads(
    gold: Treebank,
    systems: Sequence[System],
    conventions: Iterable[AttachmentConvention],
    *,
    max_length: int | None = None,
    rules: str | None = None,
    details: bool = False,
) -> list[HeadScore]:
    """UAS and UUAS for each convention and system, in this order.

    Gold heads are derived from the trees of ``gold`` by head rules if ``rules`` are named or if there are no heads.
    ``max_length`` limits the counted words of a sentence; longer sentences are not parsed. ``details`` adds scores by
    length, relation and distance. Raises SynparseError if no sentence remains.
    """
    gold_heads, rules_name = _gold_heads(gold, rules)
    scored: list[tuple[AttachmentConvention, list[HeadView], list[bool]]] = []
    for convention in conventions:
        convention = replace(convention.fitted(gold).up_to(max_length), heads=rules_name)
        views = [HeadView.of(*pair, convention) for pair in zip(gold.sentences, gold_heads, strict=True)]
        included = [view.length > 0 and convention.includes(view.length) for view in views]
        if not any(included):
            raise SynparseError(f"{gold.label}: no sentence is left to score ({convention})")
        scored.append((convention, views, included))
    parsed = [any(flags) for flags in zip(*(included for _, _, included in scored), strict=True)]
    sentences = list(compress(gold.sentences, parsed))
    predictions = [system.predict(sentences) if system.predict else [] for system in systems]
    scores = []
    for convention, views, included in scored:
        for system, predicted in zip(systems, predictions, strict=True):
            if system.predict is None:
                build = HEAD_BASELINES[system.name]
                heads = {i: ReducedHeads(build(len(view.heads))) for i, view in enumerate(views)}
            else:
                rows = by_sentence(
                    *(system.name, predicted, gold, parsed, "sentence with heads"),
                    lambda i, prediction, views=views: views[i].reduce(prediction),  # type: ignore[misc]
                )
                heads = {i: views[i].reduce(prediction) for i, prediction in rows.items()}
            indices = [i for i, is_included in enumerate(included) if is_included]
            pairs = [(heads[i], views[i]) for i in indices]
            scores += _scores(system.info, pairs, convention, indices, data=gold.label, details=details)
    return scores


def _scores(
    info: SystemInfo,
    pairs: Sequence[tuple[ReducedHeads, HeadView]],
    convention: AttachmentConvention,
    indices: Sequence[int],
    *,
    data: str,
    details: bool,
) -> list[HeadScore]:
    """UAS and UUAS of the predicted heads of the scored sentences."""
    matched = {
        "UAS": [count_directed(predicted.heads, view) for predicted, view in pairs],
        "UUAS": [count_undirected(predicted.heads, view, convention.pairs) for predicted, view in pairs],
    }
    lengths = [view.length for _, view in pairs]
    arcs = [arc for predicted, view in pairs for arc in gold_arcs(predicted, view)] if details else []
    scores = []
    for metric, numbers in matched.items():
        counts = [SentenceCounts(number, length, length) for number, length in zip(numbers, lengths, strict=True)]
        value = 100 * sum(numbers) / sum(lengths)
        scores.append(
            HeadScore(
                info=info,
                metric=metric,
                convention=convention,
                data=data,
                value=value,
                precision=value,
                recall=value,
                interval=interval(counts, convention),
                counts=counts,
                indices=indices,
                by_length=by_length(counts, lengths, convention) if details else None,
                by_relation=recall_by_relation(arcs, metric) if details else None,
                by_distance=recall_by_distance(arcs, metric) if details else None,
                relations=relation_scores(arcs) if metric == "UAS" else None,
            )
        )
    return scores


def _gold_heads(gold: Treebank, rules: str | None) -> tuple[list[Heads], str]:
    """The gold heads of each sentence, and the name of the head rules that gave them, "" if they were annotated."""
    without = [sentence for sentence in gold.sentences if len(sentence.heads) != len(sentence.words)]
    if rules is None and not without:
        return [sentence.heads for sentence in gold.sentences], ""
    bare = [sentence for sentence in without if sentence.tree is None]
    if bare:
        raise SynparseError(f"{bare[0].location}: this sentence has neither heads nor a tree to derive them from")
    heads = []
    for sentence in gold.sentences:
        if sentence.tree is None:
            problem = "no tree for head rules" if rules else "heads but no tree, and others have a tree but no heads"
            raise SynparseError(f"{sentence.location}: this sentence has {problem}")
        heads.append(heads_from_tree(sentence.tree, rules or DEFAULT_RULES))
    check_labels((sentence.tree for sentence in gold.sentences), gold.label)
    return heads, rules or DEFAULT_RULES


# --- arcs by relation and distance


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
