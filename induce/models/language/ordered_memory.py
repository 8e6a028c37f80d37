"""Ordered Memory (Shen, Tan, Hosseini, Lin, Sordoni & Courville 2019. Shen 2022, thesis, section 3.5).

Read from the top: the settings, the masked attention that says where the head of the stack is, the gated recursive cell
that joins two constituents, the recurrence over words and slots, the language model.
``docs/reference/models/ordered-memory.md`` maps the thesis's equations to these functions and lists every place where
the released program, which is followed here, departs from them.

Shapes: T steps, B sentences or streams, N slots, D units of a slot. Slot 0 is the lowest, slot N - 1 the top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch, StreamBatch
from induce.layers.cross_entropy import cross_entropy
from induce.layers.masks import FastDropout, keep_mask
from induce.models.base import Loss, Query, bounded, next_words
from induce.models.capabilities import GateReading
from induce.models.language.next_word_model import NextWordModel
from induce.models.language.ordered_memory_kernel import CellWeights, fill_slots
from induce.setting import choice, count, dropout_rate, limited
from induce.structures import StackDecisions

MIN_OPEN_SHARE = 1e-5  # a slot with a smaller value of the mask is closed

ATTENTIONS: dict[str, Callable[[Tensor], Tensor]] = {"released": torch.relu, "paper": torch.tanh}


@dataclass(frozen=True, kw_only=True)
class OrderedMemoryConfig:
    """Sizes and rates of an Ordered Memory language model. The defaults are those of the published ListOps run."""

    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = limited(21, 2, 1000, "memory slots")
    attention: str = choice(
        "released",
        ATTENTIONS,
        "attention over slots: released, or paper (tanh of one linear map, over the root of the number of slots)",
    )
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    dropout: float = dropout_rate(0.1, "dropout inside the recursive cell")
    attention_dropout: float = dropout_rate(0.3, "dropout of attention weights")
    output_dropout: float = dropout_rate(0.2, "dropout before the output layer")


class MaskedAttention(nn.Module):
    """Distribution of the head of the stack after the next reductions (section 3.5.1)."""

    def __init__(self, size: int, dropout: float = 0.0, kind: str = "released") -> None:
        super().__init__()
        released = kind == "released"
        self.kind = kind
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size, bias=released)
        self.query_norm = nn.LayerNorm(size) if released else nn.Identity()
        self.key_norm = nn.LayerNorm(size) if released else nn.Identity()
        self.score = nn.Linear(size, 1, bias=False)  # a bias is the same for all slots, so that it has no effect
        self.dropout = FastDropout(dropout)

    def queries(self, x: Tensor) -> Tensor:
        """Queries of inputs (…, D), for all steps at once."""
        return self.query_norm(self.query(self.dropout(x)))

    def forward(self, query: Tensor, candidate: Tensor, previous: Tensor) -> Tensor:
        """Distribution (B, N) over the slots of ``candidate`` (B, N, D) for ``query`` (B, D).

        ``previous`` (B, N) is the distribution one step earlier: a slot is open as far as that one lay at most one slot
        above it (eq. 3.5.10). All zeros leave only the top slot open.
        """
        open_share = functional.pad(previous.cumsum(-1)[:, 1:], (0, 1), value=1.0)
        closed = open_share < MIN_OPEN_SHARE
        keys = self.key_norm(self.key(self.dropout(candidate)))
        hidden = ATTENTIONS[self.kind](query[:, None] + keys)
        scale = candidate.shape[2] if self.kind == "released" else candidate.shape[1]
        # eq. 3.5.8; the released program divides by the root of D, the paper by that of N
        scores = self.score(self.dropout(hidden))[..., 0] / math.sqrt(scale)
        logits = scores + open_share.masked_fill(closed, 1.0).log()
        return logits.masked_fill(closed, -math.inf).softmax(-1)  # eq. 3.5.9 to 3.5.11


class RecursiveCell(nn.Module):
    """Joins two constituents (section 3.5.2). The layer normalization is the one of the input, and given."""

    def __init__(
        self, size: int, dropout: float = 0.0, activation: Callable[[Tensor], Tensor] = functional.relu
    ) -> None:
        super().__init__()
        self.activation = activation  # of `forward`; `fill` has a ReLU
        self.inner = nn.Linear(2 * size, 4 * size)
        self.outer = nn.Linear(4 * size, 4 * size)  # rows: vertical, horizontal and cell gate, candidate
        self.dropout = FastDropout(dropout)

    def forward(self, lower: Tensor, memory: Tensor, norm: nn.LayerNorm) -> Tensor:
        """The constituent (B, D) made of that from the ``lower`` slot (B, D) and that in ``memory`` (B, D)."""
        hidden = self.activation(self.inner(self.dropout(torch.cat((lower, memory), -1))))
        gates, new = self.outer(self.dropout(hidden)).split((3 * lower.shape[-1], lower.shape[-1]), -1)  # eq. 3.5.12
        vertical, horizontal, cell = gates.sigmoid().chunk(3, -1)
        return norm(vertical * lower + horizontal * memory + cell * new)  # eq. 3.5.13

    def fill(self, x: Tensor, memory: Tensor, above: Tensor, norm: nn.LayerNorm) -> Tensor:
        """Content of each slot (B, N, D) with the word ``x`` (B, D) in it (eq. 3.5.6, 3.5.7), by `fill_slots`."""
        masks = None
        if self.training and (rate := self.dropout.rate):
            count, size = int((above > 0).sum()), x.shape[1]
            shapes = [(count, width) for width in (size, size, 4 * size)]
            masks = [keep_mask(shape, rate, x.device).to(x.dtype) / (1 - rate) for shape in shapes]
        inner, outer = self.inner, self.outer
        weights = CellWeights(inner.weight, inner.bias, outer.weight, outer.bias, norm.weight, norm.bias)
        return fill_slots(x, memory, above, weights, norm.eps, masks).transpose(0, 1)


class MemoryState(NamedTuple):
    """State carried from step to step."""

    memory: Tensor  # M (B, N, D): the stack before the last word
    candidate: Tensor  # Mhat (B, N, D): what each slot would hold with the last word in it
    position: Tensor  # p (B, N): where the head of the stack is
    started: Tensor  # (B,): whether a word has been read


class MemoryOutput(NamedTuple):
    """Output of the recurrence over a segment."""

    output: Tensor  # (T, B, D): the top slot, all that was read
    positions: Tensor  # p (T, B, N)
    state: MemoryState


class OrderedMemoryLayer(nn.Module):
    """The recurrence (algorithm 2): for each word where the stack's head is, then the slots from there upwards.

    With ``exact`` a row begins with its first real step, wherever that is. Without, it begins with the first step of
    the batch, as in the released program; padding before a sentence then changes its numbers.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        slots: int,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        attention: str = "released",
        exact: bool = True,
    ) -> None:
        super().__init__()
        self.size, self.slots, self.exact = size, slots, exact
        self.input = nn.Linear(input_size, size)
        self.norm = nn.LayerNorm(size)  # of the input and of the cell
        self.attention = MaskedAttention(size, attention_dropout, attention)
        self.cell = RecursiveCell(size, dropout)

    def initial_state(self, batch: int, *, slots: int | None = None) -> MemoryState:
        """State of the memory before the first word."""
        weight, count = self.input.weight, slots or self.slots
        empty = weight.new_zeros(batch, count, self.size)
        started = torch.zeros(batch, dtype=torch.bool, device=weight.device)
        return MemoryState(empty, empty, weight.new_zeros(batch, count), started)

    def forward(
        self,
        x: Tensor,
        real: Tensor | None = None,
        *,
        state: MemoryState | None = None,
        slots: int | None = None,
        trace: list[MemoryState] | None = None,
    ) -> MemoryOutput:
        """Run over ``x`` (T, B, input), from ``state`` on, where ``real`` (T, B) is false at padding.

        The state after each step is added to ``trace``.

        No weight depends on the number of ``slots``. Output, position and memory are 0 at padding.
        """
        steps, batch = x.shape[:2]
        inputs = self.norm(self.input(x))  # eq. 3.5.1
        queries = self.attention.queries(inputs)
        state = state or self.initial_state(batch, slots=slots)
        known = torch.ones(steps, batch, dtype=torch.bool, device=x.device) if real is None else real
        read = known.cumsum(0) > 0 if self.exact else torch.ones_like(known)
        read = torch.cat((state.started[None], read | state.started))  # before each step, and at the end
        continues, started = read[:-1] & known, read[-1]  # (T, B): steps that follow a word
        presence = [None] * steps if real is None else _masks(real, x.dtype)
        masks = zip(_masks(continues, x.dtype), presence, strict=True)  # (B, 1), or None if true for all rows
        outputs, positions = [], []
        for t, (going, present) in enumerate(masks):
            position = self.attention(queries[t], state.candidate, state.position)  # eq. 3.5.2
            if going is not None:
                position = position * going
            above = position.cumsum(-1)  # eq. 3.5.3
            below = 1 - above + position  # eq. 3.5.4; 1 for a first word
            memory = torch.lerp(state.memory, state.candidate, below[..., None])  # eq. 3.5.5
            candidate = self.cell.fill(inputs[t], memory, above, self.norm)  # eq. 3.5.6, 3.5.7
            if present is not None:
                memory, candidate = memory * present[..., None], candidate * present[..., None]
            state = MemoryState(memory, candidate, position, state.started)
            if trace is not None:
                trace.append(state)
            outputs.append(state.candidate[:, -1])
            positions.append(state.position)
        return MemoryOutput(torch.stack(outputs), torch.stack(positions), state._replace(started=started))


