"""Sentence boundaries of Unicode (UAX 29, all sentence terminals), with rules for abbreviations.

The terminals, closing marks and letters are those of the Unicode property Sentence_Break, so stops of every script are
known. The default rules of UAX 29 do not recognize a full stop after an abbreviation, an initial or an ordinal; lists
and the following word decide about it. No data and no training are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treebank.tokenize.word_lists import MAY_END, NUMBERED, STARTERS, TITLES, compiled, takes_stop

_WITH_SPACE = r".!?\u2026\u203c\u2047-\u2049"  # terminals of scripts with spaces: white space must follow
_PATTERN = rf"""
    (?P<stop>[{_WITH_SPACE}]+) (?P<closers>[\p{{Pe}}\p{{Pf}}"'“‘]*) (?P<space>\s+)
  | (?: (?<=\p{{Greek}})[;\u037e] | (?<=\p{{Armenian}}): ) [\p{{Pe}}\p{{Pf}}"']* \s+
  | (?: [\p{{Sentence_Break=STerm}}\u0f0d-\u0f12--[{_WITH_SPACE}]] [{_WITH_SPACE}]* )+ [\p{{Pe}}\p{{Pf}}"']* \s*
"""
_OPENERS = "\"'\u201c\u2018\u00ab\u201e\u00bf\u00a1([{`\u2013\u2014- "
_LONGEST_ABBREVIATION = 40
_LAST_WORD = r"""[^\s(\[{"'“‘«/]+$"""
_DOTTED = r"(?:\p{L}\p{M}*\.)+\p{L}\p{M}*"  # U.S, a.m, e.g (the last stop is cut off)
_LIST_NUMBER = r"\p{Nd}{1,3}|[ivxlc]{1,5}|[a-zA-Z]"
_ORDINAL_OR_LETTER = r"\p{Nd}{1,2}|\p{Ll}\p{M}*"  # am 3. Oktober, v. Chr.
_CASELESS_INITIAL = r"(?:\p{Lo}\p{M}*){1,2}"  # in a script without capitals


def sentence_spans(text: str, *, english: bool = False) -> Iterator[tuple[int, int]]:
    """The half-open character span of each sentence of one paragraph, without the white space around it."""
    start = 0
    for match in compiled(_PATTERN).finditer(text):
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
    if lower in MAY_END or compiled(_DOTTED).fullmatch(word):
        return not open_word or starts
    return True
