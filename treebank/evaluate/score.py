"""Scores with everything that is needed to compare them, and the averages that they are computed from.

Scores of induced labels are V-measure, many-to-one accuracy and recall by gold label. An induced label such as ``NT7``
has no gold counterpart by name. So labels are compared as two partitions of the constituents that both trees have:
spans of two or more words, including the full sentence, each once. If several brackets have the same span, the
outermost gives the label. Relations are compared as partitions of the arcs between words that both analyses have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from treebank.base import VERSION
from treebank.base.arguments import split_name
from treebank.base.tables import Interval
from treebank.core.baselines import BASELINES, HEAD_BASELINES
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Span, Tree
from treebank.evaluate.align import Bracketing, TreeView
from treebank.evaluate.conventions import Convention
from treebank.evaluate.statistics import bootstrap_interval
from treebank.evaluate.systems import SystemInfo

if TYPE_CHECKING:
    import numpy as np


EPSILON = 1e-8  # the constant of the published script; it changes the eighth digit
MAX_LENGTH_GROUP = 40  # words; longer sentences form one group
Recall = Mapping[str, tuple[float, int]]  # category -> number of matches, and of gold items


class SentenceCounts(NamedTuple):
    """Number of brackets or arcs in both structures, in the predicted one and in the gold one.

    The numbers can be fractions for the expectation of a random baseline.
    """

    matched: float
    predicted: float
    gold: float


class PRF(NamedTuple):
    """Precision, recall and F1 between 0 and 1."""

    precision: float
    recall: float
    f1: float


def total(counts: Sequence[SentenceCounts]) -> SentenceCounts:
    """The sums of the counts of several sentences."""
    return SentenceCounts(*map(sum, zip(*counts, strict=True)))


def sentence_score(counts: SentenceCounts) -> PRF:
    """The scores of one sentence by the script of Htut et al. 2018 and ON-LSTM.

    Without a gold bracket the recall is 1, and so is the precision if no bracket was predicted.
    """
    matched, predicted, gold = counts
    recall = matched / (gold + EPSILON) if gold else 1.0
    precision = matched / (predicted + EPSILON) if gold or predicted else 1.0
    return PRF(precision, recall, 2 * precision * recall / (precision + recall + EPSILON))


def pooled_score(counts: SentenceCounts) -> PRF:
    """The scores of summed counts, or 1 if there are no brackets to divide by."""
    matched, predicted, gold = counts
    return PRF(
        matched / predicted if predicted else float(gold == 0),
        matched / gold if gold else float(predicted == 0),
        2 * matched / (predicted + gold) if predicted + gold else 1.0,
    )


def average_score(counts: Sequence[SentenceCounts], convention: Convention) -> PRF:
    """The scores of several sentences, averaged as the convention says."""
    if convention.average == "corpus":
        return pooled_score(total(counts))
    return PRF(*map(fmean, zip(*map(sentence_score, counts), strict=True)))


def columns(counts: Sequence[SentenceCounts], convention: Convention) -> Sequence[Sequence[float]]:
    """One row of numbers per sentence, from whose sums ``statistic`` computes the F1."""
    if convention.average == "corpus":
        return counts
    return [(sentence_score(row).f1, 1.0) for row in counts]


def statistic(convention: Convention) -> Callable[[np.ndarray], np.ndarray]:
    """The function from summed ``columns`` (R, columns) to the F1 (R,) between 0 and 1."""
    if convention.average == "sent":
        return lambda sums: sums[:, 0] / sums[:, 1]

    def pooled(sums: np.ndarray) -> np.ndarray:
        import numpy as np

        both = sums[:, 1] + sums[:, 2]
        return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)

    return pooled


def interval(counts: Sequence[SentenceCounts], convention: Convention) -> Interval | None:
    """The 95 % interval of the score over sentences in percent, or None for too few sentences."""
    bounds = bootstrap_interval(columns(counts, convention), statistic(convention))
    return bounds and (100 * bounds[0], 100 * bounds[1])


def by_length(
    counts: Sequence[SentenceCounts], lengths: Sequence[int], convention: Convention
) -> dict[str, tuple[int, float]]:
    """Number of sentences and F1 in percent by sentence length: 1 to 10 words, 11 to 20, …, and over 40."""
    groups: dict[int, list[SentenceCounts]] = {}
    for row, length in zip(counts, lengths, strict=True):
        groups.setdefault(min((length - 1) // 10 * 10, MAX_LENGTH_GROUP), []).append(row)
    return {
        f"{first + 1}-{first + 10 if first < MAX_LENGTH_GROUP else ''}": (
            len(rows),
            100 * average_score(rows, convention).f1,
        )
        for first, rows in sorted(groups.items())
    }


class Shape(NamedTuple):
    """Mean depth and right/left ratios of the trees of a system (Du et al. 2020).

    The depth of a sentence is the mean number of brackets around its words. The right/left ratio is the number of words
    that are first children, divided by the number of last children; above 1 means right-branching.
    """

    depth: float
    right_left: float
    right_left_no_apostrophe: float


@dataclass(frozen=True, slots=True)
class Runs:
    """Values by name: draws of a random baseline, or models trained with several seeds."""

    values: Mapping[str, float]

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    @property
    def deviation(self) -> float:
        """Standard deviation of the sample (n - 1), or 0 for one value."""
        return stdev(self.values.values()) if len(self.values) > 1 else 0.0

    @property
    def maximum(self) -> float:
        return max(self.values.values())

    def to_json(self) -> dict[str, Any]:
        """Values, mean, standard deviation and maximum."""
        return {"values": dict(self.values), "mean": self.mean, "sd": self.deviation, "max": self.maximum}


def runs_of(groups: Mapping[str, Sequence[str]], values: Mapping[str, float]) -> dict[str, Runs]:
    """The values of the models of each group of several, by pattern.

    A group is left out if one of its models has no value, as in tasks with several measures.
    """
    return {
        pattern: Runs({run: values[run] for run in group})
        for pattern, group in groups.items()
        if len(group) > 1 and values.keys() >= set(group)
    }


@dataclass(frozen=True, kw_only=True)
class Score:
    """The value of one metric for one system under one convention.

    ``value``, ``precision``, ``recall`` and ``interval`` (95 %, over sentences) are in percent; precision and recall of
    heads equal the value. The interval is None for fewer than ten sentences. ``counts`` has one entry per scored
    sentence, in the order of the gold file, and ``indices`` their indices in the gold treebank. ``by_length`` has the
    number of sentences and the value by sentence length. ``sha256`` is the digest of these gold sentences.
    """

    info: SystemInfo
    metric: str
    convention: Convention
    data: str
    value: float
    precision: float
    recall: float
    interval: Interval | None
    counts: Sequence[SentenceCounts]
    indices: Sequence[int]
    by_length: Mapping[str, tuple[int, float]] | None = None
    sha256: str = ""

    @property
    def system(self) -> str:
        """The name of the system."""
        return self.info.name

    @property
    def totals(self) -> SentenceCounts:
        """The counts of all sentences together."""
        return total(self.counts)

    @property
    def origin(self) -> str:
        """The part of the signature that says how the structures were produced."""
        seed = "" if self.info.seed is None else f"|seed:{self.info.seed}"
        decoded = f"|{self.info.decoded}" if self.info.decoded else ""
        return seed + decoded + (f"|trained with {self.info.learned_from}" if self.info.learned_from else "")

    @property
    def signature(self) -> str:
        """Everything that influences the value: ``UF1|conv:on-lstm|avg:sent|…|data:wsj10 (5 % sample)|v:0.1.0``."""
        data = f"{self.data}|sha256:{self.sha256[:12]}" if self.sha256 else self.data
        return f"{self.metric}|{self.convention}{self.origin}|data:{data}|sentences:{len(self.counts)}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.1f}"

    def details(self) -> dict[str, Any]:
        """The detailed entries of the JSON output."""
        return {} if self.by_length is None else {"by_length": {key: list(row) for key, row in self.by_length.items()}}

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse eval --format json``."""
        info = self.info
        entry: dict[str, Any] = {
            "system": info.name,
            "metric": self.metric,
            "convention": self.convention.name,
            "value": self.value,
            "precision": self.precision,
            "recall": self.recall,
            "interval": self.interval and list(self.interval),
            "sentences": len(self.counts),
            "brackets": self.totals._asdict(),
            "signature": self.signature,
        }
        entry |= self.details()
        if info.model:
            entry["model"] = split_name(info.model)[1]
        if info.decoded:
            entry["parser"] = dict(part.split(":", 1) for part in info.decoded.split("|"))
        if info.learned_from:
            entry["trained_with"] = info.learned_from
        return entry


