"""StructFormer: constituents and heads from masked words (Shen et al. 2021), as in the released program.

Read from the top: the settings, the parser that gives distances and heights, what makes a head distribution of them,
the masked language model. ``docs/reference/models/structformer.md`` says which function is which part of the paper,
where the released program stands apart, and what a long sentence costs.

In this file, as in the paper, a distance belongs to the gap *after* a word; `structure` gives them as everywhere else.

Shapes: B sentences, N words, E embedding, K attention heads, R rows of a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.layers.masks import real_words
from induce.models.base import Query
from induce.models.masked.masked_model import Transformer, TransformerConfig, without_self
from induce.setting import choice, count, dropout_rate, limited, setting
from induce.structures import Distances, HeadDistribution, Heights

BEYOND = 1e9  # distance of a gap at the edge of the sentence; minus this, the height of padding
MAX_DEPTH = 600.0  # natural logarithms that a word's score may lie below the best one's: exp(600) is still a number
ROWS = 512  # words whose heads are computed at a time

RELATIONS: dict[str, Callable[[Tensor], Tensor]] = {  # of head distributions (B, N, N) without diagonal
    "parent": lambda head: head,
    "child": lambda head: head.transpose(1, 2),
    "sibling": lambda head: without_self(head @ head.transpose(1, 2)),
}


@dataclass(frozen=True, kw_only=True)
class StructFormerConfig(TransformerConfig):
    """Sizes and rates. The defaults are those of the released program, with ``--pos_emb`` as in its README.

    The version in the program of UDGN is ``affine=False, xavier=True, embedding_dropout=0.1, parser_dropout=0.1``.
    """

    parser_layers: int = limited(3, 1, 1000, "layers of the parser")
    width: int = count(9, "words in the window of a convolution of the parser")
    embedding_dropout: float = dropout_rate(0.0, "dropout of the embedded words in the encoder")
    parser_dropout: float = dropout_rate(0.0, "dropout of the embedded words and between the layers in the parser")
    relations: str = setting(
        "parent+child", help="relations mixed in the attention mask: parent, child, sibling, joined by +"
    )
    calibration: str = choice(
        "sentence",
        ("sentence", "batch"),
        "how distances are centered: by sentence, or by batch as in the released program",
    )
    xavier: bool = setting(False, help="whether convolutions of the parser start with Glorot initialization")

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        super().check()
        if self.width % 2 == 0:
            raise ValueError(f"width = {self.width} must be odd, as many words to the left as to the right")
        unknown = [name for name in self.relations.split("+") if name not in RELATIONS]
        if unknown:
            raise ValueError(f"relations = {self.relations!r}: {unknown[0]!r} is not one of {', '.join(RELATIONS)}")


class TreeParser(nn.Module):
    """The parsing network: convolutions over the words, then a distance for each gap and a height for each word."""

    def __init__(self, config: StructFormerConfig) -> None:
        super().__init__()
        size = config.embedding_size
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, size, config.width, padding=config.width // 2) for _ in range(config.parser_layers)
        )
        self.gap = nn.Conv1d(size, size, 2)  # a word and the next one
        self.distance = nn.Linear(size, 1)
        self.word = nn.Linear(size, size)
        self.height = nn.Linear(size, 1)
        self.dropout = nn.Dropout(config.parser_dropout)
        if config.xavier:
            for layer in (*cast("list[nn.Conv1d]", list(self.convolutions)), self.gap):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(cast(Tensor, layer.bias))

    def forward(self, embedded: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Distance after each word and height of each word (B, N), padding included."""
        x = self.dropout(embedded)  # (B, N, E)
        for layer in self.convolutions:
            x = self.dropout(_squashed(_convolved(layer, x * real[..., None])))
        after = _squashed(_convolved(self.gap, functional.pad(x, (0, 0, 0, 1))))
        return self.distance(after)[..., 0], self.height(_squashed(self.word(x)))[..., 0]


def _convolved(layer: nn.Module, x: Tensor) -> Tensor:
    return cast(Tensor, layer(x.transpose(1, 2)).transpose(1, 2))


def _squashed(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:]).tanh()


