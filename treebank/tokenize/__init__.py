"""Raw text into sentences and words, by a rule with a name; every word is a stretch of the text as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from treebank.base.errors import UnknownNameError
from treebank.base.registry import nearest
from treebank.core.annotation import Surface
from treebank.tokenize.english import english_spans
from treebank.tokenize.segmenters import SEGMENTERS, character_spans, segmented
from treebank.tokenize.sentences import sentence_spans
from treebank.tokenize.words import Span, word_spans

Spans = Callable[[str], Iterator[Span]]

DEFAULT = "unicode"
NONE = "none"  # no rule, whatever text a model was trained on
#: rule -> what it is for
TOKENIZATIONS: dict[str, str] = {
    "unicode": "Unicode word and sentence boundaries; for all languages with spaces between words",
    "english": "the same with contractions cut as in the Penn Treebank: do n't, she 's",
    "characters": "the same with every character of a script without spaces as a word",
    **{name: f"the same with a segmenter for {one.languages}" for name, one in SEGMENTERS.items()},
}


@dataclass(frozen=True, slots=True)
class Tokenization:
    """A rule: from a paragraph to the characters of its sentences, and from a sentence to those of its words."""

    name: str
    sentences: Spans
    words: Spans

    def surfaces(self, paragraph: str) -> Iterator[Surface]:
        """Each sentence of a paragraph with its words; a blank paragraph has none."""
        for start, end in self.sentences(paragraph):
            text = paragraph[start:end]
            yield Surface(text, tuple(self.words(text)), start)


@lru_cache(maxsize=16)
def tokenization(name: str) -> Tokenization:
    """The rule of that name. Raises SynparseError for one that is unknown or whose package is missing."""
    if name not in TOKENIZATIONS:
        raise UnknownNameError(f"there is no tokenization {name!r}; {nearest(name, TOKENIZATIONS)}")
    if name == "english":
        return Tokenization(name, partial(sentence_spans, english=True), english_spans)
    if name in SEGMENTERS:
        return Tokenization(name, sentence_spans, segmented(name))
    return Tokenization(name, sentence_spans, character_spans if name == "characters" else word_spans)
