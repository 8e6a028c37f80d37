"""Codes of the punctuation that was dropped before each word: the *gap* of the word.

Commas and stops separate words, brackets enclose them, and some marks join their neighbors, as in *wild - type* or
*and / or*. The marks that join differ between texts: a hyphen may be a dash in another text. They are detected in the
text: words that a mark joins occur together repeatedly, words that it separates do not.

A gap is `NOTHING`, `JOINED`, or 1 + 4 c + o for marks with c closing and o opening brackets. Before the joining marks
are detected, a gap of a single mark other than a bracket is a provisional number, at least `SINGLE`, for each mark.

The segments between marks have edges, and words at the edges of segments are often at those of phrases
(`span_log_weights`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from induce.setting import limited, setting

Array = np.ndarray
NOTHING, SEPARATED = 0, 1
MOST = 3  # brackets of one type in a gap that are counted; more count as 3
JOINED = SEPARATED + (MOST + 1) ** 2
SINGLE, NUMBERS = JOINED, 256  # first provisional number, and the limit of all codes
MAX_OCCURRENCES, MIN_OCCURRENCES = 300, 100  # occurrences of a mark between words that are counted, and required
MIN_RECURRING_SHARE = 0.15  # share of recurring pairs, beyond chance, around a mark that joins
SHIFTS = 5  # shifts of the words after a mark for an estimate of chance
GAP_FEATURES = 4
BEGIN, END = 0, 1  # rows of the tables below
MEAN_WORDS = 3.0  # occurrences of an average word added to the counts of each word, which smooths rare words
SMALLEST = 1e-9  # relative frequency, so that its log is finite
_NAMES = {"-lrb-": 1, "-lsb-": 1, "-lcb-": 1, "-rrb-": -1, "-rsb-": -1, "-rcb-": -1}
_SIDES = {"Ps": 1, "Pe": -1}


@lru_cache(maxsize=1 << 12)
def bracket(mark: str) -> int:
    """1 for an opening bracket, -1 for a closing bracket, 0 for other marks such as quotation marks."""
    if len(mark) == 1 and unicodedata.mirrored(mark):
        return _SIDES.get(unicodedata.category(mark), 0)
    return _NAMES.get(mark.lower(), 0)


@lru_cache(maxsize=1 << 12)
def quotes(mark: str) -> bool:
    """Whether a mark may be an opening or closing quotation mark."""
    return mark in ('"', "``", "''") or any(unicodedata.category(character) in ("Pi", "Pf") for character in mark)


def gap(marks: Sequence[str], joining: Iterable[str] = ()) -> int:
    """Gap of the dropped ``marks`` between two words.

    A single mark that is in ``joining`` joins the words.
    """
    if not marks:
        return NOTHING
    if len(marks) == 1 and marks[0] in joining:
        return JOINED
    opening = closing = 0
    for side in map(bracket, marks):
        if side > 0:
            opening += 1
        elif side < 0 and opening:
            opening -= 1  # no word between the brackets
        elif side < 0:
            closing += 1
    return SEPARATED + (MOST + 1) * min(closing, MOST) + min(opening, MOST)


def dropped(words: Sequence[str], word_indices: Sequence[int]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield each position in ``word_indices`` that follows dropped words, and these words.

    ``word_indices`` are the indices of the other words of the sentence ``words``.
    """
    last = -1
    for position, index in enumerate(word_indices):
        if index - last > 1:
            yield position, words[last + 1 : index]
        last = index


def gaps(words: Sequence[str], word_indices: Sequence[int], joining: Iterable[str] = ()) -> list[int]:
    """The gap before each of the words with indices ``word_indices`` of a sentence."""
    row = [NOTHING] * len(word_indices)
    for index, marks in dropped(words, word_indices):
        row[index] = gap(marks, joining)
    return row


@cache
def gap_features() -> np.ndarray:
    """Features (256, 4) of each gap by its code, 1 or 0: it separates, joins, closes brackets or opens brackets."""
    codes = np.arange(NUMBERS)
    separates = (codes != NOTHING) & (codes != JOINED)
    closing, opening = np.divmod(codes - SEPARATED, MOST + 1)
    columns = [separates, codes == JOINED, separates & (closing > 0), separates & (opening > 0)]
    return np.stack(columns, -1).astype(np.float32)