def margins(distances: Tensor, heights: Tensor, real: Tensor) -> Tensor:
    """Margin (B,) by which distances (B, N) must be lowered so that every word but the highest has a head.

    That is the largest min(relu(l - h), relu(r - h)) over all spans but the full sentence: h is the largest height
    inside, l and r are the distances at both ends. For a fixed h, both ends can be chosen separately, among the words
    around the highest one that are not higher. This takes quadratic instead of cubic time.
    """
    count = distances.shape[1]
    index = torch.arange(count, device=distances.device)
    inner = distances.masked_fill(~real.roll(-1, 1) | (index == count - 1), -math.inf)  # gaps between two words
    candidates = []
    with torch.no_grad():  # which word and which gap decide
        for rows in index.split(ROWS):
            higher = (heights[:, None] > heights[:, rows, None]) & real[:, None]  # (B, R, N)
            # numbers of higher words between each word and the row's
            after = (higher & (index > rows[:, None])).cumsum(2, dtype=torch.int32)
            before = (higher & (index < rows[:, None])).flip(2).cumsum(2, dtype=torch.int32).flip(2)
            right, right_gap = _largest(inner, (after == 0) & (index >= rows[:, None]))
            left, left_gap = _largest(inner, (functional.pad(before[..., 1:], (0, 1)) == 0) & (index < rows[:, None]))
            # A span may end at one edge of the sentence, where nothing limits it, but not at both.
            open_left, open_right = before[..., 0] == 0, after[..., -1] == 0
            to_left = torch.where(open_left == open_right, (left > right) == open_left, open_right)
            size = torch.where(to_left, left, right) - heights[:, rows]
            candidates.append((size.masked_fill(~real[:, rows], -math.inf), torch.where(to_left, left_gap, right_gap)))
        sizes, gaps = (torch.cat(parts, 1) for parts in zip(*candidates, strict=True))  # (B, N) each
        word = sizes.argmax(1, keepdim=True)
        positive = sizes.gather(1, word) > 0
    size = distances.gather(1, gaps.gather(1, word)) - heights.gather(1, word)
    return size.where(positive, torch.zeros_like(size))[:, 0]


