"""Words of scripts without spaces between them: characters, or a segmenter that is installed as an extra.

A segmenter receives only the stretches of such scripts, so that addresses, numbers and words of other scripts within
them remain words of the Unicode rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from treebank.base.errors import SynparseError
from treebank.tokenize.words import Span, compiled, word_spans

Segment = Callable[[str], Iterable[str]]

_SCRIPTS = r"""\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}
               \p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"""
_UNSPACED = rf"[{_SCRIPTS}][{_SCRIPTS}\p{{M}}\u200c\u200d]*"


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A package that splits text without spaces: the module to import, its languages, and its segmentation function."""

    module: str
    languages: str
    build: Callable[[Any], Segment]  # from the imported module


def _jieba(module: Any) -> Segment:
    module.setLogLevel(40)  # silence its messages about loading
    return lambda text: module.lcut(text)


#: name, which is also the name of the extra -> segmenter
SEGMENTERS: dict[str, Segmenter] = {
    "icu": Segmenter(
        "icu4py.breakers",
        "Chinese, Japanese, Thai, Khmer, Lao, Burmese",
        lambda module: lambda text: map(str, module.WordBreaker(text, "und")),
    ),
    "jieba": Segmenter("jieba", "Chinese", _jieba),
    "janome": Segmenter("janome.tokenizer", "Japanese", lambda module: module.Tokenizer(wakati=True).tokenize),
    "pythainlp": Segmenter("pythainlp.tokenize", "Thai", lambda module: module.word_tokenize),
}


def segmented(name: str) -> Callable[[str], Iterator[Span]]:
    """A function from a sentence to the spans of its words, split by the segmenter of that name.

    Raises SynparseError with the command to install its package if it is missing.
    """
    segmenter = SEGMENTERS[name]
    try:
        segment = segmenter.build(import_module(segmenter.module))
    except (ImportError, RuntimeError) as error:
        missing = f"tokenization {name!r} needs a package that is not installed ({error})"
        raise SynparseError(f"{missing}; install it with: pip install 'synparse[{name}]'") from None
    return lambda sentence: _split(sentence, segment)


def character_spans(sentence: str) -> Iterator[Span]:
    """The Unicode words of a sentence, with each character of a script without spaces as one word."""
    return _split(sentence, lambda text: compiled(r"\X").findall(text))


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces, or is an East Asian stop or bracket."""
    return compiled(rf"[{_SCRIPTS}\u3000-\u303f\uff00-\uff65]").match(character) is not None


def _split(sentence: str, segment: Segment) -> Iterator[Span]:
    """The Unicode words of a sentence, with the segments of each stretch without spaces instead of its words."""
    spans = list(word_spans(sentence))
    position = 0
    while position < len(spans):
        start, end = spans[position]
        position += 1
        if not compiled(_UNSPACED).match(sentence, start, end):
            yield start, end
            continue
        is_unspaced_word = compiled(_UNSPACED).fullmatch
        while position < len(spans) and spans[position][0] == end and is_unspaced_word(sentence, *spans[position]):
            end = spans[position][1]
            position += 1
        yield from _segments(sentence, start, end, segment)


def _segments(sentence: str, start: int, end: int, segment: Segment) -> Iterator[Span]:
    """The spans of the segments of a stretch. Characters that ``segment`` drops are segments of their own."""
    for piece in segment(sentence[start:end]):
        if not piece or piece.isspace():
            continue
        begin = sentence.find(piece, start, end)
        if begin < 0:  # the package changed the text
            continue
        if begin > start:
            yield start, begin
        start = begin + len(piece)
        yield begin, start
    if start < end:
        yield start, end
