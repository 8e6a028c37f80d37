"""Targeted syntactic evaluation (Marvin and Linzen 2018): how often the grammatical sentence is more probable.

If the subject of the verb is known, the evaluation also reports whether the model's own tree connects the two, and the
accuracy for pairs with and without such a connection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from induce.likelihood.language_model import Counted, LanguageModel, SentenceLikelihood, SentenceScorer
from induce.likelihood.pair_files import Pair, read_pairs
from induce.parsing.load import load_parser
from induce.parsing.parser import Parser
from induce.storage.locate import system_name
from treebank.base import VERSION
from treebank.base.arguments import split_name
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import Sentence
from treebank.corpora.catalog import read_input
from treebank.evaluate.score import Runs, runs_of
from treebank.evaluate.statistics import wilson_interval
from treebank.io.read import DEFAULT_INPUT

BOUNDARY = 0  # before and after each sentence


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Number of pairs ordered correctly, where pairs of equal probabilities count half."""

    correct: float
    pairs: int

    @property
    def value(self) -> float:
        """Accuracy in percent."""
        return 100 * self.correct / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval in percent, which is too narrow if the pairs come from few templates."""
        return wilson_interval(self.correct, self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Value, interval and number of pairs."""
        return {"value": self.value, "interval": list(self.interval), "pairs": self.pairs}


def accuracy(outcomes: Iterable[float]) -> Accuracy | None:
    """Accuracy over outcomes of 1, 0.5 or 0, or None if there are none."""
    outcomes = list(outcomes)
    return Accuracy(math.fsum(outcomes), len(outcomes)) if outcomes else None


def accuracies(names: Iterable[str], outcomes: Iterable[float]) -> dict[str, Accuracy]:
    """Accuracy over the outcomes of each name, in the order of first occurrence."""
    by_name: dict[str, list[float]] = {}
    for name, outcome in zip(names, outcomes, strict=True):
        by_name.setdefault(name, []).append(outcome)
    return {name: Accuracy(math.fsum(values), len(values)) for name, values in by_name.items()}


@dataclass(frozen=True, slots=True)
class PairScore:
    """Outcomes of one system on a collection of minimal pairs. Each sequence has one entry per pair.

    ``outcomes``: 1 if the correct sentence is more probable, 0.5 for equal probabilities, else 0. ``with_unknown``:
    whether the pair has an unknown word. ``connected``: whether the tree that the system predicts connects verb and
    subject, None if that is not evaluated.
    """

    system: str
    run: str
    data: str
    counted: str  # tokens that the probabilities are over
    pairs: Sequence[Pair]
    outcomes: Sequence[float]
    with_unknown: Sequence[bool]
    connected: Sequence[bool | None]

    @property
    def overall(self) -> Accuracy:
        """Accuracy over all pairs."""
        return Accuracy(math.fsum(self.outcomes), len(self.outcomes))

    @property
    def mean(self) -> float:
        """Mean of the accuracies of the phenomena in percent, whatever their numbers of pairs."""
        values = [accuracy.value for accuracy in self.by_phenomenon.values()]
        return math.fsum(values) / len(values)

    @property
    def by_phenomenon(self) -> dict[str, Accuracy]:
        """Accuracy of each phenomenon, in the order of the collection."""
        return accuracies((pair.phenomenon for pair in self.pairs), self.outcomes)

    @property
    def by_group(self) -> dict[str, Accuracy]:
        """Accuracy of short-term and long-term dependencies, or of the terms of BLiMP, empty without groups."""
        groups = accuracies((pair.group for pair in self.pairs), self.outcomes)
        return {name: value for name, value in groups.items() if name}

    def by_connection(self, connected: bool) -> Accuracy | None:
        """Accuracy over the pairs whose verb and subject the system's tree connects, or does not connect."""
        links = zip(self.outcomes, self.connected, strict=True)
        return accuracy(outcome for outcome, link in links if link is connected)

    @property
    def known(self) -> Accuracy | None:
        """Accuracy over the pairs without unknown words, or None if there are none."""
        pairs = zip(self.outcomes, self.with_unknown, strict=True)
        return accuracy(outcome for outcome, has_unknown in pairs if not has_unknown)

    @property
    def unknown_percent(self) -> float:
        """Percentage of pairs with an unknown word."""
        return 100 * sum(self.with_unknown) / len(self.pairs)

    @property
    def tied_percent(self) -> float:
        """Percentage of pairs with two equal probabilities."""
        return 100 * sum(outcome == 0.5 for outcome in self.outcomes) / len(self.pairs)

    @property
    def signature(self) -> str:
        """``pairs|data:…|logp:words+eos|ties:half|mean:phenomena|pairs:2880|v:0.1.0``."""
        convention = f"logp:{self.counted}|ties:half|mean:phenomena"
        return f"pairs|data:{self.data}|{convention}|pairs:{len(self.pairs)}|v:{VERSION}"

    def to_json(self, name: str) -> dict[str, Any]:
        """The result of the system called ``name`` as a JSON object."""
        links = {name: self.by_connection(value) for name, value in (("connected", True), ("apart", False))}
        return {
            "system": name,
            "run": split_name(self.run)[1],
            "mean": self.mean,
            "overall": self.overall.to_json(),
            "groups": {name: value.to_json() for name, value in self.by_group.items()},
            "phenomena": {name: value.to_json() for name, value in self.by_phenomenon.items()},
            "own_tree": {name: value and value.to_json() for name, value in links.items()},
            "known": self.known and self.known.to_json(),
            "unknown_percent": self.unknown_percent,
            "tied_percent": self.tied_percent,
            "signature": self.signature,
        }


