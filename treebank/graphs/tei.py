"""TEI: sentences ``<s>`` with words ``<w>`` and punctuation ``<pc>``, or ``<c>`` as in the British National Corpus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import Location, Sentence
from treebank.graphs.xml_elements import read_elements
from treebank.io.conllu import BLANK
from treebank.io.lines import OnBad, report
from treebank.io.source import AnyPath, Source

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
