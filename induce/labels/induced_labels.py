"""Induced labels of phrases and of arcs. Gold labels and tags are never used.

**Phrases.** Each phrase is described by four word classes: of its first and its last word, of the token before it and
of the token after it. The classes are induced from the text (`induce.data.word_classes`); punctuation marks and
sentence boundaries have classes of their own. A mixture of independent multinomials (latent class analysis, Lazarsfeld
and Henry 1968) explains the four classes by one hidden label, P(first, last, before, after) = Σ_z P(z) Π_f P(f | z). It
is estimated by expectation maximization, and each phrase gets its most probable label. Labels are named P1, P2 and so
on, from the most to the least frequent one. A legend lists frequent phrases of each.

**Arcs.** An arc first has the type of its dependent: the word class, the side of the head, and whether the dependent
has dependents of its own on its left and on its right. Types whose arcs have similar properties are then merged, pair
by pair, until the desired number remains: each step loses as little as possible of the mutual information between the
types and the properties (agglomerative information bottleneck, Slonim and Tishby 2000). The properties are the class of
the head, the classes of the first and of the last dependent of the dependent, the position of the dependent among those
on the same side, and whether the head is the root. Relations are named R1, R2 and so on, from the most to the least
frequent one. A legend lists frequent pairs of a dependent and its head of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np

from induce.data.corpus import read_corpora
from induce.data.vocabulary import Vocabulary
from induce.data.word_classes import classes_of
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Sentence, is_word
from treebank.core.tree import TRACE, Span, Tree

WORD_CLASSES = 30
MIN_COUNT = 3  # occurrences of a word with a class of its own; rarer words are classified by shape and last letters
MAX_SENTENCES = 20_000  # sentences from which labels are learned
LABELS = 12
NO_LABEL = "X"  # of a bracket around empty elements only
STARTS, MAX_ITERATIONS = 4, 60  # of expectation maximization
MIN_GAIN = 1e-6  # relative gain of the log likelihood with which an iteration is not the last one
SMOOTHING = 0.1  # added to the count of each class under a label
INITIAL_CONCENTRATION = 0.3  # of the Dirichlet distribution of the initial probabilities of the labels of a phrase
FEATURES = 4
LEGEND_ENTRIES = 3  # phrases or arcs for each label
MAX_LEGEND_WORDS = 5  # longer phrases are shortened
RELATIONS = 30
OF_ROOT, OF_MARK, UNSEEN = "root", "punct", "dep"  # relations of the root, of punctuation marks and of unseen types
RANKS = 3  # the nearest dependent on a side, the second, and all others
SIDES, VALENCES = 2, 4

Array = np.ndarray


@dataclass(frozen=True)
class TokenClasses:
    """Classes of words, of punctuation marks and of the boundary of a sentence."""

    vocabulary: Vocabulary
    classes: Array  # (V,), the class of each entry of the vocabulary
    mark = WORD_CLASSES
    boundary = WORD_CLASSES + 1
    count = WORD_CLASSES + 2

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], seed: int) -> TokenClasses:
        """Classes that are induced from the words of ``sentences``. Raises SynparseError if there is no word."""
        text, _ = read_corpora(map(Sentence, map(tuple, sentences)), "cased")
        if not text.words:
            raise SynparseError("there is no word from which labels could be learned")
        corpus = text.encode(text.vocabulary(10**9, MIN_COUNT, "shape"))
        return cls(corpus.vocabulary, classes_of(corpus, WORD_CLASSES, 1.0, seed)[1])

    def of_words(self, words: Sequence[str]) -> list[int]:
        """The class of each token of a sentence."""
        return [int(self.classes[self.vocabulary.id(word)]) if is_word(word) else self.mark for word in words]


class Phrases(NamedTuple):
    """Phrases of two or more words: their classes (phrases, 4), and their words in lower case."""

    features: Array
    texts: list[str]

    @classmethod
    def of(cls, trees: Sequence[Tree], classes: TokenClasses) -> Phrases:
        """The phrases of all trees, each span once. A long phrase is represented by its outer words."""
        features: list[tuple[int, ...]] = []
        texts: list[str] = []
        for tree in trees:
            spans = list(dict.fromkeys(span for span in tree.spans if span[1] - span[0] > 1))
            features += edge_classes(classes, tree.words, spans)
            for start, end in (_without_marks(tree.words, span) for span in spans):
                words = tree.words[start:end]
                texts.append(
                    " ".join(words if len(words) <= MAX_LEGEND_WORDS else [*words[:2], "…", words[-1]]).lower()
                )
        return cls(np.array(features).reshape(-1, FEATURES), texts)


class Mixture(NamedTuple):
    """Parameters: the log probability of each label (Z,), and of the classes under each label (4, classes, Z)."""

    prior: Array
    tables: Array

    @classmethod
    def of_counts(cls, rows: Array, counts: Array, classes: int) -> Mixture:
        """The most probable parameters for ``counts`` (R, Z) of the labels of the phrases ``rows`` (R, 4), smoothed."""
        cells = [
            np.stack([np.bincount(rows[:, i], labels, classes) for labels in counts.T], axis=1) for i in range(FEATURES)
        ]
        smoothed, totals = np.array(cells) + SMOOTHING, counts.sum(0) + SMOOTHING
        return cls(np.log(totals / totals.sum()), np.log(smoothed / smoothed.sum(1, keepdims=True)))

    def scores(self, features: Array) -> Array:
        """The joint log probabilities (phrases, Z) of labels and of the classes (phrases, 4)."""
        return self.prior + sum(self.tables[i][features[:, i]] for i in range(FEATURES))


@dataclass(frozen=True)
class PhraseLabeler:
    """The names of the labels, and the parameters from which the label of a phrase follows.

    ``legend`` has one line per label that occurs, the most frequent one first, with frequent phrases.
    """

    names: tuple[str, ...]
    legend: tuple[str, ...]
    classes: TokenClasses
    mixture: Mixture

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences with new labels in their trees, streamed."""
        for sentence in sentences:
            yield sentence if sentence.tree is None else replace(sentence, tree=self.relabel(sentence.tree))

    def relabel(self, tree: Tree) -> Tree:
        """The tree with the label of each phrase. A bracket around empty elements only gets the label ``X``."""
        before = [0, *accumulate(tag != TRACE for tag in tree.tags)]
        spans = [(before[start], before[end]) for start, end in tree.spans]
        full = [span for span in spans if span[0] < span[1]]
        if not full:
            return tree
        features = np.array(edge_classes(self.classes, tree.without_traces().words, full))
        names = iter(self.names[label] for label in self.mixture.scores(features).argmax(1).tolist())
        return replace(tree, labels=tuple(next(names) if start < end else NO_LABEL for start, end in spans))


