"""Width of text in pictures and terminals, writing direction, and fonts by script."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# widths in ems of the printable ASCII characters in a wide sans-serif face (DejaVu Sans); narrower faces leave room
_ASCII = {
    0.30: "'ijlIJ",
    0.36: ",./:;\\|-f ",
    0.42: "!()[]tr",
    0.52: '"*_`sz',
    0.56: "?cLFk",
    0.62: "PvxyTYaeo",
    0.65: "$0123456789ESbdghnpqu{}K",
    0.76: "ABVXZCRNUH",
    0.86: "&DGOQw#+<=>^~M",
    1.00: "%Wm@",
}
_WIDTHS = {character: width for width, characters in _ASCII.items() for character in characters}
# widths in ems of letters by the beginning of their Unicode name: the ninth decile of the Noto faces
_SCRIPTS = {
    "THAI": 0.7,
    "HEBREW": 0.7,
    "GREEK": 0.82,
    "CYRILLIC": 0.9,
    "LATIN SMALL": 0.68,
    "LATIN CAPITAL": 0.86,
    "TAMIL": 1.5,
    "MALAYALAM": 1.5,
    "SINHALA": 1.3,
    "MYANMAR": 1.15,
}
_OTHER_LETTER = 0.95

#: beginning of a letter's Unicode name -> fonts that have its script: Noto's, then those of macOS and Windows
FONTS = {
    "ARABIC": ("Noto Sans Arabic", "Geeza Pro", "Segoe UI", "DejaVu Sans"),
    "HEBREW": ("Noto Sans Hebrew", "Arial Hebrew", "Segoe UI", "DejaVu Sans"),
    "DEVANAGARI": ("Noto Sans Devanagari", "Kohinoor Devanagari", "Nirmala UI"),
    "BENGALI": ("Noto Sans Bengali", "Kohinoor Bangla", "Nirmala UI"),
    "TAMIL": ("Noto Sans Tamil", "Tamil Sangam MN", "Nirmala UI"),
    "TELUGU": ("Noto Sans Telugu", "Kohinoor Telugu", "Nirmala UI"),
    "GUJARATI": ("Noto Sans Gujarati", "Kohinoor Gujarati", "Nirmala UI"),
    "MALAYALAM": ("Noto Sans Malayalam", "Malayalam Sangam MN", "Nirmala UI"),
    "SINHALA": ("Noto Sans Sinhala", "Sinhala Sangam MN", "Nirmala UI"),
    "THAI": ("Noto Sans Thai", "Thonburi", "Leelawadee UI"),
    "KHMER": ("Noto Sans Khmer", "Khmer Sangam MN", "Leelawadee UI"),
    "MYANMAR": ("Noto Sans Myanmar", "Myanmar Sangam MN", "Myanmar Text"),
    "ETHIOPIC": ("Noto Sans Ethiopic", "Kefa", "Ebrima"),
    "HANGUL": ("Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic"),
    "HIRAGANA": ("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic"),
    "KATAKANA": ("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic"),
    "CJK": ("Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei"),
}
LATIN_FONTS = ("Noto Sans", "DejaVu Sans", "Helvetica Neue", "Arial", "Liberation Sans")


def em_width(text: str) -> float:
    """Upper bound of the width of ``text`` in ems, since the font is unknown."""
    return sum(map(_em, text))


@lru_cache(maxsize=1 << 14)
def _em(character: str) -> float:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    name = unicodedata.name(character, "")
    return next((width for beginning, width in _SCRIPTS.items() if name.startswith(beginning)), _OTHER_LETTER)


def runs_right_to_left(words: Iterable[str]) -> bool:
    """Whether most of the letters are of a script that is written from right to left."""
    kinds = [unicodedata.bidirectional(character) for word in words for character in word]
    rightward, leftward = kinds.count("L"), kinds.count("R") + kinds.count("AL")
    return leftward > rightward


@lru_cache(maxsize=1 << 12)
def fonts_for(text: str, preferred: str = "") -> tuple[str, ...]:
    """Font families to try for ``text``: the ``preferred`` one, those of its first letter that is not Latin, others."""
    if preferred:
        return (preferred, *fonts_for(text))
    for character in text:
        if character > "\u036f":
            name = unicodedata.name(character, "")
            for beginning, families in FONTS.items():
                if name.startswith(beginning):
                    return (*families, *LATIN_FONTS)
    return LATIN_FONTS
