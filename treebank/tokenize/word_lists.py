"""Lists of abbreviations and of words that often begin a sentence, and patterns over Unicode properties."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any


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