def learn_labels(sentences: Iterable[Sentence], *, labels: int | None = None, seed: int = 1) -> PhraseLabeler:
    """Learn up to ``labels`` (by default `LABELS`) labels from the trees of the first `MAX_SENTENCES` sentences.

    Equal sentences and seeds give equal labels. Raises SynparseError if there is no tree, or no phrase of two or more
    words.
    """
    trees = [sentence.tree.without_traces() for sentence in islice(sentences, MAX_SENTENCES) if sentence.tree]
    if not trees:
        raise SynparseError("there is no sentence with a tree, from which labels could be learned")
    classes = TokenClasses.of((tree.words for tree in trees), seed)
    phrases = Phrases.of(trees, classes)
    if not phrases.texts:
        raise SynparseError("there is no phrase of two or more words from which labels could be learned")
    rows, row_of, weights = np.unique(phrases.features, axis=0, return_inverse=True, return_counts=True)
    random, count = np.random.default_rng(seed), labels or LABELS
    mixtures = [estimate_mixture(rows, weights, count, classes.count, random) for _ in range(STARTS)]
    best, _ = max(mixtures, key=itemgetter(1))
    assigned = best.scores(rows).argmax(1)[row_of.ravel()]
    return PhraseLabeler(*names_and_legend(assigned.tolist(), phrases.texts, count, "phrases"), classes, best)


