"""What every model offers, whatever its paper: the contract that training, parsing and scoring rely on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.structures import Structure
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus
    from induce.decoding.priors import EdgeStatistics


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Loss:
    """What a model makes of one batch."""

    objective: Tensor  # scalar: what is minimised, penalties included
    nll: Tensor  # scalar: mean negative log-likelihood in nats, to report
    count: int  # what ``nll`` is the mean over
    state: Any = None  # to carry into the next segment of a stream (detach it first)
    correct: int | None = None  # of a task: how many labels were found
    rows: int | None = None  # what ``objective`` is the mean over, where that is not ``count``

    @property
    def weight(self) -> int:
        """By what the objectives of the parts of a batch are weighed."""
        return self.count if self.rows is None else self.rows


class Query(NamedTuple):
    """Which structure is asked for."""

    structure: type[Structure]
    layer: int = 1  # from 1, for models that have trees in each layer
    distances: str = "lm"  # set of distances: of the language model, or one that learned from trees
    symbols: bool = False  # whether span scores are requested by nonterminal as well


class Model(nn.Module):
    """A model that learns by gradients.

    A subclass names its settings (``Config``, a frozen dataclass whose ``check()`` raises ValueError where they do not
    fit together), the batches that it learns from and the structures that it gives, and has ``loss`` and ``structure``.
    It is made from its settings and the number of words in the vocabulary alone.
    """

    Config: ClassVar[type]
    reads: ClassVar[tuple[type[Batch], ...]]
    gives: ClassVar[tuple[type[Structure], ...]] = ()  # nothing: a language model without trees
    max_length: ClassVar[int | None] = None  # words of a sentence that it can parse, if that is limited
    shortest: ClassVar[int] = 1  # words of a sentence that it can learn from and parse
    #: types of batches whose loss needs statistics of the whole batch; several processes cannot divide these
    whole_batch: tuple[type[Batch], ...] = ()
    estimates_root: ClassVar[bool] = False  # whether the diagonal of head distributions is P(word is the root)
    measure: ClassVar[str] = "perplexity"  # as which `Loss.nll` is told, or the name of what stands in its place
    rounds: ClassVar[bool] = False  # whether it may learn from products of rounded factors (`induce.layers.rounding`)
    precision = "float32"  # of these

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Before the first step: what can be had from the whole text, such as word classes, goes into buffers."""

    def initial_state(self, columns: int) -> Any:
        """What is carried along a stream, before its first word, for ``columns`` columns; None: nothing is."""
        return None

    def loss(self, batch: Any, state: Any = None) -> Loss:
        """The loss of a batch of a type in ``reads``; a segment of a stream goes on from ``state``."""
        raise NotTrained(f"{type(self).__name__} has no loss")

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """What ``query`` asks for of whole sentences; to be called in evaluation mode."""
        raise NotTrained(f"{type(self).__name__} gives no structure")

    def edge_statistics(self) -> EdgeStatistics | None:
        """Counts of the training text for priors that need them, or None."""
        return None

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability in nats of each word of whole sentences, where the model has one; in evaluation mode.

        (B, N + 1) of a model of next words, the mark behind the last word included; (B, N) of one of masked words,
        each word when it alone is masked. 0 at padding. Raises NotTrained for a model that only knows sentences.
        """
        raise NotTrained(f"{type(self).__name__} has no probabilities of words")

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats; of a model of masked words the sum over these (pseudo)."""
        return self.word_log_probabilities(batch).sum(1)

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """What the model knows of each word of whole sentences (B, N, E): its final states, or of a model of next words
        those that the output layer reads behind each word. Raises NotTrained for a model without any."""
        raise NotTrained(f"{type(self).__name__} has no vectors of words")

    def sentence_vectors(self, batch: SentenceBatch) -> Tensor:
        """The mean of each sentence's word vectors (B, E); zeros for a sentence without a word."""
        vectors = self.word_vectors(batch)
        count = batch.lengths.to(vectors.device)[:, None]
        real = torch.arange(vectors.shape[1], device=vectors.device) < count
        return (vectors * real[..., None]).sum(1) / count.clamp(min=1)

    def check_lengths(self, batch: SentenceBatch) -> None:
        """Raises SentenceTooLong for the first sentence of more than ``max_length`` words."""
        if self.max_length is None:
            return
        for index, length in enumerate(batch.lengths.tolist()):
            if length > self.max_length:
                raise SentenceTooLong(index, length, self.max_length)

    def parsing_cost(self, length: int) -> float:
        """What a sentence of ``length`` words adds to a parsing batch, whose budget is 4,096: linear by default."""
        return length + 2.0


