"""The reader of ``lexicon.txt``: classes of words, their forms, their frequencies."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from treebank.base.errors import TreebankError

HEADER = re.compile(r"\[([a-z>-]+)\] (\S+)")
VERB_FORMS = ("VB", "VBP", "VBZ", "VBD", "VBN", "VBG")
COMPARATIVE_FORMS = ("JJ", "JJR", "JJS")


class WordClass(NamedTuple):
    """Words of one class in one form, most frequent first, and their accumulated weights."""

    words: tuple[str, ...]
    cumulative: tuple[float, ...]
    tag: str


def read_lexicon(text: str, path: str = "lexicon.txt") -> dict[str, WordClass]:
    """Word classes by the name that the grammar uses: ``person.sg``, ``give.VBD``, ``manner``.

    Raises TreebankError, with the line, for a malformed entry.
    """
    lines: dict[str, list[dict[str, str]]] = {}
    kinds: dict[str, str] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name = _open_class(line, kinds, path, number)
            lines[name] = []
        elif not name:
            raise TreebankError(path, number, "a word before the first class; start with '[name] kind'")
        else:
            lines[name] += [_forms(word, kinds[name], path, number) for word in line.split()]
    lexicon: dict[str, WordClass] = {}
    for name, entries in lines.items():
        if not entries:
            raise TreebankError(path, 0, f"class [{name}] has no words")
        # 1 / (r + 1) and plain running sums: exact the same floats on every machine
        cumulative = tuple(accumulate(1 / (rank + 1) for rank in range(1, len(entries) + 1)))
        for form in entries[0]:
            words = tuple(entry[form] for entry in entries)
            key = name if form == kinds[name] else f"{name}.{form}"
            lexicon[key] = WordClass(words, cumulative, {"sg": "NN", "pl": "NNS"}.get(form, form))
    return lexicon


def _open_class(line: str, kinds: dict[str, str], path: str, number: int) -> str:
    """The name of the class that ``line`` opens, its kind noted in ``kinds``."""
    match = HEADER.fullmatch(line)
    if match is None:
        raise TreebankError(path, number, f"{line!r} opens no class; write '[name] kind'")
    name, kind = match.groups()
    if name in kinds:
        raise TreebankError(path, number, f"class [{name}] is opened twice")
    kinds[name] = kind
    return name


def _forms(entry: str, kind: str, path: str, number: int) -> dict[str, str]:
    """The forms of one entry: ``man/men`` as a noun gives ``{"sg": "man", "pl": "men"}``."""
    parts = entry.split("/")
    if kind == "noun" and len(parts) <= 2:
        return {"sg": parts[0], "pl": parts[1] if len(parts) == 2 else _with_s(parts[0])}
    if kind == "verb" and len(parts) in (1, 3, 4):
        base = parts[0]
        past, participle = (parts[1], parts[2]) if len(parts) > 1 else (_with_ed(base),) * 2
        gerund = parts[3] if len(parts) == 4 else _with_ing(base)
        return dict(zip(VERB_FORMS, (base, base, _with_s(base), past, participle, gerund), strict=True))
    if kind == "comparative" and len(parts) == 3:
        return dict(zip(COMPARATIVE_FORMS, parts, strict=True))
    if kind.rstrip("$").isupper() and len(parts) == 1:
        return {kind: entry}
    raise TreebankError(path, number, f"{entry!r} is no {kind}: a noun has 1 or 2 forms, a verb 1, 3 or 4")


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
