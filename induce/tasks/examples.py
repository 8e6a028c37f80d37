"""The examples of a task as training data, and their batches: labeled expressions, rated pairs and demonstrations.

B examples, N words of the longest sentence. An example has one or more sides, and all first sides precede all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from induce.data.batches import Batch, SentenceBatch, batches_by_size, pad
from induce.data.corpus import TrainingData
from induce.data.loaders import BatchSettings, Step
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.registry import find_purpose
from induce.settings.run import RunConfig
from induce.tasks.base import Example, Task, joins
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes

if TYPE_CHECKING:
    from torch import Tensor


class Side(NamedTuple):
    """An expression as token indices, with its tree."""

    ids: Sequence[int]  # of all tokens
    leaves: Sequence[int]  # positions of the tokens that are words of the tree, not brackets
    joins: Sequence[tuple[int, int]]  # the two children of each inner node; nodes are words first, then joins in order


@dataclass(frozen=True)
class ExampleBatch(SentenceBatch):
    """Examples of one or more sides, ``tokens`` (sides * B, N), with the value (B,) to predict for each."""

    targets: Tensor

    @property
    def items(self) -> int:
        """Number of examples."""
        return len(self.targets)

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The examples with the indices ``chosen`` (on the CPU), all of their sides."""
        import torch

        rows = torch.cat([chosen + side * self.items for side in range(len(self.lengths) // self.items)])
        lengths = self.lengths[rows.to(self.lengths.device)]
        tokens = self.tokens[rows.to(self.tokens.device), : max(1, int(lengths.max())) if cut else None]
        targets = self.targets[chosen.to(self.targets.device)]
        return replace(self, tokens=tokens, lengths=lengths, targets=targets)


@dataclass(frozen=True)
class LabelledBatch(ExampleBatch):
    """Batch of expressions, or of pairs, with classes as ``targets`` and the gold ``trees`` of all expressions."""

    trees: Sequence[Side]

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The examples with the indices ``chosen``, all of their sides and trees."""
        rows = [row + side for side in range(0, len(self.trees), self.items) for row in chosen.tolist()]
        return replace(super().select(chosen, cut=cut), trees=[self.trees[row] for row in rows])


@dataclass(frozen=True)
class RatedBatch(ExampleBatch):
    """Pairs of sentences with ratings from 0 to 1 as ``targets``."""


@dataclass(frozen=True)
class DemonstrationBatch(SentenceBatch):
    """Trajectories: ``tokens`` (B, N) are actions, ``observations`` (B, N, F) precede them.

    ``sketches`` (B,) are the indices of the demonstrated tasks.
    """

    observations: Tensor
    sketches: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        fields = {name: getattr(self, name)[chosen, :longest] for name in ("tokens", "observations")}
        return {**fields, "sketches": self.sketches[chosen.to(self.sketches.device)]}


TENTHS = 10  # parts of a pass within which expressions are sorted by length


class Item(NamedTuple):
    """A labeled expression, or a pair of them."""

    sides: Sequence[Side]
    label: int


class LengthLoader:
    """Items of similar length in batches, in a new order in each epoch.

    As in the released programs of Ordered Memory, items are sorted by length only within tenths of the data, which are
    random in each epoch.
    """

    Config: ClassVar[type] = BatchSettings

    def __init__(self, items: Any, config: Any, *, device: str, epochs: int = 1, held_out: bool = False) -> None:
        self.items, self.config, self.device, self.epochs = items, config, device, epochs
        self.lengths, self.batch_size = self.lengths_of(items), config.size(held_out=held_out)

    def lengths_of(self, items: Any) -> Sequence[int]:
        """The length of each of the encoded ``items``."""
        raise NotImplementedError

    def rate(self, epochs: float) -> float:
        """Factor on the learning rate after so many epochs."""
        return 1.0

    def batch(self, chosen: Sequence[int]) -> Batch:
        """Batch of the items whose indices are ``chosen``."""
        raise NotImplementedError

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """One pass from batch ``start``, in an order drawn from ``rng``, whose state advances after the pass."""
        ahead = type(rng)()
        ahead.set_state(rng.get_state())
        order, batches = ahead.permutation(len(self.lengths)).tolist(), list[list[int]]()
        tenth = max(self.batch_size, -(-len(order) // TENTHS))
        for first in range(0, len(order), tenth):
            part = order[first : first + tenth]
            by_size = batches_by_size([self.lengths[index] for index in part], self.batch_size)
            batches += [[part[k] for k in batch] for batch in by_size]
        for after, index in enumerate(ahead.permutation(len(batches)).tolist()[start:], start + 1):
            yield Step(self.batch(batches[index]), after, rate=self.rate(number - 1 + (after - 1) / len(batches)))
        rng.set_state(ahead.get_state())

    def check(self) -> Iterator[Batch]:
        """Every item, shortest first."""
        return map(self.batch, batches_by_size(self.lengths, self.batch_size))

    def share(self, start: int) -> float:
        """Share of the batches before ``start``."""
        return min(1.0, start * self.batch_size / max(1, len(self.lengths)))


class ExpressionLoader(LengthLoader):
    """Labeled expressions in batches."""

    makes: ClassVar[tuple[type[Batch], ...]] = (LabelledBatch,)

    def lengths_of(self, items: Sequence[Item]) -> Sequence[int]:
        """The number of tokens of the longest side of each item."""
        return [max(len(side.ids) for side in item.sides) for item in items]

    def batch(self, chosen: Sequence[int]) -> LabelledBatch:
        """Batch of the items whose indices are ``chosen``."""
        import torch

        items = [self.items[index] for index in chosen]
        sides = [item.sides[k] for k in range(len(items[0].sides)) for item in items]  # first sides precede all others
        tokens, lengths = pad([side.ids for side in sides])
        labels = torch.tensor([item.label for item in items])
        return LabelledBatch(tokens, lengths, labels, sides).to(self.device)


class Examples(TrainingData):
    """Examples of one task, which a model reads in the forms of a ``normalization``."""

    def __init__(self, task: Task, examples: Iterable[Example], normalization: str = "raw") -> None:
        self.task, self.examples, self.normalization = task, list(examples), normalization
        lines = (f"{task.labels[example.label]}\t{example}\n" for example in self.examples)
        self.sha256 = digest_bytes("".join(lines).encode())

    @property
    def sentences(self) -> int:
        """Number of expressions."""
        return len(self.examples) * self.task.sides

    @property
    def words(self) -> int:
        """Number of tokens."""
        return sum(len(side.tokens) for example in self.examples for side in example.sides)

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Vocabulary of all words of the task, including those without an occurrence.

        For a task of natural language, it has at most ``size`` words that occur ``minimum_count`` times or more.
        """
        if not self.task.words:
            return super().vocabulary(size, minimum_count, unknown)
        return Vocabulary([BOUNDARY, UNKNOWN, *self.task.words])

    def word_counts(self) -> Mapping[str, int]:
        """Number of occurrences of each token of a natural language."""
        sides = (side.normalized(self.normalization) for example in self.examples for side in example.sides)
        return {} if self.task.words else Counter(token for side in sides for token in side.tokens)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> list[Item]:
        """The examples as indices in ``vocabulary``, with the joins of their trees."""
        items = []
        for example in self.examples:
            sides = []
            for side in (side.normalized(self.normalization) for side in example.sides):
                leaves = side.leaves
                sides.append(Side(vocabulary.encode(side.tokens), leaves, joins(side.spans, len(leaves))))
            items.append(Item(sides, example.label))
        return items


def set_aside(items: Sequence[Any], every: int) -> tuple[list[Any], list[Any]]:
    """The items for training, and every n-th one (``every``) for development, none if ``every`` is 0."""
    if not every:
        return list(items), []
    return [item for number, item in enumerate(items, 1) if number % every], list(items[every - 1 :: every])


def load_examples(config: RunConfig, text: Sequence[str], dev: Sequence[str]) -> tuple[Examples, Examples]:
    """Training and development examples: of the files ``text`` and ``dev``, or generated if no file is given.

    Without ``dev``, a share of the examples in ``text`` is set aside for development, every tenth by default. Raises
    SynparseError if a file is malformed or no example fits the settings.
    """
    task, settings, share = find_purpose(config.purpose_name), config.purpose, config.data.development_share
    if not text:
        training = list(task.generate(settings, "train", settings.expressions))
        development = list(task.generate(settings, "dev", max(1, min(2000, settings.expressions // 10))))
    else:
        every = round(1 / share) if share and not dev else 0
        training, development = set_aside(list(task.read(text, settings)), every)
    if dev:
        development = list(task.read(dev, settings))
    for part, paths in ((training, text), (development, dev)):
        if not part and paths:
            raise SynparseError(f"{' '.join(paths)}: no example fits the settings (task.longest, task.operators)")
    recipe = config.data.normalization
    return Examples(task, training, recipe), Examples(task, development, recipe)
