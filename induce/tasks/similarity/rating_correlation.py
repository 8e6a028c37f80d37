"""Correlation of the similarity of sentence vectors with human ratings, on several sets of pairs."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from induce.analysis.correlation import Correlation, pearson, spearman
from induce.analysis.extraction import Embedder
from induce.data.vocabulary import RECIPES
from induce.storage.locate import system_name
from induce.tasks.base import TaskEvaluation
from induce.tasks.similarity.pairs import RatedPair, Similarity, cut_words
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.base.tables import Cell, Column, Table

BASELINE = "bag-of-words"


@dataclass(frozen=True)
class SimilarityScore:
    """Scores of one system on all sets of pairs."""

    system: str
    sets: Mapping[str, tuple[Correlation, Correlation]]  # name -> Spearman's and Pearson's correlation
    signature: str
    model: str = ""  # the folder

    def mean(self, measure: int) -> float | None:
        """The mean over the files of Spearman's (0) or Pearson's (1) correlation, or None if one is undefined."""
        values = [pair[measure].value for name, pair in self.sets.items() if not name.startswith(" ")]
        return _number(sum(values) / len(values))

    @property
    def value(self) -> float | None:
        """The mean of Spearman's correlation."""
        return self.mean(0)

    def rows(self) -> Iterator[list[Cell]]:
        """Two table rows, Spearman's and Pearson's correlation times 100: the mean over the files, then each file."""
        for measure, name in enumerate(("Spearman", "Pearson")):
            values = [self.mean(measure), *(_number(pair[measure].value) for pair in self.sets.values())]
            yield [self.system, name, *("-" if value is None else 100 * value for value in values)]

    def __str__(self) -> str:
        """The signature with values and intervals for each file."""
        files = {name: pair[0] for name, pair in self.sets.items() if not name.startswith(" ")}
        texts = [f"{name} {_percent(r.value)} [{_percent(r.low)}, {_percent(r.high)}]" for name, r in files.items()]
        return f"{self.signature} = {', '.join(texts)}"

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse task eval similarity --format json``."""
        groups = {}
        for name, pair in self.sets.items():
            groups[name.strip()] = {
                kind: {"value": _number(value.value), "interval": [_number(value.low), _number(value.high)]}
                for kind, value in zip(("spearman", "pearson"), pair, strict=True)
            }
        entry = {"system": self.system, "model": self.model, "metric": "spearman", "value": self.value}
        return {**entry, "pearson": self.mean(1), "signature": self.signature, "groups": groups}


def score_similarity(
    task: str,
    paths: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    largest: int | None = None,
) -> TaskEvaluation:
    """Evaluate a bag of words and models, fine-tuned or not, on the pairs of each file.

    ``groups`` maps patterns to the folders of models. Pairs with a sentence of more than ``largest`` words are left
    out. Raises SynparseError if there is no file, a file has no pair, or a model predicts no vectors.
    """
    if not paths:
        raise SynparseError(f"task {task}: name the files of rated pairs, such as sts-test.csv")
    pairs: list[RatedPair] = []
    sets: dict[str, list[int]] = {}
    for path in paths:
        small = [pair for pair in Similarity().read([path]) if largest is None or pair.words <= largest]
        if not small:
            raise SynparseError(f"{path}: there is no pair to score")
        title, genres = os.path.basename(path), sorted({pair.genre for pair in small} - {""})
        sets[title] = list(range(len(pairs), len(pairs) + len(small)))
        for genre in genres if len(genres) > 1 else ():  # a space marks the part of a file
            sets[f" {title}: {genre}"] = [k for k, pair in enumerate(small, len(pairs)) if pair.genre == genre]
        pairs += small
    digest = digest_bytes("".join(f"{pair}\n" for pair in pairs).encode())[:12]
    ratings, runs = [pair.rating for pair in pairs], [run for group in groups.values() for run in group]
    tail = f"task:{task}|sha256:{digest}|pairs:{len(pairs)}" + (f"|max:{largest}" if largest else "") + f"|v:{VERSION}"
    systems = [(BASELINE, "", BASELINE, word_overlaps(pairs))]
    for run in runs:
        embedder = Embedder(run, device=device)
        tuned = "fine-tuned" if embedder.config.purpose_name else "as trained on text"
        name = system_name(embedder.name, run)
        systems.append((name, run, f"{embedder.checkpoint.identity}|{tuned}", cosines(embedder, pairs)))
    scores = []
    for name, run, kind, values in systems:
        compared = {title: ([values[k] for k in rows], [ratings[k] for k in rows]) for title, rows in sets.items()}
        by_set = {title: (spearman(*pair), pearson(*pair)) for title, pair in compared.items()}
        scores.append(SimilarityScore(name, by_set, f"spearman|{kind}|{tail}", run))
    counts = {title: len(members) for title, members in sets.items()}
    rows = [row for score in scores for row in score.rows()]
    rows.append(["", "pairs", len(pairs), *counts.values()])
    columns = [Column("System"), Column("Measure"), *(Column(name.strip(), ".1f") for name in ("Mean", *counts))]
    tables = [Table("Correlation with human ratings, times 100", columns, rows)]
    sizes = {"pairs": {name.strip(): count for name, count in counts.items()}}
    return TaskEvaluation(task, " ".join(paths), scores, tables, [str(score) for score in scores], groups, sizes)


def cosines(embedder: Embedder, pairs: Sequence[RatedPair]) -> list[float]:
    """Cosine of the vectors of each pair of sentences. Each distinct sentence is encoded once."""
    rule = embedder.config.data.tokenization
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.first, pair.second)))
    embedded = embedder.read(cut_words(text, rule) for text in texts)
    vectors = {text: sentence.vector.astype(float) for text, sentence in zip(texts, embedded, strict=True)}
    similarities = []
    for pair in pairs:
        first, second = vectors[pair.first], vectors[pair.second]
        size = math.sqrt(float(first @ first) * float(second @ second))
        similarities.append(float(first @ second) / size if size else 0.0)
    return similarities


def word_overlaps(pairs: Sequence[RatedPair]) -> list[float]:
    """Cosine of the word counts of each pair, in lower case and without punctuation."""
    overlaps = []
    for pair in pairs:
        cut = [cut_words(text, "") for text in (pair.first, pair.second)]
        first, second = (Counter(RECIPES["words"](sentence.words, sentence.tags).forms) for sentence in cut)
        size = math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
        overlaps.append(sum(n * second[word] for word, n in first.items()) / size if size else 0.0)
    return overlaps


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
