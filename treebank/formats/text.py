"""Plain text: one tokenised sentence a line, or raw text that is split into sentences and words here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from treebank.formats.lines import open_lines
from treebank.formats.splitter import split_sentences
from treebank.sentence import Place, Sentence

_BLANKS = re.compile("[ \t]+")
_ODD_SPACE = re.compile(r"[^\S \t]|[\x1c-\x1f]")  # white space that belongs to words
_QUOTES = frozenset(("``", "''"))


def split_words(line: str) -> tuple[str, ...]:
    """The words of a tokenised line: what stands between spaces and tabs, and nothing else separates."""
    if _ODD_SPACE.search(line) is None:
        return tuple(line.split())
    return tuple(word for word in _BLANKS.split(line) if word)


def read_text(path: str) -> Iterator[Sentence]:
    """One sentence for each line of a tokenised file; a blank line is an empty sentence."""
    for number, line in open_lines(path):
        yield Sentence(split_words(line), place=Place(path, number))


def read_raw(path: str) -> Iterator[Sentence]:
    """The sentences of running text, split into words; a blank line is an empty sentence.

    Sentences do not run over the end of a line, so a file should hold one paragraph a line.
    """
    for number, line in open_lines(path):
        place = Place(path, number)
        sentences = [tokenize(text) for text in split_sentences(line)]
        for words in sentences or [()]:
            yield Sentence(words, place=place)


def tokenize(text: str) -> tuple[str, ...]:
    """The words of one raw sentence, spelled as in ``text`` (nltk's Penn tokenizer; needs no downloaded data).

    The tokenizer rewrites double quotes; the user's own come back. Where its tokens cannot be found again in the text
    (heaps of quotation marks), the text is split at white space.
    """
    words: list[str] = []
    position = 0
    for token in _tokenizer()(text):
        while position < len(text) and text[position].isspace():
            position += 1
        spellings = (token, '"', "''", "``") if token in _QUOTES else (token,)
        spelling = next((one for one in spellings if text.startswith(one, position)), None)
        if spelling is None:
            return tuple(text.split())
        words.append(spelling)
        position += len(spelling)
    return tuple(words)


@lru_cache(maxsize=1)
def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer  # here, because importing nltk takes most of a second

    tokenizer: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenizer
