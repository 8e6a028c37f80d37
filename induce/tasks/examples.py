"""The examples of a task as training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from induce.data.training_data import TrainingData
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.registry import find_task
from induce.settings.run import RunConfig
from induce.tasks.base import Example, Task, joins
from induce.tasks.batches import Side
from induce.tasks.expressions import Item
from treebank.base.digest import digest_bytes
from treebank.base.errors import SynparseError


class Examples(TrainingData):
    """Examples of one task."""

    def __init__(self, task: Task, examples: Iterable[Example]) -> None:
        self.task, self.examples = task, list(examples)
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
        """Vocabulary of all words of the task, including those without an occurrence."""
        return Vocabulary([BOUNDARY, UNKNOWN, *self.task.words])

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> Sequence[Item]:
        """The examples as indices in ``vocabulary``."""
        return encode(self.examples, vocabulary)


def encode(examples: Iterable[Example], vocabulary: Vocabulary) -> list[Item]:
    """``examples`` as indices in ``vocabulary``, with the joins of their trees."""
    items = []
    for example in examples:
        sides = []
        for side in example.sides:
            leaves = side.leaves
            sides.append(Side(vocabulary.encode(side.tokens), leaves, joins(side.spans, len(leaves))))
        items.append(Item(sides, example.label))
    return items


def load_examples(config: RunConfig, text: Sequence[str], dev: Sequence[str]) -> tuple[Examples, Examples]:
    """Training and development examples: of the files ``text`` and ``dev``, or generated if no file is given.

    Without ``dev``, a share of the examples in ``text`` is set aside for development, every tenth by default. Raises
    SynparseError if a file is malformed or no example fits the settings.
    """
    task, settings, share = find_task(config.task_name), config.task, config.data.development_share
    if not text:
        training = list(task.generate(settings, "train", settings.expressions))
        development = list(task.generate(settings, "dev", max(1, min(2000, settings.expressions // 10))))
    else:
        training, development = list(task.read(text, settings)), []
        if not dev:
            every = round(1 / share) if share else len(training) + 1
            development = training[every - 1 :: every]
            training = [example for i, example in enumerate(training, 1) if i % every]
    if dev:
        development = list(task.read(dev, settings))
    for part, paths in ((training, text), (development, dev)):
        if not part and paths:
            raise SynparseError(f"{' '.join(paths)}: no example fits the settings (task.longest, task.operators)")
    return Examples(task, training), Examples(task, development)
