"""Interlinear texts in XML: FLEx (``.flextext``) and Pangloss."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from treebank.core.sentence import Location, Sentence
from treebank.field.glossed import glossed, sentences_of_text
from treebank.graphs.xml_elements import read_elements
from treebank.io.source import AnyPath, Source

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_flextext(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The phrases of a FLEx text: words and punctuation with glosses and morphemes, and free translations.

    A phrase that is not divided into words is split at spaces, or by a ``rule`` of `treebank.tokenize`.
    """
    source = Source.of(path)
    for line, phrase in read_elements(source, "phrase"):
        location = Location(source.path, line)
        words = [word for word in phrase.iter("word") if _item(word, "txt", "punct")]
        translations = {item.get("lang", "und"): item.text for item in phrase.findall("item") if _is_gloss(item)}
        if not words:
            yield from sentences_of_text(_item(phrase, "txt"), rule, location)
            continue
        yield glossed(
            [_item(word, "txt", "punct") for word in words],
            location,
            glosses=[_item(word, "gls") or _morphs(word, "gls") for word in words],
            morphemes=[_morphs(word, "txt") for word in words],
            translations={name: text for name, text in translations.items() if text},
        )


def _is_gloss(item: Element) -> bool:
    return item.get("type") in ("gls", "lit") and bool((item.text or "").strip())


def _item(element: Element, *types: str) -> str:
    """The text of the first item of one of the ``types``."""
    return next((item.text or "" for item in element.findall("item") if item.get("type") in types), "").strip()


def _morphs(word: Element, kind: str) -> str:
    """The items of the morphemes of a word, joined by hyphens unless they have their own."""
    return _joined([_item(morph, kind) for morph in word.iter("morph")])


def _joined(parts: list[str]) -> str:
    result = ""
    for part in filter(None, parts):
        glue = "" if not result or result[-1] in "-=" or part[0] in "-=" else "-"
        result += glue + part
    return result


def read_pangloss(path: AnyPath, *, rule: str = "") -> Iterator[Sentence]:
    """The sentences of a Pangloss text: words with glosses and morphemes, and free translations.

    A sentence that is not divided into words is split at spaces, or by a ``rule`` of `treebank.tokenize`.
    """
    source = Source.of(path)
    for line, sentence in read_elements(source, "S"):
        location = Location(source.path, line)
        words = [word for word in sentence.iter("W") if _forms(word, "FORM")]
        if not words:
            yield from sentences_of_text(sentence.findtext("FORM") or "", rule, location)
            continue
        translations = {
            item.get(_LANGUAGE, item.get("xml:lang", "und")): item.text for item in sentence.findall("TRANSL")
        }
        yield glossed(
            [_forms(word, "FORM").replace("-", "") for word in words],
            location,
            glosses=[_forms(word, "TRANSL") for word in words],
            morphemes=[_forms(word, "FORM") for word in words],
            translations={name: text for name, text in translations.items() if text},
        )


def _forms(word: Element, name: str) -> str:
    """The text of a word or, if there is none, of its morphemes."""
    text = (word.findtext(name) or "").strip()
    return text or _joined([(morph.findtext(name) or "").strip() for morph in word.iter("M")])