def names_and_legend(
    assigned: Sequence[int], texts: Sequence[str], labels: int, noun: Literal["phrases", "relations"]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The name of each label, such as P1, and the legend.

    ``assigned`` are the labels of the phrases or arcs ``texts``.
    """
    counts = Counter(assigned)
    ranked = sorted(range(labels), key=lambda label: (-counts[label], label))
    frequencies = [Counter[str]() for _ in range(labels)]
    for label, text in zip(assigned, texts, strict=True):
        frequencies[label][text] += 1
    names, legend = [""] * labels, []
    for rank, label in enumerate(ranked, 1):
        names[label] = f"{noun[0].upper()}{rank}"
        if counts[label]:
            frequent = ", ".join(text for text, _ in frequencies[label].most_common(LEGEND_ENTRIES))
            counted = f"{counts[label]:,} {'phrases' if noun == 'phrases' else 'arcs'}"
            legend.append(f"{names[label]} ({counted}): {frequent}")
    return tuple(names), tuple(legend)


def edge_classes(classes: TokenClasses, words: Sequence[str], spans: Iterable[Span]) -> list[tuple[int, ...]]:
    """The classes of the first and the last word of each span, of the token before and of the token after it."""
    tokens = classes.of_words(words)
    around = [*tokens, classes.boundary]  # index -1 is before the sentence
    inner = ((span, _without_marks(words, span)) for span in spans)
    return [(tokens[a], tokens[b - 1], around[start - 1], around[end]) for (start, end), (a, b) in inner]


def _without_marks(words: Sequence[str], span: Span) -> Span:
    """The span without punctuation marks at its edges, with one word at least."""
    start, end = span
    while start < end - 1 and not is_word(words[start]):
        start += 1
    while end > start + 1 and not is_word(words[end - 1]):
        end -= 1
    return start, end


def estimate_mixture(
    rows: Array, weights: Array, labels: int, classes: int, random: np.random.Generator
) -> tuple[Mixture, float]:
    """The mixture after expectation maximization from random probabilities, and the log likelihood of the phrases.

    ``rows`` (R, 4) are the different phrases, ``weights`` (R,) their numbers of occurrences.
    """
    shares = random.dirichlet(np.full(labels, INITIAL_CONCENTRATION), size=len(rows))
    last = -np.inf
    for _ in range(MAX_ITERATIONS):
        mixture = Mixture.of_counts(rows, shares * weights[:, None], classes)
        scores = mixture.scores(rows)
        largest = scores.max(1, keepdims=True)
        masses = np.exp(scores - largest)
        sums = masses.sum(1, keepdims=True)
        likelihood = float((weights * (largest + np.log(sums))[:, 0]).sum())
        if likelihood - last < MIN_GAIN * abs(likelihood):
            break
        shares, last = masses / sums, likelihood
    return mixture, likelihood


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
        sides_of: list[tuple[list[int], list[int]]] = [([], []) for _ in tokens]  # nearest first
        for i, head in enumerate(heads):
            if tokens[i] != classes.mark and head > i:
                sides_of[head][0].insert(0, i)
            elif tokens[i] != classes.mark and ROOT < head < i:
                sides_of[head][1].append(i)
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
    """The names of the relations, and the relation of each type of arc, or -1 for types that were not seen.

    ``legend`` has one line per relation, the most frequent one first, with frequent arcs.
    """

    names: tuple[str, ...]
    legend: tuple[str, ...]
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
    counts = []
    for values in np.concatenate([part.properties for part in arcs]).T:
        counts.append(np.zeros((len(known), values.max() + 1)))
        np.add.at(counts[-1], (rows, values), 1)
    merged = merge_types(counts, labels or RELATIONS)
    relation_of = np.full(classes.count * SIDES * VALENCES, -1)
    relation_of[known] = merged
    texts = [
        f"{sentence.words[i]} ← {sentence.words[sentence.heads[i]]}".lower()
        for sentence, part in zip(text, arcs, strict=True)
        for i in part.dependents
    ]
    named = names_and_legend(merged[rows].tolist(), texts, int(merged.max()) + 1, "relations")
    return RelationLabeler(*named, classes, relation_of)


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
