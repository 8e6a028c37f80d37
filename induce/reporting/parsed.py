"""Analyses of the same sentences by several models, and their measures that need no gold annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from induce.analysis.agreement import MIN_WORDS, Overlap, Parts, head_overlap, overall_agreement, tree_overlap
from induce.analysis.sharpness import Sharpness, mean_sharpness, sentence_sharpness
from induce.parsing.parser import Parser
from induce.parsing.reading import Confidences
from induce.reporting.sentence_pictures import confident_analysis
from treebank.core.sentence import ROOT, Sentence
from treebank.core.word_check import plain
from treebank.draw.picture import Analysis, counted, projected
from treebank.evaluate.systems import Predict, head_predictions, tree_predictions

MAX_ROWS = 15  # constituents or pairs of words in a table
MAX_WORDS = 4  # words of a constituent in a table
CONTEXT_WORDS = 4  # words on both sides of an example


@dataclass
class Parsed:
    """A model with its analyses of all sentences of a report, and the sharpness of its structures.

    ``confidences`` has the confidence in each bracket or head of each analysis.
    """

    name: str
    run: str
    parser: Parser
    analyses: list[Analysis] = field(default_factory=list)
    confidences: list[Confidences] = field(default_factory=list)
    sharpness: Sharpness | None = None

    @classmethod
    def of(cls, parser: Parser, sentences: Sequence[Sentence], *, name: str, run: str) -> Parsed:
        """The analyses of ``sentences``, which are read once."""
        analyses, confidences, measures = [], [], []
        for reading in parser.predict(sentences):
            analysis, values = confident_analysis(reading, parser.decoder, name, parser.confidence)
            analyses.append(replace(analysis, probabilities=()))
            confidences.append(values)
            measures.append(sentence_sharpness(reading))
        return cls(name, run, parser, analyses, confidences, Sharpness(parser.name, run, *mean_sharpness(measures)))

    @property
    def gives_trees(self) -> bool:
        """Whether the model predicts trees, not heads."""
        return self.parser.output == "trees"

    @property
    def has_probabilities(self) -> bool:
        """Whether the confidences are probabilities or shares of votes, not distances."""
        return self.parser.structure.votes_for == self.parser.output

    def predictions(self, name: str) -> Predict:
        """The analyses as predictions of the system ``name``, for all sentences of the report in order."""
        if not self.gives_trees:
            pairs = [(analysis.words, analysis.heads) for analysis in self.analyses]
            return head_predictions(name, lambda _: pairs)
        trees = [analysis.tree for analysis in self.analyses if analysis.tree is not None]
        return tree_predictions(name, lambda _: trees)


class CountedParts(NamedTuple):
    """Brackets and arcs of one analysis over the counted words of a sentence (a model has one or the other)."""

    spans: Parts  # without the full-sentence span
    arcs: Parts  # (word, head)


class Compared:
    """The analyses of all models, reduced to the counted words of each sentence."""

    def __init__(self, sentences: Sequence[Sentence], models: Sequence[Parsed]) -> None:
        self.sentences, self.models = sentences, models
        self.masks = [counted(sentence.words, sentence.tags) for sentence in sentences]
        self._parts = {
            model.run: [self._counted(index, analysis) for index, analysis in enumerate(model.analyses)]
            for model in models
        }
        self.gold = [self._counted(index, Analysis.of_sentence(sentence)) for index, sentence in enumerate(sentences)]

    def _counted(self, index: int, analysis: Analysis) -> CountedParts:
        """The brackets and arcs of one analysis."""
        mask = self.masks[index]
        spans = projected(analysis.tree, mask) if analysis.tree is not None else []
        arcs = {(word, head) for word, head in enumerate(analysis.heads) if mask[word]}
        return CountedParts({span for span in spans if span}, arcs)

    def parts(self, model: Parsed, index: int) -> Parts:
        """The brackets of the model's tree of a sentence, or its arcs."""
        parts = self._parts[model.run][index]
        return parts.spans if model.gives_trees else parts.arcs

    def words(self, index: int) -> list[str]:
        """The counted words of a sentence."""
        pairs = zip(plain(self.sentences[index].words), self.masks[index], strict=True)
        return [word for word, is_counted in pairs if is_counted]

    def pairs(self) -> list[tuple[Parsed, Parsed]]:
        """Pairs of models that can be compared: two with trees, or two with heads."""
        return [pair for pair in combinations(self.models, 2) if pair[0].parser.output == pair[1].parser.output]

    def agreement(self, first: Parsed, second: Parsed) -> float | None:
        """Agreement of two models in percent as in `induce.analysis.agreement`, or None without any long sentence."""
        overlaps = [self._overlap(first, second, index) for index in range(len(self.sentences))]
        long_enough = [overlap for overlap in overlaps if overlap is not None]
        return overall_agreement(long_enough) if long_enough else None

    def agreement_by_sentence(self) -> list[float | None]:
        """Mean agreement of all pairs on each sentence in percent, or None if it is too short."""
        means: list[float | None] = []
        for index in range(len(self.sentences)):
            overlaps = [self._overlap(first, second, index) for first, second in self.pairs()]
            values = [overlap.agreed / overlap.total for overlap in overlaps if overlap is not None]
            means.append(fmean(values) if values else None)
        return means

    def _overlap(self, first: Parsed, second: Parsed, index: int) -> Overlap | None:
        parts = self.parts(first, index), self.parts(second, index)
        if first.gives_trees:
            return tree_overlap(*parts) if sum(self.masks[index]) >= MIN_WORDS else None
        return head_overlap(*parts) if parts[0] else None


class FrequentPart(NamedTuple):
    """A word sequence that a model often brackets, or a word that it often attaches to a head."""

    text: str
    frequency: int  # in the analyses of the model
    occurrences: int | None  # in the text; of word sequences only
    gold: int | None  # frequency in the gold annotation, or None if there is none
    example: str


def frequent_constituents(compared: Compared, model: Parsed) -> Iterator[FrequentPart]:
    """The sequences of two to `MAX_WORDS` words that the model brackets most often."""
    counts: Counter[tuple[str, ...]] = Counter()
    examples: dict[tuple[str, ...], str] = {}
    texts = [compared.words(index) for index in range(len(compared.sentences))]
    for index, words in enumerate(texts):
        for start, end in sorted(compared.parts(model, index)):
            if end - start <= MAX_WORDS:
                key = tuple(word.lower() for word in words[start:end])
                counts[key] += 1
                examples.setdefault(key, in_context(words, start, end))
    frequent = [key for key, _ in counts.most_common(MAX_ROWS)]
    occurrences, in_gold = _occurrences(compared, texts, set(frequent))
    has_gold = any(parts.spans for parts in compared.gold)
    for key in frequent:
        gold = in_gold[key] if has_gold else None
        yield FrequentPart(" ".join(key), counts[key], occurrences[key], gold, examples[key])


def _occurrences(
    compared: Compared, texts: Sequence[Sequence[str]], sequences: set[tuple[str, ...]]
) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """For each word sequence, the number of its occurrences and of those that are gold brackets."""
    occurrences: Counter[tuple[str, ...]] = Counter()
    in_gold: Counter[tuple[str, ...]] = Counter()
    for index, words in enumerate(texts):
        lower = [word.lower() for word in words]
        for length in range(2, MAX_WORDS + 1):
            for start in range(len(lower) - length + 1):
                key = tuple(lower[start : start + length])
                if key in sequences:
                    occurrences[key] += 1
                    in_gold[key] += (start, start + length) in compared.gold[index].spans
    return occurrences, in_gold


def frequent_heads(compared: Compared, model: Parsed) -> Iterator[FrequentPart]:
    """The most frequent pairs of a word and its head in the analyses of the model."""
    counts: Counter[tuple[str, str]] = Counter()
    in_gold: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for index, sentence in enumerate(compared.sentences):
        words = plain(sentence.words)
        for word, head in sorted(compared.parts(model, index)):
            key = (words[word].lower(), words[head].lower() if head != ROOT else "(root)")
            counts[key] += 1
            in_gold[key] += (word, head) in compared.gold[index].arcs
            if key not in examples:
                first, last = (word, word) if head == ROOT else sorted((word, head))
                examples[key] = in_context(words, first, last + 1)
    has_gold = any(parts.arcs for parts in compared.gold)
    for key, count in counts.most_common(MAX_ROWS):
        yield FrequentPart(" ← ".join(key), count, None, in_gold[key] if has_gold else None, examples[key])


def in_context(words: Sequence[str], start: int, end: int) -> str:
    """The words from ``start`` to ``end`` in brackets, with some words on both sides."""
    before, after = words[max(0, start - CONTEXT_WORDS) : start], words[end : end + CONTEXT_WORDS]
    left = ["…"] * (start > CONTEXT_WORDS) + list(before)
    right = list(after) + ["…"] * (end + CONTEXT_WORDS < len(words))
    return " ".join([*left, "[" + " ".join(words[start:end]) + "]", *right])
