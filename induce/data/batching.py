"""Text as numbers: a long stream in columns and segments, sentences side by side, and what a step learns from."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from induce.data.tokens import split
from induce.data.vocabulary import BOUNDARY, Vocabulary
from treebank.distances import distances_from_tree
from treebank.normalize import RECIPES
from treebank.sentence import Sentence
from treebank.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor

    from induce.config import TrainConfig


MASKINGS = 5  # of the development text, for one check (as in the released program of UDGN)
TENTHS = 10  # parts of a pass within which expressions are sorted by length


@dataclass
class Corpus:
    """A text held as provisional word numbers (number 0 ends a sentence), with the words and their counts."""

    ids: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[str, int] = field(default_factory=lambda: {BOUNDARY: 0})
    counts: array[int] = field(default_factory=lambda: array("q", [0]))
    sentences: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    trees: list[tuple[int, Sequence[int]]] = field(default_factory=list)  # first word, a distance for each word

    def add(self, forms: Sequence[str], distances: Sequence[int] = ()) -> None:
        """Append one sentence, with the ``distances`` of its tree if a model is to learn from it."""
        if distances:
            self.trees.append((len(self.ids), distances))
            self.digest.update(f"{list(distances)} ".encode())
        for form in forms:
            number = self.numbers.setdefault(form, len(self.counts))
            if number == len(self.counts):
                self.counts.append(0)
            self.counts[number] += 1
            self.ids.append(number)
        self.ids.append(0)
        self.counts[0] += 1
        self.sentences += 1
        self.digest.update(" ".join(forms).encode("utf-8", "surrogatepass") + b"\n")

    @property
    def words(self) -> int:
        """Number of running words, sentence ends not counted."""
        return len(self.ids) - self.sentences

    def word_counts(self) -> dict[str, int]:
        """Word -> number of occurrences."""
        return dict(zip(self.numbers, self.counts, strict=True))

    def vocabulary(self, size: int, minimum_count: int) -> Vocabulary:
        """Its most frequent words, ``size`` with the two marks, that occur ``minimum_count`` times or more."""
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count)

    def encode(self, vocabulary: Vocabulary) -> Tensor:
        """The stream (words,) in the numbers of ``vocabulary``."""
        import torch

        table = torch.tensor([vocabulary.id(word) for word in self.numbers])
        return table[torch.frombuffer(self.ids, dtype=torch.int32).long()]

    def gold(self) -> Tensor | None:
        """Gold distances (words,) beside the stream, NaN where there are none; None for a text without trees.

        That of a sentence's first word is larger than any other (as in the released program of Du et al. 2020).
        """
        import torch

        if not self.trees:
            return None
        found = torch.full((len(self.ids),), float("nan"))
        largest = max(distances[0] for _, distances in self.trees)
        for start, distances in self.trees:
            found[start : start + len(distances)] = torch.tensor([largest, *distances[1:]])
        return found


def read_corpora(
    sentences: Iterable[Sentence],
    recipe: str,
    *,
    unit: str = "word",
    development_share: float = 0.0,
    with_trees: bool = False,
) -> tuple[Corpus, Corpus]:
    """Training and development text of ``sentences`` under a normalisation recipe, in units, all annotation dropped.

    Only ``with_trees`` those of the training text are kept, as distances between the words that the recipe keeps.
    Development text is every (1 / ``development_share``)-th sentence. Sentences without a word are left out.
    """
    normalize = RECIPES[recipe]
    training, development = Corpus(), Corpus()
    every = round(1 / development_share) if development_share else 0
    count = 0
    for sentence in sentences:
        seen = normalize(sentence.words, sentence.tags)
        forms = seen.forms
        if forms:
            count += 1
            if every and count % every == 0:
                development.add(split(forms, unit))
            elif with_trees and sentence.tree:
                training.add(forms, gold_distances(sentence.tree, seen.kept))
            else:
                training.add(split(forms, unit))
    return training, development


def gold_distances(tree: Tree, kept: Sequence[int]) -> list[int]:
    """The distances of ``tree``, traces deleted, between the words whose indices are ``kept``."""
    seen = tree.without_traces()
    mask = [False] * len(seen)
    for index in kept:
        mask[index] = True
    return distances_from_tree(seen.keep(mask))


def columns(stream: Tensor, batch_size: int) -> Tensor:
    """``stream`` (words,) as (rows, batch_size): each column is a consecutive piece; the rest is dropped."""
    rows = len(stream) // batch_size
    return stream[: rows * batch_size].view(batch_size, rows).t().contiguous()


class Segment(NamedTuple):
    """One step of truncated back-propagation."""

    start: int  # first row
    length: int  # as drawn; decides the learning rate
    rows: int  # as used; shorter at the end of the stream


def segments(draw: Any, nominal: int, total_rows: int, *, start: int = 0, vary: bool = True) -> Iterator[Segment]:
    """Segments of random length that cover a stream of ``total_rows`` rows (Merity et al. 2017, section 4.1).

    ``draw`` is a ``numpy.random.RandomState``; each segment takes one uniform and one normal draw from it. The mean is
    ``nominal`` (in 5 % of the segments half of it), the standard deviation 5, the least length 5. Targets are the words
    one row on, hence the last row is never an input. Without ``vary`` every length is ``nominal``; nothing is drawn.
    """
    while start < total_rows - 2:
        length = nominal
        if vary:
            mean = nominal if draw.random_sample() < 0.95 else nominal / 2
            length = max(5, int(draw.normal(mean, 5)))
        yield Segment(start, length, min(length, total_rows - 1 - start))
        start += length


class Piece(NamedTuple):
    """What one training step learns from."""

    tokens: Tensor  # (T, B)
    targets: Tensor  # (T, B): the words that follow
    counted: Tensor | None  # (T, B): which targets are real, where some are padding
    rows: int  # weight of this piece's loss in that of an epoch
    words: int  # targets
    after: int  # where the next piece starts
    factor: float  # its length over the nominal one
    lengths: Tensor | None = None  # (B,): words of masked sentences, of which ``tokens`` (B, N) then consists
    chance: Tensor | None = None  # (B, N): decides which words are masked; None leaves it to the model
    gold: Tensor | None = None  # (T, B): distances of gold trees that the model is to learn, NaN where there are none
    trees: Sequence[Side] | None = None  # of expressions, whose labels ``targets`` (B,) then are

    @property
    def masked(self) -> bool:
        """Whether these are sentences in which words are masked."""
        return self.lengths is not None and self.trees is None


class Stream:
    """A text as parallel columns read from top to bottom, the state carried from one piece to the next."""

    def __init__(
        self, text: Tensor, config: TrainConfig, *, batch_size: int, device: str, gold: Tensor | None = None
    ) -> None:
        # A short text gets fewer columns, so that each has enough rows to learn from.
        count = max(1, min(batch_size, len(text) // 20))
        self.columns = columns(text, count).to(device)
        self.gold = None if gold is None else columns(gold, count).to(device)
        self.length, self.vary = config.segment_length, config.vary_segments

    def pieces(self, draw: Any, start: int) -> Iterator[Piece]:
        """One pass from row ``start`` on, in segments."""
        for segment in segments(draw, self.length, len(self.columns), start=start, vary=self.vary):
            yield self._piece(segment.start, segment.rows, segment.length)

    def check(self) -> Iterator[Piece]:
        """The whole text, in segments of one length."""
        for start in range(0, len(self.columns) - 1, self.length):
            yield self._piece(start, min(self.length, len(self.columns) - 1 - start), self.length)

    def share(self, start: int) -> float:
        """How much of the text lies before ``start``."""
        return min(1.0, start / max(1, len(self.columns) - 2))

    def _piece(self, start: int, rows: int, length: int) -> Piece:
        tokens, targets = self.columns[start : start + rows], self.columns[start + 1 : start + 1 + rows]
        gold = None if self.gold is None else self.gold[start : start + rows]
        return Piece(tokens, targets, None, rows, tokens.numel(), start + length, length / self.length, gold=gold)


class Sentences:
    """Sentences side by side, padded, each read on its own (PRPN section 6.3).

    A batch holds consecutive sentences, or with ``config.alike`` sentences of like length, which wastes little on
    padding; these batches come in an order of their own, the same in every pass.
    """

    def __init__(
        self, text: Tensor, config: TrainConfig, *, batch_size: int, device: str, gold: Tensor | None = None
    ) -> None:
        import numpy

        self.sentences = split_sentences(text)
        self.gold = None if gold is None else split_sentences(text, gold)
        self.device = device
        size, order = max(1, min(batch_size, len(self.sentences))), list(range(len(self.sentences)))
        if config.alike:
            order.sort(key=lambda index: len(self.sentences[index]))
        self.batches = [order[start : start + size] for start in range(0, len(order), size)]
        if config.alike:
            self.batches = [self.batches[k] for k in numpy.random.RandomState(0).permutation(len(self.batches))]
        # What does not fill the last batch of consecutive ones is left out in training, as in the program.
        self.whole = self.batches if config.alike or len(self.batches[-1]) == size else self.batches[:-1]

    def pieces(self, draw: Any, start: int) -> Iterator[Piece]:
        """One pass from batch ``start`` on."""
        for after, batch in enumerate(self.whole[start:], start + 1):
            yield self._piece(batch)._replace(after=after)

    def check(self) -> Iterator[Piece]:
        """Every sentence."""
        return map(self._piece, self.batches)

    def share(self, start: int) -> float:
        """How many of the batches lie before ``start``."""
        return start / max(1, len(self.whole))

    def _piece(self, batch: Sequence[int]) -> Piece:
        piece = sentence_piece([self.sentences[index] for index in batch], self.device)
        if self.gold is None:
            return piece
        return piece._replace(gold=_beside([self.gold[index] for index in batch], piece.tokens))


def _beside(values: Sequence[Sequence[float]], tokens: Tensor) -> Tensor:
    """Values of the words of each sentence in the shape of ``tokens`` (T, B), NaN beside marks and padding."""
    import torch

    found = torch.full(tokens.shape, float("nan"))
    for column, row in enumerate(values):
        found[1 : len(row) + 1, column] = torch.tensor(row)
    return found.to(tokens.device)


def sentence_piece(batch: Sequence[Sequence[int]], device: str) -> Piece:
    """Sentences side by side, of which every word and the mark behind it is a target."""
    padded, lengths = pad(batch)  # (B, N + 2)
    tokens = padded.t().contiguous()
    targets = tokens.roll(-1, 0)  # the last row has none: never counted
    counted = tokens.new_tensor(range(len(tokens)))[:, None] <= lengths
    count = int(lengths.sum()) + len(batch)
    return Piece(tokens.to(device), targets.to(device), counted.to(device), count, count, 0, 1.0)


def split_sentences(text: Tensor, values: Tensor | None = None) -> list[list[Any]]:
    """The sentences of a text in which 0 stands behind each, or the ``values`` beside them; empty ones are left out."""
    ends = (text == 0).nonzero()[:, 0].tolist()
    listed = (text if values is None else values).tolist()
    return [listed[start + 1 : end] for start, end in pairwise([-1, *ends]) if end > start + 1]


class MaskedSentences:
    """Sentences of like length side by side, some of whose words a model has to find; the batches in a new order
    in each pass (as in the released program of UDGN)."""

    def __init__(self, text: Tensor, config: TrainConfig, *, batch_size: int, device: str) -> None:
        sentences = split_sentences(text)
        batches = budget_batches([len(sentence) for sentence in sentences], config.batch_words)
        self.batches = [[sentences[index] for index in batch] for batch in batches]
        self.device = device

    def pieces(self, draw: Any, start: int) -> Iterator[Piece]:
        """One pass from batch ``start`` on. Its order comes from what ``draw`` will give, which moves on at the end:
        until then a pass that is taken up again has the same order."""
        ahead = type(draw)()  # a copy would share the generator underneath
        ahead.set_state(draw.get_state())
        for place, index in enumerate(ahead.permutation(len(self.batches)).tolist()[start:], start + 1):
            yield self._piece(index, place)
        draw.permutation(len(self.batches))

    def check(self) -> Iterator[Piece]:
        """Every batch a few times, masked in the same ways at each call."""
        import torch

        generator = torch.Generator().manual_seed(0)
        for index in list(range(len(self.batches))) * MASKINGS:
            piece = self._piece(index, 0)
            chance = torch.rand(piece.tokens.shape, generator=generator)
            yield piece._replace(chance=chance.to(self.device))

    def share(self, start: int) -> float:
        """How many of the batches lie before ``start``."""
        return start / len(self.batches)

    def _piece(self, index: int, after: int) -> Piece:
        padded, lengths = pad(self.batches[index])  # (B, N + 2)
        tokens = padded[:, 1:-1].contiguous().to(self.device)
        words = int(lengths.sum())
        return Piece(tokens, tokens, None, words, words, after, 1.0, lengths=lengths)


class Side(NamedTuple):
    """An expression in numbers, and its tree."""

    ids: Sequence[int]  # of all tokens
    leaves: Sequence[int]  # which tokens are words of the tree, and not brackets
    joins: Sequence[tuple[int, int]]  # the two nodes that each node joins: words first, then joins in this order


class Item(NamedTuple):
    """A labelled expression, or a pair of them."""

    sides: Sequence[Side]
    label: int


class Expressions:
    """Labelled expressions of like length side by side, the batches in a new order in each pass.

    As in the released programs of Ordered Memory, lengths are sorted only within tenths, drawn anew for each pass.
    """

    def __init__(self, items: Sequence[Item], config: TrainConfig, *, batch_size: int, device: str) -> None:
        self.items, self.batch_size, self.device = items, batch_size, device
        self.lengths = [max(len(side.ids) for side in item.sides) for item in items]

    def pieces(self, draw: Any, start: int) -> Iterator[Piece]:
        """One pass from batch ``start`` on. Its order comes from what ``draw`` will give, which moves on at the end."""
        ahead = type(draw)()
        ahead.set_state(draw.get_state())
        batches = self._batches(ahead.permutation(len(self.items)).tolist())
        for place, index in enumerate(ahead.permutation(len(batches)).tolist()[start:], start + 1):
            yield self.piece(batches[index], place)
        draw.set_state(ahead.get_state())

    def check(self) -> Iterator[Piece]:
        """Every item, shortest first."""
        order = sorted(range(len(self.items)), key=self.lengths.__getitem__)
        for start in range(0, len(order), self.batch_size):
            yield self.piece(order[start : start + self.batch_size], 0)

    def share(self, start: int) -> float:
        """How many of the batches lie before ``start``."""
        return min(1.0, start * self.batch_size / max(1, len(self.items)))

    def _batches(self, order: Sequence[int]) -> list[list[int]]:
        """Batches of like length within each tenth of ``order``."""
        tenth = max(self.batch_size, -(-len(order) // TENTHS))
        found = []
        for start in range(0, len(order), tenth):
            part = sorted(order[start : start + tenth], key=self.lengths.__getitem__)
            found += [part[begin : begin + self.batch_size] for begin in range(0, len(part), self.batch_size)]
        return found

    def piece(self, batch: Sequence[int], after: int = 0) -> Piece:
        """The items ``batch`` side by side."""
        import torch

        items = [self.items[index] for index in batch]
        sides = [item.sides[k] for k in range(len(items[0].sides)) for item in items]  # all first ones, then all others
        padded, lengths = pad([side.ids for side in sides])
        tokens = padded[:, 1:-1].contiguous().to(self.device)
        labels = torch.tensor([item.label for item in items], device=self.device)
        return Piece(tokens, labels, None, len(items), int(lengths.sum()), after, 1.0, lengths=lengths, trees=sides)


#: data.reading -> how text is cut into pieces
FEEDS: dict[str, Any] = {
    "stream": Stream,
    "sentences": Sentences,
    "masked": MaskedSentences,
    "expressions": Expressions,
}


def sentence_batches(lengths: Sequence[int], *, positions: int = 4096, sentences: int = 256) -> Iterator[list[int]]:
    """Indices of sentences of like length, in batches of at most ``sentences``, and ``positions`` words with padding.

    A sentence longer than ``positions`` is a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and ((len(batch) + 1) * (lengths[index] + 2) > positions or len(batch) == sentences):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def pad(sentences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """``tokens`` (B, N + 2) with a boundary mark before and behind each sentence and as padding; ``lengths`` (B,)."""
    import torch

    longest = max(map(len, sentences))
    rows = [[0, *ids, *([0] * (longest + 1 - len(ids)))] for ids in sentences]
    return torch.tensor(rows), torch.tensor([len(ids) for ids in sentences])


def mask_words(tokens: Tensor, drawn: Tensor, *, mask: int, padding: int = 0) -> tuple[Tensor, Tensor]:
    """``tokens`` with ``mask`` in the place of the words that were ``drawn``, and these words, ``padding`` elsewhere.

    The numbers 0 and 1, which stand for padding and unknown words, are never masked.
    """
    chosen = drawn.bool() & (tokens > 1)
    return tokens.masked_fill(chosen, mask), tokens.masked_fill(~chosen, padding)


def budget_batches(lengths: Sequence[int], budget: int, *, shortest_first: bool = False) -> list[list[int]]:
    """Indices of sentences of like length in batches of less than ``budget`` words, padding not counted.

    Longest first, as in the released program of UDGN; a sentence that is too long is a batch of its own (there it is
    an endless loop). With ``shortest_first`` a batch grows until it has ``budget`` words, as in that of StructFormer.
    """
    batches: list[list[int]] = []
    total = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=not shortest_first):
        full = total >= budget if shortest_first else total + lengths[index] >= budget
        if full or not batches:
            batches.append([])
            total = 0
        batches[-1].append(index)
        total += lengths[index]
    return batches
