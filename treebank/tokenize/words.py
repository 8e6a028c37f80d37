"""Boundaries of words and sentences (UAX 29), tailored to addresses, numbers and abbreviations.

The letters, digits and marks that hold a word together are those of the Unicode property Word_Break, rules WB4 to
WB13b without WB7a. UAX 29 recommends tailoring. Here these are one word: web and mail addresses, numbers with their
separators, words with hyphens, dotted abbreviations, a run of one sign (``...``, ``--``), and inside a sentence an
abbreviation or ordinal with its full stop.

The terminals and closing marks of sentences are those of the property Sentence_Break, so stops of every script are
known. The default rules of UAX 29 do not recognize a full stop after an abbreviation, an initial or an ordinal; lists
and the following word decide about it. No data and no training are needed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

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
#: hyphens, and the marks of clitics and reduplication in field data, ka=na and ka~kata
_HYPHENS = r"(?:[-\u2010\u2011\u00ad]|(?<=\p{L}\p{M}*)[=~](?=\p{L}))"

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
  | (?![\s\x1c-\x1f\u1361{_INVISIBLE}])\X
"""


_BEFORE_WORD = r"(?=[\p{L}\p{N}])"
_PRONOUN = r"(?:(?:-t)?-(?:je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|lui|leur|les?|la|y|en))"
#: language -> parts that are words of their own inside of a written word
CLITICS = {
    "french": rf"""
        (?<![\p{{L}}\p{{N}}]) (?i: [cdjlmnst] | (?:jus|lors|puis|quoi)? qu ) ['’] {_BEFORE_WORD}
      | (?<![\p{{L}}-]) (?!(?i:rendez-vous)) \p{{L}}+ (?={_PRONOUN}+(?![\w-]))
      | (?<=\p{{L}}) (?<!(?i:rendez)) {_PRONOUN} (?={_PRONOUN}*(?![\w-]))
    """,
    "italian": rf"""
        (?<![\p{{L}}\p{{N}}]) \p{{L}}+ ['’] {_BEFORE_WORD}
      | (?<![\p{{L}}\p{{N}}]) (?i: po | mo | be | va | fa | da | di | sta ) ['’]
    """,
    "maltese": rf"""
        (?<![\p{{L}}\p{{N}}]) (?i: [bfmtx] ) ['’] {_BEFORE_WORD}
      | (?<![\p{{L}}\p{{N}}]) (?i: (?:għa|bħa|ma|mi|fi|bi|li|ta|sa|i)? l? [ldnrstxżzċ] ) - (?=\p{{L}})
    """,
}


def clitic_spans(language: str, sentence: str) -> Iterator[Span]:
    """The span of each word of a sentence, with the clitics of a language in `CLITICS` as words of their own."""
    return word_spans(sentence, f"{CLITICS[language]} | {_PATTERN}")


def word_spans(sentence: str, pattern: str = _PATTERN) -> Iterator[Span]:
    """The half-open character span of each word of a sentence.

    Between the words are white space, zero-width spaces, the Ethiopic word space, and other invisible characters that
    follow no letter.
    """
    last_stop = len(sentence.rstrip()) - 1
    end = 0
    for match in compiled(pattern).finditer(sentence):
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


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name or a number follows.
TITLES = _set(
    """
    mr mrs ms mx messrs dr drs prof rev hon fr sr sra srta mme mlle st sen rep gov gen lt col maj capt cpl
    sgt cmdr adm pres supt det insp hr dhr herr ing mag dipl vs cf viz ca al approx esp eg ie bzw z.b d.h u.a
    """
)
# Before a number only: Fig. 3, No. 5, pp. 12-14.
NUMBERED = _set(
    """
    no nos nr fig figs eq eqs p pp vol vols ch chap sec sect art tab ref refs op nn bd abb str cap pag
    """
)
# May end a sentence. They do if the next word often begins one.
MAY_END = _set(
    """
    inc corp co ltd bros llc plc jr sr esq etc ph.d m.d b.a m.a jan feb mar apr jun jul aug sep sept oct nov
    dec mon tue tues wed thu thur thurs fri sat sun dept univ assn ave blvd rd mt ft min max est dist ed eds
    rev usw evtl ggf resp sp spp var subsp ala ariz ark calif colo conn del fla ga ill ind kan ky la md mass
    mich minn miss mo mont neb nev okla ore pa penn tenn tex va vt wash wis wyo
    """
)
STARTERS = _set(
    """
    the a an this that these those he she it they we you i in on at by for from with to of as if when while
    after before but and or so yet however then there here what who why how where his her its their our my
    your mr mrs ms dr no not one some many most all also although since because until once such each every
    both another is are was were do does did can could will would should may might
    der die das ein eine er sie es wir ich im am in und aber doch auch nach bei mit
    bu bir o ve ama
    """
)
_LISTED = TITLES | NUMBERED | MAY_END
_VOWELS = frozenset("aeiouyıæøœаеиоуыэюяαεηιουω")
_MAX_LETTERS = 4  # of an abbreviation that is not in a list


