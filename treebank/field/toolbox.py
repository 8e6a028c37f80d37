"""Texts of Toolbox in lines of field markers (SFM): ``\\tx`` the words, ``\\mb`` morphemes, ``\\ge`` glosses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from treebank.core.sentence import Location, Sentence
from treebank.field.glossed import glossed
from treebank.io.lines import open_lines
from treebank.io.source import AnyPath, Source

_FIELD = re.compile(r"\\([A-Za-z_]+) ?(.*)")
_MORPHEMES, _GLOSSES, _TRANSLATION = ("mb", "mr"), ("ge", "gl", "gls", "g"), ("ft", "f", "free")


def read_toolbox(path: AnyPath) -> Iterator[Sentence]:
    """The sentences of a text: a record begins with ``\\ref`` or with ``\\tx`` after a translation.

    Glosses and morphemes are kept if there are as many as words. Morphemes with a hyphen or ``=`` at an edge join the
    word next to them.
    """
    source = Source.of(path)
    record: dict[str, list[str]] = defaultdict(list)
    first, name = 0, ""
    for number, line in open_lines(source):
        match = _FIELD.fullmatch(line.rstrip())
        if match is None:
            if name:
                record[name].append(line)
            continue
        name, text = match.groups()
        if name in ("ref", "id") or (name == "tx" and any(key in record for key in _TRANSLATION)):
            yield from _sentence(record, Location(source.path, first))
            record = defaultdict(list)
        first = number if name == "tx" and "tx" not in record else first
        record[name].append(text)
    yield from _sentence(record, Location(source.path, first))


def _sentence(record: dict[str, list[str]], location: Location) -> Iterator[Sentence]:
    words = " ".join(record.get("tx", ())).split()
    if not words:
        return
    glosses, morphemes = _fitting(record, _GLOSSES, len(words)), _fitting(record, _MORPHEMES, len(words))
    translation = next((" ".join(record[key]) for key in _TRANSLATION if record.get(key)), "")
    translations = {"en": translation} if translation.strip() else {}
    yield glossed(words, location, glosses=glosses, morphemes=morphemes, translations=translations)


def _fitting(record: dict[str, list[str]], keys: tuple[str, ...], count: int) -> list[str]:
    """The tokens of the first field of ``keys``, joined to as many groups as words, or none."""
    groups: list[str] = []
    for token in " ".join(next((record[key] for key in keys if key in record), [])).split():
        if groups and (token[0] in "-=" or groups[-1][-1] in "-="):
            groups[-1] += token
        else:
            groups.append(token)
    return groups if len(groups) == count else []