class Scorer(Protocol):
    """A system that assigns log-probabilities to sentences."""

    name: str
    run: str  # its folder, or ""

    @property
    def counted(self) -> Counted:
        """The tokens that a log-probability is over."""

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceLikelihood]:
        """The score of each sentence, in order."""


class NgramScorer:
    """An n-gram model of ``text`` over the vocabulary of a trained ``model``."""

    run: str = ""
    counted: Counted = "words+eos"

    def __init__(self, order: int, text: Iterable[Sentence], model: LanguageModel) -> None:
        self.name, self.model = "unigram" if order == 1 else f"{order}-gram", model
        encoded = (model.encode(sentence).ids for sentence in text)
        self.ngrams = NgramModel((ids for ids in encoded if ids), order=order, size=len(model.vocabulary))

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceLikelihood]:
        """The score of each sentence, in order. Equal sentences are scored once."""
        scores: dict[tuple[int, ...], float | None] = {(): None}
        for sentence in map(self.model.encode, sentences):
            if sentence.ids not in scores:
                scores[sentence.ids] = self.ngrams.log_probability(sentence.ids)
            yield SentenceLikelihood(sentence, scores[sentence.ids])


def score_pairs(pairs: Sequence[Pair], scorer: Scorer, data: str, parser: Parser | None = None) -> PairScore:
    """The result of ``scorer`` on ``pairs``, and if ``parser`` is given whether its trees connect verb and subject."""
    scores = list(scorer.score(sentence for pair in pairs for sentence in (pair.good, pair.bad)))
    outcomes, unknown = [], []
    for good, bad in zip(scores[::2], scores[1::2], strict=True):
        values = good.log_probability or 0.0, bad.log_probability or 0.0
        is_tie = good.sentence.ids == bad.sentence.ids or values[0] == values[1]
        outcomes.append(0.5 if is_tie else float(values[0] > values[1]))
        unknown.append(bool(good.sentence.unknown or bad.sentence.unknown))
    connected = connections(pairs, parser) if parser else [None] * len(pairs)
    return PairScore(scorer.name, scorer.run, data, scorer.counted, pairs, outcomes, unknown, connected)


