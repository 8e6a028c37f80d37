"""Interface of all models: the contract that training, parsing and scoring rely on, and how models are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.data.corpus import EncodedCorpus
from induce.decoding.specification import check_priors, fitting_decoder, parse_priors
from induce.models.capabilities import EdgeCounting, LayeredStates, MaskingImpact, SentenceScoring
from induce.registry import PURPOSES, check_loader, load
from induce.settings.run import RunConfig, decodable, kind_of, model_settings
from induce.structures import Distances, Impact, Structure
from treebank.base.errors import SynparseError, UsageError

Item = TypeVar("Item")
MIN_SETTING_LIMIT = 1 << 22  # for whole numbers in the settings, however small the file
SPARE_NUMBERS = 1 << 24  # allocated by a model beyond those of its weights: tables that are not stored
NUMBERS_PER_WEIGHT = 8
SPARE_TENSORS, TENSORS_PER_WEIGHT = 1000, 20


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a model on one batch, with the numbers that training reports."""

    objective: Tensor  # scalar: the loss that training minimizes, including penalties
    nll: Tensor  # scalar: mean negative log-likelihood in nats, to report
    count: int  # number of items that ``nll`` is the mean over
    state: Any = None  # to carry into the next segment of a stream (detach it first)
    correct: int | None = None  # number of labels predicted correctly, if items have labels
    rows: int | None = None  # number of items that ``objective`` is the mean over, if it is not ``count``

    @property
    def weight(self) -> int:
        """Weight of this objective when the objectives of the parts of a batch are averaged."""
        return self.count if self.rows is None else self.rows


class Query(NamedTuple):
    """Structure that is requested from a model."""

    structure: type[Structure]
    layer: int = 1  # from 1, for models that have trees in each layer
    distances: str = "lm"  # set of distances: those of the language model, or a set learned from trees
    symbols: bool = False  # whether span scores are requested by nonterminal as well
    right_probability: float = 0.5  # that the language branches to the right, for models whose trees depend on it
    trees: int = 1  # number of trees of each sentence in `RankedTrees`


