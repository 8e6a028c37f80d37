"""Word boundaries of Unicode (UAX 29), tailored to addresses, numbers and abbreviations.

The letters, digits and marks that hold a word together are those of the Unicode property Word_Break, rules WB4 to
WB13b without WB7a. UAX 29 recommends tailoring. Here these are one word: web and mail addresses, numbers with their
separators, words with hyphens, dotted abbreviations, a run of one sign (``...``, ``--``), and inside a sentence an
abbreviation or ordinal with its full stop.
"""

from __future__ import annotations

from collections.abc import Iterator

from treebank.tokenize.word_lists import compiled, takes_stop

Span = tuple[int, int]

_INVISIBLE = r"\p{Default_Ignorable_Code_Point}\ufff9-\ufffb"  # soft hyphens, marks of direction, zero-width spaces
_EXTEND = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"  # WB4: marks belong to their base character
_LETTER = rf"(?:[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]{_EXTEND})"
_DIGIT = rf"(?:\p{{WB=Numeric}}{_EXTEND})"
_INSIDE_WORD = rf"(?:[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXTEND})"  # WB6, WB7
_INSIDE_NUMBER = rf"(?:[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXTEND})"  # WB11, WB12
_JOIN = rf"(?:\p{{WB=ExtendNumLet}}{_EXTEND})"  # WB13a, WB13b: the underscore

_HEBREW = rf"(?:\p{{WB=Hebrew_Letter}}{_EXTEND})"
_IN_HEBREW = rf"{_HEBREW}[\"](?={_HEBREW})"  # WB7b, WB7c: acronyms
_IN_NUMBER = rf"{_DIGIT}(?:{_INSIDE_NUMBER}(?={_DIGIT}))?"
_RUN = rf"(?:{_IN_HEBREW}|{_IN_NUMBER}|{_LETTER}(?:{_INSIDE_WORD}(?={_LETTER}))?|{_JOIN})+"
_KATAKANA = rf"(?:\p{{WB=Katakana}}{_EXTEND})+"
_HYPHENS = r"[-\u2010\u2011\u00ad]"

_URL_END = r"""[^\s<>"“”「」（）。，、《》]+ (?<![.,;:!?'’)\]}*])"""
_ADDRESS = rf"""
    (?: (?:https?|ftp)://{_URL_END} | www\.[\w-]+\.{_URL_END} )
  | [\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
  | [@\#]\p{{L}}[\w]*
"""
_SMILE = r"""(?<![\w)(])[:;=8][-o^']?[)(DPp/\\|\]\[]+(?!\w)|<3(?!\w)|\^_?\^"""
_SIGN = r"""[[\p{P}\p{S}]--[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'`\p{Emoji_Presentation}]]"""
_SAME = rf"`` | '' | [.!?\u2026]{{2,}} | (?P<sign>{_SIGN})(?P=sign)+"
_DATE = rf"{_DIGIT}+(?:[-/:]{_DIGIT}+)+(?!\w)"  # 12/05/2004, 10:30, 555-1234
_DOTTED = r"(?<!\w)(?:\p{L}\p{M}*\.){2,}(?!\w)"  # U.S., also at the end of a sentence
_AFTER_STOP = frozenset(" \t\n\u00a0,;:")

_PATTERN = rf"""
    {_ADDRESS}
  | {_SMILE}
  | {_DATE}
  | {_DOTTED}
  | {_RUN}(?:{_HYPHENS}{_RUN})*
  | {_KATAKANA}
  | {_SAME}
  | (?![\s\x1c-\x1f{_INVISIBLE}])\X
"""


def word_spans(sentence: str) -> Iterator[Span]:
    """The half-open character span of each word of a sentence.

    Between the words are white space, zero-width spaces, and other invisible characters that follow no letter.
    """
    last_stop = len(sentence.rstrip()) - 1
    end = 0
    for match in compiled(_PATTERN).finditer(sentence):
        start, end = max(match.start(), end), match.end()
        if start >= end:  # a stop that belongs to the previous word
            continue
        if sentence[end : end + 1] == "." and end < last_stop and sentence[end + 1] in _AFTER_STOP:
            end += takes_stop(sentence[start:end])
        yield start, end


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
