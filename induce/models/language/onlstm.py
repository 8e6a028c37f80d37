"""ON-LSTM: ordered neurons (Shen, Tan, Sordoni & Courville 2019), as in the released program, and ONLSTM-SYD, which has
a second set of distances that learns from trees (Du, Lin, Shen, O'Donnell, Bengio & Zhang 2020).

The order of this file: the settings, one layer, whose recurrence is in ``onlstm_kernel.py``, the language model, which
is an `AwdModel`, and the language model that also learns from trees. ``docs/reference/models/onlstm.md`` and
``docs/reference/models/syd.md`` map the papers' equations to these functions and list the differences between the
released programs, which are followed here, and the papers.

Shapes: T steps, B sentences or streams, E embedding, H units of a layer, C units a chunk, n = H / C chunks, m entries
of a master gate (n, or n + 1 with ``extra_master_gate``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.layers.masks import Masks, dropped_weight, keep_mask
from induce.models.base import Loss, Query, bounded, gold_distances, next_words
from induce.models.capabilities import GateReading
from induce.models.language.next_word_model import AwdConfig, AwdModel, SupervisionConfig
from induce.models.language.onlstm_kernel import cumax, recurrence
from induce.setting import choice, count, dropout_rate, setting
from induce.structures import Distances
from treebank.base.errors import SynparseError

WORDS_PER_PASS = 2**10  # words of a batch that are computed at once in parsing, which limits the memory


@dataclass(frozen=True, kw_only=True)
class OnLstmConfig(AwdConfig):
    """Sizes and dropout rates of an ON-LSTM language model. The defaults are the paper's (section 5.1)."""

    chunk_size: int = count(10, "units that share one master gate; divides hidden_size")
    extra_master_gate: bool = setting(
        False, help="one more entry in each master gate, so that the last chunk receives input, too (Stratos)"
    )
    input_dropout: float = dropout_rate(0.5, "dropout of the embedded words, one mask for all steps")
    hidden_dropout: float = dropout_rate(0.3, "dropout between layers, one mask for all steps")
    output_dropout: float = dropout_rate(0.45, "dropout after the last layer, one mask for all steps")
    weight_dropout: float = dropout_rate(0.45, "dropout of entries of the hidden-to-hidden matrices")

    def check(self) -> None:
        """Raises ValueError if the sizes do not fit together."""
        super().check()
        last = "output_size" if self.output_size else "embedding_size" if self.tied_embeddings else "hidden_size"
        for name in (last, "hidden_size"):
            if getattr(self, name) % self.chunk_size:
                raise ValueError(f"{name} = {getattr(self, name)} is not a multiple of chunk_size = {self.chunk_size}")


class OnLstmState(NamedTuple):
    """Hidden state ``h`` (B, H) and cell state ``c`` (B, n, C)."""

    h: Tensor
    c: Tensor


class SegmentOutput(NamedTuple):
    """Output of one layer over a segment."""

    hidden: Tensor  # (T, B, H)
    state: OnLstmState
    distance_forget: Tensor  # (T, B): 1 - mean master forget gate, the syntactic distance (eq. 15, up to a constant)
    distance_input: Tensor  # (T, B): mean master input gate
    input: Tensor  # (T, B, input)
    before: Tensor  # (B, H): the hidden state before the segment


