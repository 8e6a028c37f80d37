"""Sentences as several models parse them, and what can be said of these trees and heads without gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean

import numpy as np

from induce.analysis.sharpness import LEAST, MEASURES
from induce.parsing.ensemble import Ensemble
from induce.parsing.parser import ModelParser
from induce.parsing.reading import Reading, decoded
from induce.structures import SpanScores
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Span, Tree
from treebank.draw.picture import Analysis, counted, projected

FREQUENT = 15  # constituents or pairs of words in a table
WINDOW = 4  # words on both sides of an example


MEANINGS = {  # of the numbers that induce.analysis.sharpness takes of a structure
    "margin": "margin of the widest gap of a bracket over the next, in standard deviations",
    "split entropy": "entropy of where a bracket is split, as a share of the largest possible",
    "head entropy": "entropy of the head of a word, in bits",
    "span entropy": "entropy of whether a span is a constituent, in bits",
    "largest": "probability of what is most probable (a word's head, the spans of a tree)",
}


@dataclass
class Sharpness:
    """How sure a model is: the numbers of its structures, gathered sentence by sentence."""

    found: list[dict[str, float]] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        """Count one sentence; one of less than three words has nothing to be sure of."""
        measure = MEASURES.get(reading.structure)
        if measure is None or len(reading.kept) < LEAST:
            return
        row = np.asarray(reading.row, float)
        if reading.structure is not SpanScores or row.min() >= 0:  # votes less a threshold are no probabilities
            self.found.append(measure(row))

    def told(self) -> list[tuple[str, str]]:
        """What is measured, and its mean over sentences."""
        if not self.found:
            return [("no numbers that tell (this model gives trees or decisions)", "–")]
        return [(MEANINGS[name], f"{fmean(one[name] for one in self.found):.2f}") for name in self.found[0]]


@dataclass
class Parsed:
    """A model with its analyses of the same sentences as all others of the report."""

    name: str
    run: str
    parser: ModelParser | Ensemble
    analyses: list[Analysis] = field(default_factory=list)
    sharpness: Sharpness = field(default_factory=Sharpness)

    @classmethod
    def of(cls, parser: ModelParser | Ensemble, sentences: Sequence[Sentence], *, name: str, run: str) -> Parsed:
        """The analyses of ``sentences``, which are read once."""
        found = cls(name, run, parser)
        for reading in parser.read(sentences):
            result = decoded(reading, parser.decoder)
            words = tuple(reading.leaves)
            if isinstance(result, Tree):
                found.analyses.append(Analysis(name, words, (), result))
            else:
                found.analyses.append(Analysis(name, words, heads=tuple(result)))
            found.sharpness.add(reading)
        return found


class Compared:
    """What all models say of each sentence, reduced to the words that count: brackets, or arcs as (word, head)."""

    def __init__(self, sentences: Sequence[Sentence], models: Sequence[Parsed]) -> None:
        self.sentences, self.models = sentences, models
        self.masks = [counted(one.words, one.tags) for one in sentences]
        self.parts = {
            model.run: [self._parts(place, one) for place, one in enumerate(model.analyses)] for model in models
        }
        self.gold = [self._parts(place, Analysis.of_sentence(one)) for place, one in enumerate(sentences)]

    def _parts(self, place: int, analysis: Analysis) -> tuple[set[Span], set[tuple[int, int]]]:
        """The brackets and the arcs of one analysis."""
        mask = self.masks[place]
        spans = set(projected(analysis.tree, mask)) - {None} if analysis.tree is not None else set()
        arcs = {(word, head) for word, head in enumerate(analysis.heads) if mask[word]}
        return {span for span in spans if span}, arcs

    def like(self, model: Parsed, place: int) -> set[tuple[int, int]]:
        """What the model says of the sentence: brackets, or arcs if it gives heads."""
        spans, arcs = self.parts[model.run][place]
        return {(start, end) for start, end in spans} if model.parser.output == "trees" else arcs

    def pairs(self) -> list[tuple[Parsed, Parsed]]:
        """Models that can be compared: two of trees, or two of heads."""
        return [pair for pair in combinations(self.models, 2) if pair[0].parser.output == pair[1].parser.output]

    def agreement(self, first: Parsed, second: Parsed) -> float:
        """F1 of the brackets or arcs of two models in percent, pooled over all sentences."""
        both = total = 0
        for place in range(len(self.sentences)):
            one, other = self.like(first, place), self.like(second, place)
            both += 2 * len(one & other)
            total += len(one) + len(other)
        return 100 * both / total if total else 100.0

    def by_sentence(self) -> list[float | None]:
        """The mean agreement of all pairs on each sentence, in percent; None where there is nothing to agree on."""
        return [self._agreement_on(place) for place in range(len(self.sentences))]

    def _agreement_on(self, place: int) -> float | None:
        values = []
        for first, second in self.pairs():
            one, other = self.like(first, place), self.like(second, place)
            if one or other:
                values.append(200 * len(one & other) / (len(one) + len(other)))
        return fmean(values) if values else None


def words_that_count(compared: Compared, place: int) -> list[str]:
    """The counted words of a sentence."""
    return [word for word, counts in zip(compared.sentences[place].words, compared.masks[place], strict=True) if counts]


def frequent_constituents(compared: Compared, model: Parsed) -> Iterator[tuple[str, int, int, int | None, str]]:
    """The word sequences of two to four words that the model brackets most often.

    Each with how often it is bracketed, how often it occurs, how often gold brackets it (None without gold trees), and
    an example in its context.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    example: dict[tuple[str, ...], str] = {}
    texts = [words_that_count(compared, place) for place in range(len(compared.sentences))]
    for place, words in enumerate(texts):
        for start, end in sorted(compared.like(model, place)):
            if end - start <= 4:
                key = tuple(word.lower() for word in words[start:end])
                counts[key] += 1
                example.setdefault(key, in_context(words, start, end))
    chosen = [key for key, _ in counts.most_common(FREQUENT)]
    occurs, in_gold = _occurrences(compared, texts, set(chosen))
    has_gold = any(spans for spans, _ in compared.gold)
    for key in chosen:
        yield " ".join(key), counts[key], occurs[key], in_gold[key] if has_gold else None, example[key]


