"""Splitting of raw text into sentences and words by a named rule. Every word is a span of the original text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from treebank.base.arguments import Registry
from treebank.core.sentence import Surface
from treebank.tokenize.segmenters import SEGMENTERS, character_spans, segmented
from treebank.tokenize.words import CLITICS, Span, clitic_spans, english_spans, sentence_spans, word_spans

Spans = Callable[[str], Iterator[Span]]

DEFAULT = "unicode"
NONE = "none"  # no rule, even if a model was trained with one
#: rule -> its description
TOKENIZATIONS: dict[str, str] = {
    "unicode": "Unicode word and sentence boundaries; for all languages with spaces between words",
    "english": "as unicode, with contractions split as in the Penn Treebank: do n't, she 's",
    **dict.fromkeys(CLITICS, "as unicode, with elided words and clitics as words: l' homme, il- kelb"),
    "characters": "as unicode, with every character of a script without spaces as a word",
    **{name: f"as unicode, with a segmenter for {segmenter.languages}" for name, segmenter in SEGMENTERS.items()},
}
_RULES = Registry("tokenization", TOKENIZATIONS)


@dataclass(frozen=True, slots=True)
class Tokenization:
    """A rule: functions from a paragraph to the spans of its sentences and from a sentence to those of its words."""

    name: str
    sentences: Spans
    words: Spans

    def surfaces(self, paragraph: str) -> Iterator[Surface]:
        """Each sentence of a paragraph, which may be blank, with its words."""
        for start, end in self.sentences(paragraph):
            text = paragraph[start:end]
            yield Surface(text, tuple(self.words(text)), start)


@lru_cache(maxsize=16)
def tokenization(name: str) -> Tokenization:
    """The rule of that name. Raises SynparseError if it is unknown or its package is missing."""
    _RULES.get(name)
    if name == "english":
        return Tokenization(name, partial(sentence_spans, english=True), english_spans)
    if name in CLITICS:
        return Tokenization(name, sentence_spans, partial(clitic_spans, name))
    if name in SEGMENTERS:
        return Tokenization(name, sentence_spans, segmented(name))
    return Tokenization(name, sentence_spans, character_spans if name == "characters" else word_spans)


def tokenize(text: str, rule: str = DEFAULT) -> tuple[str, ...]:
    """The words of one sentence of raw text, spelled as in the text."""
    return tuple(text[start:end] for start, end in tokenization(rule).words(text))
