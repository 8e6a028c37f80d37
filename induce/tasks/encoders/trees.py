"""Encoders that compose the vector of an expression along its gold tree: TreeRNN, TreeLSTM and TreeCell.

These baselines receive the structure that the other encoders have to induce. All joins of a batch at the same height
are computed at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from induce.models.language.ordered_memory import RecursiveCell
from induce.tasks.batches import Side
from induce.tasks.encoders.base import Encoder, EncoderConfig
from induce.tasks.encoders.leaves import join_states


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
