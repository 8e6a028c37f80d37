"""Words of two texts compared: predictions with gold, and trees or heads with the text that they belong to.

Escaped brackets, slashes and stars count as equal to unescaped ones: ``-LRB-`` and ``(`` are the same word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, zip_longest
from unicodedata import category, normalize

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "\\/": "/", "\\*": "*"}


def align(gold: Sequence[str], masks: Iterable[Sequence[bool]], predicted: Sequence[str]) -> Sequence[bool] | None:
    """The mask over the gold tokens that selects the predicted words, or None if the words differ.

    Of two masks that select equally many tokens, only the first is tried. Escaped brackets, slashes and stars count as
    equal to unescaped ones.
    """
    for mask in masks:
        if sum(mask) == len(predicted):
            words = tuple(compress(gold, mask))
            return mask if words == tuple(predicted) or plain(words) == plain(predicted) else None
    return None


def mismatch(
    predicted: Iterable[Sequence[str]],
    gold: Iterable[Sequence[str]],
    *,
    location: str,
    gold_location: str,
    unit: str = "word",
    other: str = "in gold",
) -> str:
    """The error message for words that differ: both locations and the first difference.

    ``predicted`` and ``gold`` hold alternative readings of the two sentences; the most similar pair is reported.
    ``other`` introduces the word of gold.
    """
    readings = [plain(words) for words in gold]
    pairs = [(plain(words), reference) for words in predicted for reference in readings]
    words, reference = max(pairs, key=lambda pair: (common_prefix(*pair), -abs(len(pair[0]) - len(pair[1]))))
    if not words:
        return f"{location}: an empty sentence, but {gold_location} has {len(reference)} {unit}s"
    i = common_prefix(words, reference)
    items = [repr(side[i]) if i < len(side) else f"the end after {i} {unit}s" for side in (words, reference)]
    reason = invisible_difference(words[i], reference[i]) if i < min(len(words), len(reference)) else ""
    if reason:
        items = [ascii(side[i]) for side in (words, reference)]
        reason = f"; the {unit}s differ only in {reason}"
    problem = f"{unit} {i + 1} is {items[0]}, {other} {items[1]}{reason}"
    return f"{location}: the {unit}s differ from {gold_location}: {problem}"


def invisible_difference(first: str, second: str) -> str:
    """The difference between two strings that look alike, with a remedy, or ""."""
    if normalize("NFC", first) == normalize("NFC", second):
        return "Unicode normalization (NFC, NFD); convert one file: uconv -x any-nfc IN > OUT"
    if _visible(first) == _visible(second):
        return "spaces, invisible characters or compatible forms; replace these characters in one file"
    return ""


def _visible(text: str) -> str:
    """``text`` in the normalization NFKC without spaces and invisible characters."""
    return "".join(c for c in normalize("NFKC", text) if category(c) not in ("Cf", "Zs"))


def plain(words: Sequence[str]) -> list[str]:
    """The words with ``-LRB-`` and the like replaced by brackets, and without backslashes before slashes and stars."""
    result = list(words)
    if "-" not in (joined := "".join(words)) and "\\" not in joined:
        return result
    for i, word in enumerate(result):
        if "-" in word or "\\" in word:
            for escaped, character in ESCAPED.items():
                word = word.replace(escaped, character)
            result[i] = word
    return result


def spellings(word: str) -> frozenset[str]:
    """The ways to write a word: with escaped or plain brackets, and with composed or decomposed letters (NFC, NFD)."""
    forms = {word, *plain([word])}
    return frozenset(forms if word.isascii() else forms | {normalize(form, word) for form in ("NFC", "NFD")})


def common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """Number of equal items at the beginning of two sequences."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def with_analyses(
    sentences: Iterable[Sentence], analyses: Iterable[Sentence], path: str
) -> Iterator[tuple[Sentence, Sentence]]:
    """Each sentence of a text with its analysis in the file ``path``, in order.

    Raises SynparseError, with the first difference, if the words differ or a sentence is missing or extra.
    """
    before: tuple[Sentence, Sentence] | None = None
    for number, (sentence, analysis) in enumerate(zip_longest(sentences, analyses), start=1):
        position = sentence.location if sentence and sentence.location.line else f"sentence {number} of the text"
        if analysis is None:
            raise SynparseError(f"{path}: no analysis of {position}; analyze the same text again")
        if sentence is None:
            problem = f"an extra sentence after the {number - 1:,} of the text"
            raise SynparseError(f"{analysis.location}: {problem}; analyze the same text again")
        if sentence.words != analysis.words and plain(sentence.words) != plain(analysis.words):
            locations = {"location": str(analysis.location), "gold_location": str(position), "other": "in the text"}
            raise SynparseError(mismatch([analysis.words], [sentence.words], **locations))
        if before:  # one pair late, so that an extra sentence at the end is refused before the last pair is used
            yield before
        before = sentence, analysis
    if before:
        yield before
