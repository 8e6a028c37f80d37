"""Words near the matches of a pattern, ordered by how much more frequent they are there than elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from treebank.base.tables import Column, Table
from treebank.core.sentence import Sentence
from treebank.core.word_check import plain
from treebank.search.phrases import PhraseFilter, log_likelihood_ratio, log_ratio
from treebank.search.search import Query


class Collocate(NamedTuple):
    """A word, its counts to the left and right of matches and in the corpus, and the difference between both."""

    word: str
    left: int
    right: int
    total: int
    log_likelihood: float
    log_ratio: float


@dataclass(frozen=True, slots=True)
class CollocateTable:
    """The words near matches. Those that are most typical of the place are first, and rare ones last.

    ``near`` and ``total`` are the numbers of words near matches and in the corpus, ``omitted`` is the number of rows
    beyond the limit.
    """

    rows: Sequence[Collocate]
    near: int
    total: int
    omitted: int

    def tables(self) -> list[Table]:
        """One table."""
        names = [Column("word"), Column("left"), Column("right"), Column("count"), Column("in corpus")]
        names += [Column("LLR", ".1f"), Column("log ratio", "+.2f")]
        return [Table("", names, [[row[0], row.left, row.right, row.left + row.right, *row[3:]] for row in self.rows])]

    def to_json(self) -> dict[str, Any]:
        """The numbers of words, and the rows."""
        words = self.tables()[0].records()
        return {"near": self.near, "total": self.total, "omitted": self.omitted, "collocates": words}


def count_collocates(
    sentences: Iterable[Sentence], query: Query, choice: PhraseFilter, *, window: int
) -> CollocateTable:
    """The words at most ``window`` words from a match in their sentence.

    ``choice`` has the smallest count near matches, the largest number of rows, and whether capitals make no difference.
    A word near two matches counts once.
    """
    left, right, totals = Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        words = plain(sentence.words)
        if choice.fold_case:
            words = [word.lower() for word in words]
        totals.update(words)
        hits = query.find(sentence).hits
        before = {index for hit in hits for index in range(max(0, hit.start - window), hit.start)}
        after = {index for hit in hits for index in range(hit.end, min(hit.end + window, len(words)))}
        left.update(words[index] for index in before)
        right.update(words[index] for index in after - before)
    near, total = left.total() + right.total(), totals.total()
    rows = []
    for word in left.keys() | right.keys():
        count = left[word] + right[word]
        if count >= choice.min_count:
            counts = (count, totals[word] - count, near, total - near)
            difference = log_likelihood_ratio(*counts), log_ratio(*counts) or 0.0
            rows.append(Collocate(word, left[word], right[word], totals[word], *difference))
    rows.sort(key=lambda row: (row.log_likelihood if row.log_ratio < 0 else -row.log_likelihood, row.word))
    chosen = rows[: choice.limit]
    return CollocateTable(chosen, near, total, len(rows) - len(chosen))
