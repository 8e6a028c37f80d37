"""Streaming reader of the sentences in an XML file, and TEI.

TEI has sentences ``<s>`` with words ``<w>`` and punctuation ``<pc>``, or ``<c>`` as in the British National Corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import Location, Sentence
from treebank.io.conllu import BLANK
from treebank.io.lines import BLOCK_BYTES, OnBad, check_size, report, report_damage
from treebank.io.source import AnyPath, Source


class _Collector:
    """Builds each element ``tag`` and forgets everything else. Prefixes of namespaces are left out."""

    def __init__(self, parser: Any, tag: str, path: str) -> None:
        self.parser, self.tag, self.path = parser, tag, path
        self.elements: list[tuple[int, Element]] = []
        self.depth = self.line = self.byte = 0
        self.builder = TreeBuilder()
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.refuse

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.depth and name == self.tag:
            self.builder, self.line = TreeBuilder(), self.parser.CurrentLineNumber
            self.byte = self.parser.CurrentByteIndex
        if self.depth or name == self.tag:
            self.depth += 1
            check_size(self.path, self.line, self.parser.CurrentByteIndex - self.byte)
            self.builder.start(name, attributes)

    def end(self, name: str) -> None:
        if self.depth:
            self.depth -= 1
            self.builder.end(name.rpartition(":")[2])
            if not self.depth:
                self.elements.append((self.line, self.builder.close()))

    def text(self, data: str) -> None:
        if self.depth:
            self.builder.data(data)

    @staticmethod
    def refuse(*declaration: Any) -> None:
        raise ValueError("it declares entities of its own; replace them first (xmllint --noent)")


def read_elements(source: Source, tag: str) -> Iterator[tuple[int, Element]]:
    """The outermost elements ``tag`` of a file, streamed, each with the number of its first line.

    Raises TreebankError with file and line if the XML is malformed or declares entities.
    """
    parser = expat.ParserCreate("utf-8" if source.encoding else None)
    parser.buffer_text = True
    collector = _Collector(parser, tag, source.path)
    size = 0
    with report_damage(source.path), source.open() as stream:
        while True:
            data = stream.read1(BLOCK_BYTES)
            size += len(data)
            problem = ""
            try:
                parser.Parse(data, not data)
                check_size(source.path, parser.CurrentLineNumber, size - parser.CurrentByteIndex)  # of one long tag
            except expat.ExpatError as error:
                problem = f"malformed XML ({expat.errors.messages[error.code]}); check it with xmllint"
            except (ValueError, LookupError) as error:  # LookupError: of an unknown encoding
                problem = f"this XML cannot be read: {error}"
            yield from collector.elements
            collector.elements.clear()
            if problem:
                raise TreebankError(source.path, parser.ErrorLineNumber or parser.CurrentLineNumber, problem)
            if not data:
                return


_SPACES = re.compile("[ \t\r\n]+")  # other white space, such as thin spaces, belongs to words
WORDS = ("w", "pc", "c")
NOT_READ = ("note", "del", "surplus", "fw", "figDesc")  # elements within words whose text is left out
READINGS = ("reg", "corr", "expan", "seg", "unclear")  # of a <choice>, the first of these, else its first element


def read_tei(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file: words, and tags if each word has an attribute ``pos``.

    Of a ``<choice>``, the regularized, corrected or expanded reading is read. Notes and deletions within words are left
    out, and so is text outside of words; ``notify`` is called at the end with the number of such pieces of text. A
    space in a word becomes U+00A0. Raises TreebankError with file and line for malformed XML, for a file without
    sentences, and for a sentence without words; with ``on_bad``, the error of a sentence is reported to it and the
    sentence is skipped.
    """
    source, line = Source.of(path), 0
    dropped = _Dropped()
    for line, element in read_elements(source, "s"):
        tokens = list(_tokens(element, dropped))
        words = tuple(_SPACES.sub(BLANK, _text(token, dropped).strip(" \t\r\n")) for token in tokens)
        if not words or not all(words):
            problem = "this sentence has no <w>" if not words else "a word of this sentence is empty"
            report(TreebankError(source.path, line, f"{problem}; mark each word with <w> or <pc>"), on_bad)
            continue
        tags = tuple(token.get("pos", "") for token in tokens)
        yield Sentence(words, tags if all(tags) else (), location=Location(source.path, line))
    if not line:
        raise TreebankError(source.path, 0, "there is no sentence <s> in this TEI file; mark sentences and words first")
    for position, (count, example) in dropped.pieces.items():
        notify(f"{source.path}: text {position} is left out: {count:,}, such as {shorten(example)}")


class _Dropped:
    """Pieces of text that are left out: their number and the first one, by their position."""

    def __init__(self) -> None:
        self.pieces: dict[str, tuple[int, str]] = {}

    def add(self, position: str, text: str | None) -> None:
        """Count a piece of text unless it is blank."""
        if text and text.strip():
            count, example = self.pieces.get(position, (0, text.strip()))
            self.pieces[position] = count + 1, example


def _tokens(element: Element, dropped: _Dropped) -> Iterator[Element]:
    """The outermost words and punctuation marks below an element, in order."""
    position = "outside of <w> and <pc>"
    dropped.add(position, element.text)
    for child in element:
        if child.tag in WORDS and not (child.tag == "c" and not "".join(child.itertext()).strip()):
            yield child
        elif child.tag == "choice":
            yield from _tokens(_reading(child), dropped)
        else:
            yield from _tokens(child, dropped)
        dropped.add(position, child.tail)


def _text(element: Element, dropped: _Dropped) -> str:
    """The text of a word, in one reading."""
    parts = [element.text or ""]
    for child in element:
        if child.tag in NOT_READ:
            dropped.add("of notes and deletions in words", "".join(child.itertext()))
        else:
            parts.append(_text(_reading(child) if child.tag == "choice" else child, dropped))
        parts.append(child.tail or "")
    return "".join(parts)


def _reading(choice: Element) -> Element:
    readings = [child for name in READINGS for child in choice if child.tag == name]
    return readings[0] if readings else next(iter(choice), choice)