def takes_stop(word: str) -> bool:
    """Whether a full stop directly after ``word``, inside a sentence, is part of it: an abbreviation, initial or
    ordinal.

    Besides the words of the lists, these are numbers, and words of up to four letters, except words in lower case with
    three or more letters and a vowel, such as ``dog``. Diacritics do not count.
    """
    if word.lower() in _LISTED or word.isdecimal():
        return True
    letters = [letter for letter in unicodedata.normalize("NFD", word) if unicodedata.category(letter)[0] != "M"]
    if not all(letter.isalpha() or letter == "." for letter in letters):
        return False
    parts = "".join(letters).split(".")
    if max(map(len, parts)) > _MAX_LETTERS:
        return False
    return not word.islower() or len(letters) < 3 or len(parts) > 1 or _VOWELS.isdisjoint(letters)


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    r"""Compile ``pattern`` with the package regex, in verbose mode (spaces and comments are ignored).

    Character sets follow version 1 of its syntax, with operations such as ``[\p{L}--\p{Lu}]``.
    """
    import regex  # imported here, since only raw text needs it

    return regex.compile(pattern, regex.V1 | regex.X)


_WITH_SPACE = r".!?\u2026\u203c\u2047-\u2049"  # terminals of scripts with spaces: white space must follow
_BOUNDARY = rf"""
    (?P<stop>[{_WITH_SPACE}]+) (?P<closers>[\p{{Pe}}\p{{Pf}}"'“‘]*) (?P<space>\s+)
  | (?: (?<=\p{{Greek}})[;\u037e] | (?<=\p{{Armenian}}): ) [\p{{Pe}}\p{{Pf}}"']* \s+
  | (?: [\p{{Sentence_Break=STerm}}\u0f0d-\u0f12--[{_WITH_SPACE}]] [{_WITH_SPACE}]* )+ [\p{{Pe}}\p{{Pf}}"']* \s*
"""
_OPENERS = "\"'\u201c\u2018\u00ab\u201e\u00bf\u00a1([{`\u2013\u2014- "
_LONGEST_ABBREVIATION = 40
_LAST_WORD = r"""[^\s(\[{"'“‘«/]+$"""
_INITIALS = r"(?:\p{L}\p{M}*\.)+\p{L}\p{M}*"  # U.S, a.m, e.g (the last stop is cut off)
_LIST_NUMBER = r"\p{Nd}{1,3}|[ivxlc]{1,5}|[a-zA-Z]"
_ORDINAL_OR_LETTER = r"\p{Nd}{1,2}|\p{Ll}\p{M}*"  # am 3. Oktober, v. Chr.
_CASELESS_INITIAL = r"(?:\p{Lo}\p{M}*){1,2}"  # in a script without capitals


def sentence_spans(text: str, *, english: bool = False) -> Iterator[tuple[int, int]]:
    """The half-open character span of each sentence of one paragraph, without the white space around it."""
    start = 0
    for match in compiled(_BOUNDARY).finditer(text):
        if match["stop"] is None or _ends_sentence(text, start, match, english):
            yield from _stripped(text, start, match.end())
            start = match.end()
    yield from _stripped(text, start, len(text))


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if bare := piece.strip():
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(bare)


def _ends_sentence(text: str, start: int, match: Any, english: bool) -> bool:
    """Whether the stop in ``match`` ends the sentence that began at ``start``."""
    following = text[match.end() : match.end() + 80].lstrip(_OPENERS)
    if not following:
        return True
    first = following[0]
    if first in ",;:.)]":
        return False
    stop = match["stop"]
    if first.islower() and (match["closers"] or not english):
        return False  # "Go!" he said; i.e. this
    if stop != ".":
        return not (first.islower() and stop[-1] in ".…")
    near = max(start, match.start() - _LONGEST_ABBREVIATION)  # a search from the start would take quadratic time
    last_word = compiled(_LAST_WORD).search(text, near, match.start())
    word = last_word[0] if last_word else ""
    if last_word and last_word.start() == start and not match["closers"] and compiled(_LIST_NUMBER).fullmatch(word):
        return False  # "1. Introduction": the number belongs to the next words
    alone = last_word is None or last_word.start() == 0 or text[last_word.start() - 1] not in "'/"  # not s of "it's"
    if english and first.islower():
        return alone and len(word) > 2 and not takes_stop(word)  # informal text starts sentences in lower case
    return _stop_after(word, following, alone and not match["closers"], english)


def _stop_after(word: str, following: str, open_word: bool, english: bool) -> bool:
    """Whether a single full stop after ``word`` ends the sentence, before the upper-case ``following``.

    ``open_word`` says that a space precedes the word and no closing mark follows the stop.
    """
    lower = word.lower()
    next_word = compiled(r"\w*").match(following)[0]
    starts = next_word.lower() in STARTERS
    if lower in TITLES and open_word:
        return False
    if lower in NUMBERED and following[0].isdigit():
        return False
    if not english and compiled(_ORDINAL_OR_LETTER).fullmatch(word) and open_word:
        return starts
    if len(word) == 1 and word.isupper() and open_word:  # an initial: J. Smith (but: "so did I. Then")
        return word == "I" and starts
    if compiled(_CASELESS_INITIAL).fullmatch(word) and open_word:
        return False
    if lower in MAY_END or compiled(_INITIALS).fullmatch(word):
        return not open_word or starts
    return True
