"""Branching direction of a language, estimated with its uncertainty from text without trees.

Three statistics of the sentences are added up in percentage points, positive for right branching:

    x = d + 20 c - 50 g

- d: percentage of sentences that begin with one of the 50 most frequent words, minus the percentage that end with one.
  Function words begin phrases in head-initial languages and end them in head-final ones (Gervain, Nespor, Mazuka, Horie
  & Mehler 2008, Bootstrapping word order in prelexical infants, Cognitive Psychology 57).
- c: divergence in nats of the word classes at the beginning of sentences from those of all words, minus that at the
  end. Verb-final languages end sentences with few classes. Frequent words are classes of their own; other words are
  classified by their suffix.
- g: mean of (last - first) / (last + first) for the lengths in words of the last and the first segment between
  punctuation marks. Sentences of left-branching languages begin with short segments.

With the standard error e of x and the scatter of x between languages, the probability of right branching is

    p = Phi(x / sqrt(e^2 + 15^2))

Priors of spans are averaged over both directions with the weights p and 1 - p (`induce.decoding.priors`). The
constants were chosen on 16 corpora in 12 languages (``bench/experiments/directions.py``).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from induce.data.punctuation import NOTHING
from induce.data.vocabulary import FIRST, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from induce.data.corpus import Beginning, Text

    Array = np.ndarray

FREQUENT_WORDS = 50
CLASS_POINTS = 20.0  # per nat of c
GROWTH_POINTS = 50.0  # per unit of g
SCATTER_POINTS = 15.0  # standard deviation of x between languages of one direction, apart from sampling
CLEAR_PROBABILITY = 0.75  # of a direction that decoders rely on; below it the evidence is weak
VOCABULARY_SIZE, MIN_COUNT = 5_000, 2  # rarer words are represented by their shape and suffix
SUFFIX_LETTERS = (3, 2, 1)
MIN_SUFFIX_COUNT = 10
MIN_LENGTH = 3  # words of a sentence that counts: two words have only one tree
MAX_SENTENCES = 5_000
PARTS = 10  # interleaved parts of the text, for the standard error
MIN_PART_SENTENCES = 10
WEAK_EVIDENCE = (
    "warning: the text gives weak evidence for a branching direction; the trees may be no better than trivial ones. "
    "If you know the direction, add --branching right, left or mixed"
)


@dataclass(frozen=True)
class Direction:
    """Evidence for the branching direction of a text, in the terms of the module's formula."""

    frequent_words: float  # d, in percentage points
    word_classes: float  # c, in nats
    segment_growth: float  # g
    right_probability: float  # p
    sentences: int

    def lines(self) -> list[str]:
        """The estimate as a line for the user, and a warning if the evidence is weak."""
        is_right = self.right_probability >= 0.5
        direction, probability = ("right", self.right_probability) if is_right else ("left", 1 - self.right_probability)
        estimate = (
            f"branching direction: {direction} with probability {probability:.2f}, estimated from "
            f"{self.sentences:,} sentences"
        )
        return [estimate] if is_clear(self.right_probability) else [estimate, WEAK_EVIDENCE]

    def evidence(self) -> str:
        """The three numbers from which the probability is computed."""
        return (
            f"evidence: frequent words {self.frequent_words:+.1f} points, word classes {self.word_classes:+.2f} nats, "
            f"segment growth {self.segment_growth:+.2f}"
        )


def right_probability(points: float, error: float) -> float:
    """Probability of right branching for the sum ``points`` (x) with the standard error ``error``.

    >>> [round(right_probability(points, 1.0), 2) for points in (0.0, 7.0, -7.0, 40.0)]
    [0.5, 0.68, 0.32, 1.0]
    """
    return 0.5 * (1 + math.erf(points / math.hypot(error, SCATTER_POINTS) / math.sqrt(2)))


def is_clear(right_probability: float) -> bool:
    """Whether one of the directions has at least `CLEAR_PROBABILITY`."""
    return max(right_probability, 1 - right_probability) >= CLEAR_PROBABILITY


def assumed_probability(setting: str, direction: Direction | None) -> float:
    """Probability of right branching by the setting ``parse.branching``.

    ``right`` and ``left`` are certain, ``mixed`` is 0.5, and ``text`` takes the estimate, or 0.5 if there is none.
    """
    if setting != "text":
        return {"right": 1.0, "mixed": 0.5, "left": 0.0}[setting]
    return direction.right_probability if direction else 0.5