@dataclass(frozen=True, slots=True)
class FitStep:
    """Where `FittedModel.fit` stands."""

    done: int  # steps
    total: int
    nll: float  # mean negative log-likelihood in nats over this step's text, before what it changed
    count: int  # what that is the mean over
    check: bool = False  # whether to score the development text now, and keep the model if it is the best


class CountSharing:
    """Division of expected counts among processes that fit one model; this one is for a single process."""

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The part of ``items`` that this process counts in."""
        return items

    def add_up(self, *arrays: np.ndarray) -> None:
        """Replace float64 ``arrays`` by their sums over all processes."""

    def equalize(self, model: nn.Module) -> None:
        """Copy the weights and buffers of the first process to the others."""


class FittedModel(Model):
    """A model that learns without gradients, such as a grammar by expectation maximisation.

    All that it learns lives in buffers, so that a checkpoint holds it. ``seed`` is that of the run; ``group`` are the
    processes that learn together, each of which has the whole text, counts in its share of it, and adds up.
    """

    seed: int = 1
    group: CountSharing = CountSharing()

    def loss(self, batch: Any, state: Any = None) -> Loss:
        """What development text is scored by: the negative log-probability of its sentences, a mean over words."""
        nats = -self.log_probability(batch).sum() / max(1, batch.token_count)
        return Loss(nats, nats, batch.token_count)

    def fit(self, corpus: EncodedCorpus, start: int = 0) -> Iterator[FitStep]:
        """Learn, one `FitStep` at a time. After each the buffers hold everything, and ``fit(corpus, step.done)`` goes
        on as if nothing had been in between."""
        raise NotTrained(f"{type(self).__name__} has no fit")


class SentenceTooLong(SynparseError):
    """A sentence of a batch has more words than its model can parse; ``index`` is its row."""

    def __init__(self, index: int, length: int, limit: int) -> None:
        super().__init__(f"{length:,} words are too many for this model, which parses at most {limit:,}")
        self.index, self.length, self.limit = index, length, limit

    def __reduce__(self) -> Any:
        return type(self), (self.index, self.length, self.limit)


class NotTrained(TypeError):
    """A model was asked for what it does not offer."""


def scores_words(kind: type[Model]) -> bool:
    """Whether models of this class give each word a log-probability."""
    return kind.word_log_probabilities is not Model.word_log_probabilities


def scores_sentences(kind: type[Model]) -> bool:
    """Whether models of this class give each sentence a log-probability."""
    return scores_words(kind) or kind.log_probability is not Model.log_probability


def has_vectors(kind: type[Model]) -> bool:
    """Whether models of this class give each word a vector."""
    return kind.word_vectors is not Model.word_vectors


def bounded(tokens: Tensor) -> Tensor:
    """``tokens`` (B, N) with a boundary mark before and behind each sentence: (B, N + 2)."""
    return functional.pad(tokens, (1, 1))


class NextWords(NamedTuple):
    """A batch as a next-word model reads it, steps down and columns or sentences across."""

    tokens: Tensor  # (T, B): of sentences each between boundary marks
    targets: Tensor  # (T, B): the tokens that follow
    target_mask: Tensor | None = None  # (T, B): false for padding; None: there is none

    def chosen(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Of ``rows`` (T B, E) those that have a target, and these targets."""
        targets = self.targets.flatten()
        if self.target_mask is None:
            return rows, targets
        mask = self.target_mask.flatten()
        return rows[mask], targets[mask]


def next_words(batch: StreamBatch | SentenceBatch) -> NextWords:
    """A segment of a stream as it is; of sentences every word and the mark behind each as targets, T = N + 2."""
    if isinstance(batch, StreamBatch):
        return NextWords(batch.tokens, batch.targets)
    tokens = bounded(batch.tokens).t().contiguous()
    place = torch.arange(len(tokens), device=tokens.device)[:, None]
    return NextWords(tokens, tokens.roll(-1, 0), place <= batch.lengths.to(tokens.device))


def gold_distances(batch: Batch) -> Tensor | None:
    """The gold distances (T, B) of a batch in the shape of `next_words`, NaN where there are none; None if it has none.

    This is the one place that asks a batch whether it has trees: the models that learn from them can do without.
    """
    if isinstance(batch, SupervisedBatch):
        return functional.pad(batch.distances, (1, 1), value=float("nan")).t()
    return batch.distances if isinstance(batch, SupervisedStreamBatch) else None


def detach(state: Any) -> Any:
    """``state`` (tensors in nested lists and tuples) cut off from the graph that computed it."""
    if isinstance(state, Tensor):
        return state.detach()
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(detach(part) for part in state))
    if isinstance(state, (list, tuple)):
        return type(state)(detach(part) for part in state)
    return state
