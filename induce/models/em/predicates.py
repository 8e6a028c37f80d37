"""Estimation from raw text of the word classes that are predicates, mostly verbs.

A clause has one verb and often several nouns, so the classes of verbs occur together in segments and sentences less
often than by chance, whether both words are of one class or of two. This alone does not find verbs, because other
classes avoid each other as well. Three other signs help. A word that attaches to the word on its left, such as a
particle after a noun or a pronoun, often precedes a verb. Verbs seldom begin a segment. Function words often follow
them.
"""

from __future__ import annotations

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