@dataclass(frozen=True, kw_only=True)
class TreeScore(Score):
    """UF1, with precision and recall of brackets and the shape of the trees.

    ``predicted`` holds the brackets of each scored sentence over the words that count. ``by_label`` has the recall of
    constituents by gold label, ``by_height`` the precision of predicted phrases by height. ``labels`` are the scores of
    labels, if the predicted brackets have any. ``draws`` are the values of single draws of a random baseline whose
    value is the exact expectation.
    """

    metric: str = "UF1"
    shape: Shape
    by_label: Recall
    predicted: Sequence[Sequence[Span]] = ()
    by_height: Mapping[int, tuple[int, int]] | None = None
    labels: LabelScores | None = None
    draws: Runs | None = None

    @property
    def origin(self) -> str:
        return ("|runs:exact" if self.draws else "") + super().origin

    def details(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"by_label": _lists(self.by_label), **self.shape._asdict(), **super().details()}
        if self.by_height is not None:
            entry["by_height"] = {str(height): list(counts) for height, counts in self.by_height.items()}
        if self.labels is not None:
            entry["labels"] = self.labels.to_json()
        if self.draws is not None:
            entry["runs"] = self.draws.to_json()
        return entry


@dataclass(frozen=True, kw_only=True)
class HeadScore(Score):
    """UAS or UUAS, and the recall of gold arcs by relation and by distance of the head.

    ``relations`` are the scores of predicted relations, next to UAS and if there are any.
    """

    by_relation: Recall | None = None
    by_distance: Recall | None = None
    relations: LabelScores | None = None

    def details(self) -> dict[str, Any]:
        groups = {"by_relation": self.by_relation, "by_distance": self.by_distance}
        entry = super().details() | {name: _lists(recall) for name, recall in groups.items() if recall is not None}
        return entry | ({"relations": self.relations.to_json()} if self.relations else {})


