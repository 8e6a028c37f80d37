"""Pairs of sentences with human ratings: STS 2012 to 2016, the STS benchmark, SICK, or files with three columns."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from induce.setting import setting
from induce.settings.run import RunConfig, TaskSettings
from induce.tasks.base import bad
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location
from treebank.io.expand import expand
from treebank.io.lines import open_lines

SICK = ("sentence_A", "sentence_B", "relatedness_score")  # columns in the first line of its files
STS = 7  # columns or more: genre, file, year, number, rating, two sentences
INPUT, GOLD = "STS.input.", "STS.gs."  # beginnings of the two files of a set of STS 2012 to 2016
EXPECTED = "expected a rating and two sentences between tabs, or the columns of the STS benchmark or of SICK"


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two untokenized sentences with the human rating of their similarity, from 0 to 1."""

    first: str
    second: str
    rating: float
    genre: str = ""  # of the STS benchmark: main-news, main-captions or main-forums

    def __str__(self) -> str:
        return f"{self.rating:g}\t{self.first}\t{self.second}"


@dataclass(frozen=True, kw_only=True)
class SimilaritySettings(TaskSettings):
    """Settings of the task."""

    pretrained: str = setting("", help="model folder whose model is fine-tuned; empty: a new model")

    def check_run(self, config: RunConfig) -> None:
        """Raises SynparseError if a vocabulary is given with a pretrained model, which has its own."""
        if config.data.vocabulary and self.pretrained:
            raise SynparseError("setting data.vocabulary: task.pretrained has its own vocabulary; leave one out")


class Similarity:
    """The task of rating the similarity of two sentences."""

    Config: ClassVar[type] = SimilaritySettings

    def read(self, paths: Iterable[str]) -> list[RatedPair]:
        """The pairs of files, in the format of their names or first lines. Raises TreebankError for a malformed line.

        A file ``STS.input.SET.txt`` has its ratings in ``STS.gs.SET.txt`` next to it.
        """
        return [pair for path in expand(list(paths)) for pair in _read_file(path)]


def _read_file(path: str) -> Iterator[RatedPair]:
    folder, name = os.path.split(path)
    if name.startswith(INPUT):
        yield from _read_two_files(path, os.path.join(folder, name.replace(INPUT, GOLD, 1)))
    elif not (name.startswith(GOLD) and os.path.isfile(os.path.join(folder, name.replace(GOLD, INPUT, 1)))):
        yield from _read_one_file(path)


def _read_two_files(path: str, gold: str) -> Iterator[RatedPair]:
    """Pairs of the file ``path`` whose line in the file ``gold`` has a rating and is not empty."""
    if not os.path.isfile(gold):
        raise SynparseError(f"{path}: the ratings are missing; put {os.path.basename(gold)} next to it")
    for (number, line), (_, rating) in zip_longest(open_lines(path), open_lines(gold), fillvalue=(0, None)):
        if line is None or rating is None:
            raise SynparseError(f"{path}: has another number of lines than {gold}; download both again")
        if rating.strip():
            yield _pair([rating, *line.split("\t")[:2]], Location(path, number))


def _read_one_file(path: str) -> Iterator[RatedPair]:
    columns: Sequence[int] = ()
    for number, line in open_lines(path):
        fields, location = line.split("\t"), Location(path, number)
        if number == 1 and set(SICK) <= set(fields):
            columns = [fields.index(name) for name in SICK]
        elif not line.strip():
            continue
        elif columns:
            yield _pair([fields[k] for k in columns if k < len(fields)], location, low=1, order=(2, 0, 1))
        elif len(fields) >= STS:
            yield _pair(fields[4:7], location, genre=fields[0])
        else:
            yield _pair(fields, location)


def _pair(
    fields: Sequence[str], location: Location, *, low: float = 0, order: Sequence[int] = (0, 1, 2), genre: str = ""
) -> RatedPair:
    """A pair from three fields in ``order`` (rating and sentences), with ratings from ``low`` to 5."""
    if len(fields) != 3:
        raise bad(location, EXPECTED)
    rating, first, second = (fields[k].strip() for k in order)
    try:
        value = float(rating)
    except ValueError:
        raise bad(location, f"{EXPECTED}; {rating!r} is not a number") from None
    if math.isnan(value) or not low <= value <= 5:
        raise bad(location, f"the rating {rating} is not between {low:g} and 5")
    if not first or not second:
        raise bad(location, "one of the two sentences is empty")
    return RatedPair(first, second, (value - low) / (5 - low), genre)
