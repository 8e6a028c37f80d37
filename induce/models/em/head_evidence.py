"""Estimation from raw text of the classes that are predicates, and of whether the last word of a phrase is its head.

A clause has one verb and often several nouns, so the classes of verbs occur together in segments and sentences less
often than by chance, whether both words are of one class or of two. This alone does not find verbs, because other
classes avoid each other as well. Three other signs help. A word that attaches to the word on its left, such as a
particle after a noun or a pronoun, often precedes a verb. Verbs seldom begin a segment. Function words often follow
them.

The head of a phrase of two content words stands where a phrase of one word has its only word. So a text tells where
heads are: after a function word, the word classes at the head's position in phrases of two words are those of phrases
of one word.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray

LONGEST = 40  # words of a segment or sentence whose classes are compared
PASSES = 3  # of the comparison with the classes that have scores above the mean
PSEUDO_COUNT = 5.0  # pairs added to those observed, and to those expected by chance
OCCURRENCES = 3.0  # average words added to the counts of each class
WEAK_SIGN = 0.5  # weight of the begin of segments and of frequent words; the other signs have weight 1
LIMIT = 3.0  # largest score, in standard deviations
UNITS = 2_000  # segments or sentences whose tables are in memory


def frequency_weights(share: Array, *, scale: float, power: float) -> Array:
    """Weights (1 + share / scale) ^ -power of words as heads, by their share of the corpus: near 1 for rare words."""
    return (1 + share / scale) ** -power


def predicate_scores(
    classes: Array, segments: Array, sentences: Array, leaning: Array, frequent: Array, *, count: int
) -> Array:
    """Scores (K,) of ``count`` classes as predicates: mean 0 and standard deviation 1 over the words of the text.

    ``classes``, ``segments``, ``sentences`` (T,): of each word, its class and the numbers, in order from 0, of its
    segment and its sentence. ``leaning``, ``frequent`` (T,): how much the word before it leans to the left, and how
    frequent the word after it is, from 0; 0 if there is none in its segment. The scores begin with

        s(c) = z(log leaning(c)) - z(A(c, c)) - 0.5 z(log begin(c)) + 0.5 z(log frequent(c))

    with means over the words of class c, begin(c) the share that begins a segment, A(c, d) the log of the ratio of
    observed and expected pairs of words of two classes in a segment, plus that in a sentence, and z(x) the standardized
    x. Each pass subtracts from s(c) the standardized mean of A(c, d) over words of classes d, weighted by
    max(0, score(d)).
    """
    occurrences = np.bincount(classes, minlength=count).astype(np.float64)
    if not occurrences.any():
        return np.zeros(count)
    begins = np.append(True, segments[1:] != segments[:-1])
    association = log_association(classes, segments, count) + log_association(classes, sentences, count)
    share = occurrences / occurrences.sum()

    def relative(values: Array) -> Array:
        """Standardized log of the mean of ``values`` (T,) in each class."""
        mean = max(float(values.mean()), 1e-9)
        sums = np.bincount(classes, values, count) + OCCURRENCES * mean
        return standardized(np.log(np.maximum(sums, 1e-9) / (occurrences + OCCURRENCES)), share)

    first = relative(leaning) - standardized(association.diagonal(), share)
    first += WEAK_SIGN * (relative(frequent) - relative(begins.astype(np.float64)))
    scores = standardized(first, share)
    for _ in range(PASSES):
        likely = np.maximum(scores, 0) * share
        with_likely = association @ likely / max(likely.sum(), 1e-9)
        scores = standardized(first - standardized(with_likely, share), share)
    return scores


def log_association(classes: Array, units: Array, count: int) -> Array:
    """Log of the ratio (K, K) of observed and expected pairs of words of two classes in one unit of the text.

    ``units`` (T,): the number of the unit of each word, in order from 0. Units of more than `LONGEST` words do not
    count.
    """
    lengths = np.bincount(units)
    inside = (lengths <= LONGEST)[units]
    classes, numbers = classes[inside], units[inside]
    observed, starts = np.zeros((count, count)), np.arange(0, len(lengths) + UNITS, UNITS)
    edges = np.searchsorted(numbers, starts)
    for start, begin, end in zip(starts, edges[:-1], edges[1:], strict=False):
        rows = np.bincount((numbers[begin:end] - start) * count + classes[begin:end], minlength=UNITS * count)
        table = rows.reshape(UNITS, count).astype(np.float64)
        observed += table.T @ table
    occurrences = np.bincount(classes, minlength=count)
    observed -= np.diag(occurrences)
    lengths = lengths[lengths <= LONGEST].astype(np.float64)
    share = occurrences / max(1, len(classes))
    expected = (lengths * (lengths - 1)).sum() * np.outer(share, share)
    association: Array = np.log((observed + PSEUDO_COUNT) / (expected + PSEUDO_COUNT))
    return association


def standardized(values: Array, weights: Array) -> Array:
    """``values`` (K,) with mean 0 and deviation 1 under ``weights`` (K,) of sum 1, cut at plus and minus `LIMIT`."""
    centered = values - weights @ values
    deviation = np.sqrt(weights @ centered**2)
    return np.clip(centered / max(deviation, 1e-9), -LIMIT, LIMIT)


SMOOTHING = 20.0  # words added to the counts of each position
LEANING_WEIGHT = 6.0  # this and the next one: chosen by scores of several treebanks (docs/results/dependencies.md)
SAME_CLASS_WEIGHT = 5.0


def evidence_for_last_heads(classes: Array, content: Array, segments: Array, *, count: int) -> float:
    """Evidence that heads are the last content words of phrases, from -inf to inf: 0 if there is none.

    ``classes``, ``content``, ``segments`` (T,): of each word, its class below ``count``, how much of a content word it
    is, from 0 to 1, and the number of its segment. A phrase begins after a function word and ends before a function
    word or with its segment. The evidence is log(D(first, only) / D(last, only)), where D is the Jensen-Shannon
    divergence of the classes of two positions: the first and the last word of phrases of two words, and the only word
    of phrases of one.
    """
    joined = np.append(False, segments[1:] == segments[:-1])  # whether a word has the same segment as the one before
    opened = np.where(joined, 1 - np.append(0.0, content[:-1]), 0.0)
    closed = np.where(np.append(joined[1:], False), 1 - np.append(content[1:], 0.0), 1.0)
    only = content * opened * closed
    two = (content * opened)[:-1] * (joined * content * closed)[1:]
    positions = [(classes, only), (classes[:-1], two), (classes[1:], two)]
    counts = np.stack([np.bincount(words, weights, count) for words, weights in positions])
    if not counts.sum():
        return 0.0
    mean = counts.sum(0) / counts.sum()
    single, first, last = (counts + SMOOTHING * mean) / (counts.sum(1, keepdims=True) + SMOOTHING)
    return math.log(max(divergence(first, single), 1e-9) / max(divergence(last, single), 1e-9))


def divergence(p: Array, q: Array) -> float:
    """Jensen-Shannon divergence in nats of two distributions (K,)."""
    middle = (p + q) / 2
    ratios = [np.log(np.divide(part, middle, out=np.ones_like(part), where=part > 0)) for part in (p, q)]
    return float((p @ ratios[0] + q @ ratios[1]) / 2)


def modifier_degree(content: Array, leaning: Array, classes: Array, fragments: Array, *, strength: float) -> Array:
    """Degree to which each word (N, B) modifies the next one of its fragment, if heads are last.

    It is 1 for a content word before another one. If both are of one class, as in compounds, it is 1 +
    `SAME_CLASS_WEIGHT` times ``strength``, because only their order tells which one is the head. ``strength`` is the
    evidence for last heads, from 0 to 1. A word that leans to the right before one that leans to the left, such as a
    numeral before a classifier or a preposition before a pronoun, has `LEANING_WEIGHT`: the two are a phrase.
    ``leaning`` (N, B) is from -1 for words that lean to the left to 1.
    """
    right, left = np.maximum(leaning, 0), np.maximum(-leaning, 0)
    degree = np.zeros_like(content)
    alike = 1 + SAME_CLASS_WEIGHT * strength * (classes[:-1] == classes[1:])
    both = alike * content[:-1] * content[1:] + LEANING_WEIGHT * right[:-1] * left[1:]
    degree[:-1] = np.where(fragments[1:] == fragments[:-1], both, 0.0)
    return degree
