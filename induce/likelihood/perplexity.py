"""Perplexity of a text under a trained model, counted as published (see ``docs/explanation/perplexity.md``)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from induce.data.loaders import MASKINGS
from induce.data.vocabulary import TOKENS, Vocabulary
from induce.ensemble.ensemble_description import models_of
from induce.likelihood.language_model import LanguageModel
from induce.likelihood.units import (
    Cache,
    EncodedText,
    Units,
    concatenate,
    mean_nats,
    segment_sums,
    sentence_sums,
    text_units,
)
from induce.models.language.next_word_model import NextWordModel
from induce.parsing.parser import with_rule
from induce.storage.locate import system_name
from treebank.base import VERSION
from treebank.base.arguments import ignore, split_name
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Interval, Table
from treebank.core.sentence import Sentence
from treebank.corpora.catalog import is_name, read_input
from treebank.evaluate.score import Runs, runs_of
from treebank.evaluate.statistics import paired_interval, paired_permutation
from treebank.io.read import DEFAULT_INPUT, InputOptions

COLUMNS = (
    *(Column("System"), Column("PPL", ".2f"), Column("Nats", ".4f"), Column("Bits/char.", ".4f")),
    *(Column("Unk. %", ".2f"), Column("Words"), Column("Vocab.")),
)
NOT_COMPARABLE = (
    "note: the perplexities do not compare, because the models have different vocabularies or mask rates, or count "
    "different tokens"
)

#: fields of a score in JSON
JSON_FIELDS = (
    *("nats", "bits_per_character", "scored", "words", "sentences", "characters", "unknown", "normalization"),
    *("token", "signature"),
)

ReportProgress = Callable[[str, int, int], None]  # called with a model folder, scored tokens, and tokens of the text
COMPARISON_TITLE = "Difference of perplexity from the first model: paired permutation of 10,000"
COMPARISON_COLUMNS = (
    *(Column("Models"), Column("Units"), Column("Number"), Column("Diff.", "+.2f"), Column("95 % int.", "+.2f")),
    Column("p (perm.)", ".4f"),
)


@dataclass(frozen=True, kw_only=True)
class Perplexity:
    """The score of one model on one text."""

    model: str
    run: str
    data: str
    nats: float  # mean negative log-likelihood of the scored tokens
    scored: int  # number of scored tokens
    words: int  # words or characters of the text, after normalization
    sentences: int
    unknown: int  # unknown words
    characters: int  # of the normalized text: words, a space between two words, an end of line per sentence
    normalization: str
    vocabulary: Vocabulary
    mask_rate: float | None = None  # share of masked words, for a masked model
    token: str = "word"  # unit of the vocabulary: words and characters are counted in it
    columns: int | None = None  # parallel columns of the stream, for a model that reads one
    cache: Cache | None = None
    sums_trees: bool = False  # the model has probabilities of sentences, summed over trees, not of words

    @property
    def value(self) -> float:
        """e to the power of ``nats``, infinite if it is too large for a float."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def bits_per_character(self) -> float | None:
        """Bits of all tokens divided by ``characters``, or None for masked words, which are not the complete text."""
        if self.mask_rate is not None:
            return None
        return self.nats / math.log(2) * (self.words + self.sentences) / self.characters

    @property
    def unknown_percent(self) -> float:
        """Percentage of unknown words."""
        return 100 * self.unknown / self.words

    def row(self, name: str) -> list[Cell]:
        """The cells of `COLUMNS`."""
        values = [self.value, self.nats, self.bits_per_character, self.unknown_percent]
        return [name, *values, self.words, len(self.vocabulary)]

    @property
    def metric(self) -> str:
        """PPL, or MPPL for masked words."""
        return "PPL" if self.mask_rate is None else "MPPL"

    @property
    def signature(self) -> str:
        """Everything that influences the value: ``PPL|data:FILE|tokens:words+eos|unk:kept|state:carried|batch:1|…``."""
        tokens = TOKENS[self.token]
        if self.mask_rate is not None:
            counted = f"tokens:masked-{tokens}|unk:not-masked|masked:{self.mask_rate}|maskings:{MASKINGS}"
        elif self.columns is not None:
            counted = f"tokens:{tokens}+eos|unk:kept|state:carried|batch:{self.columns}"
        else:
            counted = f"tokens:{tokens}+eos|unk:kept|state:sentence" + "|sum:trees" * self.sums_trees
        cache = f"|cache:{self.cache}" if self.cache else ""
        text = f"norm:{self.normalization}|vocab:{len(self.vocabulary)}|scored:{self.scored}"
        return f"{self.metric}|data:{self.data}|{counted}{cache}|{text}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.2f}"

    def to_json(self, name: str) -> dict[str, Any]:
        """The score of the model called ``name`` as a JSON object."""
        document: dict[str, Any] = {"system": name, "run": split_name(self.run)[1], "metric": self.metric}
        document["value"] = self.value if math.isfinite(self.value) else None
        document["vocabulary"] = len(self.vocabulary)
        return document | {name: getattr(self, name) for name in JSON_FIELDS}


