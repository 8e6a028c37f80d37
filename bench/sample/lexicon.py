"""The reader of ``lexicon.txt``: classes of words, their forms, their frequencies."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

HEADER = re.compile(r"\[([a-z>-]+)\] (\S+)")
VERB_FORMS = ("VB", "VBP", "VBZ", "VBD", "VBN", "VBG")
COMPARATIVE_FORMS = ("JJ", "JJR", "JJS")


class WordClass(NamedTuple):
    """Words of one class in one form, most frequent first, and their accumulated weights."""

    words: tuple[str, ...]
    cumulative: tuple[float, ...]
    tag: str


def read_lexicon(text: str) -> dict[str, WordClass]:
    """Word classes by the name that the grammar uses: ``person.sg``, ``give.VBD``, ``manner``."""
    entries: dict[tuple[str, str], list[dict[str, str]]] = {}  # forms of the words, by name and kind of the class
    words: list[dict[str, str]] = []
    kind = ""
    for line in text.splitlines():
        if header := HEADER.fullmatch(line):
            name, kind = header.groups()
            words = entries.setdefault((name, kind), [])
        elif not line.startswith("#"):
            words += [_forms(word, kind) for word in line.split()]
    lexicon: dict[str, WordClass] = {}
    for (name, kind), listed in entries.items():
        # 1 / (r + 1) and plain running sums: exact the same floats on every machine
        cumulative = tuple(accumulate(1 / (rank + 1) for rank in range(1, len(listed) + 1)))
        for form in listed[0]:
            key = name if form == kind else f"{name}.{form}"
            tag = {"sg": "NN", "pl": "NNS"}.get(form, form)
            lexicon[key] = WordClass(tuple(entry[form] for entry in listed), cumulative, tag)
    return lexicon


def _forms(entry: str, kind: str) -> dict[str, str]:
    """The forms of one entry: ``man/men`` as a noun gives ``{"sg": "man", "pl": "men"}``."""
    base, *others = parts = entry.split("/")
    if kind == "noun":
        return {"sg": base, "pl": others[0] if others else _with_s(base)}
    if kind == "verb":
        past, participle = others[:2] if others else (_with_ed(base),) * 2
        gerund = others[2] if len(others) == 3 else _with_ing(base)
        return dict(zip(VERB_FORMS, (base, base, _with_s(base), past, participle, gerund), strict=True))
    if kind == "comparative":
        return dict(zip(COMPARATIVE_FORMS, parts, strict=True))
    return {kind: entry}


def _with_s(word: str) -> str:
    """Plural of a noun, third person of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return word + "es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", word) + "s"


def _with_ed(word: str) -> str:
    """Past tense of a regular verb."""
    return word + "d" if word.endswith("e") else re.sub(r"(?<=[^aeiou])y$", "i", word) + "ed"


def _with_ing(word: str) -> str:
    """Present participle: ``lie`` gives ``lying``, ``take`` gives ``taking``."""
    if word.endswith("ie"):
        return word[:-2] + "ying"
    return (word[:-1] if word.endswith("e") and not word.endswith("ee") else word) + "ing"