def _lists(recall: Recall) -> dict[str, list[float]]:
    return {name: list(counts) for name, counts in recall.items()}


def is_baseline(score: Score) -> bool:
    """Whether a score belongs to a baseline."""
    info = score.info
    return not info.model and not info.decoded and (info.name in BASELINES or info.name in HEAD_BASELINES)


# --- single sentences


class SentenceScore(NamedTuple):
    """One scored gold sentence: its index within the score, its counts, and its value in percent."""

    number: int
    sentence: Sentence
    counts: SentenceCounts
    value: float


def sentence_scores(score: Score, gold: Treebank) -> Iterator[SentenceScore]:
    """All scored sentences in the order of ``gold``, the treebank that the score was computed on."""
    f1 = sentence_score if score.convention.average == "sent" else pooled_score
    for number, (index, counts) in enumerate(zip(score.indices, score.counts, strict=True)):
        yield SentenceScore(number, gold.sentences[index], counts, 100 * f1(counts).f1)


def worst(score: Score, gold: Treebank, count: int) -> list[SentenceScore]:
    """The ``count`` sentences with the lowest values. Among equal ones, those with most missed brackets come first."""
    sentences = [sentence for sentence in sentence_scores(score, gold) if sentence.counts.gold]
    return sorted(sentences, key=lambda item: (item.value, item.counts.matched - item.counts.gold, item.number))[:count]


def both_trees(score: TreeScore, scored: SentenceScore) -> tuple[Tree, Tree]:
    """The gold tree and the predicted one over the words that count."""
    gold = scored.sentence.tree
    assert gold is not None
    tree = TreeView.of(scored.sentence, gold, score.convention.tokens).tree
    return tree, Tree.from_spans(tree.words, score.predicted[scored.number], label="\u00b7")


LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # the labels that papers report, in their order
Constituents = Sequence[tuple[Span, str]]  # labeled spans of two or more words


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of labels in percent over the constituents or arcs that both analyses have, ``matched`` in number.

    ``homogeneity`` is 100 if every induced label goes with one gold label, ``completeness`` is 100 if every gold label
    goes with one induced label. ``many_to_one`` maps each induced label to the gold label that it goes with most often;
    ``meanings`` is this map, most frequent pairs first. ``recall`` has, for each gold label, the number of items
    predicted with a label that means it, and the total.
    """

    homogeneity: float
    completeness: float
    many_to_one: float
    matched: int
    meanings: Mapping[str, str]
    recall: Mapping[str, tuple[int, int]]

    @property
    def v_measure(self) -> float:
        """The harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg 2007)."""
        both = self.homogeneity + self.completeness
        return 2 * self.homogeneity * self.completeness / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        """The entry under ``labels`` in the output of ``synparse eval --format json``."""
        recall = {label: list(counts) for label, counts in self.recall.items()}
        return {"v_measure": self.v_measure, **asdict(self), "recall": recall}


class LabelCounts:
    """Counts of pairs of a predicted and a gold label, to which sentences are added one by one."""

    def __init__(self) -> None:
        self._predicted = set[str]()
        self._pairs, self._totals = Counter[tuple[str, str]](), Counter[str]()

    def add_brackets(self, gold: Constituents, predicted: Bracketing) -> None:
        """Add the constituents of one sentence, both in pre-order."""
        self._predicted.update(predicted.labels)
        reference = _outermost(gold)
        self._totals.update(reference.values())
        if predicted.labels:
            induced = _outermost(zip(predicted.spans, predicted.labels, strict=True))
            self._pairs.update([(induced[span], label) for span, label in reference.items() if span in induced])

    def add_arc(self, gold: str, predicted: str, is_matched: bool) -> None:
        """Add the relation of an arc of gold. The ``predicted`` one is compared with it if the arc ``is_matched``."""
        self._totals[gold] += 1
        if is_matched:
            self._predicted.add(predicted)
            self._pairs[predicted, gold] += 1

    def scores(self) -> LabelScores | None:
        """The scores of the predicted labels, or None if brackets or correct arcs have fewer than two."""
        if len(self._predicted - {""}) < 2:
            return None
        pairs, meanings = self._pairs, dict[str, str]()
        for cluster, label in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
            meanings.setdefault(cluster, label)
        correct = Counter[str]()
        for (cluster, label), number in pairs.items():
            correct[label] += number if meanings[cluster] == label else 0
        shared = pairs.total()
        inverse = Counter({(label, cluster): number for (cluster, label), number in pairs.items()})
        return LabelScores(
            homogeneity=100 * _explained(pairs),
            completeness=100 * _explained(inverse),
            many_to_one=100 * correct.total() / shared if shared else 0.0,
            matched=shared,
            meanings=meanings,
            recall={label: (correct[label], number) for label, number in label_order(self._totals).items()},
        )


def _outermost(brackets: Iterable[tuple[Span, str]]) -> dict[Span, str]:
    """The label of each span of two or more words: that of its first bracket with a label."""
    labels: dict[Span, str] = {}
    for span, label in brackets:
        if label and span[1] - span[0] > 1:
            labels.setdefault(span, label)
    return labels


def _explained(pairs: Counter[tuple[str, str]]) -> float:
    """The share of the entropy of the second items that the first items explain, or 1 without entropy."""
    first, second = Counter[str](), Counter[str]()
    for (a, b), number in pairs.items():
        first[a] += number
        second[b] += number
    entropy = -sum(number * log(number / pairs.total()) for number in second.values())
    conditional = -sum(number * log(number / first[a]) for (a, _), number in pairs.items())
    return 1 - conditional / entropy if entropy > 0 else 1.0


def label_order(totals: Counter[str]) -> dict[str, int]:
    """The labels that papers report first, then the others by frequency."""
    return {label: totals[label] for label in LABELS if label in totals} | dict(totals.most_common())
