"""Correlation of the attention channels of a model with dependency relations (Shen 2022, thesis, section 4.3.3).

The data points are the gold arcs: for each arc, the weight with which a channel brings the dependent to its head
(equation 4.2.11), and whether the arc has a relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from induce.data.batches import batches_by_cost, pad
from induce.data.vocabulary import RECIPES
from induce.models.capabilities import ChannelWeights
from induce.parsing.load import read_trained
from induce.registry import choose_device
from induce.settings.run import kind_of
from induce.storage.checkpoint import Checkpoint, build_model
from treebank.base import VERSION
from treebank.base.arguments import split_name
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.dependency import delete
from treebank.core.relations import RULES, with_relations
from treebank.core.sentence import ROOT, Sentence
from treebank.evaluate.score import Runs

if TYPE_CHECKING:
    from torch import Tensor


MEASURES = {"correlation": "PCC", "partial": "Partial", "untrained": "Untrained", "permuted": "Permuted"}
UNTRAINED_SEED = PERMUTED_SEED = 1
BLOCK_SENTENCES = 512  # sentences that are read before they are grouped by length
MIN_VARIANCE = 1e-15  # rounding error of the sums per arc, if a channel has the same weight for all arcs
MAX_DISTANCE = 8  # words between head and dependent; longer arcs are grouped
BATCH_WORDS = 2048  # words of a batch, padding included; every channel has a weight for each pair of a sentence


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationChannels:
    """Pearson correlation of one dependency relation with each channel of each layer."""

    relation: str
    arcs: int
    correlations: np.ndarray  # (layers, channels)
    within: np.ndarray | None = None  # partial correlations given direction and length
    untrained: float | None = None  # largest correlation in an untrained model with the same settings
    permuted: float | None = None  # largest correlation with randomly permuted relations

    @property
    def partial(self) -> float | None:
        """Partial correlation of the best channel, or None if it is undefined."""
        if self.within is None or self.best is None or np.isnan(self.within[self.best]):
            return None
        return float(self.within[self.best])

    @property
    def best(self) -> tuple[int, int] | None:
        """Indices of layer and channel with the largest correlation, or None if no channel has one."""
        if np.isnan(self.correlations).all():
            return None
        layer, channel = np.unravel_index(np.nanargmax(self.correlations), self.correlations.shape)
        return int(layer), int(channel)

    def to_json(self) -> dict[str, Any]:
        """The correlations as a JSON object, with layers and channels counted from 1."""
        best = self.best
        rows = [[None if np.isnan(value) else float(value) for value in row] for row in self.correlations]
        return {
            "relation": self.relation,
            "arcs": self.arcs,
            "correlation": None if best is None else rows[best[0]][best[1]],
            "layer": None if best is None else best[0] + 1,
            "channel": None if best is None else best[1] + 1,
            "partial": self.partial,
            "untrained": self.untrained,
            "permuted": self.permuted,
            "correlations": rows,
        }


@dataclass(frozen=True, kw_only=True)
class ChannelReport:
    """The correlations of one model's channels on one treebank, the most frequent relation first."""

    model: str
    run: str
    data: str
    normalization: str
    sentences: int
    arcs: int  # of all relations, including rare ones
    minimum: int
    subtypes: bool
    derived: bool  # heads and relations come from trees
    relations: Sequence[RelationChannels]

    @property
    def signature(self) -> str:
        """The convention of the values: ``PCC|model:udgn|arcs:child-to-head|…``."""
        labels = ("subtypes" if self.subtypes else "plain") + (f"+{RULES}" if self.derived else "")
        convention = f"arcs:child-to-head|norm:{self.normalization}|relations:{labels}|min:{self.minimum}"
        counts = f"sentences:{self.sentences}|pairs:{self.arcs}"
        return f"PCC|model:{self.model}|run:{self.run}|{convention}|data:{self.data}|{counts}|v:{VERSION}"

    def tables(self) -> list[Table]:
        """One row per relation."""
        names = ["correlation", "layer", "channel", "partial"]
        if any(relation.untrained is not None for relation in self.relations):
            names += ["untrained", "permuted"]
        columns = [Column("Relation"), Column("Arcs")]
        columns += [Column(MEASURES.get(name, name.capitalize()), ".2f" * (name in MEASURES)) for name in names]
        entries = [relation.to_json() for relation in self.relations]
        rows = [[entry["relation"], entry["arcs"], *(entry[name] for name in names)] for entry in entries]
        return [Table("", columns, rows, footnotes=[self.signature])]

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "model": self.model,
            "run": split_name(self.run)[1],
            "gold": self.data,
            "sentences": self.sentences,
            "pairs": self.arcs,
            "minimum": self.minimum,
            "subtypes": self.subtypes,
            "signature": self.signature,
            "relations": [relation.to_json() for relation in self.relations],
        }


