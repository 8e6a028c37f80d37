"""Natural language inference: whether a sentence follows from another one, in the files of SNLI and MultiNLI.

The binary trees of these files, which a parser assigned, are the gold trees of the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from induce.setting import limited
from induce.settings.run import PurposeSettings, RunConfig
from induce.tasks.base import Example, Expression, Group, bad, binary_tree, ranges_up_to, size_groups
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location
from treebank.io.jsonl import read_objects
from treebank.io.read import expand

LABELS = ("entailment", "neutral", "contradiction")
UNDECIDED = "-"  # label of pairs without a majority, which are left out
PARSES = ("sentence1_binary_parse", "sentence2_binary_parse")
GROUPS = (10, 20, 30, 40)  # the largest number of words of each group


@dataclass(frozen=True, kw_only=True)
class NliSettings(PurposeSettings):
    """Settings of the task."""

    expressions: ClassVar[int] = 0  # none are generated

    longest: int = limited(0, 0, 1e9, "maximum words of a training sentence; 0: no limit")

    @property
    def max_size(self) -> int:
        """Size of the largest training examples."""
        return self.longest or 10**9

    def check_run(self, config: RunConfig) -> None:
        """Raises SynparseError if the tokens are not words, which the trees of the files need."""
        if config.data.token != "word":
            raise SynparseError("setting data.token: the trees of task nli are over words; leave it out")


class Nli:
    """The task. The size of a pair is that of the longer sentence, in words. Nothing is generated."""

    Config = NliSettings
    name = "nli"
    words = ()
    labels = LABELS
    sides = 2
    measure = "words"

    def generate(self, config: NliSettings, part: str, count: int, *, longer: bool = False) -> Iterator[Example]:
        """Raises SynparseError, because the pairs are those of files."""
        raise SynparseError("task nli reads the files of SNLI or MultiNLI; name them, such as snli_1.0_train.jsonl")

    def read(self, paths: Iterable[str], config: NliSettings) -> Iterator[Example]:
        """The pairs of files whose sentences have up to ``config.longest`` words."""
        return (pair for pair in self.read_all(paths) if pair.size <= config.max_size)

    def read_all(self, paths: Iterable[str]) -> Iterator[Example]:
        """The pairs of files with one JSON object per line, without those that have no label.

        Raises TreebankError with file and line for a malformed line.
        """
        for path in expand(list(paths)):
            for number, fields in read_objects(path):
                if fields is not None and fields.get("gold_label") != UNDECIDED:
                    location = Location(path, number)
                    if (label := fields.get("gold_label")) not in LABELS:
                        raise bad(location, f"expected gold_label to be {', '.join(LABELS)} or -, not {label!r}")
                    try:
                        sides = tuple(Expression(*binary_tree(str(fields[name]).split())) for name in PARSES)
                    except KeyError as missing:
                        raise bad(location, f"the field {missing} is missing") from None
                    except ValueError as error:
                        raise bad(location, str(error)) from None
                    yield Example(sides, LABELS.index(label), max(len(side.tokens) for side in sides))

    def groups(self, settings: NliSettings) -> list[Group]:
        """Groups by the number of words, up to 40, and 41 or more."""
        return size_groups(settings.max_size, ranges_up_to(GROUPS))
