"""AWD-LSTM: a language model without structure (Merity, Keskar & Socher 2017), the baseline of perplexities.

Sizes, dropouts and penalties are those of `AwdModel`; the layers are torch's own LSTM. Two dropout conventions of
AWD-LSTM's released program differ from those of ON-LSTM: ``docs/reference/models/lstm-and-transformer.md``.

Shapes: T steps, B streams, H units of a layer.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from torch import Tensor, nn
from torch.func import functional_call

from induce.models.language.next_word_model import AwdConfig, AwdModel, LanguageOutput

RECURRENT = "weight_hh_l0"  # torch's name of the hidden-to-hidden matrix


class LstmState(NamedTuple):
    """Hidden state ``h`` and cell state ``c`` (1, B, H), as torch's LSTM has them."""

    h: Tensor
    c: Tensor


class LayerOutput(NamedTuple):
    """Output of one layer over a segment."""

    hidden: Tensor  # (T, B, H)
    state: LstmState


class LstmLayer(nn.Module):
    """One layer of torch's LSTM whose hidden-to-hidden matrix can be replaced for a segment."""

    def __init__(self, input_size: int, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size, units)

    @property
    def recurrent_weight(self) -> Tensor:
        """Hidden-to-hidden matrix (4 H, H), to whose entries weight dropout is applied."""
        return cast(Tensor, getattr(self.lstm, RECURRENT))

    def initial_state(self, columns: int) -> LstmState:
        """Zeros."""
        zero = self.recurrent_weight.new_zeros(1, columns, self.lstm.hidden_size)
        return LstmState(zero, zero)

    def forward(self, x: Tensor, state: LstmState, recurrent_weight: Tensor) -> LayerOutput:
        """Run over ``x`` (T, B, input) with ``recurrent_weight`` instead of the layer's own matrix."""
        hidden, last = functional_call(self.lstm, {RECURRENT: recurrent_weight}, (x, tuple(state)))
        return LayerOutput(hidden, LstmState(*last))


class Lstm(AwdModel):
    """AWD-LSTM language model."""

    Config = AwdConfig

    def make_layer(self, input_size: int, units: int) -> LstmLayer:
        """One LSTM layer."""
        return LstmLayer(input_size, units)

    def used_weight(self, weight: Tensor, mask: Tensor | None) -> Tensor:
        """``weight``, with dropout divided by the share kept."""
        return weight if mask is None else weight * mask / (1 - self.config.weight_dropout)

    def penalized(self, result: LanguageOutput) -> Tensor:
        """The output of the last layer after the output dropout, unlike ON-LSTM."""
        return result.output