def correlate_channels(
    run: str,
    sentences: Iterable[Sentence],
    *,
    data: str,
    minimum: int = 50,
    subtypes: bool = False,
    device: str = "auto",
    controls: bool = False,
) -> ChannelReport:
    """Correlate the channels of the model in ``run`` with the relations that have at least ``minimum`` arcs.

    ``controls`` adds the largest correlations in an untrained model, and with the relations permuted among the arcs,
    because the largest of many correlations is above 0 by chance. It holds all sentences in memory. Raises
    SynparseError if the model has no channels, or no relation has enough arcs.
    """
    checkpoint = read_trained(run)
    config, device = checkpoint.config, choose_device(device)
    if not issubclass(kind_of(config), ChannelWeights):
        raise SynparseError(f"{run}: model {config.model_name!r} has no channels or attention heads; 'udgn' has")
    if config.data.token != "word":
        problem = f"this model reads {config.data.token}s, and the relations of a treebank are between words"
        raise SynparseError(f"{run}: {problem}")
    model = build_model(checkpoint).to(device)
    source = _Arcs(checkpoint, list(sentences) if controls else sentences, subtypes)
    sums = source.correlations(model, device)
    relations = [
        RelationChannels(relation=name, arcs=count, correlations=sums.of(name), within=sums.within(name))
        for name, count in sorted(sums.counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= minimum
    ]
    _check_relations(sums.counts, minimum, data)
    if controls:
        relations = _with_controls(relations, source, model, sums, device)
    return ChannelReport(
        model=config.model_name,
        run=run,
        data=data,
        normalization=config.data.normalization,
        sentences=source.read,
        arcs=sums.arcs,
        minimum=minimum,
        subtypes=subtypes,
        derived=source.derived,
        relations=relations,
    )


def _check_relations(counts: Mapping[str, int], minimum: int, data: str) -> None:
    """Raise SynparseError if ``data`` has a single relation, or none with ``minimum`` arcs."""
    if len(counts) == 1:
        raise SynparseError(f"{data}: all arcs have one relation, {next(iter(counts))}, with which nothing correlates")
    if (most := max(counts.values(), default=0)) < max(1, minimum):
        hint = "lower the minimum" if most else "arcs need two words that the model reads"
        raise SynparseError(f"{data}: no relation has {minimum} arcs; the most frequent one has {most}; {hint}")


class _Arcs:
    """The gold arcs of sentences between the words that a model reads."""

    def __init__(self, checkpoint: Checkpoint, sentences: Iterable[Sentence], subtypes: bool) -> None:
        self.checkpoint, self.sentences, self.subtypes = checkpoint, sentences, subtypes
        self.read, self.derived = 0, False

    def correlations(self, model: Any, device: str, names: Iterator[str] | None = None) -> Correlations:
        """Correlations of a model's channels, with ``names`` instead of the relations of the arcs if given."""
        sums, self.read = Correlations(), 0
        recipe, vocabulary = RECIPES[self.checkpoint.config.data.normalization], self.checkpoint.vocabulary
        source = iter(self.sentences)
        while block := list(islice(source, BLOCK_SENTENCES)):
            self.read += len(block)
            self.derived |= any(not sentence.heads for sentence in block)
            normalized = [recipe(sentence.words, sentence.tags) for sentence in block]
            arcs = [
                read_arcs(sentence, words.indices, subtypes=self.subtypes)
                for sentence, words in zip(block, normalized, strict=True)
            ]
            if names is not None:
                arcs = [[arc._replace(relation=next(names)) for arc in of_sentence] for of_sentence in arcs]
            add_block(sums, model, [vocabulary.encode(words.forms) for words in normalized], arcs, device)
        return sums


def _with_controls(
    relations: Sequence[RelationChannels], source: _Arcs, model: Any, sums: Correlations, device: str
) -> list[RelationChannels]:
    """``relations`` with the largest correlations of the two controls."""
    from induce.models.base import make_model
    from induce.training.state import seed_everything

    config = source.checkpoint.config
    seed_everything(UNTRAINED_SEED)
    fresh = make_model(config, len(source.checkpoint.vocabulary)).to(device).eval()
    untrained = source.correlations(fresh, device)
    names = [name for name, count in sorted(sums.counts.items()) for _ in range(count)]
    order = np.random.default_rng(PERMUTED_SEED).permutation(len(names)).tolist()
    permuted = source.correlations(model, device, iter([names[index] for index in order]))
    return [
        replace(entry, untrained=largest(untrained.of(entry.relation)), permuted=largest(permuted.of(entry.relation)))
        for entry in relations
    ]


def largest(values: np.ndarray) -> float | None:
    """The largest number in an array, or None if all are NaN."""
    return None if np.isnan(values).all() else float(np.nanmax(values))


@dataclass(frozen=True)
class ChannelComparison:
    """The correlations of the best channels of several models. Models of one type are averaged."""

    reports: Sequence[ChannelReport]

    @property
    def relations(self) -> dict[str, dict[str, dict[str, Runs]]]:
        """For each relation, type of model and measure (PCC, Partial, controls), the values of the best channels."""
        values: dict[tuple[str, str, str], dict[str, float]] = {}
        for report in self.reports:
            for entry in (relation.to_json() for relation in report.relations):
                for key, name in MEASURES.items():
                    if entry[key] is not None:
                        values.setdefault((entry["relation"], report.model, name), {})[report.run] = entry[key]
        relations: dict[str, dict[str, dict[str, Runs]]] = {}
        for (relation, model, name), runs in values.items():
            relations.setdefault(relation, {}).setdefault(model, {})[name] = Runs(runs)
        return relations

    def tables(self) -> list[Table]:
        """Mean and standard deviation over the models of each type: one row per relation and type."""
        by_model = [(relation, *item) for relation, models in self.relations.items() for item in models.items()]
        names = list(dict.fromkeys(name for _, _, measures in by_model for name in measures))
        columns = [Column("Relation"), Column("Model"), Column("Runs")]
        columns += [Column(part, ".2f") for name in names for part in (name, f"{name} SD")]
        rows: list[list[Cell]] = []
        for relation, model, measures in by_model:
            row: list[Cell] = [relation, model, max(len(runs.values) for runs in measures.values())]
            for runs in map(measures.get, names):
                row += mean_cells(runs)
            rows.append(row)
        return [Table("", columns, rows, footnotes=[report.signature for report in self.reports])]

    def to_json(self) -> dict[str, Any]:
        """JSON object with the report of each model, and means and deviations by relation and type of model."""
        means = {
            relation: {
                model: {name: runs.to_json() for name, runs in measures.items()} for model, measures in models.items()
            }
            for relation, models in self.relations.items()
        }
        return {"runs": [report.to_json() for report in self.reports], "relations": means}


def mean_cells(runs: Runs | None) -> list[Cell]:
    """Mean and standard deviation, None without runs and for the deviation of one run."""
    if runs is None:
        return [None, None]
    return [runs.mean, runs.deviation if len(runs.values) > 1 else None]


class Arc(NamedTuple):
    """A gold arc between two of the words that a model reads, by their indices among these."""

    child: int
    head: int
    relation: str

    @property
    def group(self) -> tuple[bool, int]:
        """Direction of the arc and its length, which partial correlations control for."""
        return self.child < self.head, min(MAX_DISTANCE, abs(self.child - self.head))


def read_arcs(sentence: Sentence, indices: Sequence[int], *, subtypes: bool = False) -> list[Arc]:
    """The arcs of the words ``indices``, where the head of a word is its nearest ancestor among these.

    A sentence with a tree and without heads gets heads and relations from the tree. Each arc has the relation of its
    dependent, without subtype unless ``subtypes`` is true. Roots have no arc. Raises SynparseError if the sentence has
    no heads or no relations.
    """
    sentence, count = with_relations(sentence), len(sentence.words)
    if len(sentence.heads) != count or len(sentence.relations) != count:
        problem = "this sentence has no dependency relations; give CoNLL-U with HEAD and DEPREL, or Penn trees"
        raise SynparseError(f"{sentence.location}: {problem}")
    mask = [False] * count
    for i in indices:
        mask[i] = True
    names = [sentence.relations[i] for i in indices]
    if not subtypes:
        names = [name.partition(":")[0] for name in names]
    heads = delete(sentence.heads, mask)
    return [Arc(i, *pair) for i, pair in enumerate(zip(heads, names, strict=True)) if pair[0] not in (ROOT, i)]


class _Sums:
    """Number of arcs, and sums of their weights and squared weights."""

    def __init__(self) -> None:
        self.count, self.weights, self.squares = 0, np.float64(0.0), np.float64(0.0)

    def add(self, weights: np.ndarray) -> None:
        """Add arcs with ``weights`` (arcs, layers, channels)."""
        self.count += len(weights)
        self.weights = self.weights + weights.sum(0)
        self.squares = self.squares + (weights**2).sum(0)


class Correlations:
    """Pearson's correlations between channels and relations, from arcs that are added a few at a time.

    Partial correlations control for the group of an arc, such as its direction and length.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # arcs of each relation
        self._first: Any = None  # subtracted from all weights, for precision if they are similar
        self._groups: dict[Hashable, _Sums] = {}  # over all arcs of a group
        self._relations: dict[str, dict[Hashable, _Sums]] = {}  # relation -> group -> over its arcs

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self.counts.total()

    def add(self, weights: np.ndarray, relations: Sequence[str], groups: Sequence[Hashable] = ()) -> None:
        """Add arcs with ``weights`` (arcs, layers, channels), ``relations`` and ``groups``."""
        if not relations:
            return
        weights = weights.astype(np.float64)
        if self._first is None:
            self._first = weights[0]
        weights = weights - self._first
        self.counts.update(relations)
        indices: dict[tuple[str, Hashable], list[int]] = {}
        for index, relation in enumerate(relations):
            indices.setdefault((relation, groups[index] if groups else None), []).append(index)
        for (relation, group), members in indices.items():
            self._groups.setdefault(group, _Sums()).add(weights[members])
            self._relations.setdefault(relation, {}).setdefault(group, _Sums()).add(weights[members])

    def of(self, relation: str) -> np.ndarray:
        """Correlation (layers, channels) of the weight of each channel with ``relation`` (eq. 4.3.1).

        NaN if a channel has the same weight for all arcs, or all arcs have that relation.
        """
        return self._correlation([(list(self._groups.values()), list(self._relations[relation].values()))])

    def within(self, relation: str) -> np.ndarray:
        """Partial correlation (layers, channels) given the group of the arc: of differences from the group's mean."""
        sums_of = self._relations[relation]
        return self._correlation(
            [([sums], [sums_of[group]] if group in sums_of else []) for group, sums in self._groups.items()]
        )

    def _correlation(self, groups: Sequence[tuple[Sequence[_Sums], Sequence[_Sums]]]) -> np.ndarray:
        """Correlation about the means of the groups, from sums over all arcs of a group and over the relation's."""
        covariance = deviation = np.zeros_like(self._first)
        spread = 0.0
        for all_sums, relation_sums in groups:
            count = sum(sums.count for sums in all_sums)
            relation_count = sum(sums.count for sums in relation_sums)
            weights = sum(sums.weights for sums in all_sums)
            covariance = covariance + sum(sums.weights for sums in relation_sums) - weights * relation_count / count
            deviation = deviation + sum(sums.squares for sums in all_sums) - weights**2 / count
            spread += relation_count - relation_count**2 / count
        scale = np.sqrt((deviation * spread).clip(min=0))
        return np.divide(covariance, scale, out=np.full_like(scale, np.nan), where=scale > MIN_VARIANCE * self.arcs)


def add_block(
    sums: Correlations, model: Any, ids: Sequence[list[int]], arcs: Sequence[Sequence[Arc]], device: str = "cpu"
) -> None:
    """Add the ``arcs`` of sentences with the word indices ``ids`` to ``sums``, in batches of similar length."""
    import torch

    with_arcs = [index for index, of_sentence in enumerate(arcs) if of_sentence]
    with torch.inference_mode():
        for batch in batches_by_cost([len(ids[index]) for index in with_arcs], budget=BATCH_WORDS):
            members = [with_arcs[k] for k in batch]
            tokens, lengths = pad([ids[index] for index in members])
            weights = model.channels(tokens.to(device), lengths)
            batch_arcs = [arcs[index] for index in members]
            flat = [arc for of_sentence in batch_arcs for arc in of_sentence]
            sums.add(arc_weights(weights, batch_arcs), [arc.relation for arc in flat], [arc.group for arc in flat])


def arc_weights(weights: Tensor, arcs: Sequence[Sequence[Arc]]) -> np.ndarray:
    """Weights (arcs, layers, K) from dependent to head, out of all ``weights`` (B, layers, K, N, N) to i from j."""
    cells = [(row, arc.head, arc.child) for row, of_sentence in enumerate(arcs) for arc in of_sentence]
    rows, heads, children = map(list, zip(*cells, strict=True))
    return weights[rows, :, :, heads, children].cpu().numpy()
