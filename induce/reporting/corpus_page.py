"""One page of a corpus: search, pictures, phrases and downloads. It needs no network and no other file.

Python counts the phrases and writes the sentences as numbers. The scripts in ``browse/``, which become one script of
the page, search and draw them.

Words, and the labels, tags and relations, are numbered, the most frequent first. Each sentence is a list of nine
values: the number of its document, its line, words, tags, brackets, their labels, heads, relations and universal tags.
Values that are the same for all words or brackets are written once. Brackets are in pre-order, each as the distance of
its start from that of the bracket before and its length. Heads count from 1, and 0 is the root. Missing values are
null, or left out at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import chain
from typing import Any

from treebank.base import VERSION
from treebank.base.arguments import check_count
from treebank.base.errors import SynparseError
from treebank.base.metadata import json_text
from treebank.base.tables import quantity
from treebank.core.sentence import Sentence
from treebank.core.word_check import plain
from treebank.draw.picture_files import ink_rules, render
from treebank.draw.scene import LIGHT
from treebank.search.phrases import PhraseFilter, count_phrases, document_of
from treebank.search.search import draw_sample

MAX_SENTENCES = 50_000  # of a page; a browser takes seconds to read more
MAX_PHRASES = 2_000  # rows of the table
SCRIPTS = ("sentences", "pattern_reader", "tree_patterns", "head_patterns", "search", "pictures", "downloads", "page")
COLUMNS = ("Words", "Label", "Count", "Documents", "Share", "Confidence")

Numbers = list[int] | int | None  # a number for each part, the same number for all, or missing


def corpus_page(
    sentences: Iterable[Sentence], *, title: str = "Corpus", sample: int | None = None, seed: int = 1
) -> str:
    """The page of ``sentences``, or of a random ``sample`` of this size.

    ``title`` is the heading. Raises SynparseError if there are no sentences or more than `MAX_SENTENCES`.
    """
    if sample is not None:
        check_count("sample", sample)
        sentences = draw_sample(with_documents(sentences), sample, seed)
    data = CorpusData()
    phrases = count_phrases([data.collect(sentences)], PhraseFilter(limit=MAX_PHRASES))
    if not data.rows:
        raise SynparseError("there are no sentences for a page; name files with trees or heads")
    rows = []
    for row in phrases.rows:
        frequency = row.frequencies[0]
        numbers = [None if value is None else round(value, 4) for value in (frequency.share, frequency.confidence)]
        rows.append([row.words, row.label, frequency.count, frequency.documents, *numbers])
    content = data.to_json() | {"phrases": rows}
    counts = ((len(data.rows), "sentence"), (data.word_count, "word"), (len(data.documents), "document"))
    sentence_count, word_count, document_count = (quantity(count, noun) for count, noun in counts)
    has_confidence = any(row.frequencies[0].confidence is not None for row in phrases.rows)
    groups = {"Phrases": data.phrase_labels, "Words": data.tags, "Relations": data.relations}
    folder = files("induce.reporting") / "browse"
    return render(
        "browse.html",
        "induce.reporting",
        title=title,
        light=ink_rules(LIGHT),
        summary=f"{sentence_count} and {word_count} in {document_count}.",
        parts="Phrases and arcs" if data.has_trees and data.has_heads else "Arcs" if data.has_heads else "Phrases",
        has_trees=data.has_trees,
        has_heads=data.has_heads,
        label_groups={name: sorted(names - {""}) for name, names in groups.items()},
        documents=data.documents,
        phrases=phrases,
        columns=COLUMNS[: None if has_confidence else -1],
        version=VERSION,
        corpus=json_text(content, compact=True).replace("<", "\\u003c"),  # no text can end the script
        script="\n".join((folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS),
    )


class CorpusData:
    """Content of the page of ``synparse browse``: sentences with words, trees and heads, added one by one."""

    def __init__(self) -> None:
        self.words, self.labels = Numbering(), Numbering()
        self.documents: list[tuple[str, str]] = []
        self.rows: list[list[Any]] = []
        self.word_count = 0
        self.phrase_labels, self.tags, self.relations = set[str](), set[str](), set[str]()
        self.has_trees = self.has_heads = False
        self._document = ("", "")

    def collect(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Add ``sentences`` and yield each of them. Sentences without words are left out.

        Raises SynparseError if there are more than `MAX_SENTENCES`.
        """
        for sentence in sentences:
            if not sentence.words:
                continue
            if len(self.rows) == MAX_SENTENCES:
                raise SynparseError(
                    f"more than {MAX_SENTENCES:,} sentences, which is the limit of a page; choose some at random with "
                    f"--sample {MAX_SENTENCES}, or write those of interest to a file with synparse search"
                )
            self.add(sentence)
            yield sentence

    def add(self, sentence: Sentence) -> None:
        """Add one sentence."""
        self._document = document_of(sentence, self._document)
        if not self.documents or self.documents[-1] != self._document:
            self.documents.append(self._document)
        tree = sentence.tree
        words, tags = (sentence.words, sentence.tags) if tree is None else (tree.words, tree.tags)
        row: list[Any] = [len(self.documents) - 1, sentence.location.line, self.words.numbers(plain(words))]
        row.append(self._same(tags))
        if tree is None:
            row += [None, None]
        else:
            before = [0, *(start for start, _ in tree.spans)]
            pairs = ((start - last, end - start) for last, (start, end) in zip(before, tree.spans, strict=False))
            row += [list(chain.from_iterable(pairs)), self._same(tree.labels)]
        row.append([head + 1 for head in sentence.heads] or None)
        row += [self._same(sentence.relations), self._same(sentence.universal_tags)]
        while row[-1] is None:
            row.pop()
        self.rows.append(row)
        self.word_count += len(sentence.words)
        self.phrase_labels.update(tree.labels if tree is not None else ())
        self.tags.update(tags, sentence.universal_tags)
        self.relations.update(sentence.relations)
        self.has_trees |= tree is not None
        self.has_heads |= bool(sentence.heads)

    def _same(self, labels: Sequence[str]) -> Numbers:
        """The numbers of labels, one number if all are the same, or None if there are none."""
        numbers = self.labels.numbers(labels)
        return numbers[0] if numbers and len(set(numbers)) == 1 else numbers or None

    def to_json(self) -> dict[str, Any]:
        """The data of the page without its phrases."""
        words, labels = self.words.ranks(), self.labels.ranks()
        rows = []  # with ranks instead of the numbers of words and labels
        for row in map(list, self.rows):
            row[2] = [words[number] for number in row[2]]
            for index in {3, 5, 7, 8}.intersection(range(len(row))):
                value = row[index]
                if value is not None:
                    row[index] = labels[value] if isinstance(value, int) else [labels[number] for number in value]
            rows.append(row)
        return {
            "words": self.words.ordered(),
            "labels": self.labels.ordered(),
            "documents": self.documents,
            "hasTrees": self.has_trees,
            "hasHeads": self.has_heads,
            "sentences": rows,
        }


class Numbering:
    """Table of strings: indices in the order of first occurrence, and ranks by frequency at the end."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts = Counter[int]()

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """Count the texts and return the index of each: 0 for the first distinct text added, then 1, 2, …"""
        numbers = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._counts.update(numbers)
        return numbers

    def _order(self) -> list[int]:
        """The indices of all texts, most frequent first."""
        return sorted(self._counts, key=lambda number: (-self._counts[number], number))

    def ordered(self) -> list[str]:
        """All distinct texts, most frequent first."""
        texts = list(self._numbers)
        return [texts[number] for number in self._order()]

    def ranks(self) -> list[int]:
        """For each index from `numbers`, the position of its text in `ordered`."""
        ranks = [0] * len(self._numbers)
        for rank, number in enumerate(self._order()):
            ranks[number] = rank
        return ranks


def with_documents(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Sentences that all name their document, without other annotation, so that a sample can be drawn of them."""
    document = ("", "")
    for sentence in sentences:
        document = document_of(sentence, document)
        yield replace(sentence, document=document[1], annotation=None)