@dataclass(frozen=True, slots=True)
class TextEvaluation:
    """Scores of several models on one text, with mean and deviation of the models that match one pattern."""

    text: str
    digest: str  # SHA-256 of the words, one sentence per line
    scores: Sequence[Perplexity]
    spreads: Mapping[str, Runs]  # by pattern
    comparisons: Sequence[TextComparison] = ()

    @property
    def comparable(self) -> bool:
        """Whether the perplexities are over the same tokens: one vocabulary, one normalization, one way to count."""
        tokens = {
            (score.metric, score.mask_rate, score.normalization, score.token, frozenset(score.vocabulary.words))
            for score in self.scores
        }
        return len(tokens) <= 1

    @property
    def names(self) -> list[str]:
        """Name of the model of each score."""
        return [system_name(score.model, score.run) for score in self.scores]

    def tables(self) -> list[Table]:
        """One row per model and pattern, and one per comparison."""
        rows: list[list[Cell]] = [score.row(name) for name, score in zip(self.names, self.scores, strict=True)]
        for pattern, runs in self.spreads.items():
            name = f"{pattern} (mean of {len(runs.values)}, SD {runs.deviation:.2f})"
            rows.append([name, runs.mean, *[None] * (len(COLUMNS) - 2)])
        by_signature: dict[str, list[Perplexity]] = {}
        for score in self.scores:
            by_signature.setdefault(score.signature, []).append(score)
        # with the value, if no other score has the same signature
        notes = [signature if len(same) > 1 else str(same[0]) for signature, same in by_signature.items()]
        tables = [Table("", COLUMNS, rows, footnotes=[*notes, *[NOT_COMPARABLE] * (not self.comparable)])]
        if self.comparisons:
            comparisons = [comparison.row() for comparison in self.comparisons]
            tables.append(Table(COMPARISON_TITLE, COMPARISON_COLUMNS, comparisons))
        return tables

    def to_json(self) -> dict[str, Any]:
        """The evaluation as a JSON object."""
        document: dict[str, Any] = {"text": {"name": self.text, "sha256": self.digest}}
        document["scores"] = [score.to_json(name) for name, score in zip(self.names, self.scores, strict=True)]
        if self.spreads:
            document["groups"] = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        if self.comparisons:
            document["comparisons"] = [comparison.to_json() for comparison in self.comparisons]
        return document


class TextScorer(LanguageModel):
    """A trained model that receives a text sentence by sentence and scores it at the end."""

    def __init__(
        self, run: str, *, device: str = "auto", batch_size: int | None = None, cache: Cache | None = None
    ) -> None:
        """Raises SynparseError if the model cannot be scored with these options."""
        super().__init__(run, device=device)
        self.check_probabilities(of_sentences=False)
        if not self.reads_stream and batch_size is not None:
            raise SynparseError(f"{run}: this {self.name!r} does not read a stream; leave out --batch-size")
        if cache is not None and not (self.reads_stream and issubclass(self.model_type, NextWordModel)):
            raise SynparseError(f"{run}: this {self.name!r} has no states of a stream to remember; leave out --cache")
        self.columns, self.cache = batch_size or 1, cache
        self.text = EncodedText()
        self.sentences = self.unknown = self.characters = 0

    def add(self, sentence: Sentence) -> None:
        """Add one sentence, unless it has no word after normalization, as in training."""
        encoded = self.encode(sentence)
        if not encoded.ids:
            return
        self.text.add(encoded.ids)
        self.sentences += 1
        self.unknown += encoded.unknown
        self.characters += encoded.characters

    def units(self, data: str, watch: ReportProgress = ignore) -> Iterator[Units]:
        """The units of the text ``data`` in order. Raises SynparseError if there is no word in it."""
        if not self.sentences:
            problem = f"there is no word in it after normalization {self.config.data.normalization!r}"
            raise SynparseError(f"{data}: {problem}")
        done = 0
        for units in text_units(self, self.text, columns=self.columns, cache=self.cache):
            yield units
            done += units.tokens_read
            watch(self.run, done, self.text.tokens)

    def perplexity(self, data: str, units: Iterable[Units]) -> Perplexity:
        """The perplexity of ``units`` of the text ``data``. Raises SynparseError if no token is scored."""
        words = self.text.tokens - self.sentences
        nats, scored = mean_nats(units)
        if not scored:
            raise SynparseError(f"{data}: {words:,} words are too few to be scored in this way")
        return Perplexity(
            model=self.name,
            run=self.run,
            data=data,
            nats=nats,
            scored=scored,
            words=words,
            sentences=self.sentences,
            unknown=self.unknown,
            characters=self.characters,
            normalization=self.config.data.normalization,
            vocabulary=self.vocabulary,
            mask_rate=self.config.model["mask_rate"] if self.is_masked else None,
            token=self.token,
            columns=self.columns if self.reads_stream else None,
            cache=self.cache,
            sums_trees=not self.gives_words,
        )