def estimate_direction(text: Text) -> Direction:
    """Direction of the first `MAX_SENTENCES` sentences of a text.

    A text with few sentences of `MIN_LENGTH` words gives no evidence.
    """
    beginning = text.beginning(MAX_SENTENCES)
    offsets = beginning.offsets
    rows = np.flatnonzero(np.diff(offsets) - 1 >= MIN_LENGTH)
    parts = min(PARTS, len(rows) // MIN_PART_SENTENCES)
    if parts < 2:
        return Direction(0.0, 0.0, 0.0, 0.5, len(rows))
    frequent, classes = _words(beginning)
    words = beginning.ids[beginning.ids > 0]  # without ends of sentences
    totals = np.bincount(classes[words])
    first, last = beginning.ids[offsets[rows]], beginning.ids[offsets[rows + 1] - 2]
    breaks = np.flatnonzero(beginning.gaps != NOTHING)
    starts, ends = offsets[rows], offsets[rows + 1] - 1
    low, high = np.searchsorted(breaks, starts + 1), np.searchsorted(breaks, ends)
    several = low < high
    first_lengths, last_lengths = breaks[low[several]] - starts[several], ends[several] - breaks[high[several] - 1]
    growth = np.full(len(rows), np.nan)  # of the lengths of segments; NaN for a single one
    growth[several] = (last_lengths - first_lengths) / (last_lengths + first_lengths)

    def statistics(chosen: slice) -> tuple[float, float, float]:
        difference = 100 * (frequent[first[chosen]].mean() - frequent[last[chosen]].mean())
        divergence = _divergence(classes[first[chosen]], totals) - _divergence(classes[last[chosen]], totals)
        changes = growth[chosen][~np.isnan(growth[chosen])]
        return float(difference), divergence, float(changes.mean()) if changes.size else 0.0

    points = [_points(*statistics(slice(part, None, parts))) for part in range(parts)]
    differences = 100 * (frequent[first].astype(float) - frequent[last])
    error = max(float(np.std(points, ddof=1)) / math.sqrt(parts), float(np.std(differences)) / math.sqrt(len(rows)))
    difference, divergence, mean_growth = statistics(slice(None))
    probability = right_probability(_points(difference, divergence, mean_growth), error)
    shares = round(difference, 4), round(divergence, 4), round(mean_growth, 4)
    return Direction(*shares, round(probability, 4), len(rows))


def _points(frequent_words: float, word_classes: float, segment_growth: float) -> float:
    """Sum x of the three statistics, in percentage points."""
    return frequent_words + CLASS_POINTS * word_classes - GROWTH_POINTS * segment_growth


def _words(beginning: Beginning) -> tuple[Array, Array]:
    """Whether each word (V,) is one of the most frequent, and its class (V,).

    Words are counted in lower case, and rare words are replaced by pseudo-words, which do not count as frequent. A
    frequent word has its own class; the class of another word is its longest common suffix.
    """
    numbers = np.bincount(beginning.ids, minlength=len(beginning.words) + 1)
    occurring = dict(zip(beginning.words, numbers[1:].tolist(), strict=True))
    vocabulary = Vocabulary.from_counts(
        {word: count for word, count in occurring.items() if count},
        size=VOCABULARY_SIZE,
        minimum_count=MIN_COUNT,
        unknown="shape",
    )
    entries = np.array([0, *map(vocabulary.id, beginning.words)], dtype=np.int64)
    counts = np.bincount(entries, numbers, minlength=len(vocabulary)).astype(np.int64)
    counts[0] = 0  # ends of sentences
    known = np.array([index >= FIRST and not _is_pseudo(word) for index, word in enumerate(vocabulary.words)])
    frequent = np.zeros(len(counts), dtype=bool)
    frequent[np.argsort(-counts * known, kind="stable")[:FREQUENT_WORDS]] = True
    frequent &= known & (counts > 0)

    suffixes: list[list[str]] = []  # of each word or pseudo-word, the longest first
    for word in vocabulary.words:
        letters = word.rpartition("-")[2].removesuffix(">") if _is_pseudo(word) and "-" in word else word
        suffixes.append([f"-{letters[-size:]}" for size in SUFFIX_LETTERS if size <= len(letters)])
    totals: Counter[str] = Counter()
    for names, count in zip(suffixes, counts.tolist(), strict=True):
        totals.update(dict.fromkeys(names, count))
    indices: dict[str, int] = {}  # of the classes
    classes = np.zeros(len(counts), dtype=np.int64)
    for index, names in enumerate(suffixes):
        suffix = next((name for name in names if totals[name] >= MIN_SUFFIX_COUNT), "")
        classes[index] = indices.setdefault(f"word {index}" if frequent[index] else suffix, len(indices))
    return frequent[entries], classes[entries]


def _is_pseudo(word: str) -> bool:
    """Whether an entry of a vocabulary represents rare words."""
    return word.startswith(UNKNOWN[:-1])


def _divergence(sample: Array, totals: Array) -> float:
    """Kullback-Leibler divergence in nats of the classes in ``sample`` from ``totals``, minus its sampling bias."""
    counts = np.bincount(sample, minlength=len(totals))
    present = counts > 0
    share, expected = counts[present] / len(sample), totals[present] / totals.sum()
    return float((share * np.log(share / expected)).sum() - (present.sum() - 1) / (2 * len(sample)))