def _occurrences(
    compared: Compared, texts: Sequence[Sequence[str]], wanted: set[tuple[str, ...]]
) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """How often each wanted sequence occurs, and how often it is a gold bracket."""
    occurs: Counter[tuple[str, ...]] = Counter()
    in_gold: Counter[tuple[str, ...]] = Counter()
    for place, words in enumerate(texts):
        lower = [word.lower() for word in words]
        gold = compared.gold[place][0]
        for length in (2, 3, 4):
            for start in range(len(lower) - length + 1):
                key = tuple(lower[start : start + length])
                if key in wanted:
                    occurs[key] += 1
                    in_gold[key] += (start, start + length) in gold
    return occurs, in_gold


def frequent_heads(compared: Compared, model: Parsed) -> Iterator[tuple[str, int, int | None, str]]:
    """The most frequent pairs of a word and its head, how often, how often in gold (None without), and an example."""
    counts: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for place, sentence in enumerate(compared.sentences):
        words = sentence.words
        for word, head in sorted(compared.like(model, place)):
            key = (words[word].lower(), words[head].lower() if head != ROOT else "(root)")
            counts[key] += 1
            right[key] += (word, head) in compared.gold[place][1]
            if key not in example:
                low, high = (word, word) if head == ROOT else (min(word, head), max(word, head))
                example[key] = in_context(words, low, high + 1)
    has_gold = any(arcs for _, arcs in compared.gold)
    for key, count in counts.most_common(FREQUENT):
        yield f"{key[0]} ← {key[1]}", count, right[key] if has_gold else None, example[key]


def in_context(words: Sequence[str], start: int, end: int) -> str:
    """The words from ``start`` to ``end`` in brackets, with a few words on both sides."""
    before, after = words[max(0, start - WINDOW) : start], words[end : end + WINDOW]
    left = ["…"] * (start > WINDOW) + list(before)
    right = list(after) + ["…"] * (end + WINDOW < len(words))
    return " ".join([*left, "[" + " ".join(words[start:end]) + "]", *right])