class CountSharing:
    """Division of expected counts among the processes that fit one model, here a single process."""

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The part of ``items`` that this process counts."""
        return items

    def add_up(self, *arrays: np.ndarray) -> None:
        """Replace float64 ``arrays`` by their sums over all processes."""

    def equalize(self, model: nn.Module) -> None:
        """Copy the weights and buffers of the first process to the others."""


ALONE = CountSharing()


@dataclass(frozen=True)
class Context:
    """Conditions of a training run that are not settings of the model.

    ``group`` connects the processes that fit one model: each reads the full corpus, counts in its share of it, and adds
    its counts to those of the others.
    """

    seed: int = 1  # of the training run
    right_probability: float = 0.5  # that the text branches to the right
    group: CountSharing = ALONE


class Model(nn.Module):
    """A model that is trained by gradient descent.

    A subclass defines its settings (``Config``, a frozen dataclass whose ``check()`` raises ValueError if they are
    inconsistent), the types of batches that it learns from (``reads``), the structures that it predicts (``gives``),
    and the methods ``loss`` and ``structure``. It is constructed from its settings and the vocabulary size alone. It
    also inherits the classes of `induce.models.capabilities` for what only some models can do.
    """

    Config: ClassVar[type]
    reads: ClassVar[tuple[type[Batch], ...]]
    gives: ClassVar[tuple[type[Structure], ...]] = ()  # empty: a language model without trees
    max_length: ClassVar[int | None] = None  # words of the longest sentence that it can parse, or None
    shortest: ClassVar[int] = 1  # words of the shortest sentence that it can learn from and parse
    #: types of batches whose loss needs statistics of the whole batch; several processes cannot divide these
    whole_batch: tuple[type[Batch], ...] = ()
    estimates_root: ClassVar[bool] = False  # whether the diagonal of head distributions is P(word is the root)
    measure: ClassVar[str] = "perplexity"  # quantity that is reported for `Loss.nll`, by name
    rounds: ClassVar[bool] = False  # whether training may round the factors of products (`induce.layers.products`)

    @classmethod
    def decodable(cls) -> tuple[type[Structure], ...]:
        """Structures that decoders can read: ``gives``, distances between layer states, and the impact of masking."""
        states = (Distances,) if issubclass(cls, LayeredStates) else ()
        masked = (Impact,) if issubclass(cls, MaskingImpact) else ()
        return tuple(dict.fromkeys((*cls.gives, *states, *masked)))

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Compute buffers from the training corpus, such as word classes, before the first step."""

    def initial_state(self, columns: int) -> Any:
        """State before the first word of a stream of ``columns`` columns, or None if the model has no state."""
        return None

    def loss(self, batch: Any, state: Any = None) -> Loss:
        """Loss of a batch of a type in ``reads``.

        A segment of a stream continues from ``state``. Raises NotTrained if the model has no loss.
        """
        raise NotTrained(f"{type(self).__name__} has no loss")

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure requested by ``query`` for a batch of full sentences, in evaluation mode.

        Raises NotTrained if the model predicts no structure.
        """
        raise NotTrained(f"{type(self).__name__} gives no structure")

    def check_lengths(self, batch: SentenceBatch) -> None:
        """Raise SentenceTooLong for the first sentence of more than ``max_length`` words."""
        if self.max_length is None:
            return
        for index, length in enumerate(batch.lengths.tolist()):
            if length > self.max_length:
                raise SentenceTooLong(index, length, self.max_length)

    def parsing_cost(self, length: int) -> float:
        """Cost of a sentence of ``length`` words in a parsing batch, whose budget is 4,096: linear by default."""
        return length + 2.0


@dataclass(frozen=True, slots=True)
class FitStep:
    """Progress of `FittedModel.fit` after one step."""

    done: int  # steps so far
    total: int
    nll: float  # mean negative log-likelihood in nats over the text of this step, before its update
    count: int  # number of items that ``nll`` is the mean over
    check: bool = False  # whether to score the development set now and save the model if it is the best


class FittedModel(Model):
    """A model that is fitted without gradients, such as a grammar by expectation-maximization.

    All learned values are buffers, so that a checkpoint contains them.
    """

    def loss(self, batch: Any, state: Any = None) -> Loss:
        """Negative log-probability of the sentences per word, which scores the development set.

        Raises NotTrained if the model has no `SentenceScoring`.
        """
        if not isinstance(self, SentenceScoring):
            raise NotTrained(f"{type(self).__name__} has no loss")
        nats = -self.log_probability(batch).sum() / max(1, batch.token_count)
        return Loss(nats, nats, batch.token_count)

    def fit(self, corpus: EncodedCorpus, start: int, context: Context) -> Iterator[FitStep]:
        """Learn from ``corpus`` from step ``start`` on, and yield a `FitStep` after each step.

        The buffers then contain the full state: ``fit(corpus, step.done, context)`` continues with the same result as
        an uninterrupted run. Raises NotTrained if the model cannot be fitted.
        """
        raise NotTrained(f"{type(self).__name__} has no fit")


class SentenceTooLong(SynparseError):
    """Error for a sentence with more words than the model can parse, at row ``index`` of the batch."""

    def __init__(self, index: int, length: int, limit: int) -> None:
        super().__init__(f"{length:,} words are too many for this model, which reads at most {limit:,}")
        self.index, self.length, self.limit = index, length, limit

    def __reduce__(self) -> Any:
        return type(self), (self.index, self.length, self.limit)


class NotTrained(TypeError):
    """Error for a request that a model does not support."""


def bounded(tokens: Tensor) -> Tensor:
    """Sentences ``tokens`` (B, N) with a boundary token before and after each: (B, N + 2)."""
    return functional.pad(tokens, (1, 1))


class NextWords(NamedTuple):
    """A batch as a next-word model reads it: one row per step, one column per sentence or stream."""

    tokens: Tensor  # (T, B); each sentence is between boundary tokens
    targets: Tensor  # (T, B): the tokens that follow
    target_mask: Tensor | None = None  # (T, B): false for padding; None if there is no padding

    def chosen(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of ``rows`` (T B, E) that have a target, and these targets."""
        targets = self.targets.flatten()
        if self.target_mask is None:
            return rows, targets
        mask = self.target_mask.flatten()
        return rows[mask], targets[mask]


def next_words(batch: StreamBatch | SentenceBatch) -> NextWords:
    """Inputs and targets of a next-word model.

    A segment of a stream is not changed. In sentences, each word and the end-of-sentence token is a target; T = N + 2.
    """
    if isinstance(batch, StreamBatch):
        return NextWords(batch.tokens, batch.targets)
    tokens = bounded(batch.tokens).t().contiguous()
    index = torch.arange(len(tokens), device=tokens.device)[:, None]
    return NextWords(tokens, tokens.roll(-1, 0), index <= batch.lengths.to(tokens.device))


