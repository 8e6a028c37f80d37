"""Plain text: one tokenised sentence a line, or raw text that is split into sentences and words here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from treebank.core.sentence import Place, Sentence
from treebank.io.lines import OnBad, open_lines
from treebank.io.source import AnyPath, Source
from treebank.tokenize import DEFAULT, tokenization

_BLANKS = re.compile("[ \t]+")
_ODD_SPACE = re.compile(r"[^\S \t]|[\x1c-\x1f]")  # white space that belongs to words
LONGEST_PARAGRAPH = 1_000_000  # characters


def split_words(line: str) -> tuple[str, ...]:
    """The words of a tokenised line: what stands between spaces and tabs, and nothing else separates."""
    if _ODD_SPACE.search(line) is None:
        return tuple(line.split())
    return tuple(word for word in _BLANKS.split(line) if word)


def read_text(path: AnyPath, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """One sentence for each line of a tokenised file; a blank line is an empty sentence.

    With ``on_bad``, a line that cannot be decoded is told to it and is an empty sentence.
    """
    source = Source.of(path)
    for number, line in open_lines(source, on_bad=on_bad):
        yield Sentence(split_words(line), place=Place(source.path, number))


def read_raw(
    path: AnyPath, *, rule: str = DEFAULT, paragraphs: bool = False, on_bad: OnBad | None = None
) -> Iterator[Sentence]:
    """The sentences of running text, split into words by a rule of `treebank.tokenize`; a blank line is empty, too.

    Each sentence knows its ``surface``. Sentences do not run over the end of a line, unless ``paragraphs`` says that
    lines are broken anywhere and a blank line ends a paragraph. Raises SynparseError for an unknown rule.
    """
    source, cut = Source.of(path), tokenization(rule)
    for first, offset, text in _paragraphs(source, on_bad) if paragraphs else _lines(source, on_bad):
        blank = True
        for surface in cut.surfaces(text):
            blank = False
            line = first + text.count("\n", 0, surface.offset)
            words = tuple(surface.text[start:end] for start, end in surface.spans)
            yield Sentence(
                words, place=Place(source.path, line), surface=replace(surface, offset=offset + surface.offset)
            )
        if blank:
            yield Sentence((), place=Place(source.path, first))


def _lines(source: Source, on_bad: OnBad | None) -> Iterator[tuple[int, int, str]]:
    """Each line, its number, and how many characters of the file stand before it."""
    offset = source.characters
    for number, line in open_lines(source, keep_returns=True, on_bad=on_bad):
        yield number, offset, line.removesuffix("\r")
        offset += len(line) + 1


def _paragraphs(source: Source, on_bad: OnBad | None) -> Iterator[tuple[int, int, str]]:
    """The same for lines joined into paragraphs; a blank line is a paragraph of its own.

    Who writes megabytes without a blank line gets paragraphs that end with a line.
    """
    first, begin, joined, size = 0, 0, list[str](), 0
    for number, offset, line in _lines(source, on_bad):
        if joined and (not line.strip() or size > LONGEST_PARAGRAPH):
            yield first, begin, "".join(joined)
            joined, size = [], 0
        if not line.strip():
            yield number, offset, line
            continue
        if joined:  # white space for the line end, as long as that is, so that characters count on
            joined.append("\n".rjust(offset - begin - size))
            size = offset - begin
        else:
            first, begin = number, offset
        joined.append(line)
        size += len(line)
    if joined:
        yield first, begin, "".join(joined)


def tokenize(text: str, rule: str = DEFAULT) -> tuple[str, ...]:
    """The words of one sentence of raw text, spelled as there."""
    return tuple(text[start:end] for start, end in tokenization(rule).words(text))
