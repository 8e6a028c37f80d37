"""ONLSTM-SYD: ON-LSTM with a second set of distances that learns from trees (Du, Lin, Shen, O'Donnell, Bengio & Zhang
2020).

Read after ``onlstm.py``: the language model is that one, unchanged. ``docs/reference/models/syd.md`` maps the
paper's equations to these functions and says where the released program departs from them.

Shapes: T steps, B streams, H units of the supervised layer, n its master gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.layers.masks import Masks, keep_mask
from induce.models.base import Loss, Query, gold_distances, next_words
from induce.models.language.onlstm import OnLstm, OnLstmConfig, OnLstmState, SegmentOutput
from induce.models.language.onlstm_kernel import cumax
from induce.models.language.ranking import SupervisionConfig
from induce.setting import choice, count
from induce.structures import Distances
from treebank.base.errors import SynparseError


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
