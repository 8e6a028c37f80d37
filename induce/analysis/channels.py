"""Which channel of a model goes with which dependency relation (Shen 2022, thesis, section 4.3.3 and table 8).

The data points are the gold arcs: for each, the probability with which a channel brings the child's word to its head's
(equation 4.2.11), and whether the arc is of a relation. Pearson's correlation of the two is taken from sums, so that
memory does not grow with the treebank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from induce.checkpoint import Checkpoint, build_model
from induce.config import kind_of
from induce.data.loader import bucket_by_length, pad
from induce.parsing.load import choose_device, read_trained
from treebank.dependency import delete
from treebank.errors import SynparseError
from treebank.normalize import RECIPES
from treebank.sentence import ROOT, Sentence
from treebank.version import VERSION

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 512  # sentences read at a time, to be put side by side with others of like length
POSITIONS = 2048  # words side by side, with padding: every layer and channel has a number for each pair of a sentence


class Arc(NamedTuple):
    """A gold arc between two of the words that a model sees, counted among these."""

    child: int
    head: int
    relation: str


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


class Correlations:
    """Pearson's correlations between channels and relations, from arcs that are given a few at a time."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # arcs of each relation
        self._first: Any = None  # all sums are of differences from it, or digits were lost where weights are alike
        self._sum: Any = 0.0
        self._squares: Any = 0.0
        self._sums: dict[str, Any] = {}  # over the arcs of each relation

    @property
    def arcs(self) -> int:
        """How many there were."""
        return self.counts.total()

    def add(self, weights: np.ndarray, relations: Sequence[str]) -> None:
        """Count arcs with these ``relations`` and ``weights`` (arcs, layers, channels)."""
        if not relations:
            return
        weights = weights.astype(np.float64)
        if self._first is None:
            self._first = weights[0]
        weights = weights - self._first
        self._sum = self._sum + weights.sum(0)
        self._squares = self._squares + (weights**2).sum(0)
        self.counts.update(relations)
        places = np.asarray(relations, dtype=object)
        for name in set(relations):
            self._sums[name] = self._sums.get(name, 0.0) + weights[places == name].sum(0)

    def of(self, relation: str) -> np.ndarray:
        """Correlation (layers, channels) of each channel with an arc's being of ``relation`` (eq. 4.3.1).

        NaN where there is none, as a channel has the same weight for all arcs, or all arcs are of that relation.
        """
        share, mean = self.counts[relation] / self.arcs, self._sum / self.arcs
        covariance = self._sums[relation] / self.arcs - share * mean
        variances = (self._squares / self.arcs - mean**2) * share * (1 - share)
        deviations = np.sqrt(variances.clip(min=0))
        return np.divide(covariance, deviations, out=np.full_like(mean, np.nan), where=deviations > 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationChannels:
    """One relation and how each channel goes with it."""

    relation: str
    arcs: int
    correlations: np.ndarray  # (layers, channels)

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
) -> ChannelReport:
    """How the channels of the model in ``run`` go with the relations that have at least ``minimum`` arcs.

    Raises SynparseError if the model has no channels, or no relation has so many arcs.
    """
    checkpoint = _with_channels(run)
    config, device = checkpoint.config, choose_device(device)
    model = build_model(checkpoint).to(device)
    found, read = Correlations(), 0
    for block in _blocks(sentences):
        read += len(block)
        seen = [RECIPES[config.data.normalization](sentence.words, sentence.tags) for sentence in block]
        arcs = [seen_arcs(*pair, subtypes=subtypes) for pair in zip(block, (one.kept for one in seen), strict=True)]
        ids = [checkpoint.vocabulary.encode(one.forms) for one in seen]
        add_block(found, model, ids, arcs, device)
    relations = [
        RelationChannels(relation=name, arcs=count, correlations=found.of(name))
        for name, count in sorted(found.counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= minimum
    ]
    if not relations:
        most = max(found.counts.values(), default=0)
        hint = "try a lower --minimum" if most else "roots have none, nor have words that the model does not read"
        raise SynparseError(f"{data}: no relation has {minimum} arcs, only up to {most}; {hint}")
    return ChannelReport(
        model=config.model_name,
        run=run,
        data=data,
        normalization=config.data.normalization,
        sentences=read,
        arcs=found.arcs,
        minimum=minimum,
        subtypes=subtypes,
        relations=relations,
    )


def add_block(
    found: Correlations, model: Any, ids: Sequence[list[int]], arcs: Sequence[Sequence[Arc]], device: str = "cpu"
) -> None:
    """Add the ``arcs`` of sentences to ``found``, sentences of like length side by side; ``ids`` are their words."""
    import torch

    wanted = [i for i, own in enumerate(arcs) if own]
    with torch.inference_mode():
        for batch in bucket_by_length([len(ids[i]) for i in wanted], budget=POSITIONS):
            chosen = [wanted[place] for place in batch]
            tokens, lengths = pad([ids[i] for i in chosen])
            weights = model.channels(tokens.to(device), lengths)
            own = [arcs[i] for i in chosen]
            found.add(of_arcs(weights, own), [arc.relation for some in own for arc in some])


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
        raise SynparseError(f"{run}: model {name!r} has no channels that compete; 'udgn' has")
    if token != "word":
        raise SynparseError(f"{run}: this model reads {token}s, and the relations of a treebank are between words")
    return checkpoint


def _blocks(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    source = iter(sentences)
    while block := list(islice(source, BLOCK)):
        yield block