def gold_distances(batch: Batch) -> Tensor | None:
    """Gold distances (T, B) of a batch in the shape of `next_words`, or None if the batch has no trees.

    Positions without a gold distance are NaN. Models that learn from trees call this function for every batch, so that
    they also learn from batches without trees.
    """
    if isinstance(batch, SupervisedBatch):
        return functional.pad(batch.distances, (1, 1), value=float("nan")).t()
    return batch.distances if isinstance(batch, SupervisedStreamBatch) else None


def detach(state: Any) -> Any:
    """``state`` (tensors in nested lists and tuples) detached from the graph that computed it."""
    if isinstance(state, Tensor):
        return state.detach()
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(detach(part) for part in state))
    if isinstance(state, (list, tuple)):
        return type(state)(detach(part) for part in state)
    return state


def class_of(config: RunConfig) -> Any:
    """Class of the model of a run: for an encoder, that of the model around it."""
    kind = kind_of(config)
    return kind if issubclass(kind, Model) else load(PURPOSES.get(config.purpose_name).wrapper)


def make_model(config: RunConfig, vocabulary_size: int) -> Model:
    """Construct the untrained model of a training run for a vocabulary of ``vocabulary_size`` words.

    An encoder is wrapped in a model. Raises SynparseError if a setting is unknown or of another
    type, or if the settings are inconsistent.
    """
    kind = kind_of(config)
    model = kind(model_settings(kind.Config, config.model, config.model_name), vocabulary_size)
    return model if isinstance(model, Model) else class_of(config).of_run(config, model)


def check_fits(config: RunConfig) -> None:
    """Raises SynparseError if settings, model, reading and decoder do not fit together. Reads no text."""
    kind = kind_of(config)
    model_settings(kind.Config, config.model, config.model_name)
    check_loader(config.model_name, class_of(config).reads, config.loader_name)
    by_gradients = not issubclass(kind, FittedModel)
    if by_gradients == (config.optimizer_name == "none"):
        need = "an optimizer" if by_gradients else "optimizer.name=none"
        raise UsageError(f"optimizer.name={config.optimizer_name}: model {config.model_name!r} needs {need}")
    if config.train.precision != "float32" and not kind.rounds:
        raise UsageError(f"model {config.model_name!r} learns in float32 only; leave out train.precision")
    config.purpose.check_run(config)
    if kind.gives:
        fitting_decoder(config.model_name, kind.gives, config.parse.decoder)
    if structures := decodable(config):
        check_priors(parse_priors(config.parse.priors), structures, has_counts=issubclass(kind, EdgeCounting))


def build_with(make: Callable[[], nn.Module], settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> nn.Module:
    """The model that ``make`` builds from ``settings``, with ``tensors`` as its weights.

    Weights of half precision become single. Raises ValueError or RuntimeError if settings and weights do not fit
    together; a model that is out of proportion to its weights is refused before it takes memory.
    """
    count = sum(value.numel() for value in tensors.values())
    for name, value in settings.items():
        if isinstance(value, int) and value > max(count, MIN_SETTING_LIMIT):
            raise ValueError(f"{name} = {value} is out of proportion to the weights")
    with _AllocationLimit(
        count * NUMBERS_PER_WEIGHT + SPARE_NUMBERS, len(tensors) * TENSORS_PER_WEIGHT + SPARE_TENSORS
    ):
        model = make()
    for name, value in model.state_dict().items():
        stored = tensors[name].dtype if name in tensors else value.dtype
        if stored != value.dtype and (stored, value.dtype) != (torch.float16, torch.float32):
            raise ValueError(f"{name}: the settings ask for {value.dtype}, and the file has {stored}")
    model.load_state_dict(dict(tensors), strict=True)
    return model


class _AllocationLimit(TorchDispatchMode):
    """Within the block, raises ValueError before new tensors exceed a limit of numbers or of tensors in total."""

    def __init__(self, numbers: int, tensors: int) -> None:
        super().__init__()
        self.numbers, self.tensors = numbers, tensors

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch loads its compiler, which takes seconds

    def __torch_dispatch__(
        self, operation: Callable[..., Any], types: Any, arguments: tuple[Any, ...] = (), options: Any = None
    ) -> Any:
        first = arguments[0] if arguments else None
        if isinstance(first, (list, tuple)) and all(isinstance(size, int) for size in first):  # a size: a new tensor
            self.numbers -= prod(first)
            self.tensors -= 1
            if min(self.numbers, self.tensors) < 0:
                raise ValueError("the settings ask for a model that is out of proportion to the weights")
        return operation(*arguments, **(options or {}))