def _masks(mask: Tensor, dtype: torch.dtype) -> list[Tensor | None]:
    """Each step of a boolean mask (T, B) as factors (B, 1), None where it is true throughout."""
    factors = mask[..., None].to(dtype)
    return [None if whole else factor for whole, factor in zip(mask.all(1).tolist(), factors, strict=True)]


def values_of(trace: Sequence[MemoryState]) -> dict[str, Tensor]:
    """The head of the stack (B, T, N), the memory and its candidates (B, T, N, D) of each step (thesis, figure 4)."""
    names = ("position", "memory", "candidate")
    return {name: torch.stack([getattr(state, name) for state in trace], 1) for name in names}


class OrderedMemory(GateReading, NextWordModel):
    """Ordered Memory as a language model: the next word is predicted from the top slot, embeddings are tied.

    The paper learns from labeled expressions; this is the same recurrence on plain text.
    """

    Config = OrderedMemoryConfig
    gives = (StackDecisions,)

    def __init__(self, config: OrderedMemoryConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size = config.slot_size
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.layer = OrderedMemoryLayer(
            size,
            size,
            config.slots,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            attention=config.attention,
        )
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        self.output_dropout = nn.Dropout(config.output_dropout)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def initial_state(self, batch: int) -> list[MemoryState]:
        """State of the memory before the first word."""
        return [self.layer.initial_state(batch)]

    def predictions(self, tokens: Tensor, state: list[MemoryState] | None = None) -> tuple[Tensor, list[MemoryState]]:
        """Vectors (T, B, E) that the output layer reads after each of ``tokens`` (T, B), and the state to carry on."""
        embedded = self.embedding_dropout(self.embedding(tokens))
        output, _, end = self.layer(embedded, None, state=None if state is None else state[0])
        return self.output_dropout(output), [end]

    def loss(
        self, batch: StreamBatch | SentenceBatch, state: list[MemoryState] | None = None, *, masks: Any = None
    ) -> Loss:
        """Mean negative log-likelihood of the words that follow."""
        words = next_words(batch)
        begin = None if state is None else state[0]
        embedded = self.embedding_dropout(self.embedding(words.tokens))
        output, _, end = self.layer(embedded, words.target_mask, state=begin)
        rows, targets = words.chosen(output.flatten(0, 1))
        nll = cross_entropy(self.output_dropout(rows), self.embedding.weight, self.decoder_bias, targets)
        return Loss(nll, nll, len(targets), [end])

    def structure(self, batch: SentenceBatch, query: Query) -> StackDecisions:
        """The slot of each word."""
        return StackDecisions(self.read(batch).positions[1:].argmax(-1).t(), batch.lengths)

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Values of `values_of` at each word."""
        trace: list[MemoryState] = []
        self.read(batch, trace)
        return values_of(trace[1:])

    def read(self, batch: SentenceBatch, trace: list[MemoryState] | None = None) -> MemoryOutput:
        """Run over sentences. The boundary token before a sentence is read, that after it is not."""
        steps = bounded(batch.tokens).t()[:-1]
        real = torch.arange(len(steps), device=steps.device)[:, None] <= batch.lengths.to(steps.device)
        return self.layer(self.embedding(steps), real, trace=trace)
