"""Gold arcs with the weights of attention channels, and correlations of these weights with the relations of the arcs.

All correlations are computed from sums, so memory does not grow with the treebank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from treebank.base.errors import SynparseError
from treebank.core.dependency import delete
from treebank.core.relations import with_relations
from treebank.core.sentence import ROOT, Sentence

if TYPE_CHECKING:
    from torch import Tensor

MIN_VARIANCE = 1e-15  # rounding error of the sums per arc, if a channel has the same weight for all arcs
MAX_DISTANCE = 8  # words between head and dependent; longer arcs are grouped
BATCH_WORDS = 2048  # words of a batch, padding included; every channel has a weight for each pair of a sentence


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
