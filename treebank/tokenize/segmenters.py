"""Words of scripts that put no spaces between them: characters, or a segmenter that is installed as an extra.

A segmenter sees the stretches of such scripts alone, so that addresses, numbers and words of other scripts within them
stay what the Unicode rule makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from treebank.base.errors import SynparseError
from treebank.tokenize.patterns import compiled
from treebank.tokenize.words import Span, word_spans

Segment = Callable[[str], Iterable[str]]

_SCRIPTS = r"""\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}
               \p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"""
_UNSPACED = rf"[{_SCRIPTS}][{_SCRIPTS}\p{{M}}\u200c\u200d]*"


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A package that cuts text without spaces: what to install, for which languages, and how to call it."""

    package: str  # as imported
    languages: str
    build: Callable[[Any], Segment]  # from the imported package


def _icu(breakers: Any) -> Segment:
    return lambda text: map(str, breakers.WordBreaker(text, "und"))


def _jieba(package: Any) -> Segment:
    package.setLogLevel(40)  # it tells of its own loading on stderr
    cut: Segment = package.lcut
    return cut


def _fugashi(package: Any) -> Segment:
    tagger = package.Tagger()
    return lambda text: [word.surface for word in tagger(text)]


def _janome(package: Any) -> Segment:
    tokenizer = package.Tokenizer(wakati=True)
    cut: Segment = tokenizer.tokenize
    return cut


def _pythainlp(package: Any) -> Segment:
    cut: Segment = package.word_tokenize
    return cut


#: name, which is also that of the extra to install -> segmenter
SEGMENTERS: dict[str, Segmenter] = {
    "icu": Segmenter("icu4py.breakers", "Chinese, Japanese, Thai, Khmer, Lao, Burmese", _icu),
    "jieba": Segmenter("jieba", "Chinese", _jieba),
    "fugashi": Segmenter("fugashi", "Japanese", _fugashi),
    "janome": Segmenter("janome.tokenizer", "Japanese", _janome),
    "pythainlp": Segmenter("pythainlp.tokenize", "Thai", _pythainlp),
}


def segmented(name: str) -> Callable[[str], Iterator[Span]]:
    """A function from a sentence to the characters of its words, cut by the segmenter of that name.

    Raises SynparseError, saying what to install, where its package is missing.
    """
    segmenter = SEGMENTERS[name]
    try:
        segment = segmenter.build(import_module(segmenter.package))
    except (ImportError, RuntimeError) as error:
        missing = f"tokenization {name!r} needs a package that is not there ({error})"
        raise SynparseError(f"{missing}; install it with: pip install 'synparse[{name}]'") from None
    return lambda sentence: _cut(sentence, segment)


def character_spans(sentence: str) -> Iterator[Span]:
    """The Unicode words of a sentence, each character of a script without spaces as a word of its own."""
    return _cut(sentence, lambda text: compiled(r"\X").findall(text))


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that puts no spaces between words, or a stop or bracket of East Asia."""
    return compiled(rf"[{_SCRIPTS}\u3000-\u303f\uff00-\uff65]").match(character) is not None


def _cut(sentence: str, segment: Segment) -> Iterator[Span]:
    """The Unicode words between the stretches without spaces, and the pieces of these."""
    spans = list(word_spans(sentence))
    position = 0
    while position < len(spans):
        start, end = spans[position]
        position += 1
        if not compiled(_UNSPACED).match(sentence, start, end):
            yield start, end
            continue
        while position < len(spans) and spans[position][0] == end and _goes_on(sentence, spans[position]):
            end = spans[position][1]
            position += 1
        yield from _pieces(sentence, start, end, segment)


def _goes_on(sentence: str, span: Span) -> bool:
    return compiled(_UNSPACED).fullmatch(sentence, *span) is not None


def _pieces(sentence: str, start: int, end: int, segment: Segment) -> Iterator[Span]:
    """The spans of what ``segment`` makes of a stretch; what it left out stands between them as pieces of its own."""
    for piece in segment(sentence[start:end]):
        if not piece or piece.isspace():
            continue
        begin = sentence.find(piece, start, end)
        if begin < 0:  # the package has rewritten the text
            continue
        if begin > start:
            yield start, begin
        start = begin + len(piece)
        yield begin, start
    if start < end:
        yield start, end
