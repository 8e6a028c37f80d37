"""Ordered Memory as the encoder of a task's expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.layers.padding import last_real, real_words
from induce.models.language.ordered_memory import ATTENTIONS, OrderedMemoryLayer
from induce.setting import choice, count, dropout_rate, limited
from induce.structures import StackDecisions
from induce.tasks.batches import Side
from induce.tasks.encoders.base import Encoder


@dataclass(frozen=True, kw_only=True)
class MemoryEncoderConfig:
    """Sizes and rates. The defaults are those of the published ListOps run."""

    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = limited(21, 2, 1000, "memory slots")
    test_slots: int = limited(21, 2, 1000, "memory slots in testing")
    attention: str = choice("released", ATTENTIONS, "attention over slots: released or paper")
    padding: str = choice(
        "exact", ("exact", "released"), "exact, or released: padding in front, which changes the result"
    )
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    attention_dropout: float = dropout_rate(0.3, "dropout of attention weights")
    classifier_dropout: float = dropout_rate(0.2, "dropout before the classifier")


class MemoryEncoder(Encoder):
    """Ordered Memory. The vector is the top slot after the last token."""

    Config = MemoryEncoderConfig
    gives = (StackDecisions,)

    def __init__(self, config: MemoryEncoderConfig, symbols: int) -> None:
        super().__init__()
        self.config, self.size = config, config.slot_size
        self.embedding = nn.Embedding(symbols, config.slot_size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layer = OrderedMemoryLayer(
            config.slot_size,
            config.slot_size,
            config.slots,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            attention=config.attention,
            exact=config.padding == "exact",
        )

    def run(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (R, D) and the positions of the stack's head (T, R, slots), in the order of the tokens."""
        slots = self.config.slots if self.training else self.config.test_slots
        real = real_words(tokens, lengths)
        if self.config.padding == "exact":
            output, positions, _ = self.layer(self.dropout(self.embedding(tokens.t())), real.t(), slots=slots)
            return last_real(output, lengths), positions
        count = tokens.shape[1]  # padding moves to the front of each row
        sources = torch.arange(count, device=tokens.device) + lengths.to(tokens.device)[:, None] - count
        moved, present = tokens.gather(1, sources % count), sources >= 0
        output, positions, _ = self.layer(self.dropout(self.embedding(moved.t())), present.t(), slots=slots)
        back = torch.arange(count, device=tokens.device) - lengths.to(tokens.device)[:, None]
        index = (back % count).t()[..., None].expand_as(positions)
        return output[-1], positions.gather(0, index)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of R expressions ``tokens`` (R, N)."""
        return self.run(tokens, lengths)[0]

    def structure(self, tokens: Tensor, lengths: Tensor) -> StackDecisions:
        """Slots for ``tokens`` (R, N). That of the first token is the number of slots, as in the released program."""
        slots = self.run(tokens, lengths)[1].argmax(-1).t().contiguous()
        slots[:, 0] = self.config.test_slots
        return StackDecisions(slots, lengths)
