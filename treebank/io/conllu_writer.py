"""Writer of CoNLL-U with new heads. The other annotation of a file or raw text is preserved."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treebank.core.sentence import ROOT, Sentence
from treebank.io.conllu import BLANK

NO_TAGS = frozenset(["", "W"])  # of words without a part of speech
_WHITE_SPACE = re.compile(r"\s+")


class ConlluWriter:
    """Writer of consecutive sentences, which are counted from ``first`` for sentences without a ``sent_id``.

    With ``predicted``, every DEPREL is replaced, since the relations of the input do not belong to predicted heads.
    Otherwise a sentence whose heads do not change keeps its relations.
    """

    def __init__(self, first: int = 1, *, predicted: bool = False) -> None:
        self._count, self._predicted = first - 1, predicted

    def __call__(
        self,
        sentence: Sentence,
        heads: Sequence[int],
        *,
        words: Sequence[str] | None = None,
        notes: Sequence[str] = (),
        relations: Sequence[str] = (),
    ) -> str:
        """One sentence with ``heads``, followed by a blank line, or only the blank line if there are no words.

        A sentence with an ``annotation`` keeps its comments, ranges and columns except HEAD, DEPREL (``root``, ``dep``)
        and DEPS (``_``), and loses its empty nodes; if heads and relations are its own, nothing changes. Any other
        sentence gets ``# sent_id``, ``# text``, its tags and, if it comes from raw text, ``SpaceAfter=No``. ``words``
        are the characters of the sentence if these are the parsed units. ``notes`` are entries to add to MISC, one for
        each word, or "" for none. ``relations`` replace those of the sentence, and ``root`` and ``dep``.
        """
        words = sentence.words if words is None else words
        notes = notes or [""] * len(words)
        self._count += 1
        if not words:
            return ""
        annotation = sentence.annotation
        if annotation is None or len(words) != len(sentence.words):
            return self._plain(sentence, words, heads, notes, relations)
        comments = list(annotation.comments)
        if annotation.comment("sent_id") is None:
            comments.append(f"# sent_id = {self._count}")
        if annotation.comment("text") is None:
            comments.append(f"# text = {annotation.text()}")
        written = [row[7] for row in annotation.rows if row[0].isdecimal()]  # `sentence` may have other relations
        has_new_relations = bool(relations) and [relation or "_" for relation in relations] != written
        is_new = self._predicted or has_new_relations or tuple(sentence.heads) != tuple(heads)
        relations = relations or [_relation(head) for head in heads]
        rows = _with_heads(annotation.rows, heads, relations, notes) if is_new else annotation.rows
        return "\n".join([*comments, *map("\t".join, rows)]) + "\n"

    def _plain(
        self,
        sentence: Sentence,
        words: Sequence[str],
        heads: Sequence[int],
        notes: Sequence[str],
        relations: Sequence[str],
    ) -> str:
        forms = [word.replace(BLANK, " ") for word in words]
        surface = sentence.surface if len(words) == len(sentence.words) else None
        spaced = surface.spaced() if surface else [True] * len(words)
        text = _WHITE_SPACE.sub(" ", surface.text) if surface else " ".join(forms)
        if not relations and not self._predicted and tuple(sentence.heads) == tuple(heads):
            relations = sentence.relations
        relations = relations or [_relation(head) for head in heads]
        misc = [_with_note("_" if space else "SpaceAfter=No", note) for space, note in zip(spaced, notes, strict=True)]
        columns = (forms, _cells(sentence.universal_tags, words), _cells(sentence.tags, words), heads, relations, misc)
        rows = [
            f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head + 1}\t{relation or '_'}\t_\t{entry}"
            for i, (form, upos, xpos, head, relation, entry) in enumerate(zip(*columns, strict=True), 1)
        ]
        return "\n".join([f"# sent_id = {self._count}", f"# text = {text}", *rows]) + "\n"


def _cells(tags: Sequence[str], words: Sequence[str]) -> list[str]:
    """A cell for each word: its tag, or ``_`` if there are none, as in trees of `parse`."""
    has_tags = len(tags) == len(words) and not NO_TAGS.issuperset(tags)
    return [tag or "_" for tag in tags] if has_tags else ["_"] * len(words)


def _relation(head: int) -> str:
    return "root" if head == ROOT else "dep"


def _with_heads(
    rows: Sequence[tuple[str, ...]], heads: Sequence[int], relations: Sequence[str], notes: Sequence[str]
) -> list[tuple[str, ...]]:
    """The rows with new heads, relations and notes for the words.

    The enhanced graph belongs to the old heads, so DEPS is emptied and empty nodes are left out.
    """
    words = zip(heads, relations, notes, strict=True)
    return [_with_head(row, *next(words)) if row[0].isdecimal() else row for row in rows if "." not in row[0]]


def _with_head(row: tuple[str, ...], head: int, relation: str, note: str) -> tuple[str, ...]:
    return (*row[:6], str(head + 1), relation or "_", "_", _with_note(row[9], note))


def _with_note(misc: str, note: str) -> str:
    """The column MISC with one more entry, which replaces an entry of the same name."""
    if not note:
        return misc
    name = note.partition("=")[0] + "="
    return "|".join([entry for entry in misc.split("|") if entry != "_" and not entry.startswith(name)] + [note])
