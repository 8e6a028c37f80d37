"""What the dropped marks between words tell: a small number for each word, the gap before it.

Commas and stops separate, brackets enclose, and some marks join the words beside them, as in *wild - type* or
*and / or*. Which ones join differs from text to text (a hyphen may be a dash in another), and the text itself tells:
words that a mark joins come again together, words that it separates do not.

A gap is `NOTHING`, `JOINED`, or 1 + 4 c + o where marks with c closing and o opening brackets stood. While a text is
read, and nobody knows yet which marks join, a single mark that is no bracket has a number of its own from `SINGLE` on.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

NOTHING, SEPARATED = 0, 1
MOST = 3  # brackets of one kind in a gap that are told apart
JOINED = SEPARATED + (MOST + 1) ** 2
SINGLE, NUMBERS = JOINED, 256  # there are so many numbers
PLACES, LEAST_PLACES = 300, 100  # where a mark stands between words: so many are looked at, and needed
RECURRING = 0.15  # share of them with a pair of words that comes again, beyond what chance does: then it joins
TURNS = 5  # ways in which the words behind a mark are shifted to see what chance does

_NAMES = {"-lrb-": 1, "-lsb-": 1, "-lcb-": 1, "-rrb-": -1, "-rsb-": -1, "-rcb-": -1}
_SIDES = {"Ps": 1, "Pe": -1}


@lru_cache(maxsize=1 << 12)
def bracket(mark: str) -> int:
    """1 for a mark that opens brackets, -1 for one that closes them, else 0; quotation marks are no brackets."""
    if len(mark) == 1 and unicodedata.mirrored(mark):
        return _SIDES.get(unicodedata.category(mark), 0)
    return _NAMES.get(mark.lower(), 0)


@lru_cache(maxsize=1 << 12)
def quotes(mark: str) -> bool:
    """Whether a mark may be a quotation mark, which stands at one side of what it encloses."""
    return mark in ('"', "``", "''") or any(unicodedata.category(one) in ("Pi", "Pf") for one in mark)


def gap(marks: Sequence[str], joining: Iterable[str] = ()) -> int:
    """What dropped ``marks`` between two words tell; a single one of ``joining`` joins them."""
    if not marks:
        return NOTHING
    if len(marks) == 1 and marks[0] in joining:
        return JOINED
    opening = closing = 0
    for side in map(bracket, marks):
        if side > 0:
            opening += 1
        elif side < 0 and opening:
            opening -= 1  # nothing between them
        elif side < 0:
            closing += 1
    return SEPARATED + (MOST + 1) * min(closing, MOST) + min(opening, MOST)


def dropped(words: Sequence[str], kept: Sequence[int]) -> Iterator[tuple[int, Sequence[str]]]:
    """Which of the ``kept`` words has dropped ones before it, and these; ``kept`` are indices into ``words``."""
    last = -1
    for place, index in enumerate(kept):
        if index - last > 1:
            yield place, words[last + 1 : index]
        last = index


def gaps(words: Sequence[str], kept: Sequence[int], joining: Iterable[str] = ()) -> list[int]:
    """The gap before each of the ``kept`` words of a sentence."""
    found = [NOTHING] * len(kept)
    for place, marks in dropped(words, kept):
        found[place] = gap(marks, joining)
    return found


class Singles:
    """Numbers for the single marks of a text, in the order in which they come up."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.numbers = {name: SINGLE + place for place, name in enumerate(names)}

    def gap(self, marks: Sequence[str]) -> int:
        """As the function `gap`, with a number of its own for a single mark; `SEPARATED` when none is left."""
        if len(marks) != 1 or bracket(marks[0]):
            return gap(marks)
        number = self.numbers.setdefault(marks[0], SINGLE + len(self.numbers))
        if number >= NUMBERS:
            del self.numbers[marks[0]]
            return SEPARATED
        return number

    def final(self, joining: Iterable[str]) -> np.ndarray:
        """What each number (256,) means once it is known which marks join: a table of gaps, uint8."""
        table = np.arange(NUMBERS, dtype=np.uint8)
        table[SINGLE:] = SEPARATED
        table[[self.numbers[mark] for mark in joining if mark in self.numbers]] = JOINED
        return table


def joining_marks(ids: np.ndarray, numbers: np.ndarray, singles: Mapping[str, int]) -> list[str]:
    """The single marks that join the words beside them, in order.

    ``ids`` are the words of a text with 0 between sentences, ``numbers`` beside them what stood before each word. Of a
    mark `PLACES` places between words are looked at, evenly spread. Quotation marks never join.

    Words that are frequent beside a mark, such as numbers before a percent sign, make pairs by chance and are no sign.
    """
    found = []
    single = np.flatnonzero(numbers >= SINGLE)
    single = single[(single > 0) & (ids[single] != 0) & (ids[single - 1] != 0)]
    of = numbers[single]
    for mark, number in singles.items():
        places = single[of == number]
        if len(places) < LEAST_PLACES or quotes(mark):
            continue
        chosen = places[np.linspace(0, len(places) - 1, min(PLACES, len(places))).astype(int)]
        before, behind = ids[chosen - 1], ids[chosen]
        turns = [np.roll(behind, len(chosen) * (k + 1) // (TURNS + 1)) for k in range(TURNS)]
        chance = np.mean([_recurring(before, turned) for turned in turns])
        if _recurring(before, behind) - chance >= RECURRING:
            found.append(mark)
    return sorted(found)


def _recurring(before: np.ndarray, behind: np.ndarray) -> float:
    """The share of the pairs that are there more than once."""
    counts = np.unique(np.stack([before, behind]), axis=1, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(before))


def bracketed(row: Sequence[int]) -> list[tuple[int, int]]:
    """The spans that brackets enclose in a sentence with the gaps ``row``, to its end where they do not close."""
    opened, found = list[int](), []
    for place, before in enumerate(row):
        if SEPARATED < before < JOINED:
            closing, opening = divmod(before - SEPARATED, MOST + 1)
            found += [(opened.pop(), place) for _ in range(min(closing, len(opened)))]
            opened += [place] * opening
    return found + [(start, len(row)) for start in opened]


def joined(row: Sequence[int]) -> list[tuple[int, int]]:
    """The spans of words that marks join, in a sentence with the gaps ``row``."""
    starts = [place for place, before in enumerate(row) if before != JOINED or place == 0]
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
    """Number of distinct ``phrases`` of two or more words that each span (N, N + 1) crosses; float32."""
    start, end = np.arange(count)[:, None], np.arange(count + 1)
    crossed = np.zeros((count, count + 1), dtype=np.float32)
    for i, j in set(phrases):
        if 1 < j - i < count:
            crossed += ((start < i) & (end > i) & (end < j)) | ((start > i) & (start < j) & (end > j))
    return crossed