def _largest(values: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
    """Maximum of ``values`` (B, N) and its index in each row of ``where`` (B, R, N), -inf if the row is false."""
    best = values[:, None].masked_fill(~where, -math.inf).max(2)
    return best.values, best.indices


def block_ends(gamma: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities (B, R, N) that the block of a word begins, and that it ends, at each word.

    ``gamma`` (B, R, N): how probable it is that the block of one of ``rows`` reaches over the gap after each word.
    """
    index = torch.arange(gamma.shape[2], device=gamma.device)
    left = gamma.masked_fill(index >= rows[:, None], 1.0).flip(2).cummin(2).values.flip(2)  # reaches to here at least
    right = gamma.masked_fill(index < rows[:, None], 1.0).cummin(2).values  # reaches farther than this
    return left - functional.pad(left[..., :-1], (1, 0)), functional.pad(right[..., :-1], (1, 0), value=1.0) - right


def heads_of_blocks(distances: Tensor, heights: Tensor, scales: Tensor) -> Tensor:
    """P(word j is the highest in the block of word i) (B, N, N), the word itself included.

    It is a sum over all ends l, r of P(l) P(r) exp(s_j) / Z(l, r), where Z sums exp(s) from l to r and s are scaled
    heights. For j not after i that is exp(s_j) sum_(l <= j) P(l) sum_r P(r) / Z(l, r), and likewise on the other side:
    two products of matrices and two running sums, no table of N³ numbers. In float64, as exp(s) has a wide range.
    """
    sharpness, contrast = scales.exp()
    count = distances.shape[1]
    index = torch.arange(count, device=distances.device)
    scores = (heights - heights.amax(1, keepdim=True).detach()) * contrast
    weight = scores.clamp(min=-MAX_DEPTH).double().exp()[:, None]  # (B, 1, N)
    upper = index[:, None] <= index
    total = torch.where(upper, weight, 0.0).cumsum(2)  # Z (B, N, N)
    inverse = total.masked_fill(~upper, 1.0).reciprocal().masked_fill(~upper, 0.0)
    heads = []
    for rows in index.split(ROWS):
        gamma = ((heights[:, rows, None] - distances[:, None]) * sharpness).sigmoid()
        begins, ends = (part.double() for part in block_ends(gamma, rows))
        from_left = (begins * (ends @ inverse.transpose(1, 2))).cumsum(2)
        from_right = (ends * (begins @ inverse)).flip(2).cumsum(2).flip(2)
        heads.append((weight * torch.where(index <= rows[:, None], from_left, from_right)).to(distances.dtype))
    return torch.cat(heads, 1)


class Parse(NamedTuple):
    """Output of the parser for sentences."""

    distances: Tensor  # (B, N): after each word, calibrated; BEYOND, less the margin, from the last word on
    heights: Tensor  # (B, N); -BEYOND at padding


class StructFormer(Transformer):
    """StructFormer masked language model: a Transformer whose attention is masked by the heads of a parser."""

    Config = StructFormerConfig
    gives = (Distances, HeadDistribution, Heights)
    max_length: ClassVar[int | None] = 5_000  # whose heads are computed in some ten seconds

    def build(self, symbols: int) -> None:
        """Create the parser and the layers."""
        config = self.config
        self.whole_batch = (SentenceBatch,) if config.calibration == "batch" else ()
        self.parser = TreeParser(config)  # reads the embeddings of the encoder
        self.scales = nn.Parameter(torch.zeros(2))  # logarithms: of heights less distances, of heights as scores
        self.relations = nn.Parameter(torch.empty(config.layers, config.heads, config.relations.count("+") + 1))
        super().build(symbols)
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        nn.init.normal_(self.relations, 0, 0.1)

    def parse(self, tokens: Tensor, lengths: Tensor, *, shared_margin: bool = False) -> Parse:
        """Distances and heights of ``tokens`` (B, N), of which ``lengths`` (B,) are words. Only the parser runs.

        With ``shared_margin``, the largest margin of the batch applies to all its sentences.
        """
        real = real_words(tokens, lengths)
        distances, heights = self.parser(self.embedding(tokens), real)
        heights = heights.masked_fill(~real, -BEYOND)
        last = torch.arange(tokens.shape[1], device=tokens.device) >= lengths.to(tokens.device)[:, None] - 1
        distances = distances.masked_fill(last, BEYOND)
        margin = margins(distances, heights, real)
        return Parse(distances - (margin.max() if shared_margin else margin[:, None]), heights)

    def head_distribution(self, parse: Parse) -> Tensor:
        """P(word j heads word i) (B, N, N), the diagonal set to 0."""
        return without_self(heads_of_blocks(*parse, self.scales))

    def mixed_relations(self, head: Tensor) -> list[Tensor]:
        """Strength of the relation of words (B, K, N, N) for each layer: a mixture of relations in every head."""
        related = torch.stack([RELATIONS[name](head) for name in self.config.relations.split("+")], 1)
        return [torch.einsum("kr,brij->bkij", weights, related) for weights in self.relations.softmax(-1)]

    def attention_masks(self, tokens: Tensor, lengths: Tensor, *, alone: bool = False) -> list[Tensor]:
        """Attention mask (B, K, N, N) of each layer. If ``alone``, sentences have no margin in common."""
        parse = self.parse(tokens, lengths, shared_margin=self.config.calibration == "batch" and not alone)
        return self.mixed_relations(self.head_distribution(parse))

    def embedded(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, N, E) of words and positions, with dropout."""
        return self.embedding_dropout(super().embedded(tokens))

    def structure(self, batch: SentenceBatch, query: Query) -> Distances | HeadDistribution | Heights:
        """The requested structure, predicted by the parser. The encoder is not run.

        The gap before the first word has the distance BEYOND. The highest word is the root with probability 1.
        """
        parse, lengths = self.parse(batch.tokens, batch.lengths), batch.lengths
        if query.structure is HeadDistribution:
            root = parse.heights == parse.heights.amax(1, keepdim=True)
            scores = self.head_distribution(parse) + root.to(parse.heights).diag_embed()
            return HeadDistribution(scores, lengths, probabilities=False)  # the root's row sums to more than 1
        distances = functional.pad(parse.distances[:, :-1], (1, 0), value=BEYOND)
        if query.structure is Distances:
            return Distances(distances, lengths)
        return Heights(torch.stack((distances, parse.heights), 2), lengths)
