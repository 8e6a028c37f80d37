"""Parity: whether a sequence of bits has an even number of ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from induce.setting import limited
from induce.settings.run import PurposeSettings
from induce.tasks.base import Example, Expression, Group, distinct, size_groups

PRESET = """
source = "a toy"
model = {name = "lstm", hidden_size = 8}
task = {name = "parity", expressions = 60}
train.epochs = 2
loader = {name = "expressions", batch_size = 16}
"""


@dataclass(frozen=True, kw_only=True)
class ParitySettings(PurposeSettings):
    """Settings of the task."""

    reads_text = False

    expressions: int = limited(60, 1, 1e6, "training examples to generate")
    max_size: int = limited(8, 1, 100, "maximum bits of a training example")


class Parity:
    """The task: its words and labels, a generator, and a reader of files."""

    Config = ParitySettings
    name = "parity"
    words = ("0", "1")
    labels = ("even", "odd")
    sides = 1
    measure = "bits"

    def generate(self, config: ParitySettings, part: str, count: int, *, longer: bool = False) -> Iterator[Example]:
        """``count`` different examples of ``part``."""
        draw = random.Random(part)
        max_size = config.max_size + 4 * longer
        return distinct(
            lambda: example(draw.choices("01", k=draw.randint(2, max_size))), count, lambda bits: bits.part == part
        )

    def read(self, paths: Iterable[str], config: ParitySettings) -> Iterator[Example]:
        """The examples of files that are small enough for training."""
        return (bits for bits in self.read_all(paths) if bits.size <= config.max_size)

    def read_all(self, paths: Iterable[str]) -> Iterator[Example]:
        """The examples of files with one sequence of bits per line."""
        return (example(line.split()) for path in paths for line in Path(path).read_text("utf-8").splitlines())

    def groups(self, settings: ParitySettings) -> list[Group]:
        """Training sizes and longer sequences."""
        return size_groups(settings.max_size, [])


def example(bits: list[str]) -> Example:
    """A sequence of bits with its label and a left-branching tree."""
    spans = tuple((0, end) for end in range(len(bits), 1, -1))
    return Example((Expression(tuple(bits), spans),), bits.count("1") % 2, len(bits))
