"""Sentences with glosses, morphemes and free translations, which are kept as in CoNLL-U: in MISC and in comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treebank.core.sentence import Annotation, Location, Sentence
from treebank.io.conllu import BLANK
from treebank.io.text import split_words
from treebank.tokenize import tokenization


def glossed(
    words: Sequence[str],
    location: Location,
    *,
    glosses: Sequence[str] = (),
    morphemes: Sequence[str] = (),
    translations: Mapping[str, str] | None = None,
) -> Sentence:
    """A sentence with a gloss and the morphemes of each word, "" for none, and translations by language.

    Glosses and morphemes become ``Gloss=`` and ``MSeg=`` in MISC, translations comments ``# text_en = …``.
    """
    forms = [BLANK.join(word.split()) for word in words]
    lists = {"Gloss": glosses or [""] * len(forms), "MSeg": morphemes or [""] * len(forms)}
    rows = []
    for i, form in enumerate(forms):
        entries = [f"{name}={_cell(values[i])}" for name, values in lists.items() if values[i].strip()]
        rows.append((str(i + 1), form.replace(BLANK, " "), *["_"] * 7, "|".join(entries) or "_"))
    comments = [f"# text_{language} = {' '.join(text.split())}" for language, text in (translations or {}).items()]
    return Sentence(tuple(forms), location=location, annotation=Annotation(tuple(comments), tuple(rows)))


def _cell(text: str) -> str:
    return "_".join(text.split()).replace("|", "/")


def sentences_of_text(text: str, rule: str, location: Location) -> Iterator[Sentence]:
    """The sentences of a text without glosses, split at spaces or by a ``rule`` of `treebank.tokenize`."""
    if not rule:
        yield Sentence(split_words(" ".join(text.split())), location=location)
        return
    for surface in tokenization(rule).surfaces(" ".join(text.split())):
        words = tuple(surface.text[start:end] for start, end in surface.spans)
        yield Sentence(words, location=location, surface=surface)
