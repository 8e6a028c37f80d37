"""Encoders that compose the vector of an expression along its gold tree: TreeRNN, TreeLSTM and TreeCell.

These baselines receive the structure that the other encoders have to induce. All joins of a batch at the same height
are computed at once. `Leaves` and `join_states` also serve the encoders that build their trees themselves.

Shapes: R expressions, N words of the longest one, D units. A state of a TreeLSTM is [h; c], 2 D units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from induce.models.language.ordered_memory import RecursiveCell
from induce.setting import choice, count, dropout_rate, limited
from induce.tasks.encoders.base import Encoder, EncoderConfig
from induce.tasks.examples import Side

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


class TreeEncoder(Encoder):
    """Bottom-up composition of words. A subclass defines the states of words and joins."""

    Config = EncoderConfig

    def __init__(self, config: EncoderConfig, symbols: int) -> None:
        super().__init__()
        self.size = config.hidden_size
        self.embedding = nn.Embedding(symbols, config.hidden_size)
        self.dropout = nn.Dropout(config.embedding_dropout)

    def words(self, x: Tensor) -> Tensor:
        """States (W, S) of words with the embeddings ``x`` (W, D)."""
        raise NotImplementedError

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """States (J, S) of joins of two states."""
        raise NotImplementedError

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of the roots of ``trees``."""
        ids, levels, roots = plan(trees)
        states = self.words(self.dropout(self.embedding(torch.tensor(ids, device=tokens.device))))
        for pairs in levels:
            left, right = torch.tensor(pairs, device=tokens.device).t()
            states = torch.cat((states, self.join(states[left], states[right])))
        return states[torch.tensor(roots, device=tokens.device), : self.size]


def plan(trees: Sequence[Side]) -> tuple[list[int], list[list[tuple[int, int]]], list[int]]:
    """Order of computation for a batch of trees.

    Returns the symbol indices of all words, the pairs of nodes to join for each height, and the root of each tree. The
    words have the lowest node numbers, followed by the joins from the lowest to the highest.
    """
    ids: list[int] = []
    numbers: list[dict[int, int]] = []  # of the nodes of each tree
    by_height: dict[int, list[tuple[int, int]]] = {}  # height -> tree and node of each join
    for index, tree in enumerate(trees):
        numbers.append({node: len(ids) + node for node in range(len(tree.leaves))})
        ids += [tree.ids[leaf] for leaf in tree.leaves]
        heights = [0] * len(tree.leaves)
        for left, right in tree.joins:
            by_height.setdefault(1 + max(heights[left], heights[right]), []).append((index, len(heights)))
            heights.append(1 + max(heights[left], heights[right]))
    count, levels = len(ids), []
    for _, joined in sorted(by_height.items()):
        pairs = []
        for index, node in joined:
            left, right = trees[index].joins[node - len(trees[index].leaves)]
            pairs.append((numbers[index][left], numbers[index][right]))
            numbers[index][node] = count
            count += 1
        levels.append(pairs)
    return ids, levels, [nodes[len(nodes) - 1] for nodes in numbers]


class TreeRnn(TreeEncoder):
    """Tree-RNN: tanh of a linear map of both parts (Socher et al. 2011, Bowman, Manning & Potts 2015)."""

    def __init__(self, config: EncoderConfig, symbols: int) -> None:
        super().__init__(config, symbols)
        self.map = nn.Linear(2 * self.size, self.size)

    def words(self, x: Tensor) -> Tensor:
        """States (W, D) of the leaves: the embeddings ``x`` (W, D)."""
        return x

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """States (J, D) of J nodes, from those of their children (J, D)."""
        return torch.tanh(self.map(torch.cat((left, right), -1)))


class TreeLstm(TreeEncoder):
    """A binary TreeLSTM (Tai, Socher & Manning 2015, section 3.2). A state is the concatenation of h and c."""

    def __init__(self, config: EncoderConfig, symbols: int) -> None:
        super().__init__(config, symbols)
        self.leaf = nn.Linear(self.size, 3 * self.size)
        self.map = nn.Linear(2 * self.size, 5 * self.size)

    def words(self, x: Tensor) -> Tensor:
        """States (W, 2 D) of the leaves with the embeddings ``x`` (W, D)."""
        i, o, u = self.leaf(x).chunk(3, -1)
        c = i.sigmoid() * u.tanh()
        return torch.cat((o.sigmoid() * c.tanh(), c), -1)

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """States (J, 2 D) of J nodes, from those of their children (J, 2 D)."""
        return join_states(self.map, left, right)


class TreeCell(TreeEncoder):
    """The recursive cell of Ordered Memory, with the left part as its memory."""

    def __init__(self, config: EncoderConfig, symbols: int) -> None:
        super().__init__(config, symbols)
        self.input = nn.Linear(self.size, self.size)
        self.norm = nn.LayerNorm(self.size)
        self.cell = RecursiveCell(self.size, config.dropout)

    def words(self, x: Tensor) -> Tensor:
        """States (W, D) of the leaves with the embeddings ``x`` (W, D)."""
        return torch.as_tensor(self.norm(self.input(x)))

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """States (J, D) of J nodes, from those of their children (J, D)."""
        return self.cell(right, left, self.norm)
