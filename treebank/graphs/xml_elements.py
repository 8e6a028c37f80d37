"""Streaming reader of the sentences in an XML file, with line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from treebank.base.errors import TreebankError
from treebank.io.lines import BLOCK_BYTES, check_size, report_damage
from treebank.io.source import Source


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
