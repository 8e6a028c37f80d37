"""Pseudo-words: entries of a vocabulary for classes of unknown words.

There are two methods: shape and last letters, or the classes that the Berkeley parser assigns to English words. The
latter are common in language models of treebanks (Dyer et al. 2016; Du et al. 2020, PTB-Sepsent).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

SHAPE, BERKELEY = "<unk:", "<unk-"  # prefixes of the pseudo-words of each method
MAX_SUFFIX_LETTERS = 3
MIN_COUNT = 10  # occurrences of rare words with a pseudo-word of shape and suffix
ENDINGS = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")  # the first ending that matches is used
MIN_LETTERS = 5  # letters of a word with one of these endings


def shapes(word: str) -> list[str]:
    """Pseudo-words of ``word``, most specific first: ``<unk:C-ing>`` … ``<unk:C>``.

    The shape is ``0`` for a word with a digit, ``A`` for two or more letters in capitals, ``C`` for an initial capital,
    ``h`` for a hyphen within the word, else ``w``. It is followed by the last letters, in lower case.
    """
    if any(character.isdigit() for character in word):
        shape = "0"
    elif len(word) > 1 and word.isupper():
        shape = "A"
    elif word[:1].isupper():
        shape = "C"
    else:
        shape = "h" if "-" in word[1:-1] else "w"
    lower = word.lower()
    suffixes = [lower[-length:] for length in range(MAX_SUFFIX_LETTERS, 0, -1) if len(lower) > length]
    return [f"<unk:{shape}-{suffix}>" for suffix in suffixes] + [f"<unk:{shape}>"]


def berkeley_classes(word: str) -> list[str]:
    """Berkeley classes of ``word``, most specific first: ``<unk-CAPS-NUM>``, ``<unk-CAPS>``.

    A class consists of capitals, digits, a hyphen and an English ending. Unlike in the Berkeley parser, the position in
    the sentence has no effect: its classes INITC and INITC-KNOWNLC, for first words, are CAPS here.
    """
    lower = word.lower()
    has_digit, has_dash = any(map(str.isdigit, word)), "-" in word
    capitals = sum(character.isupper() or character.istitle() for character in word)
    parts = []
    if capitals and (word[:1].isupper() or word[:1].istitle() or not word[:1].isalpha()):
        parts.append("CAPS")
    elif any(map(str.islower, word)):
        parts.append("LC")
    parts += ["NUM"] * has_digit + ["DASH"] * has_dash
    if len(word) >= 3 and lower.endswith("s"):
        parts += ["s"] * (lower[-2] not in "siu")
    elif len(word) >= MIN_LETTERS and not has_dash and not (has_digit and capitals):
        parts += [ending for ending in ENDINGS if lower.endswith(ending)][:1]
    return [f"<unk-{'-'.join(parts[:count])}>" for count in range(len(parts), 0, -1)]


def pseudo_words(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """Pseudo-words (`shapes`) of the words that in lower case are not in ``plain``, most frequent first."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        if word.lower() not in plain:
            for pseudo in shapes(word):
                totals[pseudo] += count
    names = [pseudo for pseudo, count in totals.items() if count >= MIN_COUNT or "-" not in pseudo]
    names += [f"<unk:{shape}>" for shape in "0AChw" if f"<unk:{shape}>" not in names]
    return sorted(names, key=lambda pseudo: (-totals[pseudo], pseudo))


def classes_of_rare_words(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """Most specific `berkeley_classes` of the words that are not in ``plain``, most frequent first."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        if word not in plain:
            for name in berkeley_classes(word)[:1]:
                totals[name] += count
    return sorted(totals, key=lambda name: (-totals[name], name))