def connections(pairs: Sequence[Pair], parser: Parser) -> list[bool | None]:
    """For each pair with a known subject, whether the parse of its good sentence connects the subject with the verb.

    A tree connects them if the subject, all words from its first one up to the verb, is a constituent. Heads connect
    them if one of the verb and the subject's noun is the head of the other.
    """
    sentences = [pair.good for pair in pairs if pair.agreement]
    if parser.output == "trees":
        trees = iter(parser.parse(sentences))
        return [pair.agreement[:2] in next(trees).spans if pair.agreement else None for pair in pairs]
    parses = iter(parser.parse_heads(sentences))
    connected: list[bool | None] = []
    for pair in pairs:
        if pair.agreement is None:
            connected.append(None)
            continue
        _, verb, noun = pair.agreement
        heads = next(parses)[1]
        connected.append(heads[verb] == noun or heads[noun] == verb)
    return connected


@dataclass(frozen=True, slots=True)
class PairEvaluation:
    """The results of several systems, with mean and deviation of the models that match one pattern."""

    scores: Sequence[PairScore]
    spreads: Mapping[str, Runs]

    @property
    def names(self) -> list[str]:
        """Name of the system of each score."""
        return [system_name(score.system, score.run) for score in self.scores]

    def tables(self) -> list[Table]:
        """One row per phenomenon with a column per system, then means and shares of pairs."""
        columns = [Column("Phenomenon"), Column("Pairs")]
        for name in self.names:
            columns += [Column(name, ".1f"), Column(f"{name} 95 % int.", ".0f")]
        notes = ["Accuracy in percent; chance is 50."]
        for pattern, runs in self.spreads.items():
            notes.append(f"{pattern} (mean of {len(runs.values)}): {runs.mean:.1f} ± {runs.deviation:.1f}")
        notes += dict.fromkeys(score.signature for score in self.scores)
        return [Table("", columns, list(self._rows()), footnotes=notes)]

    def _rows(self) -> Iterator[list[Cell]]:
        """The rows of the table, grouped as in the collection."""
        first = self.scores[0]
        for group in dict.fromkeys([*first.by_group, ""]):
            for name in dict.fromkeys(pair.phenomenon for pair in first.pairs if pair.group == group):
                yield _row(name, [score.by_phenomenon[name] for score in self.scores])
            if group:
                yield _row(f"({group})", [score.by_group[group] for score in self.scores])
        yield ["(mean of phenomena)", None, *(cell for score in self.scores for cell in (score.mean, None))]
        yield _row("(all pairs)", [score.overall for score in self.scores])
        if any(any(score.with_unknown) for score in self.scores):
            yield _row("(pairs without an unknown word)", [score.known for score in self.scores])
        for title, connected in (("own tree connects verb and subject", True), ("own tree does not", False)):
            if any(score.by_connection(connected) for score in self.scores):
                yield _row(title, [score.by_connection(connected) for score in self.scores])
        for title, values in (
            ("% of pairs with an unknown word", [score.unknown_percent for score in self.scores]),
            ("% of pairs that are tied", [score.tied_percent for score in self.scores]),
        ):
            yield [title, None, *(cell for value in values for cell in (value, None))]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as a JSON object."""
        scores = [score.to_json(name) for name, score in zip(self.names, self.scores, strict=True)]
        groups = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        return {"chance": 50.0, "scores": scores, "groups": groups}


def _row(title: str, values: Sequence[Accuracy | None]) -> list[Cell]:
    """The cells of one row: the number of pairs, if it is the same for all systems, and each accuracy."""
    counts = {value.pairs if value else 0 for value in values}
    cells: list[Cell] = [title, counts.pop() if len(counts) == 1 else None]
    for value in values:
        cells += [value.value, value.interval] if value else [None, None]
    return cells


def evaluate_pairs(
    name: str,
    groups: Mapping[str, Sequence[str]],
    *,
    folder: str | None = None,
    limit: int | None = None,
    ngram_text: str | None = None,
    device: str = "auto",
) -> PairEvaluation:
    """Evaluate the models in the folders of ``groups`` (pattern -> folders) on the pairs that `read_pairs` reads.

    With ``ngram_text`` a unigram and a 5-gram model of that text are baselines, with the vocabulary and the tokenizer
    of the first model.
    Raises SynparseError if a model assigns no probabilities to sentences.
    """
    pairs = read_pairs(name, folder=folder, limit=limit)
    folders = list(dict.fromkeys(run for group in groups.values() for run in group))
    scores = []
    if ngram_text:
        first = SentenceScorer(folders[0], device="cpu")
        text = list(read_input([ngram_text], input_options=first.input_options(DEFAULT_INPUT)))
        scores = [score_pairs(pairs, NgramScorer(order, text, first), name) for order in (1, 5)]
    for run in folders:
        scorer = SentenceScorer(run, device=device)
        scores.append(score_pairs(pairs, scorer, name, own_parser(scorer, device)))
    return PairEvaluation(scores, runs_of(groups, {score.run: score.mean for score in scores}))


def own_parser(scorer: SentenceScorer, device: str) -> Parser | None:
    """The parser of a model, or None if it predicts no trees, or trees over characters."""
    if not scorer.model.gives or scorer.token != "word":
        return None
    return load_parser(scorer.run, device=device)


class NgramModel:
    """N-gram model of the next word given up to ``order`` - 1 words, over a vocabulary of ``size`` words.

    p(w | c) = max(n(c w) - D, 0) / n(c) + D t(c) / n(c) p(w | c'), where t(c) counts the different words after c and c'
    is c without its first word. Below the highest order n counts the different words before an n-gram. The shortest
    context is empty, where every word has 1 / ``size``. D = n1 / (n1 + 2 n2) for each order, where n1 and n2 are the
    numbers of n-grams with count one and two.
    """

    def __init__(self, sentences: Iterable[Sequence[int]], *, order: int, size: int) -> None:
        self.order, self.size = order, size
        highest: Counter[tuple[int, ...]] = Counter()
        for sentence in sentences:
            padded = [*[BOUNDARY] * (order - 1), *sentence, BOUNDARY]
            highest.update(tuple(padded[end - order : end]) for end in range(order, len(padded) + 1))
        self.counts = [highest]  # of n-grams: order, order - 1, … 1
        for _ in range(order - 1):
            self.counts.append(Counter(ngram[1:] for ngram in self.counts[-1]))
        self.discounts: list[float] = []
        #: for each context, the sum of the counts of the words after it, and the number of different words
        self.totals: list[dict[tuple[int, ...], tuple[int, int]]] = []
        for counts in self.counts:
            frequencies = Counter(counts.values())
            once, twice = frequencies[1], frequencies[2]
            self.discounts.append(once / (once + 2 * twice) if once and twice else 0.5)
            self.totals.append({})
            for ngram, count in counts.items():
                total, types = self.totals[-1].get(ngram[:-1], (0, 0))
                self.totals[-1][ngram[:-1]] = total + count, types + 1

    def probability(self, context: Sequence[int], word: int) -> float:
        """p(word | context), where only the last ``order`` - 1 words of ``context`` matter."""
        value = 1 / self.size
        for level in range(self.order - 1, -1, -1):  # from words alone to the longest context
            length = self.order - 1 - level
            before = tuple(context[len(context) - length :])
            total, types = self.totals[level].get(before, (0, 0))
            if total:
                discount = self.discounts[level]
                count = self.counts[level].get((*before, word), 0)
                value = (max(count - discount, 0) + discount * types * value) / total
        return value

    def log_probability(self, sentence: Sequence[int]) -> float:
        """Log-probability in nats of a sentence and its end."""
        padded = [*[BOUNDARY] * (self.order - 1), *sentence, BOUNDARY]
        first = self.order - 1
        return math.fsum(math.log(self.probability(padded[:end], padded[end])) for end in range(first, len(padded)))
