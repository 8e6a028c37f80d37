"""The classes of words that are not in the vocabulary: pseudo-words, which are ordinary entries of it.

Two ways: by shape and last letters, and the classes that the Berkeley parser gives to English words, which language
models of treebanks take (Dyer et al. 2016; Du et al. 2020, PTB-Sepsent).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

SHAPE, BERKELEY = "<unk:", "<unk-"  # how the pseudo-words of each way begin
LONGEST_SUFFIX = 3
LEAST_SEEN = 10  # rare words that a pseudo-word of shape and suffix stands for
ENDINGS = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")  # in the order in which Berkeley's are tried
SHORTEST = 5  # letters of a word whose ending is told


def shapes(word: str) -> list[str]:
    """The pseudo-words that ``word`` may have, the one that says most of it first: ``<unk:C-ing>`` … ``<unk:C>``.

    The shape is ``0`` for a word with a digit, ``A`` for more than one letter all in capitals, ``C`` for a capital in
    front, ``h`` for a hyphen within, else ``w``; then come the last letters, in lower case.
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
    suffixes = [lower[-length:] for length in range(LONGEST_SUFFIX, 0, -1) if len(lower) > length]
    return [f"<unk:{shape}-{suffix}>" for suffix in suffixes] + [f"<unk:{shape}>"]


def berkeley_classes(word: str) -> list[str]:
    """The classes that ``word`` may have, the one that says most of it first: ``<unk-CAPS-NUM>``, ``<unk-CAPS>``.

    Capitals, digits, a hyphen and English endings make a class. Of what the parser looks at, the place in the sentence
    is left out: its INITC and INITC-KNOWNLC, for first words, are CAPS here.
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
    elif len(word) >= SHORTEST and not has_dash and not (has_digit and capitals):
        parts += [ending for ending in ENDINGS if lower.endswith(ending)][:1]
    return [f"<unk-{'-'.join(parts[:count])}>" for count in range(len(parts), 0, -1)]


def pseudo_words(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """The pseudo-words by `shapes` of the words that are not ``plain`` in lower case; frequent ones first."""
    seen: Counter[str] = Counter()
    for word, count in counts.items():
        if word.lower() not in plain:
            for pseudo in shapes(word):
                seen[pseudo] += count
    kept = [pseudo for pseudo, count in seen.items() if count >= LEAST_SEEN or "-" not in pseudo]
    kept += [f"<unk:{shape}>" for shape in "0AChw" if f"<unk:{shape}>" not in kept]
    return sorted(kept, key=lambda pseudo: (-seen[pseudo], pseudo))


def classes_seen(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """The `berkeley_classes` of the words that are not ``plain``, each word's first; frequent ones first."""
    seen: Counter[str] = Counter()
    for word, count in counts.items():
        if word not in plain:
            for name in berkeley_classes(word)[:1]:
                seen[name] += count
    return sorted(seen, key=lambda name: (-seen[name], name))
