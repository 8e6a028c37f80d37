"""Labels of phrases, induced from the words at their edges and next to them.

Each phrase is described by four word classes: of its first and its last word, of the token before it and of the token
after it. The classes are induced from the text (`induce.data.word_classes`); punctuation marks and sentence boundaries
have classes of their own. A mixture of independent multinomials (latent class analysis, Lazarsfeld and Henry 1968)
explains the four classes by one hidden label, P(first, last, before, after) = Σ_z P(z) Π_f P(f | z). It is estimated by
expectation maximization, and each phrase gets its most probable label. Gold labels and tags are never used.

Labels are named P1, P2 and so on, from the most to the least frequent one. A legend lists frequent phrases of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from induce.labels.induced_labels import MAX_SENTENCES, TokenClasses
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tags import is_word
from treebank.core.tree import TRACE, Span, Tree

LABELS = 12
NO_LABEL = "X"  # of a bracket around empty elements only
STARTS, MAX_ITERATIONS = 4, 60  # of expectation maximization
MIN_GAIN = 1e-6  # relative gain of the log likelihood with which an iteration is not the last one
SMOOTHING = 0.1  # added to the count of each class under a label
INITIAL_CONCENTRATION = 0.3  # of the Dirichlet distribution of the initial probabilities of the labels of a phrase
FEATURES = 4
LEGEND_PHRASES = 3  # for each label
MAX_LEGEND_WORDS = 5  # longer phrases are shortened

Array = np.ndarray


class Phrases(NamedTuple):
    """Phrases of two or more words: their classes (phrases, 4), and their words in lower case."""

    features: Array
    texts: list[str]


class Mixture(NamedTuple):
    """Parameters: the log probability of each label (Z,), and of the classes under each label (4, classes, Z)."""

    prior: Array
    tables: Array

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
    phrases = _phrases(trees, classes)
    if not phrases.texts:
        raise SynparseError("there is no phrase of two or more words from which labels could be learned")
    rows, row_of, weights = np.unique(phrases.features, axis=0, return_inverse=True, return_counts=True)
    random, count = np.random.default_rng(seed), labels or LABELS
    mixtures = [_estimate(rows, weights, count, classes.count, random) for _ in range(STARTS)]
    best, _ = max(mixtures, key=itemgetter(1))
    assigned = best.scores(rows).argmax(1)[row_of.ravel()]
    return PhraseLabeler(*_names(assigned.tolist(), phrases.texts, count), classes, best)


def _names(assigned: Sequence[int], texts: Sequence[str], labels: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The name of each label, and the legend. ``assigned`` are the labels of the phrases ``texts``."""
    counts = Counter(assigned)
    ranked = sorted(range(labels), key=lambda label: (-counts[label], label))
    phrases = [Counter[str]() for _ in range(labels)]
    for label, text in zip(assigned, texts, strict=True):
        phrases[label][text] += 1
    names, legend = [""] * labels, []
    for rank, label in enumerate(ranked, 1):
        names[label] = f"P{rank}"
        if counts[label]:
            frequent = ", ".join(text for text, _ in phrases[label].most_common(LEGEND_PHRASES))
            legend.append(f"P{rank} ({counts[label]:,} phrases): {frequent}")
    return tuple(names), tuple(legend)


def _phrases(trees: Sequence[Tree], classes: TokenClasses) -> Phrases:
    """The phrases of two or more words of all trees, each span once."""
    features: list[tuple[int, ...]] = []
    texts: list[str] = []
    for tree in trees:
        spans = list(dict.fromkeys(span for span in tree.spans if span[1] - span[0] > 1))
        features += edge_classes(classes, tree.words, spans)
        bounds = (_without_marks(tree.words, span) for span in spans)
        texts += [_shortened(tree.words[start:end]) for start, end in bounds]
    return Phrases(np.array(features).reshape(-1, FEATURES), texts)


def _shortened(words: Sequence[str]) -> str:
    """The words of a phrase in lower case, without the inner ones of a long phrase."""
    selected = words if len(words) <= MAX_LEGEND_WORDS else [*words[:2], "…", words[-1]]
    return " ".join(selected).lower()


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


def _estimate(
    rows: Array, weights: Array, labels: int, classes: int, random: np.random.Generator
) -> tuple[Mixture, float]:
    """The mixture after expectation maximization from random probabilities, and the log likelihood of the phrases.

    ``rows`` (R, 4) are the different phrases, ``weights`` (R,) their numbers of occurrences.
    """
    shares = random.dirichlet(np.full(labels, INITIAL_CONCENTRATION), size=len(rows))
    last = -np.inf
    for _ in range(MAX_ITERATIONS):
        mixture = _maximize(rows, shares * weights[:, None], classes)
        scores = mixture.scores(rows)
        largest = scores.max(1, keepdims=True)
        masses = np.exp(scores - largest)
        sums = masses.sum(1, keepdims=True)
        likelihood = float((weights * (largest + np.log(sums))[:, 0]).sum())
        if likelihood - last < MIN_GAIN * abs(likelihood):
            break
        shares, last = masses / sums, likelihood
    return mixture, likelihood


def _maximize(rows: Array, counts: Array, classes: int) -> Mixture:
    """The most probable parameters for ``counts`` (R, Z) of the labels of each row, smoothed."""
    labels = counts.shape[1]
    cells = [
        np.stack([np.bincount(rows[:, i], counts[:, z], classes) for z in range(labels)], axis=1)
        for i in range(FEATURES)
    ]
    smoothed, totals = np.array(cells) + SMOOTHING, counts.sum(0) + SMOOTHING
    return Mixture(np.log(totals / totals.sum()), np.log(smoothed / smoothed.sum(1, keepdims=True)))
