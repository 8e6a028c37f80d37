"""Perplexity of a text under a trained model, counted as published; ``docs/perplexity.md`` says what is counted."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from induce.config import entry_of
from induce.data.batches import MaskedBatch, SentenceBatch, StreamBatch
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.data.sentences import MASKINGS
from induce.data.tokens import TOKENS, split
from induce.data.vocabulary import Vocabulary
from induce.likelihood.cache import Cache, cached_nll
from induce.likelihood.comparison import TextComparison, compare_texts
from induce.models.base import scores_sentences, scores_words
from induce.parsing.ensemble import models_of
from induce.parsing.load import choose_device, read_trained
from induce.registry import model_class
from induce.storage.checkpoint import build_model
from treebank.base.errors import SynparseError
from treebank.base.version import VERSION
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.corpora.sample import sample_treebank
from treebank.evaluate.score import Runs
from treebank.io.formats import read_sentences

Watched = Callable[[str, int, int], None]  # hears a model's folder, how many tokens are scored, and of how many

POSITIONS = 512  # tokens of a stream at a time
BLOCK = 512  # sentences at a time
ENTRIES = 2**24  # likenesses of states at a time, under a large cache


def unwatched(run: str, done: int, total: int) -> None:
    """For who does not want to know how far scoring has come."""


@dataclass(frozen=True, kw_only=True)
class Perplexity:
    """The score of one model on one text."""

    model: str
    run: str
    data: str
    reading: str  # stream, sentences, fragments or masked, as the model was trained
    nats: float  # mean negative log-likelihood of a token that was scored
    scored: int  # tokens that this is the mean over
    words: int  # or characters: units of the text, after normalisation
    sentences: int
    unknown: int  # of the words
    characters: int  # of the normalised text: its words, a space between each two, an end for each line
    normalization: str
    vocabulary: Vocabulary
    mask_rate: float | None = None  # of a masked model: the share of words that are masked
    token: str = "word"  # what a token is: words and characters are counted in units
    batch_size: int = 1
    cache: Cache | None = None
    whole_sentences: bool = False  # the model has probabilities of sentences, sums over their trees, and not of words

    @property
    def value(self) -> float:
        """e to the power of ``nats``; infinite where it is too large to write."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def bits_per_character(self) -> float | None:
        """Bits of all tokens divided by ``characters``; None of masked words, which are not the whole text."""
        if self.reading == "masked":
            return None
        marks = 0 if self.reading == "fragments" else self.sentences  # a grammar's sentences have no mark behind them
        return self.nats / math.log(2) * (self.words + marks) / self.characters

    @property
    def unknown_percent(self) -> float:
        """Of the words of the text."""
        return 100 * self.unknown / self.words

    @property
    def metric(self) -> str:
        """PPL, or MPPL of masked words."""
        return "MPPL" if self.reading == "masked" else "PPL"

    @property
    def signature(self) -> str:
        """How the value came about: ``PPL|data:FILE|tokens:words+eos|unk:kept|state:carried|batch:1|…``."""
        over = "|sum:trees" if self.whole_sentences else ""
        sentences = f"tokens:{TOKENS[self.token]}+eos|unk:kept|state:sentence{over}"
        how = {
            "stream": f"tokens:{TOKENS[self.token]}+eos|unk:kept|state:carried|batch:{self.batch_size}",
            "sentences": sentences,
            "fragments": sentences,
            "masked": f"tokens:masked-{TOKENS[self.token]}|unk:not-masked|masked:{self.mask_rate}|maskings:{MASKINGS}",
        }[self.reading]
        cache = f"|cache:{self.cache}" if self.cache else ""
        text = f"norm:{self.normalization}|vocab:{len(self.vocabulary)}|scored:{self.scored}"
        return f"{self.metric}|data:{self.data}|{how}{cache}|{text}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.2f}"

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse eval --text FILE --json``."""
        return {
            "system": self.model,
            "run": self.run,
            "metric": self.metric,
            "value": self.value if math.isfinite(self.value) else None,
            "nats": self.nats,
            "bits_per_character": self.bits_per_character,
            "scored": self.scored,
            "words": self.words,
            "sentences": self.sentences,
            "characters": self.characters,
            "unknown": self.unknown,
            "vocabulary": len(self.vocabulary),
            "normalization": self.normalization,
            "token": self.token,
            "signature": self.signature,
        }


def comparable(scores: Sequence[Perplexity]) -> bool:
    """Whether the perplexities are over the same tokens: one vocabulary, one normalisation, one way to count."""
    kinds = {
        (one.metric, one.mask_rate, one.normalization, one.token, frozenset(one.vocabulary.words)) for one in scores
    }
    return len(kinds) <= 1


@dataclass(frozen=True, slots=True)
class TextEvaluation:
    """The scores of several models on one text, and mean and deviation over those that one pattern names."""

    text: str
    digest: str  # SHA-256 of the words, a line a sentence
    scores: Sequence[Perplexity]
    spreads: Mapping[str, Runs]  # by pattern
    comparisons: Sequence[TextComparison] = ()

    @property
    def comparable(self) -> bool:
        """Whether the perplexities are over the same tokens."""
        return comparable(self.scores)

    def to_json(self) -> dict[str, Any]:
        """What ``synparse eval --text FILE --json`` writes."""
        document: dict[str, Any] = {"text": {"name": self.text, "sha256": self.digest}}
        document["scores"] = [score.to_json() for score in self.scores]
        if self.spreads:
            document["groups"] = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        if self.comparisons:
            document["comparisons"] = [one.to_json() for one in self.comparisons]
        return document


def score_file(
    text: str,
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    batch_size: int | None = None,
    cache: Cache | None = None,
    tokenize: bool = False,
    watch: Watched = unwatched,
    compare: bool = False,
) -> TextEvaluation:
    """The perplexity of a file, or of the built-in ``sample``, under the models in the folders of ``groups``.

    ``groups``: pattern -> the folders that it names; of an ensemble the models among its members are scored.
    ``watch`` is told of each model how many tokens are scored, and how many there are. With ``compare`` each is tested
    against the first, for which the text is scored once more.
    Raises SynparseError if a model cannot be scored in this way.
    """
    folders = dict.fromkeys(model for group in groups.values() for folder in group for model in models_of(folder))
    scorers = [TextScorer(folder, device=device, batch_size=batch_size, cache=cache) for folder in folders]
    if text == "sample":
        sentences: Iterable[Sentence] = sample_treebank("test").sentences
    else:
        rules = {scorer.checkpoint.config.data.tokenization for scorer in scorers}
        if len(rules) > 1 and not tokenize:
            raise SynparseError(f"{text}: these models split raw text by several rules; score them one by one")
        sentences = read_sentences([text], tokenize=tokenize or rules.pop())
    scores, digest = score_text(sentences, scorers, text, watch)
    values = {score.run: score.value for score in scores}
    spreads = {
        pattern: Runs({run: values[run] for run in group})
        for pattern, group in groups.items()
        if len(group) > 1 and values.keys() >= set(group)
    }
    comparisons = compare_texts(scorers, [f"{one.name} {one.run}" for one in scorers]) if compare else ()
    return TextEvaluation(text, digest, scores, spreads, comparisons)


class _Total(NamedTuple):
    """Sum of negative log-likelihoods in nats, and how many tokens they are of."""

    nats: float
    tokens: int


class TextScorer:
    """A trained model that is given a text sentence by sentence, keeps four bytes a token, and scores it at the end."""

    def __init__(
        self, run: str, *, device: str = "auto", batch_size: int | None = None, cache: Cache | None = None
    ) -> None:
        """Raises SynparseError if the model cannot be scored in this way."""
        self.run, self.batch_size, self.cache = run, batch_size, cache
        self.device = choose_device(device)
        self.checkpoint = read_trained(run)
        config = self.checkpoint.config
        if config.data.task:
            problem = f"{run}: this {config.model_name!r} has learned the task {config.data.task}, not text"
            raise SynparseError(f"{problem}; score it with --task {config.data.task}")
        self.name, self.reading = config.model_name, config.data.reading
        self.recipe = RECIPES[config.data.normalization]
        kind = model_class(self.name)
        self.whole_sentences = self.reading in ("sentences", "fragments") and not scores_words(kind)
        if entry_of(config).needs_focus or (self.whole_sentences and not scores_sentences(kind)):
            raise SynparseError(f"{run}: this {self.name!r} gives no probabilities of a text")
        if batch_size is not None and self.reading != "stream":
            raise SynparseError(f"{run}: this {self.name!r} reads {self.reading}, not a stream; leave out --batch-size")
        if cache is not None and (self.reading != "stream" or not hasattr(kind, "predictions")):
            raise SynparseError(
                f"{run}: this {self.name!r} reads {self.reading} and has no hidden states of a stream to remember; "
                "leave out --cache"
            )
        self.ids = array("i", [0])  # the mark before the first sentence; 0 behind each
        self.sentences = self.unknown = self.characters = 0
        self._watch: Callable[[int], None] = lambda done: None

    def add(self, sentence: Sentence) -> None:
        """Count one sentence; one without a word after normalisation is left out, as in training."""
        forms = self.recipe(sentence.words, sentence.tags).forms
        if not forms:
            return
        ids = self.checkpoint.vocabulary.encode(split(forms, self.checkpoint.config.data.token))
        self.ids.extend(ids)
        self.ids.append(0)
        self.sentences += 1
        self.unknown += ids.count(1)
        self.characters += sum(map(len, forms)) + len(forms)

    @torch.inference_mode()
    def score(self, data: str, watch: Watched = unwatched) -> Perplexity:
        """The perplexity of what was added, under the name ``data``. Raises SynparseError if it is nothing."""
        words = len(self.ids) - 1 - self.sentences
        normalization = self.checkpoint.config.data.normalization
        if not words:
            raise SynparseError(f"{data}: there is no word in it after normalisation {normalization!r}")
        self._watch = lambda done: watch(self.run, done, len(self.ids) - 1)
        total = self._total(build_model(self.checkpoint).to(self.device))
        if not total.tokens:
            raise SynparseError(f"{data}: {words:,} words are too few to be scored in this way")
        return Perplexity(
            model=self.name,
            run=self.run,
            data=data,
            reading=self.reading,
            nats=total.nats / total.tokens,
            scored=total.tokens,
            words=words,
            sentences=self.sentences,
            unknown=self.unknown,
            characters=self.characters,
            normalization=normalization,
            vocabulary=self.checkpoint.vocabulary,
            mask_rate=self.checkpoint.config.model["mask_rate"] if self.reading == "masked" else None,
            token=self.checkpoint.config.data.token,
            batch_size=self.batch_size or 1,
            cache=self.cache,
            whole_sentences=self.whole_sentences,
        )

    def pieces(self, steps: int, batch: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
        """What was added as a stream: tokens and those that follow (T, B), ``steps`` at a time."""
        return stream_pieces(self.ids, batch, steps, self.device)

    def encoded(self) -> Iterator[list[int]]:
        """The sentences that were added, in numbers."""
        return _sentences(self.ids)

    def _total(self, model: Any) -> _Total:
        if self.reading != "stream":
            return OTHERS[self.reading](model, _blocks(self.ids, self._watch), self.device)
        batch = self.batch_size or 1
        tokens = (len(self.ids) - 1) // batch * batch
        steps = max(1, POSITIONS // batch)
        if self.cache is not None:
            steps = max(1, min(steps, ENTRIES // (batch * self.cache.size)))
        pieces = _told(self.pieces(steps, batch), self._watch)
        total = stream_nll(model, pieces) if self.cache is None else cached_nll(model, pieces, self.cache)
        return _Total(total, tokens)


def score_text(
    sentences: Iterable[Sentence], scorers: Sequence[TextScorer], data: str, watch: Watched = unwatched
) -> tuple[list[Perplexity], str]:
    """The perplexity of a text under each model, read once for all, and the SHA-256 of its words."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(" ".join(sentence.words).encode("utf-8", "surrogatepass") + b"\n")
        for scorer in scorers:
            scorer.add(sentence)
    return [scorer.score(data, watch) for scorer in scorers], digest.hexdigest()


def stream_pieces(ids: array[int], batch: int, steps: int, device: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens and the tokens that follow them (T, B), ``steps`` at a time: ``ids`` in ``batch`` columns.

    What is left over at the end, fewer than ``batch`` tokens, is not there. No more than a piece is copied.
    """
    rows = (len(ids) - 1) // batch
    flat = torch.frombuffer(ids, dtype=torch.int32)
    tokens, targets = (flat[first : first + rows * batch].view(batch, rows) for first in (0, 1))
    for start in range(0, rows, steps):
        here = slice(start, start + steps)
        yield tokens[:, here].t().long().contiguous().to(device), targets[:, here].t().long().contiguous().to(device)


def _told(pieces: Iterable[tuple[Tensor, Tensor]], tell: Callable[[int], None]) -> Iterator[tuple[Tensor, Tensor]]:
    """``pieces``; ``tell`` hears how many tokens are behind after each."""
    done = 0
    for piece in pieces:
        yield piece
        done += piece[0].numel()
        tell(done)


def stream_nll(model: Any, pieces: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Sum over consecutive ``pieces``, the state carried from one to the next."""
    total, state = 0.0, None
    for tokens, targets in pieces:
        loss = model.loss(StreamBatch(tokens, targets), state)
        total += float(loss.nll) * loss.count
        state = loss.state
    return total


def sentence_nll(model: Any, blocks: Iterable[list[list[int]]], device: str) -> _Total:
    """Each sentence by itself, its end included: a mark behind it, or of a grammar the last of its decisions."""
    total, count = 0.0, 0
    for block in blocks:
        for chosen in batches_by_cost(list(map(len, block)), cost=model.parsing_cost):
            batch = SentenceBatch(*pad([block[index] for index in chosen])).to(device)
            total -= float(model.log_probability(batch).double().sum())
            count += batch.token_count + len(chosen)
    return _Total(total, count)


def masked_nll(model: Any, blocks: Iterable[list[list[int]]], device: str) -> _Total:
    """The masked words of `MASKINGS` maskings, all together; these depend on the text and the mask rate."""
    generators = [torch.Generator().manual_seed(number) for number in range(MASKINGS)]
    total, count = 0.0, 0
    for block in blocks:
        maskings = [[torch.rand(len(sentence), generator=one) for sentence in block] for one in generators]
        for chosen in batches_by_cost(list(map(len, block))):
            tokens, lengths = pad([block[index] for index in chosen])
            for masking in maskings:
                uniforms = pad_sequence([masking[index] for index in chosen], batch_first=True, padding_value=1.0)
                loss = model.loss(MaskedBatch(tokens, lengths, uniforms).to(device))
                total += float(loss.nll) * loss.count
                count += loss.count
    return _Total(total, count)


#: data.reading, but for streams -> how it is scored
OTHERS: dict[str, Callable[[Any, Iterable[list[list[int]]], str], _Total]] = {
    "sentences": sentence_nll,
    "fragments": sentence_nll,
    "masked": masked_nll,
}


def _blocks(ids: array[int], tell: Callable[[int], None]) -> Iterator[list[list[int]]]:
    """The sentences of ``ids``, some at a time; ``tell`` hears how many tokens are behind after each block."""
    sentences, done = _sentences(ids), 0
    while block := list(islice(sentences, BLOCK)):
        yield block
        done += sum(map(len, block)) + len(block)
        tell(done)


def _sentences(ids: array[int]) -> Iterator[list[int]]:
    """What stands between the marks."""
    start = 1
    while start < len(ids):
        end = ids.index(0, start)
        if end > start:
            yield ids[start:end].tolist()
        start = end + 1
