"""A sentence splitter made of rules; it needs no data and no training."""

from __future__ import annotations

import re

# A stop with the quotes and brackets that close after it, before white space; or a full-width stop anywhere.
_STOP = re.compile(
    r"""(?P<stop>[.!?\u2026\u0964\u061f\u06d4]+)(?P<closers>["'\u201d\u2019\u00bb)\]}]*)(?P<space>\s+)"""
    r"""|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09\u3011\u300b)"']*\s*"""
)
_OPENERS = "\"'\u201c\u2018\u00ab\u201e\u00bf\u00a1([{`\u2013\u2014- "
_LAST_WORD = re.compile(r"[^\s(\[{\"'\u201c\u2018\u00ab/]+$")
_LONGEST_ABBREVIATION = 40
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")  # U.S, a.m, e.g (the last stop is cut off)
_LIST_NUMBER = re.compile(r"(?:\d{1,3}|[ivxlc]{1,5}|[a-zA-Z])")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name or a number follows.
_TITLES = _set(
    """
    mr mrs ms mx messrs dr drs prof rev hon fr sr sra srta mme mlle st sen rep gov gen lt col maj capt cpl
    sgt cmdr adm pres supt det insp hr dhr herr ing mag dipl vs cf viz ca al approx esp eg ie bzw z.b d.h u.a
    """
)
# Before a number only: Fig. 3, No. 5, pp. 12-14.
_NUMBERED = _set(
    """
    no nos nr fig figs eq eqs p pp vol vols ch chap sec sect art tab ref refs op nn bd abb str cap pag
    """
)
# May end a sentence; they do where a word follows that often begins one.
_MAY_END = _set(
    """
    inc corp co ltd bros llc plc jr sr esq etc ph.d m.d b.a m.a jan feb mar apr jun jul aug sep sept oct nov
    dec mon tue tues wed thu thur thurs fri sat sun dept univ assn ave blvd rd mt ft min max est dist ed eds
    rev usw evtl ggf resp sp spp var subsp ala ariz ark calif colo conn del fla ga ill ind kan ky la md mass
    mich minn miss mo mont neb nev okla ore pa penn tenn tex va vt wash wis wyo
    """
)
_STARTERS = _set(
    """
    the a an this that these those he she it they we you i in on at by for from with to of as if when while
    after before but and or so yet however then there here what who why how where his her its their our my
    your mr mrs ms dr no not one some many most all also although since because until once such each every
    both another is are was were do does did can could will would should may might
    """
)


def split_sentences(text: str) -> list[str]:
    """The sentences of one line of running text, without the white space around them; [] for a blank line."""
    sentences = []
    start = 0
    for match in _STOP.finditer(text):
        if match["stop"] is None or _ends_sentence(text, start, match):
            sentences.append(text[start : match.end()].strip())
            start = match.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the stop that ``match`` found ends the sentence that began at ``start``."""
    following = text[match.end() : match.end() + 80].lstrip(_OPENERS)
    if not following:
        return True
    first = following[0]
    if first.islower() or first in ",;:.)]":
        return False  # a sentence does not go on in lower case, whatever the stop
    stop = match["stop"]
    if stop != ".":
        return True
    near = max(start, match.start() - _LONGEST_ABBREVIATION)  # from the start, names in a row take quadratic time
    found = _LAST_WORD.search(text, near, match.start())
    word = found[0] if found else ""
    if found and found.start() == start and not match["closers"] and _LIST_NUMBER.fullmatch(word):
        return False  # "1. Introduction": the number belongs to what follows
    return _stop_after(word, following, bool(match["closers"]))


def _stop_after(word: str, following: str, closed: bool) -> bool:
    """Whether a single full stop after ``word`` ends the sentence, before the upper-case ``following``."""
    lower = word.lower()
    next_word = re.match(r"\w*", following)
    starts = next_word is not None and next_word[0].lower() in _STARTERS
    if lower in _TITLES and not closed:
        return False
    if lower in _NUMBERED and following[0].isdigit():
        return False
    if len(word) == 1 and word.isupper() and not closed:  # an initial: J. Smith (but: "so did I. Then")
        return word == "I" and starts
    if lower in _MAY_END or _DOTTED.fullmatch(word):
        return closed or starts
    return True
