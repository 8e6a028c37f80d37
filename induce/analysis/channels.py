"""Which channel of a model goes with which dependency relation (Shen 2022, thesis, section 4.3.3 and table 8).

The data points are the gold arcs: for each, the probability with which a channel brings the child's word to its head's
(equation 4.2.11), and whether the arc is of a relation. Pearson's correlation of the two is taken from sums, so that
memory does not grow with the treebank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from induce.config import kind_of
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.parsing.load import choose_device, read_trained
from induce.storage.checkpoint import Checkpoint, build_model
from treebank.base.errors import SynparseError
from treebank.base.version import VERSION
from treebank.core.dependency import delete
from treebank.core.normalization import RECIPES
from treebank.core.sentence import ROOT, Sentence
from treebank.evaluate.score import Runs

if TYPE_CHECKING:
    from torch import Tensor

ROUNDING = 1e-15  # what is left of sums, an arc, where a channel has the same weight for all
FARTHEST = 8  # words between head and child; those farther apart are one kind
MEASURES = {"correlation": "PCC", "partial": "Partial", "untrained": "Untrained", "permuted": "Permuted"}
UNTRAINED_SEED = PERMUTED_SEED = 1
BLOCK = 512  # sentences read at a time, to be put side by side with others of like length
POSITIONS = 2048  # words side by side, with padding: every layer and channel has a number for each pair of a sentence


class Arc(NamedTuple):
    """A gold arc between two of the words that a model sees, counted among these."""

    child: int
    head: int
    relation: str

    @property
    def kind(self) -> tuple[bool, int]:
        """On which side of its head the child is, and how far away."""
        return self.child < self.head, min(FARTHEST, abs(self.child - self.head))


def seen_arcs(sentence: Sentence, kept: Sequence[int], *, subtypes: bool = False) -> list[Arc]:
    """The arcs of the words ``kept``; one that depends on a dropped word goes to its nearest ancestor that is kept.

    Each has the child's own relation: ``nmod`` of ``nmod:poss``, or all of it with ``subtypes``. Roots have no arc.
    Raises SynparseError if the sentence has no heads or no relations.
    """
    count = len(sentence.words)
    if len(sentence.heads) != count or len(sentence.relations) != count:
        problem = "this sentence has no dependency relations; CoNLL-U with HEAD and DEPREL is needed"
        raise SynparseError(f"{sentence.place}: {problem}")
    mask = [False] * count
    for i in kept:
        mask[i] = True
    names = [sentence.relations[i] for i in kept]
    if not subtypes:
        names = [name.partition(":")[0] for name in names]
    heads = delete(sentence.heads, mask)
    return [Arc(i, *pair) for i, pair in enumerate(zip(heads, names, strict=True)) if pair[0] not in (ROOT, i)]


class _Sums:
    """Sums over some arcs: how many, their weights, the squares of these."""

    def __init__(self) -> None:
        self.count, self.weights, self.squares = 0, np.float64(0.0), np.float64(0.0)

    def add(self, weights: np.ndarray) -> None:
        """Count arcs with these ``weights`` (arcs, layers, channels)."""
        self.count += len(weights)
        self.weights = self.weights + weights.sum(0)
        self.squares = self.squares + (weights**2).sum(0)


class Correlations:
    """Pearson's correlations between channels and relations, from arcs that are given a few at a time.

    Arcs may be of kinds, such as those that go one word to the left; then there are partial correlations, too, within
    the kinds.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # arcs of each relation
        self._first: Any = None  # all sums are of differences from it, or digits were lost where weights are alike
        self._kinds: dict[Hashable, _Sums] = {}  # over all arcs of a kind
        self._of: dict[str, dict[Hashable, _Sums]] = {}  # relation -> kind -> over its arcs

    @property
    def arcs(self) -> int:
        """How many there were."""
        return self.counts.total()

    def add(self, weights: np.ndarray, relations: Sequence[str], kinds: Sequence[Hashable] = ()) -> None:
        """Count arcs with these ``relations``, ``weights`` (arcs, layers, channels) and ``kinds``."""
        if not relations:
            return
        weights = weights.astype(np.float64)
        if self._first is None:
            self._first = weights[0]
        weights = weights - self._first
        self.counts.update(relations)
        places: dict[tuple[str, Hashable], list[int]] = {}
        for place, relation in enumerate(relations):
            places.setdefault((relation, kinds[place] if kinds else None), []).append(place)
        for (relation, kind), chosen in places.items():
            own = weights[chosen]
            self._kinds.setdefault(kind, _Sums()).add(own)
            self._of.setdefault(relation, {}).setdefault(kind, _Sums()).add(own)

    def of(self, relation: str) -> np.ndarray:
        """Correlation (layers, channels) of each channel with an arc's being of ``relation`` (eq. 4.3.1).

        NaN where there is none, as a channel has the same weight for all arcs, or all arcs are of that relation.
        """
        return self._correlation([(list(self._kinds.values()), list(self._of[relation].values()))])

    def within(self, relation: str) -> np.ndarray:
        """Partial correlation (layers, channels), given the kinds of arcs: of what differs from the mean of a kind."""
        own = self._of[relation]
        return self._correlation([([sums], [own[kind]] if kind in own else []) for kind, sums in self._kinds.items()])

    def _correlation(self, groups: Sequence[tuple[Sequence[_Sums], Sequence[_Sums]]]) -> np.ndarray:
        """From sums over all arcs of each group and over those of the relation: about the means of the groups."""
        covariance = deviation = np.zeros_like(self._first)
        spread = 0.0
        for everything, own in groups:
            count, chosen = sum(one.count for one in everything), sum(one.count for one in own)
            weights = sum(one.weights for one in everything)
            covariance = covariance + sum(one.weights for one in own) - weights * chosen / count
            deviation = deviation + sum(one.squares for one in everything) - weights**2 / count
            spread += chosen - chosen**2 / count
        scale = np.sqrt((deviation * spread).clip(min=0))
        return np.divide(covariance, scale, out=np.full_like(scale, np.nan), where=scale > ROUNDING * self.arcs)


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationChannels:
    """One relation and how each channel goes with it."""

    relation: str
    arcs: int
    correlations: np.ndarray  # (layers, channels)
    within: np.ndarray | None = None  # the same, partial, given direction and distance
    untrained: float | None = None  # the largest of a model with the same settings that has learned nothing
    permuted: float | None = None  # the largest where the arcs' relations are exchanged at random

    @property
    def partial(self) -> float | None:
        """The partial correlation of the best channel; None where there is none."""
        if self.within is None or self.best is None or np.isnan(self.within[self.best]):
            return None
        return float(self.within[self.best])

    @property
    def best(self) -> tuple[int, int] | None:
        """Layer and channel with the largest correlation, from 0, the first on ties; None if no channel has one."""
        if np.isnan(self.correlations).all():
            return None
        layer, channel = np.unravel_index(np.nanargmax(self.correlations), self.correlations.shape)
        return int(layer), int(channel)

    def to_json(self) -> dict[str, Any]:
        """The entry in the output of ``--json``; layers and channels count from 1."""
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
    arcs: int  # of all relations, those that are left out included
    minimum: int
    subtypes: bool
    relations: Sequence[RelationChannels]

    @property
    def signature(self) -> str:
        """How the values came about: ``PCC|model:udgn|arcs:child-to-head|…``."""
        labels = "subtypes" if self.subtypes else "plain"
        how = f"arcs:child-to-head|norm:{self.normalization}|relations:{labels}|min:{self.minimum}"
        counts = f"sentences:{self.sentences}|pairs:{self.arcs}"
        return f"PCC|model:{self.model}|run:{self.run}|{how}|data:{self.data}|{counts}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """What ``synparse analyze channels --json`` writes."""
        return {
            "model": self.model,
            "run": self.run,
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
    """How the channels of the model in ``run`` go with the relations that have at least ``minimum`` arcs.

    With ``controls`` each relation also has what a model finds that has learned nothing, and what this model finds
    where the relations are exchanged among the arcs at random: the largest of as many channels is above 0 by itself.
    The sentences are kept in memory for it. Raises SynparseError if the model has no channels, or no relation has so
    many arcs.
    """
    checkpoint = _with_channels(run)
    config, device = checkpoint.config, choose_device(device)
    model = build_model(checkpoint).to(device)
    source = _Arcs(checkpoint, list(sentences) if controls else sentences, subtypes)
    found = source.correlations(model, device)
    relations = [
        RelationChannels(relation=name, arcs=count, correlations=found.of(name), within=found.within(name))
        for name, count in sorted(found.counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= minimum
    ]
    if not relations:
        most = max(found.counts.values(), default=0)
        hint = "try a lower --minimum" if most else "roots have none, nor have words that the model does not read"
        raise SynparseError(f"{data}: no relation has {minimum} arcs, only up to {most}; {hint}")
    if controls:
        relations = _with_controls(relations, source, model, found, device)
    return ChannelReport(
        model=config.model_name,
        run=run,
        data=data,
        normalization=config.data.normalization,
        sentences=source.read,
        arcs=found.arcs,
        minimum=minimum,
        subtypes=subtypes,
        relations=relations,
    )


class _Arcs:
    """The gold arcs of sentences, and the words of these as a model sees them."""

    def __init__(self, checkpoint: Checkpoint, sentences: Iterable[Sentence], subtypes: bool) -> None:
        self.checkpoint, self.sentences, self.subtypes = checkpoint, sentences, subtypes
        self.read = 0

    def correlations(self, model: Any, device: str, names: Iterator[str] | None = None) -> Correlations:
        """Those of a model's channels; with ``names``, these stand in for the arcs' relations, one after another."""
        found, self.read = Correlations(), 0
        recipe, vocabulary = RECIPES[self.checkpoint.config.data.normalization], self.checkpoint.vocabulary
        for block in _blocks(self.sentences):
            self.read += len(block)
            seen = [recipe(sentence.words, sentence.tags) for sentence in block]
            arcs = [
                seen_arcs(sentence, one.kept, subtypes=self.subtypes) for sentence, one in zip(block, seen, strict=True)
            ]
            if names is not None:
                arcs = [[arc._replace(relation=next(names)) for arc in own] for own in arcs]
            add_block(found, model, [vocabulary.encode(one.forms) for one in seen], arcs, device)
        return found


def _with_controls(
    relations: Sequence[RelationChannels], source: _Arcs, model: Any, found: Correlations, device: str
) -> list[RelationChannels]:
    """``relations`` with the largest correlations of the two controls."""
    from induce.models.build import make_model
    from induce.training.seeding import seed_everything

    config = source.checkpoint.config
    seed_everything(UNTRAINED_SEED)
    fresh = make_model(config, len(source.checkpoint.vocabulary)).to(device).eval()
    untrained = source.correlations(fresh, device)
    names = [name for name, count in sorted(found.counts.items()) for _ in range(count)]
    order = np.random.default_rng(PERMUTED_SEED).permutation(len(names)).tolist()
    permuted = source.correlations(model, device, iter([names[place] for place in order]))
    return [
        replace(one, untrained=largest(untrained.of(one.relation)), permuted=largest(permuted.of(one.relation)))
        for one in relations
    ]


def largest(values: np.ndarray) -> float | None:
    """The largest number in an array; None if there is none but NaN."""
    return None if np.isnan(values).all() else float(np.nanmax(values))


def channels_over_runs(reports: Sequence[ChannelReport]) -> dict[str, dict[str, Runs]]:
    """Relation -> PCC, Partial, and the controls if they are there -> the values of the best channels by model."""
    found: dict[str, dict[str, Runs]] = {}
    for relation in dict.fromkeys(one.relation for report in reports for one in report.relations):
        values: dict[str, dict[str, float]] = {}
        for report in reports:
            for one in report.relations:
                if one.relation == relation:
                    entry = one.to_json()
                    for key, name in MEASURES.items():
                        if entry[key] is not None:
                            values.setdefault(name, {})[report.run] = entry[key]
        found[relation] = {name: Runs(own) for name, own in values.items()}
    return {relation: own for relation, own in found.items() if own}


def add_block(
    found: Correlations, model: Any, ids: Sequence[list[int]], arcs: Sequence[Sequence[Arc]], device: str = "cpu"
) -> None:
    """Add the ``arcs`` of sentences to ``found``, sentences of like length side by side; ``ids`` are their words."""
    import torch

    wanted = [i for i, own in enumerate(arcs) if own]
    with torch.inference_mode():
        for batch in batches_by_cost([len(ids[i]) for i in wanted], budget=POSITIONS):
            chosen = [wanted[place] for place in batch]
            tokens, lengths = pad([ids[i] for i in chosen])
            weights = model.channels(tokens.to(device), lengths)
            own = [arcs[i] for i in chosen]
            every = [arc for some in own for arc in some]
            found.add(of_arcs(weights, own), [arc.relation for arc in every], [arc.kind for arc in every])


def of_arcs(weights: Tensor, arcs: Sequence[Sequence[Arc]]) -> np.ndarray:
    """The channels' weights (arcs, layers, K) from child to head, of ``weights`` (B, layers, K, N, N) to i from j."""
    places = [(row, arc.head, arc.child) for row, some in enumerate(arcs) for arc in some]
    rows, heads, children = map(list, zip(*places, strict=True))
    chosen: np.ndarray = weights[rows, :, :, heads, children].cpu().numpy()
    return chosen


def _with_channels(run: str) -> Checkpoint:
    """The checkpoint in ``run``. Raises SynparseError unless its model has channels, and reads words."""
    checkpoint = read_trained(run)
    name, token = checkpoint.config.model_name, checkpoint.config.data.token
    if not hasattr(kind_of(checkpoint.config), "channels"):
        raise SynparseError(f"{run}: model {name!r} has no channels or attention heads; 'udgn' has")
    if token != "word":
        raise SynparseError(f"{run}: this model reads {token}s, and the relations of a treebank are between words")
    return checkpoint


def _blocks(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    source = iter(sentences)
    while block := list(islice(source, BLOCK)):
        yield block
