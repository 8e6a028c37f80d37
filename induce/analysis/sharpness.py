"""Sharpness of trained models on a text, without gold annotation, and its correlation with scores.

The structure of a model declares its measures (`induce.structures.Structure.sharpness`): entropy of the head of a word,
margin and entropy of the splits by distances, entropy of span probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from induce.analysis.correlation import Correlation, pearson, spearman
from induce.analysis.extraction import GateReader
from induce.analysis.sweep import model_scores
from induce.parsing.model_parser import ModelParser
from induce.parsing.reading import Reading
from induce.storage.locate import system_name
from induce.structures import StackDecisions
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import Sentence

MIN_WORDS = 3  # a shorter sentence has one binary tree only
MIN_MODELS = 3  # models that a correlation is over


@dataclass(frozen=True)
class Sharpness:
    """Means over sentences of the measures of one model on a text, by name."""

    model: str
    run: str
    values: Mapping[str, float]
    sentences: int

    @property
    def signature(self) -> str:
        """The convention of the values."""
        counted = f"sentences:{self.sentences}|words:{MIN_WORDS}-"
        return f"sharpness|model:{self.model}|run:{self.run}|{counted}|v:{VERSION}"

    def to_json(self, name: str) -> dict[str, Any]:
        """The measures of the model called ``name`` as a JSON object."""
        names = {"system": name, "model": self.run, "sentences": self.sentences}
        return {**names, "values": dict(self.values), "signature": self.signature}


@dataclass(frozen=True)
class SharpnessReport:
    """Sharpness of several models, and the correlation of each measure (Spearman's, Pearson's) with their scores."""

    systems: Sequence[Sharpness]
    metric: str = ""
    correlations: Mapping[str, tuple[Correlation, Correlation]] | None = None

    @property
    def names(self) -> list[str]:
        """Name of each model."""
        return [system_name(system.model, system.run) for system in self.systems]

    def tables(self) -> list[Table]:
        """One row per model, and one per measure with its correlations."""
        names = list(dict.fromkeys(name for system in self.systems for name in system.values))
        rows: list[list[Cell]] = [
            [title, *(system.values.get(name) for name in names)]
            for title, system in zip(self.names, self.systems, strict=True)
        ]
        signatures = [system.signature for system in self.systems]
        columns = [Column("System"), *(Column(name, ".3f") for name in names)]
        tables = [Table("Sharpness, mean over sentences", columns, rows, footnotes=signatures)]
        if self.correlations:
            title = f"Correlation with {self.metric} over {len(self.systems)} models"
            columns = [Column("Measure")]
            for name in ("Spearman", "Pearson"):
                columns += [Column(name, ".2f"), Column(f"{name} 95 % int.", ".2f")]
            by_measure: list[list[Cell]] = [
                [name, *(cell for value, *interval in pair for cell in (value, (interval[0], interval[1])))]
                for name, pair in self.correlations.items()
            ]
            tables.append(Table(title, columns, by_measure))
        return tables

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        correlations = {
            name: {"spearman": ranked._asdict(), "pearson": linear._asdict()}
            for name, (ranked, linear) in (self.correlations or {}).items()
        }
        systems = [system.to_json(name) for name, system in zip(self.names, self.systems, strict=True)]
        return {"systems": systems, "metric": self.metric, "correlations": correlations}


def sentence_sharpness(reading: Reading) -> dict[str, float]:
    """The measures of one sentence, empty if it is short or its structure has none."""
    return reading.structure.sharpness(reading.row) if len(reading.indices) >= MIN_WORDS else {}


def slot_sharpness(positions: np.ndarray) -> dict[str, float]:
    """Entropy in bits and largest probability of the slot (N, slots) of each word but the first, which has none."""
    chosen = positions[1:].astype(np.float64)
    entropy = -(chosen * np.log2(np.where(chosen > 0, chosen, 1.0))).sum(1)
    return {"slot entropy": float(entropy.mean()), "largest": float(chosen.max(1).mean())}


def mean_sharpness(values: Iterable[Mapping[str, float]]) -> tuple[dict[str, float], int]:
    """Means of the measures over the sentences that have any, and the number of these sentences."""
    sentences = [measures for measures in values if measures]
    return {name: fmean(each[name] for each in sentences) for name in (sentences or [{}])[0]}, len(sentences)


def measure(parser: ModelParser, run: str, text: Iterable[Sentence]) -> Sharpness:
    """Sharpness of the structure that the model's decoder reads.

    Raises SynparseError if the structure has no measure, or no sentence is long enough.
    """
    measured, longest = list[dict[str, float]](), 0
    if parser.structure is StackDecisions:  # slots without probabilities, which the gates have
        for gates in GateReader(run, device=parser.device).read(text):
            longest = max(longest, len(gates.words))
            measured.append(slot_sharpness(gates.values["position"]) if len(gates.words) >= MIN_WORDS else {})
    else:
        for reading in parser.predict(text):
            longest = max(longest, len(reading.indices))
            measured.append(sentence_sharpness(reading))
    values, sentences = mean_sharpness(measured)
    if longest < MIN_WORDS:
        raise SynparseError(f"{run}: no sentence of the text has {MIN_WORDS} words, which sharpness needs")
    if not sentences:
        raise SynparseError(f"{run}: its {parser.structure.name} have no measure of sharpness; name other models")
    return Sharpness(parser.name, run, values, sentences)


def with_scores(
    systems: Sequence[Sharpness], scores: Mapping[str, float]
) -> dict[str, tuple[Correlation, Correlation]]:
    """Correlations (Spearman's, Pearson's) of each measure with the ``scores`` of the same models, by measure.

    Raises SynparseError if a model has no score, if there are fewer than `MIN_MODELS` models, or if they have no
    measure in common.
    """
    missing = next((system.run for system in systems if system.run not in scores), None)
    if missing is not None:
        raise SynparseError(f"{missing}: the file has no score of this model")
    if len(systems) < MIN_MODELS:
        raise SynparseError(f"a correlation needs {MIN_MODELS} or more models; {len(systems)} are named")
    by_model = [scores[system.run] for system in systems]
    names = [name for name in systems[0].values if all(name in system.values for system in systems)]
    if not names:
        raise SynparseError("these models have no measure in common; correlate models of the same structure")
    values = {name: [system.values[name] for system in systems] for name in names}
    return {name: (spearman(column, by_model), pearson(column, by_model)) for name, column in values.items()}


def scores_of(document: Any, metric: str = "") -> tuple[str, dict[str, float]]:
    """The scores of one metric, by model, in a document of ``synparse eval --format json``.

    ``metric`` is the first one of the document by default; if there are several conventions, the first one counts.
    Raises ValueError if the document has no such scores.
    """
    scores: dict[str, float] = {}
    try:
        entries = list(model_scores(document["scores"]))
        metric = metric or (str(entries[0]["metric"]) if entries else "")
        for entry in entries:
            if entry["metric"] == metric:
                scores.setdefault(str(entry["model"]), float(entry["value"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError('expected an object with "scores", as synparse eval --format json writes it') from None
    if not scores:
        raise ValueError(f"there is no score {metric} of a model".replace("  ", " "))
    return metric, scores