class Singles:
    """Provisional numbers of the single marks of a text, in the order of their first occurrence."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.numbers = {name: SINGLE + index for index, name in enumerate(names)}

    def gap(self, marks: Sequence[str]) -> int:
        """Gap of ``marks``, a provisional number for a single mark, or `SEPARATED` if all numbers are in use."""
        if len(marks) != 1 or bracket(marks[0]):
            return gap(marks)
        number = self.numbers.setdefault(marks[0], SINGLE + len(self.numbers))
        if number >= NUMBERS:
            del self.numbers[marks[0]]
            return SEPARATED
        return number

    def final(self, joining: Iterable[str]) -> np.ndarray:
        """Table (256,), uint8, from provisional numbers to gaps, given the marks that join."""
        table = np.arange(NUMBERS, dtype=np.uint8)
        table[SINGLE:] = SEPARATED
        table[[self.numbers[mark] for mark in joining if mark in self.numbers]] = JOINED
        return table


def joining_marks(ids: np.ndarray, numbers: np.ndarray, singles: Mapping[str, int]) -> list[str]:
    """Sorted list of the single marks that join the words next to them.

    ``ids`` are the words of a text with 0 between sentences, ``numbers`` the provisional gaps before them. For each
    mark, up to `MAX_OCCURRENCES` evenly spread occurrences between words are counted. Quotation marks never join.

    The share of recurring pairs is compared with that of shifted pairs, because words that are frequent next to a mark,
    such as numbers before a percent sign, form recurring pairs by chance.
    """
    joining = []
    single = np.flatnonzero(numbers >= SINGLE)
    single = single[(single > 0) & (ids[single] != 0) & (ids[single - 1] != 0)]
    single_numbers = numbers[single]
    for mark, number in singles.items():
        occurrences = single[single_numbers == number]
        if len(occurrences) < MIN_OCCURRENCES or quotes(mark):
            continue
        chosen = occurrences[np.linspace(0, len(occurrences) - 1, min(MAX_OCCURRENCES, len(occurrences))).astype(int)]
        before, after = ids[chosen - 1], ids[chosen]
        shifted = [np.roll(after, len(chosen) * (k + 1) // (SHIFTS + 1)) for k in range(SHIFTS)]
        chance = np.mean([_recurring(before, words) for words in shifted])
        if _recurring(before, after) - chance >= MIN_RECURRING_SHARE:
            joining.append(mark)
    return sorted(joining)


def _recurring(before: np.ndarray, after: np.ndarray) -> float:
    """Share of the pairs that occur more than once."""
    counts = np.unique(np.stack([before, after]), axis=1, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(before))


def bracketed(row: Sequence[int]) -> list[tuple[int, int]]:
    """Spans enclosed in brackets in a sentence with the gaps ``row``.

    A bracket that is not closed extends to the end of the sentence.
    """
    opened, spans = list[int](), []
    for index, before in enumerate(row):
        if SEPARATED < before < JOINED:
            closing, opening = divmod(before - SEPARATED, MOST + 1)
            spans += [(opened.pop(), index) for _ in range(min(closing, len(opened)))]
            opened += [index] * opening
    return spans + [(start, len(row)) for start in opened]


def joined(row: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of joined words in a sentence with the gaps ``row``."""
    starts = [index for index, before in enumerate(row) if before != JOINED or index == 0]
    return [(start, end) for start, end in zip(starts, [*starts[1:], len(row)], strict=True) if end - start > 1]


def bracket_conflicts(row: Sequence[int]) -> np.ndarray:
    """Number of bracketed phrases that each span (N, N + 1) crosses, or begins with and continues after.

    The second counts for phrases that do not begin the sentence: an aside belongs to the words before it.
    """
    phrases = bracketed(row)
    conflicts = _crossed(phrases, len(row))
    for start, end in phrases:
        conflicts[start, end + 1 :] += start > 0
    return conflicts


def join_conflicts(row: Sequence[int]) -> np.ndarray:
    """Number of joined phrases that each span (N, N + 1) crosses."""
    return _crossed(joined(row), len(row))


def _crossed(phrases: Iterable[tuple[int, int]], count: int) -> np.ndarray:
    """Number, float32, of distinct ``phrases`` of two or more words that each span (N, N + 1) crosses."""
    crossed = np.zeros((count, count + 1), dtype=np.float32)
    for i, j in set(phrases):
        if 1 < j - i < count:
            crossed[:i, i + 1 : j] += 1
            crossed[i + 1 : j, j + 1 :] += 1
    return crossed


@dataclass(frozen=True, kw_only=True)
class SegmentEdgesConfig:
    """Weights of the tree distribution, for right-branching text: see `span_log_weights`."""

    end: float = setting(1.1, at_least=-10, at_most=10, help="weight of the last word of a span as the end of segments")
    begin: float = setting(
        0.3, at_least=-10, at_most=10, help="weight of the first word of a span as the beginning of segments"
    )
    length: float = setting(0.5, at_least=-10, at_most=10, help="cost of the logarithm of the length of a span")
    pair: float = setting(1.0, at_least=-10, at_most=10, help="gain of a span of two words")
    cohesion: float = setting(
        0.3, at_least=-10, at_most=10, help="cost of the mutual information of the two words around an edge of a span"
    )
    limit: float = setting(
        1.5,
        at_least=0,
        at_most=100,
        help="log of the relative frequency at the edge of a segment, and the largest one elsewhere",
    )
    smoothing: float = setting(
        MEAN_WORDS, at_least=1e-3, at_most=1e6, help="average words added to the counts of each word"
    )
    pairs: int = limited(100_000, 1, 1e8, "maximum pairs of words whose mutual information is stored")