class OnLstmLayer(nn.Module):
    """One layer. Weight dropout acts on its hidden-to-hidden matrix, ``recurrent.weight``."""

    def __init__(self, input_size: int, units: int, chunk_size: int, *, extra_master_gate: bool = False) -> None:
        super().__init__()
        self.units, self.chunk_size, self.chunks = units, chunk_size, units // chunk_size
        self.masters = self.chunks + extra_master_gate
        rows = 2 * self.masters + 4 * units
        self.input = nn.Linear(input_size, rows)
        self.recurrent = nn.Linear(units, rows)

    @property
    def recurrent_weight(self) -> Tensor:
        """The matrix that weight dropout acts on."""
        return self.recurrent.weight

    def initial_state(self, batch: int) -> OnLstmState:
        """Zeros."""
        weight = self.recurrent.weight
        return OnLstmState(weight.new_zeros(batch, self.units), weight.new_zeros(batch, self.chunks, self.chunk_size))

    def forward(self, x: Tensor, state: OnLstmState, recurrent_weight: Tensor | None = None) -> SegmentOutput:
        """Hidden states, distances and final state of the layer for the segment ``x`` (T, B, input).

        ``recurrent_weight`` is used instead of the layer's own matrix, for example after weight dropout.
        """
        weight = self.recurrent.weight if recurrent_weight is None else recurrent_weight
        projected = functional.linear(x, self.input.weight, self.input.bias + self.recurrent.bias)
        hidden, c, distance_forget, distance_input = recurrence(projected, weight, *state)
        return SegmentOutput(hidden, OnLstmState(hidden[-1], c), distance_forget, distance_input, x, state.h)

    def forget_logits(self, output: SegmentOutput, recurrent_weight: Tensor) -> Tensor:
        """Master forget gate before its cumax (T, B, m), recomputed so that gradients flow through it."""
        return self._logits(output, recurrent_weight, slice(self.masters, 2 * self.masters))

    def master_gates(self, output: SegmentOutput, recurrent_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Master forget and master input gate (T, B, m) of each step (eq. 9, 10)."""
        logits = self._logits(output, recurrent_weight, slice(2 * self.masters))
        input_logits, forget_logits = logits.chunk(2, -1)
        return cumax(forget_logits), 1 - cumax(input_logits)

    def _logits(self, output: SegmentOutput, recurrent_weight: Tensor, rows: slice) -> Tensor:
        """The ``rows`` of the projection of each step (T, B, …), computed again from the states of the segment."""
        states = torch.cat((output.before[None], output.hidden[:-1]))
        bias = self.input.bias[rows] + self.recurrent.bias[rows]
        return functional.linear(output.input, self.input.weight[rows], bias) + states @ recurrent_weight[rows].t()


class OnLstm(GateReading, AwdModel):
    """ON-LSTM language model (Shen et al. 2019, section 5.1). Input and output embeddings are tied, or not (5.3)."""

    Config = OnLstmConfig
    gives = (Distances,)

    def make_layer(self, input_size: int, units: int) -> OnLstmLayer:
        """One ON-LSTM layer."""
        config = self.config
        return OnLstmLayer(input_size, units, config.chunk_size, extra_master_gate=config.extra_master_gate)

    def used_weight(self, weight: Tensor, mask: Tensor | None) -> Tensor:
        """``weight`` with dropout, or times 1 - rate outside of training, as in the released program."""
        return dropped_weight(weight, self.config.weight_dropout, mask)

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """Syntactic distances (B, N): the forget distances of layer ``query.layer``, counted from 1 (Shen et al. 2019).

        Layers above this one are not computed.
        """
        return self.read_distances(batch, query.layer, lambda output, _: output.distance_forget)

    def read_distances(
        self, batch: SentenceBatch, layer: int, read: Callable[[SegmentOutput, Tensor], Tensor]
    ) -> Distances:
        """Distances by ``read``, a function from the output of ``layer`` and its recurrent matrix to (T, B)."""
        columns = len(batch.tokens)
        state, weights = self.initial_state(columns), self.recurrent_weights(layers=layer)
        distances = []
        for steps in bounded(batch.tokens).t().split(max(1, WORDS_PER_PASS // columns)):
            _, outputs = self(steps, state, weights=weights)
            state = [output.state for output in outputs]
            distances.append(read(outputs[-1], weights[-1]))
        return Distances(torch.cat(distances).t()[:, 1:-1], batch.lengths)

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Master gates (B, N, m) of each layer at each word, and their expected split points (B, N, L) in chunks.

        ``forget_split`` chunks are forgotten, and ``input_split`` chunks receive input (section 4.2).
        """
        columns, steps_of_pass = len(batch.tokens), max(1, WORDS_PER_PASS // len(batch.tokens))
        state, weights = self.initial_state(columns), self.recurrent_weights()
        parts: list[list[Tensor]] = [[] for _ in range(2 * len(weights))]
        for steps in bounded(batch.tokens).t().split(steps_of_pass):
            _, outputs = self(steps, state, weights=weights)
            state = [output.state for output in outputs]
            for k, pair in enumerate(map(OnLstmLayer.master_gates, self.stack, outputs, weights)):
                parts[2 * k].append(pair[0])
                parts[2 * k + 1].append(pair[1])
        names = [f"{gate}_{k}" for k in range(1, len(weights) + 1) for gate in ("forget", "input")]
        gates = {name: torch.cat(part).transpose(0, 1)[:, 1:-1] for name, part in zip(names, parts, strict=True)}
        forgotten = [(1 - values).sum(-1) for name, values in gates.items() if name.startswith("forget")]
        received = [values.sum(-1) for name, values in gates.items() if name.startswith("input")]
        return {**gates, "forget_split": torch.stack(forgotten, -1), "input_split": torch.stack(received, -1)}


@dataclass(frozen=True, kw_only=True)
class OnLstmSydConfig(SupervisionConfig, OnLstmConfig):
    """Settings of ON-LSTM, and of the supervision. The defaults are the paper's (section 5.1)."""

    supervised_layer: int = count(3, "layer whose distances learn from trees, counted from 1")
    supervised_head: str = choice(
        "split",
        ("split", "shared", "hidden"),
        "supervised distances (table 4): split (map of the gate), shared (gate) or hidden (map of states)",
    )
    distance_scale: str = choice(
        "units",
        ("units", "share"),
        "scale of distances in the ranking loss: units (0 to length, eq. 17) or share (0 to 1, as released)",
    )

    def check(self) -> None:
        """Raises ValueError if the values do not fit together."""
        super().check()
        if self.supervised_layer > self.layers:
            raise ValueError(f"supervised_layer = {self.supervised_layer}: the model has {self.layers} layers")


class OnLstmSyd(OnLstm):
    """ON-LSTM language model whose layer ``supervised_layer`` also learns the distances of given trees."""

    Config = OnLstmSydConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (SupervisedStreamBatch, SupervisedBatch)
    config: OnLstmSydConfig
    whole_batch = (Batch,)  # all pairs of gold distances

    def __init__(self, config: OnLstmSydConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        layer = self.stack[config.supervised_layer - 1]
        heads = {
            "split": lambda: nn.Linear(layer.masters, layer.masters),
            "shared": lambda: None,
            "hidden": lambda: nn.Linear(layer.units, 1, bias=False),  # only the order of distances matters
        }
        self.head: nn.Linear | None = heads[config.supervised_head]()

    def draw_masks(self, steps: int, columns: int) -> Masks:
        """Fresh masks for one segment. The last of the weights is that of the head, dropped like the others."""
        masks = super().draw_masks(steps, columns)
        if self.head is None:
            return masks
        weight = self.head.weight
        return masks._replace(
            weights=[*masks.weights, keep_mask(weight.shape, self.config.weight_dropout, weight.device)]
        )

    def supervised(self, output: SegmentOutput, recurrent_weight: Tensor, mask: Tensor | None = None) -> Tensor:
        """Supervised distances (T, B) of the layer that gave ``output``, with the dropout ``mask`` of the head."""
        if self.head is None:
            return output.distance_forget
        weight = self.used_weight(self.head.weight, mask)
        if self.config.supervised_head == "hidden":
            return functional.linear(output.hidden, weight, self.head.bias)[..., 0]
        layer = self.stack[self.config.supervised_layer - 1]
        logits = layer.forget_logits(output, recurrent_weight)  # eq. 14
        gate = cumax(functional.linear(logits, weight, self.head.bias))[..., : layer.chunks]
        return 1 - gate.mean(-1)  # eq. 16, 17

    def loss(
        self, batch: StreamBatch | SentenceBatch, state: list[OnLstmState] | None = None, *, masks: Masks | None = None
    ) -> Loss:
        """Loss of the language model, or eq. 19 for a batch with gold distances (NaN without gold)."""
        words, gold = next_words(batch), gold_distances(batch)
        if masks is None and self.training:
            masks = self.draw_masks(*words.tokens.shape)
        result = self.run(words, state, masks)
        loss = self.language_loss(result, words)
        if gold is None:
            return loss
        config, index = self.config, self.config.supervised_layer - 1
        weight = self.recurrent_weights(masks, layers=index + 1)[-1]
        mask = masks.weights[-1] if masks is not None and self.head is not None else None
        distances = self.supervised(result.layers[index], weight, mask)
        if config.distance_scale == "units" and config.supervised_head != "hidden":
            distances = distances * self.stack[index].chunks
        return config.with_trees(loss, distances, gold, words.tokens)

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The supervised distances (``syd``) or those of the language model (``lm``), as `OnLstm.structure` says."""
        if query.distances == "lm":
            return super().structure(batch, query)
        if query.layer != self.config.supervised_layer:
            where = f"the supervised distances are those of layer {self.config.supervised_layer}"
            raise SynparseError(f"model 'onlstm-syd': {where}, not {query.layer} (@distances=lm has every layer)")
        return self.read_distances(batch, query.layer, self.supervised)
