"""English contractions, split as in the Penn Treebank: ``do n't``, ``she 's``, ``can not``, ``gon na``."""

from __future__ import annotations

from collections.abc import Iterator

from treebank.tokenize.patterns import compiled
from treebank.tokenize.words import Span, word_spans

_CLITIC = r"(?i) (?<=\w) (?: n['’]t | ['’](?:s|re|ve|ll|d|m) )$"
_FUSED = r"(?i) (?:(can)not|(gim)me|(gon)na|(got)ta|(lem)me|(wan)na|(['’]t)is|(['’]t)was)"


def english_spans(sentence: str) -> Iterator[Span]:
    """The character span of each word of an English sentence: Unicode words, with contractions split in two."""
    for start, end in word_spans(sentence):
        word = sentence[start:end]
        split = start + _split_index(word) if len(word) > 2 and not word.startswith(("http", "www.")) else start
        if start < split < end:
            yield start, split
            start = split
        yield start, end


def _split_index(word: str) -> int:
    """Index of the second part of a contraction, or 0 for any other word."""
    if match := compiled(_CLITIC).search(word):
        return int(match.start())
    if match := compiled(_FUSED).fullmatch(word):
        return max(match.end(group) for group in range(1, 9))
    return 0
