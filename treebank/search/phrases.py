"""Tables of phrases or arcs: how often, in how many documents, how sure, and how often the words are a phrase at all.

Two corpora are compared by the log-likelihood ratio and the ratio of relative frequencies. Words near the matches of a
pattern are ordered by how much more frequent they are there than elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import count, groupby
from typing import Any, NamedTuple

from treebank.base.arguments import check_count, check_type
from treebank.base.errors import TreebankError, UsageError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import ROOT, Sentence
from treebank.core.word_check import plain
from treebank.search.phrase_counter import ARC_MARK, SEPARATOR, Phrase, PhraseCounter
from treebank.search.search import Query

RIGHT_ARROW, LEFT_ARROW = "→", "←"  # from the head to the dependent
UNARY = "+"  # between the labels of brackets over the same words
PER_MILLION = 1_000_000
UNSEEN_COUNT = 0.5  # replaces a count of 0 in the ratio of two frequencies (Hardie 2014)


@dataclass(frozen=True, slots=True)
class PhraseFilter:
    """The phrases that are counted, and the rows of the table.

    Phrases have ``min_length`` to ``max_length`` words (None: no limit), one of the ``labels`` if there are any, and
    match ``pattern`` if there is one; of an arc, the dependent matches. ``fold_case`` counts words without regard to
    capitals. Rows have a count of ``min_count`` or more, in
    two corpora together. ``limit`` is the largest number of rows.
    """

    min_length: int = 2
    max_length: int | None = None
    min_count: int = 2
    labels: Sequence[str] = ()
    pattern: str | Query | None = None
    limit: int | None = None
    fold_case: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for limits that no phrase can satisfy, and for other values than whole numbers."""
        for name, low in (("min_length", 1), ("max_length", 1), ("min_count", 0), ("limit", 0)):
            check_count(name, getattr(self, name), low=low)
        check_type("pattern", self.pattern, (str, Query, type(None)), "a string")
        if self.max_length is not None and self.max_length < self.min_length:
            raise UsageError(f"no phrase has {self.min_length} to {self.max_length} words; change the length")


@dataclass(frozen=True, slots=True)
class Frequency:
    """The frequency of a phrase in one corpus.

    ``documents`` is the number of files, or of documents within them, that contain the phrase. ``confidence`` is the
    mean confidence of a model in the phrase or arc, or in the sentences around it if their files have no numbers for
    phrases, or None. ``share`` is the share of the occurrences of these words that are a phrase, with any label that is
    counted; for an arc, of the sentences' pairs of these words in this order. None if the words do not occur.
    """

    count: int
    per_million: float | None
    documents: int
    confidence: float | None
    share: float | None


class PhraseRow(NamedTuple):
    """A phrase or arc, its frequency in each corpus, and for two corpora their difference (see `log_likelihood_ratio`).

    ``head`` and ``dependent`` are the words of an arc, and empty for a phrase.
    """

    words: str
    label: str
    frequencies: tuple[Frequency, ...]
    log_likelihood: float | None = None
    log_ratio: float | None = None
    head: str = ""
    dependent: str = ""


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """Rows of phrases. The most frequent ones are first, or those that differ most between two corpora.

    ``totals`` are the numbers of counted phrases in each corpus, ``omitted`` is the number of rows beyond the limit.
    """

    rows: tuple[PhraseRow, ...]
    totals: tuple[int, ...]
    omitted: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PhraseRow]:
        return iter(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row, for ``pandas.DataFrame`` and the like."""
        return self.tables()[0].records()

    def tables(self) -> list[Table]:
        """One table. In the records, arcs also have the columns head and dependent."""
        is_compared, has_arcs = len(self.totals) > 1, any(row.dependent for row in self.rows)
        columns = [Column("words"), Column("label")]
        columns += [Column("LLR", ".1f"), Column("log ratio", "+.2f")] if is_compared else []
        for number in range(1, len(self.totals) + 1):
            suffix = f" {number}" if is_compared else ""
            columns += [Column(f"{column.name}{suffix}", column.form) for column in _FREQUENCY]
        columns += [Column("head", wide=True), Column("dependent", wide=True)] if has_arcs else []
        rows: list[list[Cell]] = []
        for row in self.rows:
            difference = [row.log_likelihood, row.log_ratio] if is_compared else []
            arc = [row.head, row.dependent] if has_arcs else []
            numbers = [getattr(each, name) for each in row.frequencies for name in Frequency.__slots__]
            rows.append([row.words, row.label, *difference, *numbers, *arc])
        return [Table("", columns, rows)]

    def to_json(self) -> dict[str, Any]:
        """The numbers of counted phrases, and the rows."""
        return {"totals": self.totals, "omitted": self.omitted, "phrases": self.records()}


_FREQUENCY = (
    Column("count"),
    Column("per million", ".1f"),
    Column("documents"),
    Column("confidence", ".3f"),
    Column("share", ".3f"),
)


def count_phrases(
    corpora: Sequence[Iterable[Sentence]], choice: PhraseFilter | None = None, **filters: Any
) -> PhraseTable:
    """The table of the phrases of trees, or of the arcs of sentences with heads, in one corpus or in two.

    ``filters`` are the fields of the choice, if none is given.

    The sentences are read once. Beyond a limit, memory does not grow with their number, but it does with the number of
    rows of the table.
    Raises SynparseError for a malformed pattern, and for a sentence with heads after one with a tree, or vice versa.
    """
    choice = choice or PhraseFilter(**filters)
    first: Sentence | None = None
    with PhraseCounter(len(corpora)) as counter:
        for number, corpus in enumerate(corpora):
            counter.start(number)
            first = _count(corpus, counter, choice, first)
        totals, numbers = counter.totals, count()

        def order(phrase: Phrase) -> tuple[Any, ...]:
            """Key that sorts by difference or count, the largest first, and then by words and label."""
            counts = [phrase.tallies[number].total if number in phrase.tallies else 0 for number in range(len(totals))]
            difference = log_likelihood_ratio(counts[0], counts[1], *totals) if len(counts) == 2 else 0.0
            return -difference, -sum(counts), _table_text(phrase), phrase.label

        frequent = (phrase for phrase, _ in zip(counter.frequent(choice.min_count), numbers, strict=False))
        chosen = sorted(frequent, key=order) if choice.limit is None else nsmallest(choice.limit, frequent, key=order)
        omitted = next(numbers) - len(chosen)
        words = {phrase.words for phrase in chosen}
        occurrences = [counter.occurrences(number, words) for number in range(len(corpora))]
        rows = tuple(_row(phrase, counter.totals, occurrences) for phrase in chosen)
        return PhraseTable(rows, tuple(counter.totals), omitted)


def _count(
    corpus: Iterable[Sentence], counter: PhraseCounter, choice: PhraseFilter, first: Sentence | None
) -> Sentence | None:
    """Count the phrases or arcs of one corpus. ``first``, also returned, is the first sentence with a tree or heads."""
    query = Query(choice.pattern) if isinstance(choice.pattern, str) else choice.pattern
    document, name = -1, ("", "")
    for sentence in corpus:
        if sentence.words and (sentence.tree is not None or sentence.heads):
            first = first or sentence
            if (sentence.tree is None) != (first.tree is None):
                structure, other = ("heads", "trees") if sentence.tree is None else ("trees", "heads")
                raise TreebankError(
                    *sentence.location,
                    f"this sentence has {structure}, but {first.location} has {other}; phrases and arcs are not in one "
                    "table, so count both separately, or derive heads with synparse convert --format conllu",
                )
        new_name = document_of(sentence, name)
        if new_name != name or document < 0:
            document, name = document + 1, new_name
        words = plain(sentence.words)
        if choice.fold_case:
            words = [word.lower() for word in words]
        counter.add_words(words)
        selected = None if query is None else {(hit.start, hit.end, hit.label) for hit in query.find(sentence).hits}
        parts = _arcs if sentence.tree is None else _phrases
        keys = parts(sentence, words, choice, selected)
        for key, confidence in keys:
            counter.add(key, document, confidence)
    return first


def document_of(sentence: Sentence, current: tuple[str, str]) -> tuple[str, str]:
    """File and document of a sentence, given those of the sentence before."""
    path = sentence.location.path
    return path, sentence.document or (current[1] if path == current[0] else "")


Selected = set[tuple[int, int, str]] | None  # words and label of each match of the pattern, or None for no pattern
Occurrence = tuple[str, float | None]  # key of a phrase or arc, and the confidence in it


def _confidences(sentence: Sentence, count: int) -> Sequence[float | None]:
    """The confidence of ``count`` phrases or arcs: their own, or that of the sentence if there are no others."""
    return sentence.confidences if len(sentence.confidences) == count else (sentence.confidence,) * count


def _phrases(
    sentence: Sentence, words: Sequence[str], choice: PhraseFilter, selected: Selected
) -> Iterator[Occurrence]:
    """The phrases of a tree. Brackets over the same words are one phrase with joined labels."""
    assert sentence.tree is not None
    tree = sentence.tree.without_traces()
    longest, confidences = choice.max_length or len(tree.words), _confidences(sentence, len(tree.spans))
    for (start, end), same in groupby(range(len(tree.spans)), key=tree.spans.__getitem__):
        if not choice.min_length <= end - start <= longest:
            continue
        brackets = list(same)
        labels = [tree.labels[bracket] for bracket in brackets]
        if selected is not None and not any((start, end, label) in selected for label in labels):
            continue
        if not choice.labels or not set(labels).isdisjoint(choice.labels):
            yield f"{' '.join(words[start:end])}{SEPARATOR}{UNARY.join(labels)}", confidences[brackets[0]]


def _arcs(sentence: Sentence, words: Sequence[str], choice: PhraseFilter, selected: Selected) -> Iterator[Occurrence]:
    """The arcs of a sentence with heads. The length of an arc is the number of words from end to end."""
    relations = sentence.relations or ("",) * len(words)
    longest, confidences = choice.max_length or len(words), _confidences(sentence, len(words))
    for dependent, head in enumerate(sentence.heads):
        if head == ROOT or not choice.min_length <= abs(head - dependent) + 1 <= longest:
            continue
        relation = relations[dependent]
        if selected is not None and (dependent, dependent + 1, relation) not in selected:
            continue
        if not choice.labels or relation in choice.labels:
            arrow = RIGHT_ARROW if head < dependent else LEFT_ARROW
            left, right = words[min(head, dependent)], words[max(head, dependent)]
            yield f"{left}{ARC_MARK}{arrow}{ARC_MARK}{right}{SEPARATOR}{relation}", confidences[dependent]


def _row(phrase: Phrase, totals: Sequence[int], occurrences: Sequence[dict[str, int]]) -> PhraseRow:
    """The row of a phrase."""
    frequencies = []
    for corpus, total in enumerate(totals):
        tally = phrase.tallies.get(corpus)
        count, times = tally.total if tally else 0, occurrences[corpus][phrase.words]
        frequencies.append(
            Frequency(
                count,
                PER_MILLION * count / total if total else None,
                tally.documents if tally else 0,
                tally.confidence / tally.confidences if tally and tally.confidences else None,
                phrase.with_any_label[corpus] / times if times else None,
            )
        )
    row = PhraseRow(_table_text(phrase), phrase.label, tuple(frequencies))
    if ARC_MARK in phrase.words:
        left, arrow, right = phrase.words.split(ARC_MARK)
        head, dependent = (left, right) if arrow == RIGHT_ARROW else (right, left)
        row = row._replace(head=head, dependent=dependent)
    if len(totals) == 1:
        return row
    counts = frequencies[0].count, frequencies[1].count
    return row._replace(log_likelihood=log_likelihood_ratio(*counts, *totals), log_ratio=log_ratio(*counts, *totals))


def _table_text(phrase: Phrase) -> str:
    """The words of a phrase or arc in the table."""
    return phrase.words.replace(ARC_MARK, " ")


def log_likelihood_ratio(first: int, second: int, first_total: int, second_total: int) -> float:
    """The statistic G² of counts in two corpora (Rayson & Garside 2000), without a sign.

    The totals are numbers of phrases. Values above 3.84 and 6.63 are significant at 5 and 1 percent for one comparison.

    >>> round(log_likelihood_ratio(20, 5, 1000, 1000), 2)
    9.64
    """
    total = first_total + second_total
    if not total:
        return 0.0
    expected = (first + second) / total
    pairs = ((first, first_total), (second, second_total))
    return 2 * sum(count * math.log(count / (size * expected)) for count, size in pairs if count)


def log_ratio(first: int, second: int, first_total: int, second_total: int) -> float | None:
    """The binary logarithm of the ratio of two relative frequencies (Hardie 2014), or None for an empty corpus.

    A value of 1 means twice as frequent in the first corpus, -1 half as frequent. A count of 0 is replaced by 0.5.

    >>> log_ratio(20, 5, 1000, 1000), log_ratio(0, 4, 1000, 1000)
    (2.0, -3.0)
    """
    if not first_total or not second_total:
        return None
    return math.log2((first or UNSEEN_COUNT) / first_total) - math.log2((second or UNSEEN_COUNT) / second_total)


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
