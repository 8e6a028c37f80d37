"""Scores of segmentation into words and sentences: F1 of character spans, as in the CoNLL 2018 shared task.

Spans count the characters except white space, over the whole file, so that spacing never shifts them. A span
counts if both its ends are right (Zeman et al. 2018, section 3.1, metrics *Tokens* and *Sentences*).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treebank.core.sentence import Annotation

Spans = set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of gold, predicted and matched spans, with precision, recall and F1 in percent."""

    gold: int
    predicted: int
    both: int

    @property
    def precision(self) -> float:
        return 100 * self.both / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.both / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 200 * self.both / (self.gold + self.predicted) if self.gold + self.predicted else 0.0


@dataclass(frozen=True)
class RawGold:
    """Running text of a treebank, one entry per paragraph, with its gold spans.

    ``tokens`` takes a range as one token. ``words`` takes its parts in its place where they spell it: ``do`` and
    ``n't`` for ``don't``, but ``im`` and not ``in`` and ``dem``.
    """

    paragraphs: tuple[str, ...]
    tokens: frozenset[tuple[int, int]]
    words: frozenset[tuple[int, int]]
    sentences: frozenset[tuple[int, int]]


def raw_gold(annotations: Iterable[Annotation]) -> RawGold:
    """The raw text of ``annotations`` and its gold spans.

    A paragraph begins where ``# newpar`` or ``# newdoc`` says so; sentences are joined by a space unless the last
    token of one says ``SpaceAfter=No``.
    """
    paragraphs: list[str] = []
    tokens: Spans = set()
    words: Spans = set()
    sentences: Spans = set()
    position, open_text = 0, ""
    for annotation in annotations:
        sentence_tokens = annotation.tokens()
        if not sentence_tokens:
            continue
        if any(line[1:].lstrip().startswith(("newpar", "newdoc")) for line in annotation.comments) and open_text:
            paragraphs.append(open_text)
            open_text = ""
        begin = position
        for token in sentence_tokens:
            parts = [row[1] for row in annotation.rows if row[0].isdecimal()][token.first : token.last + 1]
            start, position = position, position + visible(token.form)
            tokens.add((start, position))
            words |= _parts(token.form, parts, start)
            open_text += token.form + " " * token.spaced
        sentences.add((begin, position))
    if open_text:
        paragraphs.append(open_text)
    return RawGold(
        tuple(text.strip() for text in paragraphs), frozenset(tokens), frozenset(words), frozenset(sentences)
    )


def segmentation_spans(sentences: Iterable[Sequence[str]]) -> tuple[Spans, Spans]:
    """The spans of words and of sentences that a tokenizer predicts."""
    words: Spans = set()
    whole: Spans = set()
    position = 0
    for sentence in sentences:
        begin = position
        for word in sentence:
            start, position = position, position + visible(word)
            words.add((start, position))
        if position > begin:
            whole.add((begin, position))
    return words, whole


def agreement(gold: Iterable[tuple[int, int]], predicted: Iterable[tuple[int, int]]) -> Agreement:
    """Agreement of predicted spans with gold spans."""
    gold, predicted = set(gold), set(predicted)
    return Agreement(len(gold), len(predicted), len(gold & predicted))


def visible(text: str) -> int:
    """Number of characters of ``text`` without white space."""
    return len(text) - sum(map(str.isspace, text))


def _parts(form: str, parts: Sequence[str], start: int) -> Spans:
    """The spans of the words of one token: those of its parts if they spell it, else the token's own."""
    if "".join(parts) != form or len(parts) == 1:
        return {(start, start + visible(form))}
    spans: Spans = set()
    for part in parts:
        spans.add((start, start + visible(part)))
        start += visible(part)
    return spans
