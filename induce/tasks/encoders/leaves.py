"""Parts of encoders that build binary trees of TreeLSTM states from the words upwards.

Shapes: R expressions, N words of the longest one, D units. A state is [h; c], 2 D units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from induce.setting import choice, count, dropout_rate, limited

LEAVES = {"lstm": 1, "bidirectional": 2, "linear": 0}  # number of LSTMs that compute the states of words


@dataclass(frozen=True, kw_only=True)
class LeafConfig:
    """Sizes and rates of encoders with states of words."""

    hidden_size: int = count(128, "units of a node")
    embedding_size: int = limited(0, 0, 1e9, "units of the embedded tokens; 0: hidden_size")
    leaf: str = choice("lstm", tuple(LEAVES), "states of the words: LSTM, two LSTMs, or linear map")
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    classifier_dropout: float = dropout_rate(0.2, "dropout before the classifier")

    @property
    def words(self) -> int:
        """Units of the embedded tokens."""
        return self.embedding_size or self.hidden_size


class Leaves(nn.Module):
    """States of words: of an LSTM, of two LSTMs in both directions, or a linear map."""

    def __init__(self, config: LeafConfig) -> None:
        super().__init__()
        words, size = config.words, config.hidden_size
        cells = LEAVES[config.leaf]
        self.size = size * max(1, cells)
        self.cells = nn.ModuleList(nn.LSTMCell(words, size) for _ in range(cells))
        self.map = None if cells else nn.Linear(words, 2 * size)
        for cell in cast("list[nn.LSTMCell]", list(self.cells)):
            nn.init.kaiming_normal_(cell.weight_ih)
            nn.init.orthogonal_(cell.weight_hh)
            nn.init.zeros_(cell.bias_hh)
            nn.init.zeros_(cell.bias_ih)
            cell.bias_ih.data[size : 2 * size] = 1.0  # forget gate

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """States (R, N, 2 D) of embedded words ``x`` (R, N, E)."""
        if self.map is not None:
            return cast(Tensor, self.map(x))
        hidden, memory = self.read(self.cells[0], x)
        if len(self.cells) == 2:
            index = torch.arange(x.shape[1], device=x.device)
            last = lengths.to(x.device)[:, None] - 1
            reverse = torch.where(index <= last, last - index, index)[..., None]  # padding stays at the end
            turned = self.read(self.cells[1], x.gather(1, reverse.expand_as(x)))
            back = [part.gather(1, reverse.expand_as(part)) for part in turned]
            hidden, memory = torch.cat((hidden, back[0]), -1), torch.cat((memory, back[1]), -1)
        return torch.cat((hidden, memory), -1)

    def read(self, cell: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell states (R, N, H) after each word."""
        states: list[tuple[Tensor, Tensor]] = []
        for word in x.unbind(1):
            states.append(cell(word, states[-1] if states else None))
        hidden, memory = zip(*states, strict=True)
        return torch.stack(hidden, 1), torch.stack(memory, 1)


def join_states(gates: nn.Linear, left: Tensor, right: Tensor, *, forget: float = 0.0) -> Tensor:
    """State of a binary TreeLSTM node over two states (..., 2 D).

    ``forget`` is added to both forget gates. The rows of ``gates`` are those of the input, output, left and right
    forget gates and of the candidate.
    """
    (h_left, c_left), (h_right, c_right) = left.chunk(2, -1), right.chunk(2, -1)
    i, o, f_left, f_right, u = gates(torch.cat((h_left, h_right), -1)).chunk(5, -1)
    c = i.sigmoid() * u.tanh() + (f_left + forget).sigmoid() * c_left + (f_right + forget).sigmoid() * c_right
    return torch.cat((o.sigmoid() * c.tanh(), c), -1)
