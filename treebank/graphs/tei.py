"""TEI: sentences ``<s>`` with words ``<w>`` and punctuation ``<pc>``."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from treebank.base.errors import TreebankError
from treebank.core.sentence import Location, Sentence
from treebank.graphs.xml_elements import read_elements
from treebank.io.conllu import BLANK
from treebank.io.lines import OnBad, report
from treebank.io.source import AnyPath, Source

WORDS = ("w", "pc")


def read_tei(path: AnyPath, *, on_bad: OnBad | None = None) -> Iterator[Sentence]:
    """The sentences of a file: words, and tags if each word has an attribute ``pos``.

    Everything else is left out, such as lemmas and notes within words. A space in a word becomes U+00A0. Raises
    TreebankError with file and line for malformed XML, for a file without sentences, and for a sentence without words;
    with ``on_bad``, the error of a sentence is reported to it and the sentence is skipped.
    """
    source, line = Source.of(path), 0
    for line, element in read_elements(source, "s"):
        tokens = list(_tokens(element))
        words = tuple(BLANK.join("".join(token.itertext()).split()) for token in tokens)
        if not words or not all(words):
            problem = "this sentence has no <w>" if not words else "a word of this sentence is empty"
            report(TreebankError(source.path, line, f"{problem}; mark each word with <w> or <pc>"), on_bad)
            continue
        tags = tuple(token.get("pos", "") for token in tokens)
        yield Sentence(words, tags if all(tags) else (), location=Location(source.path, line))
    if not line:
        raise TreebankError(source.path, 0, "there is no sentence <s> in this TEI file; mark sentences and words first")


def _tokens(element: Element) -> Iterator[Element]:
    """The outermost words and punctuation marks below an element, in order."""
    for child in element:
        if child.tag in WORDS:
            yield child
        else:
            yield from _tokens(child)
