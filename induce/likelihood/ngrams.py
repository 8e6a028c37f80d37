"""Word n-grams as baselines: interpolated Kneser-Ney smoothing (Chen and Goodman 1998, section 4.1.6)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

BOUNDARY = 0  # before and after each sentence


class NgramModel:
    """N-gram model of the next word given up to ``order`` - 1 words, over a vocabulary of ``size`` words.

    p(w | c) = max(n(c w) - D, 0) / n(c) + D t(c) / n(c) p(w | c'), where t(c) counts the different words after c and c'
    is c without its first word. Below the highest order n counts the different words before an n-gram. The shortest
    context is empty, where every word has 1 / ``size``. D = n1 / (n1 + 2 n2) for each order, where n1 and n2 are the
    numbers of n-grams with count one and two.
    """

    def __init__(self, sentences: Iterable[Sequence[int]], *, order: int, size: int) -> None:
        self.order, self.size = order, size
        highest: Counter[tuple[int, ...]] = Counter()
        for sentence in sentences:
            padded = [*[BOUNDARY] * (order - 1), *sentence, BOUNDARY]
            highest.update(tuple(padded[end - order : end]) for end in range(order, len(padded) + 1))
        self.counts = [highest]  # of n-grams: order, order - 1, … 1
        for _ in range(order - 1):
            self.counts.append(Counter(ngram[1:] for ngram in self.counts[-1]))
        self.discounts = [_discount(counts) for counts in self.counts]
        self.totals = [_grouped(counts) for counts in self.counts]

    def probability(self, context: Sequence[int], word: int) -> float:
        """p(word | context), where only the last ``order`` - 1 words of ``context`` matter."""
        value = 1 / self.size
        for level in range(self.order - 1, -1, -1):  # from words alone to the longest context
            length = self.order - 1 - level
            before = tuple(context[len(context) - length :])
            total, types = self.totals[level].get(before, (0, 0))
            if total:
                discount = self.discounts[level]
                count = self.counts[level].get((*before, word), 0)
                value = (max(count - discount, 0) + discount * types * value) / total
        return value

    def log_probability(self, sentence: Sequence[int]) -> float:
        """Log-probability in nats of a sentence and its end."""
        padded = [*[BOUNDARY] * (self.order - 1), *sentence, BOUNDARY]
        first = self.order - 1
        return math.fsum(math.log(self.probability(padded[:end], padded[end])) for end in range(first, len(padded)))


def _discount(counts: Counter[tuple[int, ...]]) -> float:
    """Discount of each count: n1 / (n1 + 2 n2), or 0.5 if no n-gram has count one or two."""
    frequencies = Counter(counts.values())
    once, twice = frequencies[1], frequencies[2]
    return once / (once + 2 * twice) if once and twice else 0.5


def _grouped(counts: Counter[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[int, int]]:
    """For each context, the sum of the counts of the words after it, and the number of different words."""
    totals: dict[tuple[int, ...], tuple[int, int]] = {}
    for ngram, count in counts.items():
        total, types = totals.get(ngram[:-1], (0, 0))
        totals[ngram[:-1]] = total + count, types + 1
    return totals
