"""Plain text: one tokenized sentence per line, or raw text that is split into sentences and words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from treebank.core.sentence import Location, Sentence
from treebank.io.lines import BAD, OnBad, open_lines
from treebank.io.source import AnyPath, Source
from treebank.tokenize import DEFAULT, tokenization

_SEPARATORS = re.compile("[ \t]+")
_SPACE_IN_WORDS = re.compile(r"[^\S \t]|[\x1c-\x1f]")  # white space that is part of words
MAX_PARAGRAPH_CHARACTERS = 1_000_000


def split_words(line: str) -> tuple[str, ...]:
    """The words of a tokenized line, which only spaces and tabs separate."""
    if _SPACE_IN_WORDS.search(line) is None:
        return tuple(line.split())
    return tuple(word for word in _SEPARATORS.split(line) if word)


def read_plain(
    path: AnyPath, *, rule: str = "", paragraphs: bool = False, on_bad: OnBad | None = None
) -> Iterator[Sentence]:
    """The sentences of tokenized text, or of running text if there is a ``rule`` that splits it."""
    if rule:
        return read_raw(path, rule=rule, paragraphs=paragraphs, on_bad=on_bad)
    return read_text(path, on_bad=on_bad)


def read_text(path: AnyPath, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """One sentence per line of a tokenized file. A blank line is an empty sentence.

    With ``on_bad``, a line that cannot be decoded is reported to it and left out.
    """
    source = Source.of(path)
    for number, line in open_lines(source, on_bad=on_bad):
        if BAD not in line:
            yield Sentence(split_words(line), location=Location(source.path, number))


def read_raw(
    path: AnyPath, *, rule: str = DEFAULT, paragraphs: bool = False, on_bad: OnBad | None = None
) -> Iterator[Sentence]:
    """The sentences of running text, with their ``surface``, split into words by a rule of `treebank.tokenize`.

    A sentence ends with its line, unless ``paragraphs`` is true: then lines may be broken anywhere, and a blank line
    ends a paragraph. A blank line is an empty sentence. With ``on_bad``, a line that cannot be decoded is reported to
    it, left out and ends a paragraph. Raises SynparseError for an unknown rule.
    """
    source, splitter = Source.of(path), tokenization(rule)
    for first, offset, text in _paragraphs(source, on_bad) if paragraphs else _lines(source, on_bad):
        if BAD in text:
            continue
        is_blank = True
        for surface in splitter.surfaces(text):
            is_blank = False
            line = first + text.count("\n", 0, surface.offset)
            words = tuple(surface.text[start:end] for start, end in surface.spans)
            yield Sentence(
                words, location=Location(source.path, line), surface=replace(surface, offset=offset + surface.offset)
            )
        if is_blank:
            yield Sentence((), location=Location(source.path, first))


def _lines(source: Source, on_bad: OnBad | None) -> Iterator[tuple[int, int, str]]:
    """The number of each line, the number of characters before it in the file, and the line, with any ``\\r``."""
    offset = source.characters
    for number, line in open_lines(source, keep_returns=True, on_bad=on_bad):
        text = line if offset else line.removeprefix("\ufeff")
        yield number, offset + len(line) - len(text), text
        offset += len(line) + 1


def _paragraphs(source: Source, on_bad: OnBad | None) -> Iterator[tuple[int, int, str]]:
    """The number of each paragraph's first line, the number of characters before it in the file, and the paragraph.

    A blank or bad line is a paragraph of its own. A very long paragraph ends with a line.
    """
    first, start, lines = 0, 0, list[str]()
    for number, offset, line in _lines(source, on_bad):
        is_break = not line.strip() or BAD in line
        if lines and (is_break or offset - start > MAX_PARAGRAPH_CHARACTERS):
            yield first, start, _joined(lines)
            lines = []
        if is_break:
            yield number, offset, line
            continue
        if not lines:
            first, start = number, offset
        lines.append(line)
    if lines:
        yield first, start, _joined(lines)


def _joined(lines: list[str]) -> str:
    """The lines with white space as long as the line ends between them, so that offsets are those of the file."""
    return "\n".join(lines).replace("\r\n", " \n")