def edge_shares(ids: Array, edges: Array, size: int, smoothing: float = MEAN_WORDS) -> tuple[Array, Array]:
    """Share of the occurrences of each word that are at an edge (2, V), and the mean of all words (2,).

    ``ids`` (T,) and ``edges`` (2, T) are those of `EncodedCorpus.words_at_edges`, and ``size`` is V. ``smoothing``
    occurrences of an average word are added to the counts of each word.
    """
    occurrences = np.bincount(ids, minlength=size)
    means = edges.sum(1) / max(1, len(ids))
    counts = np.stack([np.bincount(ids[edge], minlength=size) for edge in edges])
    return (counts + smoothing * means[:, None]) / (occurrences + smoothing), means


def pair_cohesion(ids: Array, edges: Array, size: int, most: int) -> tuple[Array, Array]:
    """The ``most`` pairs of words with the largest positive cohesion: their keys, ascending, and cohesion (P,).

    ``ids`` (T,) and ``edges`` (2, T) are those of `EncodedCorpus.words_at_edges`. The cohesion of two words is
    their pointwise mutual information, in nats, as neighbors in a segment: log((c + 1) / (m + 1)), where the second
    word follows the first c times, and m times are expected from the frequencies of both. The key of words v and w is
    v ``size`` + w.
    """
    inside = ~edges[END, :-1]  # pairs that no punctuation separates
    first, second = (words[inside].astype(np.int64) for words in (ids[:-1], ids[1:]))
    keys, counts = np.unique(first * size + second, return_counts=True)
    totals = np.bincount(first, minlength=size), np.bincount(second, minlength=size)
    expected = totals[0][keys // size] / max(1, len(first)) * totals[1][keys % size]
    cohesion = np.log((counts + 1) / (expected + 1))
    chosen = np.sort(np.argsort(-cohesion, kind="stable")[: min(most, int((cohesion > 0).sum()))])
    return keys[chosen], cohesion[chosen]


def word_edges(ids: Array, edges: Array, size: int) -> Array:
    """Relative frequency (2, V) of each word of a vocabulary of ``size`` at the beginning, and end, of segments.

    ``ids`` (T,) and ``edges`` (2, T) are those of `EncodedCorpus.words_at_edges`. A value is the smoothed share of the
    word's occurrences at the edge, divided by that share for all words.
    """
    shares, means = edge_shares(ids, edges, size)
    relative: Array = shares / np.maximum(means, SMALLEST)[:, None]
    return relative


def span_log_weights(
    frequencies: Array, edges: Array, right: float, config: SegmentEdgesConfig, cohesion: Array | None = None
) -> Array:
    """Log weight (B, N, N + 1) of each span. The log weight of a tree is the sum over its spans.

    ``frequencies`` (2, B, N): the relative frequency with which each word begins, and ends, a segment. ``edges``
    (B, N + 1): whether a gap is the edge of a segment. ``right``: probability that the text branches to the right.
    ``cohesion`` (B, N + 1): of the two words around each gap, 0 at the edges of segments (`pair_cohesion`).

    For a span (i, j) of text that branches to the right, with e(g) the log of the frequency with which the word before
    gap g ends a segment, and b(g) that with which the word after it begins one, both at most ``limit``, and equal to it
    at the edges of segments, and c(g) the cohesion:

        end e(j) + begin b(i) - length log(j - i) + pair [j - i = 2] - cohesion (c(i) + c(j))

    Text that branches to the left has the mirror image. Both are averaged, weighted by their probabilities.
    """
    count = edges.shape[1] - 1
    words = np.minimum(np.log(np.maximum(frequencies, SMALLEST)), config.limit)
    edge = np.full((len(edges), 1), config.limit)
    begins = np.where(edges, config.limit, np.concatenate([words[BEGIN], edge], 1))  # (B, N + 1): of each gap
    ends = np.where(edges, config.limit, np.concatenate([edge, words[END]], 1))
    at_end = (right * config.end + (1 - right) * config.begin) * ends
    at_start = (right * config.begin + (1 - right) * config.end) * begins
    if cohesion is not None:
        at_end, at_start = at_end - config.cohesion * cohesion, at_start - config.cohesion * cohesion
    width = np.arange(count + 1) - np.arange(count)[:, None]
    fixed = config.pair * (width == 2) - config.length * np.log(np.maximum(width, 1))
    weights: Array = at_start[:, :-1, None] + at_end[:, None, :] + fixed
    return weights