def evaluate_text(
    text: str,
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    batch_size: int | None = None,
    cache: Cache | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
    watch: ReportProgress = ignore,
    compare: bool = False,
) -> TextEvaluation:
    """The perplexity of a file, or of the built-in ``sample``, under the models in the folders of ``groups``.

    ``groups`` maps patterns to the folders that they match; the models among the members of an ensemble are scored.
    ``input_options`` are completed by the tokenization of the models. ``watch`` is called for each model with the
    number of scored tokens and of all tokens. With ``compare`` each model is tested against the first. Raises
    SynparseError if a model cannot be scored with these options.
    """
    folders = dict.fromkeys(model for group in groups.values() for folder in group for model in models_of(folder))
    scorers = [TextScorer(folder, device=device, batch_size=batch_size, cache=cache) for folder in folders]
    if compare and any(scorer.columns > 1 for scorer in scorers):
        raise SynparseError("a comparison needs the text in one column; leave out --batch-size")
    digest = add_text(read_text(text, scorers, input_options), scorers)
    scores: list[Perplexity] = []
    all_units: list[Units] = []
    for scorer in scorers:
        units: Iterable[Units] = scorer.units(text, watch)
        if compare:
            units = [concatenate(units)]
            all_units += units
        scores.append(scorer.perplexity(text, units))
    spreads = runs_of(groups, {score.run: score.value for score in scores})
    evaluation = TextEvaluation(text, digest, scores, spreads)
    return replace(evaluation, comparisons=compare_texts(evaluation.names, all_units)) if compare else evaluation


def read_text(text: str, scorers: Sequence[LanguageModel], input_options: InputOptions) -> Iterable[Sentence]:
    """The sentences of a file or of ``sample``, by default tokenized like the training text of the models.

    Raises SynparseError if these were tokenized by different rules.
    """
    rules = {scorer.config.data.tokenization for scorer in scorers}
    if len(rules) > 1 and not input_options.tokenize and not is_name(text):
        raise SynparseError(f"{text}: these models tokenize raw text by different rules; score them one by one")
    purposes = [scorer.config.purpose_name for scorer in scorers]
    return read_input([text], input_options=with_rule(input_options, rules, purposes))


def add_text(sentences: Iterable[Sentence], scorers: Sequence[TextScorer]) -> str:
    """Give ``sentences`` to each of ``scorers`` and return the SHA-256 of their words."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(" ".join(sentence.words).encode("utf-8", "surrogatepass") + b"\n")
        for scorer in scorers:
            scorer.add(sentence)
    return digest.hexdigest()


@dataclass(frozen=True)
class TextComparison:
    """Difference of the perplexity of ``second`` from that of ``first``, with its interval and p-value."""

    first: str
    second: str
    units: str  # sentences or segments
    count: int  # number of units
    difference: float
    interval: Interval | None  # 95 % of the resampled differences; None for fewer than ten units
    permutation: float | None  # p-value

    def row(self) -> list[Cell]:
        """The cells of `COMPARISON_COLUMNS`."""
        difference = f"{self.second} - {self.first}"
        return [
            *(difference, self.units, self.count),
            *(self.difference, self.interval, self.permutation),
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as a JSON object."""
        return {
            "systems": [self.first, self.second],
            "units": self.units,
            "count": self.count,
            "difference": self.difference,
            "interval": self.interval and list(self.interval),
            "p_permutation": self.permutation,
        }


def compare_texts(names: Sequence[str], units: Sequence[Units]) -> list[TextComparison]:
    """Compare every model with the first, by sentences and by segments.

    Masked models are compared by segments only. Raises SynparseError if there is one model, or if the models score
    different tokens.
    """
    if len(units) < 2:
        raise SynparseError("nothing to compare: name a second model with -m")
    comparisons = []
    for name, others in zip(names[1:], units[1:], strict=True):
        for unit, sums_of in (("sentences", sentence_sums), ("segments", segment_sums)):
            before, after = sums_of(units[0]), sums_of(others)
            if before is not None and after is not None:
                comparisons.append(compare_units(names[0], name, unit, before, after))
    return comparisons


def compare_units(first: str, second: str, units: str, before: np.ndarray, after: np.ndarray) -> TextComparison:
    """Compare two models by the sums (S, 2) of nats and scored tokens of each unit."""
    if not np.array_equal(before[:, 1], after[:, 1]):
        raise SynparseError(f"{first} and {second} do not read the same tokens; their perplexities do not compare")
    rows = before.tolist(), after.tolist()
    interval = paired_interval([rows[0]], [rows[1]], perplexity_of)
    values = [float(perplexity_of(sums.sum(0)[None])[0]) for sums in (before, after)]
    permutation = paired_permutation(*rows, perplexity_of)
    return TextComparison(first, second, units, len(before), values[1] - values[0], interval, permutation)


def perplexity_of(sums: np.ndarray) -> np.ndarray:
    """Perplexities (S,) of sums (S, 2) of nats and scored tokens."""
    return np.exp(sums[:, 0] / sums[:, 1])
