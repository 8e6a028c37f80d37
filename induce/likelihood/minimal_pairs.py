"""Targeted syntactic evaluation (Marvin and Linzen 2018): how often the grammatical sentence is the more probable one.

And beside it, where the verb's subject is known: whether the tree that the model itself gives connects the two, and the
accuracy where it does and where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from induce.likelihood.ngrams import NgramModel
from induce.likelihood.pair_files import Pair, read_pairs
from induce.likelihood.sentences import Encoded, SentenceScorer
from induce.parsing.load import load_parser
from induce.parsing.parser import StructureParser
from treebank.base.version import VERSION
from treebank.core.sentence import Sentence
from treebank.evaluate.score import Runs
from treebank.evaluate.statistics import wilson_interval
from treebank.io.formats import read_sentences


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many of some pairs were ordered rightly; equal probabilities count half."""

    right: float
    pairs: int

    @property
    def value(self) -> float:
        """In percent."""
        return 100 * self.right / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, in percent, by Wilson's score; too narrow where pairs are made from few templates."""
        return wilson_interval(self.right, self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Value, interval and number of pairs."""
        return {"value": self.value, "interval": list(self.interval), "pairs": self.pairs}


def accuracy(outcomes: Iterable[float]) -> Accuracy | None:
    """Of 1, 0.5 and 0 for each pair; None of no pair."""
    listed = list(outcomes)
    return Accuracy(math.fsum(listed), len(listed)) if listed else None


@dataclass(frozen=True, slots=True)
class PairScore:
    """One system on a collection: for each pair 1, 0.5 or 0, whether it has an unknown word, whether the system's own
    tree connects verb and subject (None where that was not asked)."""

    system: str
    run: str
    data: str
    counted: str  # what the probabilities are over
    pairs: Sequence[Pair]
    outcomes: Sequence[float]
    with_unknown: Sequence[bool]
    connected: Sequence[bool | None]

    @property
    def overall(self) -> Accuracy:
        """Of all pairs together."""
        return Accuracy(math.fsum(self.outcomes), len(self.outcomes))

    @property
    def mean(self) -> float:
        """Mean over phenomena, however many pairs each has, in percent."""
        values = [found.value for found in self.by_phenomenon.values()]
        return math.fsum(values) / len(values)

    @property
    def by_phenomenon(self) -> dict[str, Accuracy]:
        """In the order of the collection."""
        return self._by([pair.phenomenon for pair in self.pairs])

    @property
    def by_group(self) -> dict[str, Accuracy]:
        """Short-term and long-term dependencies, or the terms of BLiMP; empty where there are no groups."""
        found = self._by([pair.group for pair in self.pairs])
        return {name: value for name, value in found.items() if name}

    def _by(self, names: Sequence[str]) -> dict[str, Accuracy]:
        parts: dict[str, list[float]] = {name: [] for name in names}
        for name, outcome in zip(names, self.outcomes, strict=True):
            parts[name].append(outcome)
        return {name: Accuracy(math.fsum(part), len(part)) for name, part in parts.items()}

    def by_connection(self, connected: bool) -> Accuracy | None:
        """Of the pairs whose verb and subject the system's tree connects, or does not; None if there are none."""
        return accuracy(
            outcome for outcome, found in zip(self.outcomes, self.connected, strict=True) if found is connected
        )

    @property
    def known(self) -> Accuracy | None:
        """Of the pairs all of whose words are in the vocabulary; None if there are none."""
        return accuracy(outcome for outcome, some in zip(self.outcomes, self.with_unknown, strict=True) if not some)

    @property
    def unknown_percent(self) -> float:
        """Of the pairs, how many have a word that is not in the vocabulary."""
        return 100 * sum(self.with_unknown) / len(self.pairs)

    @property
    def tied_percent(self) -> float:
        """Of the pairs, how many have two equal probabilities."""
        return 100 * sum(outcome == 0.5 for outcome in self.outcomes) / len(self.pairs)

    @property
    def signature(self) -> str:
        """``pairs|data:…|logp:words+eos|ties:half|mean:phenomena|pairs:2880|v:0.1.0``."""
        how = f"logp:{self.counted}|ties:half|mean:phenomena"
        return f"pairs|data:{self.data}|{how}|pairs:{len(self.pairs)}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """The entry of this system in the output of ``synparse eval --pairs … --json``."""
        links = {name: self.by_connection(value) for name, value in (("connected", True), ("apart", False))}
        return {
            "system": self.system,
            "run": self.run,
            "mean": self.mean,
            "overall": self.overall.to_json(),
            "groups": {name: found.to_json() for name, found in self.by_group.items()},
            "phenomena": {name: found.to_json() for name, found in self.by_phenomenon.items()},
            "own_tree": {name: found and found.to_json() for name, found in links.items()},
            "known": self.known and self.known.to_json(),
            "unknown_percent": self.unknown_percent,
            "tied_percent": self.tied_percent,
            "signature": self.signature,
        }


class Scorer(Protocol):
    """What gives sentences their log-probability."""

    name: str
    run: str

    @property
    def counted(self) -> str:
        """What the log-probability is over."""
        ...

    def log_probabilities(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Encoded, float]]:
        """Of each sentence as it is seen; 0 for one without words."""
        ...


class ModelScorer:
    """A trained model."""

    def __init__(self, run: str, device: str = "auto") -> None:
        self.scorer = SentenceScorer(run, device=device)
        self.name, self.run, self.counted = self.scorer.name, run, self.scorer.counted

    def log_probabilities(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Encoded, float]]:
        """Of each sentence as it is seen; 0 for one without words."""
        return ((one.sentence, one.log_probability or 0.0) for one in self.scorer.score(sentences))


class NgramScorer:
    """An n-gram model of a text in the words of a trained model."""

    counted = "words+eos"

    def __init__(self, order: int, text: Iterable[Sentence], scorer: SentenceScorer) -> None:
        self.name, self.run, self.scorer = "unigram" if order == 1 else f"{order}-gram", "", scorer
        ids = (scorer.encode(sentence).ids for sentence in text)
        self.model = NgramModel((one for one in ids if one), order=order, size=len(scorer.vocabulary))

    def log_probabilities(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Encoded, float]]:
        """Of each sentence as it is seen; 0 for one without words."""
        known: dict[tuple[int, ...], float] = {}
        for sentence in sentences:
            seen = self.scorer.encode(sentence)
            if seen.ids not in known:
                known[seen.ids] = self.model.log_probability(seen.ids) if seen.ids else 0.0
            yield seen, known[seen.ids]


def score_pairs(pairs: Sequence[Pair], scorer: Scorer, data: str, parser: StructureParser | None = None) -> PairScore:
    """How ``scorer`` orders ``pairs``; with ``parser`` also whether its trees connect verb and subject."""
    both = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
    scores = list(scorer.log_probabilities(both))
    outcomes, unknown = [], []
    for (good, better), (bad, worse) in zip(scores[::2], scores[1::2], strict=True):
        outcomes.append(0.5 if good.ids == bad.ids or better == worse else float(better > worse))
        unknown.append(bool(good.unknown or bad.unknown))
    connected = connections(pairs, parser) if parser else [None] * len(pairs)
    return PairScore(scorer.name, scorer.run, data, scorer.counted, pairs, outcomes, unknown, connected)


def connections(pairs: Sequence[Pair], parser: StructureParser) -> list[bool | None]:
    """For each pair with a known subject, whether the parse of its good sentence connects it with its verb.

    A tree does if the subject, all words from its first one up to the verb, is a constituent; heads do if the verb and
    the subject's noun are head and dependent, either way.
    """
    asked = [pair for pair in pairs if pair.agreement]
    sentences = [pair.good for pair in asked]
    found: list[bool] = []
    if parser.output == "trees":
        for pair, tree in zip(asked, parser.parse(sentences), strict=True):
            found.append(bool(pair.agreement and pair.agreement[:2] in tree.spans))
    else:
        for pair, (_, heads) in zip(asked, parser.parse_heads(sentences), strict=True):
            place = pair.agreement
            found.append(bool(place and (heads[place.verb] == place.noun or heads[place.noun] == place.verb)))
    answers = iter(found)
    return [next(answers) if pair.agreement else None for pair in pairs]


@dataclass(frozen=True, slots=True)
class PairEvaluation:
    """The scores of several systems, and mean and deviation of the models that one pattern names."""

    scores: Sequence[PairScore]
    spreads: Mapping[str, Runs]

    def to_json(self) -> dict[str, Any]:
        """What ``synparse eval --pairs … --json`` writes."""
        groups = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        return {"chance": 50.0, "scores": [score.to_json() for score in self.scores], "groups": groups}


def evaluate_pairs(
    name: str,
    groups: Mapping[str, Sequence[str]],
    *,
    folder: str | None = None,
    limit: int | None = None,
    ngram_text: str | None = None,
    device: str = "auto",
) -> PairEvaluation:
    """The models in the folders of ``groups`` (pattern -> folders) on the pairs called ``name``, as `read_pairs` says.

    ``ngram_text``: a text of which a unigram and a 5-gram model are made, as baselines in the words of the first model.
    Raises SynparseError for a model without probabilities.
    """
    pairs = read_pairs(name, folder=folder, limit=limit)
    folders = list(dict.fromkeys(run for group in groups.values() for run in group))
    scores = []
    if ngram_text:
        first = SentenceScorer(folders[0], device="cpu")
        text = list(read_sentences([ngram_text]))
        scores = [score_pairs(pairs, NgramScorer(order, text, first), name) for order in (1, 5)]
    for run in folders:
        scorer = ModelScorer(run, device)
        scores.append(score_pairs(pairs, scorer, name, own_parser(scorer.scorer, device)))
    values = {score.run: score.mean for score in scores}
    spreads = {
        pattern: Runs({run: values[run] for run in group}) for pattern, group in groups.items() if len(group) > 1
    }
    return PairEvaluation(scores, spreads)


def own_parser(scorer: SentenceScorer, device: str) -> StructureParser | None:
    """The parser of a model; None if it gives no trees or they are not over words."""
    if not scorer.model.gives or scorer.config.data.token != "word":
        return None
    return load_parser(scorer.run, device=device)
