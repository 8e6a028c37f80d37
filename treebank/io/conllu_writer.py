"""CoNLL-U with new heads: everything else that a file or a raw text said is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treebank.core.sentence import ROOT, Sentence
from treebank.io.conllu import BLANK

_BLANKS = re.compile(r"\s+")


class ConlluWriter:
    """Writes sentences one after the other; it counts them from ``first``, for those that have no ``sent_id``."""

    def __init__(self, first: int = 1) -> None:
        self._count = first - 1

    def __call__(self, sentence: Sentence, heads: Sequence[int], *, words: Sequence[str] | None = None) -> str:
        """One sentence with ``heads``; its last line is the blank one that ends it.

        A sentence with an ``annotation`` keeps its comments, ranges, empty nodes and columns: HEAD is replaced, and
        DEPREL (``root``, ``dep``) where that changed anything. Any other gets ``# sent_id``, ``# text`` and, from raw
        text, ``SpaceAfter=No``. ``words`` are given where they are not those of the sentence but its characters. For no
        words there is nothing but the blank line.
        """
        words = sentence.words if words is None else words
        self._count += 1
        if not words:
            return ""
        annotation = sentence.annotation
        if annotation is None or len(words) != len(sentence.words):
            return self._plain(sentence, words, heads)
        comments = list(annotation.comments)
        if annotation.comment("sent_id") is None:
            comments.append(f"# sent_id = {self._count}")
        if annotation.comment("text") is None:
            comments.append(f"# text = {annotation.text()}")
        rows = ["\t".join(row) for row in _with_heads(annotation.rows, sentence.heads, heads)]
        return "\n".join([*comments, *rows]) + "\n"

    def _plain(self, sentence: Sentence, words: Sequence[str], heads: Sequence[int]) -> str:
        forms = [word.replace(BLANK, " ") for word in words]
        surface = sentence.surface if len(words) == len(sentence.words) else None
        spaced = surface.spaced() if surface else [True] * len(words)
        text = _BLANKS.sub(" ", surface.text) if surface else " ".join(forms)
        rows = [
            f"{i}\t{form}\t_\t_\t_\t_\t{head + 1}\t{_relation(head)}\t_\t{'_' if space else 'SpaceAfter=No'}"
            for i, (form, head, space) in enumerate(zip(forms, heads, spaced, strict=True), 1)
        ]
        return "\n".join([f"# sent_id = {self._count}", f"# text = {text}", *rows]) + "\n"


def _relation(head: int) -> str:
    return "root" if head == ROOT else "dep"


def _with_heads(rows: Sequence[tuple[str, ...]], old: Sequence[int], heads: Sequence[int]) -> list[tuple[str, ...]]:
    """The rows with new heads in those of words; where head and root-ness stay, so does the relation."""
    if tuple(old) == tuple(heads):
        return list(rows)
    word = 0
    changed: list[tuple[str, ...]] = []
    for row in rows:
        if not row[0].isdecimal():
            changed.append(row)
            continue
        head = heads[word]
        changed.append((*row[:6], str(head + 1), _relation(head), *row[8:]))
        word += 1
    return changed
