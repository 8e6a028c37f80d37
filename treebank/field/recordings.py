"""Transcripts of recordings: ELAN (``.eaf``), CHAT (``.cha``) and subtitles (``.srt``, ``.vtt``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from treebank.base.arguments import ignore
from treebank.core.sentence import Location, Sentence
from treebank.field.glossed import sentences_of_text
from treebank.graphs.xml_elements import read_elements
from treebank.io.lines import open_lines
from treebank.io.source import AnyPath, Source

_TIMES = re.compile(r"[0-9:.,]+ +--> ")
_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_CHAT_CODES = re.compile(
    r"\x15[^\x15]*\x15|\[[^\]]*\]|[<>]|\+[^\s]*|(?:&|0)[^\s]+|\b(?:xxx|yyy|www)\b|(?<=\w)@\S+|[()]"
)


def read_elan(path: AnyPath, *, rule: str = "", notify: Callable[[str], None] = ignore) -> Iterator[Sentence]:
    """The annotations of the first tier of an ELAN file that has any. ``notify`` is called with its name."""
    source = Source.of(path)
    first = ""
    names: list[str] = []
    for line, tier in read_elements(source, "TIER"):
        texts = [value.text for value in tier.iter("ANNOTATION_VALUE") if value.text and value.text.strip()]
        names += [tier.get("TIER_ID", "")] * bool(texts)
        if texts and len(names) == 1:
            first = names[0]
            for text in texts:
                yield from sentences_of_text(text, rule, Location(source.path, line))
    if len(names) > 1:
        notify(f"{source.path}: the tier {first!r} is read, and {len(names) - 1} others are left out: {names[1:]}")


def read_chat(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The utterances of a CHAT transcript, without headers, dependent tiers and codes."""
    source = Source.of(path)
    number, text = 0, ""
    for line_number, line in open_lines(source):
        if line.startswith("\t"):
            text += " " + line if number else ""
            continue
        yield from _utterance(text, rule, Location(source.path, number))
        is_utterance = line.startswith("*")
        number, text = (line_number, line.partition(":")[2]) if is_utterance else (0, "")
    yield from _utterance(text, rule, Location(source.path, number))


def _utterance(text: str, rule: str, location: Location) -> Iterator[Sentence]:
    if plain := re.sub(r"(?<=\w)\((\w+)\)|\((\w+)\)(?=\w)", r"\1\2", text).strip():
        plain = " ".join(_CHAT_CODES.sub("", plain).split())
        if any(map(str.isalnum, plain)):
            yield from sentences_of_text(plain, rule, location)


def read_subtitles(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The subtitles of a file, each as one text, without numbers, times and markup."""
    source = Source.of(path)
    number, parts = 0, list[str]()
    for line_number, line in open_lines(source):
        if _TIMES.match(line):
            number, parts = line_number, []
        elif line.strip() and number:
            parts.append(_MARKUP.sub("", line))
        elif number:
            yield from sentences_of_text(" ".join(parts), rule, Location(source.path, number))
            number = 0
    if number and parts:
        yield from sentences_of_text(" ".join(parts), rule, Location(source.path, number))
