"""Estimation from raw text of whether the last content word of a phrase is its head, as in *the old man*.

The head of a phrase of two content words stands where a phrase of one word has its only word. So a text tells where
heads are: after a function word, the word classes at the head's position in phrases of two words are those of phrases
of one word.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray

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
