"""Labels of arcs between words: types of relations, induced from word classes, direction and valence.

An arc first has the type of its dependent: the word class, the side of the head, and whether the dependent has
dependents of its own on its left and on its right. Types whose arcs have similar properties are then merged, pair by
pair, until the desired number remains: each step loses as little as possible of the mutual information between the
types and the properties (agglomerative information bottleneck, Slonim and Tishby 2000). The properties are the class of
the head, the classes of the first and of the last dependent of the dependent, the position of the dependent among
those on the same side, and whether the head is the root. Gold relations and tags are never used.

A type is named after the dependent and the head that are most typical of its arcs: ``the_year``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from induce.labels.induced_labels import MAX_SENTENCES, TokenClasses, label_names
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence

RELATIONS = 30
OF_ROOT, OF_MARK, UNSEEN = "root", "punct", "dep"  # relations of the root, of punctuation marks and of unseen types
RANKS = 3  # the nearest dependent on a side, the second, and all others
SIDES, VALENCES = 2, 4

Array = np.ndarray


@dataclass(frozen=True)
class Arcs:
    """The arcs of words of one sentence: the indices of dependents, their types (A,) and their properties (A, 5)."""

    dependents: list[int]
    types: Array
    properties: Array

    @classmethod
    def of(cls, words: Sequence[str], heads: Sequence[int], classes: TokenClasses) -> Arcs:
        """The arcs of all words except the root and punctuation marks, which are not dependents of words either."""
        tokens = classes.of_words(words)
        sides_of = _dependents(tokens, heads, classes.mark)
        dependents, types, properties = [], [], []
        for head, sides in enumerate(sides_of):
            for side, children in enumerate(sides):
                for rank, i in enumerate(children):
                    before, after = sides_of[i]
                    edges = [before[-1] if before else None, after[-1] if after else None]
                    outer = [classes.boundary if edge is None else tokens[edge] for edge in edges]
                    position = side * RANKS + min(rank, RANKS - 1)
                    dependents.append(i)
                    types.append((tokens[i] * SIDES + side) * VALENCES + 2 * bool(before) + bool(after))
                    properties.append([tokens[head], *outer, position, 2 * side + (heads[head] == ROOT)])
        return cls(dependents, np.array(types, int), np.array(properties, int).reshape(-1, 5))


@dataclass(frozen=True)
class RelationLabeler:
    """The names of the relations, and the relation of each type of arc, or -1 for types that were not seen."""

    names: tuple[str, ...]
    classes: TokenClasses
    relation_of: Array

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with new relations, streamed. Those without heads are not changed."""
        for sentence in sentences:
            yield replace(sentence, relations=self.relations(sentence.words, sentence.heads))

    def relations(self, words: Sequence[str], heads: Sequence[int]) -> tuple[str, ...]:
        """The relation of each word to its head: ``root``, ``punct``, ``dep``, or an induced one."""
        labels = [OF_ROOT if head in (ROOT, i) else OF_MARK for i, head in enumerate(heads)]
        arcs = Arcs.of(words, heads, self.classes)
        for i, relation in zip(arcs.dependents, self.relation_of[arcs.types].tolist(), strict=True):
            labels[i] = UNSEEN if relation < 0 else self.names[relation]
        return tuple(labels)


def learn_relations(sentences: Iterable[Sentence], *, labels: int | None = None, seed: int = 1) -> RelationLabeler:
    """Learn up to ``labels`` (by default `RELATIONS`) relations from the heads of the first `MAX_SENTENCES` sentences.

    Equal sentences and seeds give equal relations. Raises SynparseError if no sentence has heads, or no word depends on
    another.
    """
    text = [sentence for sentence in islice(sentences, MAX_SENTENCES) if sentence.heads]
    if not text:
        raise SynparseError("there is no sentence with heads, from which relations could be learned")
    classes = TokenClasses.of((sentence.words for sentence in text), seed)
    arcs = [Arcs.of(sentence.words, sentence.heads, classes) for sentence in text]
    types = np.concatenate([part.types for part in arcs])
    if not len(types):
        raise SynparseError("there is no word with another word as its head, from which relations could be learned")
    known, rows = np.unique(types, return_inverse=True)
    counts = _counts(rows, np.concatenate([part.properties for part in arcs]), len(known))
    merged = merge_types(counts, labels or RELATIONS)
    relation_of = np.full(classes.count * SIDES * VALENCES, -1)
    relation_of[known] = merged
    edges = [
        (sentence.words[i].lower(), sentence.words[sentence.heads[i]].lower())
        for sentence, part in zip(text, arcs, strict=True)
        for i in part.dependents
    ]
    return RelationLabeler(label_names(merged[rows].tolist(), edges, int(merged.max()) + 1), classes, relation_of)


def _dependents(tokens: Sequence[int], heads: Sequence[int], mark: int) -> list[tuple[list[int], list[int]]]:
    """For each token, its dependents before it and after it, nearest first, without those of the class ``mark``."""
    sides_of: list[tuple[list[int], list[int]]] = [([], []) for _ in tokens]
    for i, head in enumerate(heads):
        if tokens[i] != mark and head > i:
            sides_of[head][0].insert(0, i)
        elif tokens[i] != mark and ROOT < head < i:
            sides_of[head][1].append(i)
    return sides_of


def _counts(rows: Array, properties: Array, types: int) -> list[Array]:
    """For each property, how often each type (row) has each of its values (column)."""
    tables = []
    for values in properties.T:
        table = np.zeros((types, values.max() + 1))
        np.add.at(table, (rows, values), 1)
        tables.append(table)
    return tables


def merge_types(counts: Sequence[Array], labels: int) -> Array:
    """The cluster (T,) of each type, from 0, after merging types until at most ``labels`` clusters remain.

    ``counts`` has a matrix (T, values) for each property, with equal sums of rows.
    """
    table, sizes, properties = np.concatenate(counts, axis=1), counts[0].sum(1), len(counts)
    clusters, active = np.arange(len(table)), np.ones(len(table), bool)

    def losses(i: int) -> Array:
        """The loss of information, in nats, of merging cluster i with each cluster."""
        both = _information(table + table[i]).sum(1) - properties * _information(sizes + sizes[i])
        single = _information(table).sum(1) - properties * _information(sizes)
        loss = single + single[i] - both
        return np.where(active & (np.arange(len(table)) != i), loss, np.inf)

    loss = np.array([losses(i) for i in range(len(table))])
    for _ in range(len(table) - labels):
        first, second = sorted(divmod(int(loss.argmin()), len(table)))
        table[first] += table[second]
        sizes[first] += sizes[second]
        clusters[clusters == second] = first
        active[second] = False
        loss[second] = loss[:, second] = np.inf
        loss[first] = loss[:, first] = losses(first)
    return np.unique(clusters, return_inverse=True)[1]


def _information(counts: Array) -> Array:
    """n log n for each count n."""
    return counts * np.log(np.maximum(counts, 1))
