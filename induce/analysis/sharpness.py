"""How decided a model is about its trees: numbers that need no gold tree, and whether they go with the scores of seeds.

Of heads it is the entropy of a word's head; of distances how far the widest gap of a bracket is ahead of the next one,
and the entropy of where a bracket is split; of span scores the entropy of whether a span is a constituent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from induce.analysis.correlation import Correlation, pearson, spearman
from induce.parsing.parser import ModelParser
from induce.structures import Distances, HeadDistribution, Heights, SpanScores, Structure
from treebank.base.errors import SynparseError
from treebank.base.version import VERSION
from treebank.core.distances import nearest_larger
from treebank.core.sentence import Sentence

LEAST = 3  # words of a sentence that there is something to decide in
FEWEST = 3  # models that a correlation is over


@dataclass(frozen=True)
class Sharpness:
    """What one model's structures are like on a text: name of a number -> its mean over sentences."""

    model: str
    run: str
    values: Mapping[str, float]
    sentences: int

    @property
    def signature(self) -> str:
        """How the values came about."""
        counted = f"sentences:{self.sentences}|words:{LEAST}-"
        return f"sharpness|model:{self.model}|run:{self.run}|{counted}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """The entry in the output of ``synparse analyze sharpness --json``."""
        head = {"system": self.model, "model": self.run, "sentences": self.sentences}
        return {**head, "values": dict(self.values), "signature": self.signature}


def measure(parser: ModelParser, run: str, text: Iterable[Sentence]) -> Sharpness:
    """The numbers of the structure that the model's decoder reads. Raises SynparseError for a structure without any."""
    if parser.structure not in MEASURES:
        known = " and ".join(sorted(kind.name for kind in MEASURES))
        raise SynparseError(f"{run}: nothing is known of how sharp {parser.structure.name} are; it is of {known}")
    rows = (np.asarray(reading.row, float) for reading in parser.read(text))
    found = [MEASURES[parser.structure](row) for row in rows if len(row) >= LEAST]
    if not found:
        raise SynparseError(f"{run}: no sentence of the text has {LEAST} words or more after normalisation")
    values = {name: fmean(one[name] for one in found) for name in found[0]}
    return Sharpness(parser.name, run, values, len(found))


def of_heads(row: np.ndarray) -> dict[str, float]:
    """Of head distributions (N, N), the diagonal that of the root: mean entropy of a word's head in bits, mean largest
    probability."""
    probability = row / np.maximum(row.sum(1, keepdims=True), 1e-30)
    logs = np.log2(np.maximum(probability, 1e-30))
    entropy = -(probability * logs).sum(1)
    return {"head entropy": float(entropy.mean()), "largest": float(probability.max(1).mean())}


def of_distances(row: np.ndarray) -> dict[str, float]:
    """Of distances (N,), in standard deviations of the sentence's gaps: mean margin of the widest gap of a bracket over
    the next widest, and mean entropy in bits of a softmax over a bracket's gaps, as a share of the largest possible."""
    gaps = row[1:]
    spread = float(gaps.std())
    if not spread > 0 or not math.isfinite(spread):
        return {"margin": 0.0, "split entropy": 1.0}
    gaps = (gaps - gaps.mean()) / spread
    margins, entropies = [], []
    for place, (left, right) in enumerate(zip(*nearest_larger(gaps.tolist()), strict=True)):
        inside = gaps[left + 1 : right]
        if len(inside) < 2:
            continue
        others = np.delete(inside, place - left - 1)
        margins.append(float(gaps[place] - others.max()))
        weights = np.exp(inside - inside.max())
        weights /= weights.sum()
        entropies.append(float(-(weights * np.log(np.maximum(weights, 1e-30))).sum() / math.log(len(inside))))
    return {"margin": fmean(margins), "split entropy": fmean(entropies)}


def of_heights(row: np.ndarray) -> dict[str, float]:
    """Of distances with heights (N, 2): the distances'."""
    return of_distances(row[:, 0])


def of_spans(row: np.ndarray) -> dict[str, float]:
    """Of the probabilities (N, N + 1) of spans of two words or more but the whole: mean entropy in bits of whether each
    is there, and the mean probability of the N - 2 most probable ones."""
    count = len(row)
    start, end = np.indices(row.shape)
    share = np.clip(row[(end - start >= 2) & (end - start < count)], 1e-12, 1 - 1e-12)
    entropy = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    return {"span entropy": float(entropy.mean()), "largest": float(np.sort(share)[-(count - 2) :].mean())}


MEASURES: dict[type[Structure], Callable[[np.ndarray], dict[str, float]]] = {
    Distances: of_distances,
    Heights: of_heights,
    HeadDistribution: of_heads,
    SpanScores: of_spans,
}


def with_scores(found: Sequence[Sharpness], scores: Mapping[str, float]) -> dict[str, tuple[Correlation, Correlation]]:
    """Name of a number -> its correlations (Spearman's, Pearson's) with the ``scores`` of the same runs.

    Raises SynparseError for a run without a score, and for too few runs.
    """
    missing = next((one.run for one in found if one.run not in scores), None)
    if missing is not None:
        raise SynparseError(f"{missing}: there is no score of this run in the file")
    if len(found) < FEWEST:
        raise SynparseError(f"a correlation is over {FEWEST} models or more, and {len(found)} are named")
    wanted = [scores[one.run] for one in found]
    names = [name for name in found[0].values if all(name in one.values for one in found)]
    values = {name: [one.values[name] for one in found] for name in names}
    return {name: (spearman(own, wanted), pearson(own, wanted)) for name, own in values.items()}


def scores_of(document: Any, metric: str = "") -> tuple[str, dict[str, float]]:
    """The metric and, by run, its value in what ``synparse eval --json`` wrote: ``metric``, or the first one there.

    Raises ValueError for another document.
    """
    entries = document.get("scores") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError('expected an object with "scores", as synparse eval --json writes it')
    of_models = [one for one in entries if isinstance(one, dict) and one.get("model") and "metric" in one]
    metric = metric or (str(of_models[0]["metric"]) if of_models else "")
    found: dict[str, float] = {}
    for one in of_models:
        if one["metric"] == metric:
            found.setdefault(str(one["model"]), float(one["value"]))  # under the first convention
    if not found:
        raise ValueError(f"there is no score {metric} of a model".replace("  ", " "))
    return metric, found
