"""Scores with everything that is needed to compare them, and the averages that they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from treebank.base import VERSION
from treebank.base.arguments import split_name
from treebank.base.tables import Interval
from treebank.core.baselines import BASELINES, HEAD_BASELINES
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Span, Tree
from treebank.evaluate.align import TreeView
from treebank.evaluate.conventions import Convention
from treebank.evaluate.labels import LabelScores
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
