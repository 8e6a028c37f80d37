"""Codes of the punctuation that was dropped before each word: the *gap* of the word.

Commas and stops separate words, brackets enclose them, and some marks join their neighbors, as in *wild - type* or
*and / or*. The marks that join differ between texts: a hyphen may be a dash in another text. They are detected in the
text: words that a mark joins occur together repeatedly, words that it separates do not.

A gap is `NOTHING`, `JOINED`, or 1 + 4 c + o for marks with c closing and o opening brackets. Before the joining marks
are detected, a gap of a single mark other than a bracket is a provisional number, at least `SINGLE`, for each mark.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

NOTHING, SEPARATED = 0, 1
MOST = 3  # brackets of one type in a gap that are counted; more count as 3
JOINED = SEPARATED + (MOST + 1) ** 2
SINGLE, NUMBERS = JOINED, 256  # first provisional number, and the limit of all codes
MAX_OCCURRENCES, MIN_OCCURRENCES = 300, 100  # occurrences of a mark between words that are counted, and required
MIN_RECURRING_SHARE = 0.15  # share of recurring pairs, beyond chance, around a mark that joins
SHIFTS = 5  # shifts of the words after a mark for an estimate of chance

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


GAP_FEATURES = 4


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
