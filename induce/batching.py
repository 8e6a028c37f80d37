"""Text as numbers: one long stream cut into columns and segments, and sentences of like length side by side."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from induce.vocabulary import BOUNDARY, Vocabulary
from treebank.normalize import RECIPES
from treebank.sentence import Sentence

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Corpus:
    """A text held as provisional word numbers (number 0 ends a sentence), with the words and their counts."""

    ids: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[str, int] = field(default_factory=lambda: {BOUNDARY: 0})
    counts: array[int] = field(default_factory=lambda: array("q", [0]))
    sentences: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def add(self, forms: Sequence[str]) -> None:
        """Append one sentence."""
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

    def encode(self, vocabulary: Vocabulary) -> Tensor:
        """The stream (words,) in the numbers of ``vocabulary``."""
        import torch

        table = torch.tensor([vocabulary.id(word) for word in self.numbers])
        return table[torch.frombuffer(self.ids, dtype=torch.int32).long()]


def read_corpora(
    sentences: Iterable[Sentence], recipe: str, *, development_share: float = 0.0
) -> tuple[Corpus, Corpus]:
    """Training and development text of ``sentences`` under a normalisation recipe, all annotation dropped.

    Development text is every (1 / ``development_share``)-th sentence. Sentences without a word are left out.
    """
    normalize = RECIPES[recipe]
    training, development = Corpus(), Corpus()
    every = round(1 / development_share) if development_share else 0
    count = 0
    for sentence in sentences:
        forms = normalize(sentence.words, sentence.tags).forms
        if forms:
            count += 1
            (development if every and count % every == 0 else training).add(forms)
    return training, development


def columns(stream: Tensor, batch_size: int) -> Tensor:
    """``stream`` (words,) as (rows, batch_size): each column is a consecutive piece; the rest is dropped."""
    rows = len(stream) // batch_size
    return stream[: rows * batch_size].view(batch_size, rows).t().contiguous()


class Segment(NamedTuple):
    """One step of truncated back-propagation."""

    start: int  # first row
    length: int  # as drawn; decides the learning rate
    rows: int  # as used; shorter at the end of the stream


def segments(draw: Any, nominal: int, total_rows: int, *, start: int = 0) -> Iterator[Segment]:
    """Segments of random length that cover a stream of ``total_rows`` rows (Merity et al. 2017, section 4.1).

    ``draw`` is a ``numpy.random.RandomState``; each segment takes one uniform and one normal draw from it. The mean is
    ``nominal`` (in 5 % of the segments half of it), the standard deviation 5, the least length 5. Targets are the words
    one row on, hence the last row is never an input.
    """
    while start < total_rows - 2:
        mean = nominal if draw.random_sample() < 0.95 else nominal / 2
        length = max(5, int(draw.normal(mean, 5)))
        yield Segment(start, length, min(length, total_rows - 1 - start))
        start += length


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
