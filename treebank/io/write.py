"""Writers of sentences: brackets, spans and distances as JSON lines, CoNLL-U with its other annotation, and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treebank.base.errors import TreebankError
from treebank.base.metadata import json_text
from treebank.core.distances import distances_from_tree, path_lengths
from treebank.core.relations import with_relations
from treebank.core.sentence import ROOT, Annotation, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.conllu import BLANK

#: from sentences and the name of the head rules to one string per sentence, without the final line end
Writer = Callable[[Iterable[Sentence], str], Iterator[str]]


def text_line(words: Sequence[str]) -> str:
    """Words separated by spaces. A space in a word becomes U+00A0."""
    return " ".join(word.replace(" ", "\u00a0") for word in words)


def names_of(sentence: Sentence) -> dict[str, str]:
    """The comments ``sent_id`` and ``newdoc id`` of CoNLL-U, if there are any, as entries of JSON."""
    name = sentence.annotation.comment("sent_id") if sentence.annotation else ""
    return {key: text for key, text in (("id", name), ("document", sentence.document)) if text}


def write_text(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """The words of each sentence."""
    return (text_line(sentence.words) for sentence in sentences)


def write_brackets(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """The tree of each sentence in one line, "" for no words. Raises TreebankError for a sentence without a tree."""
    lines = (str(tree_of(sentence)) for sentence in sentences)
    return (line if line[:1] in ("(", "") else f"({line})" for line in lines)  # a single word without a tag


def write_spans(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words and spans of each tree as a JSON line, with tags and labels if there are any."""
    for sentence in sentences:
        tree = tree_of(sentence)
        value: dict[str, object] = {"words": tree.words, "spans": tree.spans}
        has_labels = TRACE in tree.tags or tree != tree.without_labels()
        yield json_text(value | {"labels": tree.labels, "tags": tree.tags} if has_labels else value)


def write_distances(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words and syntactic distances of each tree as a JSON line: heights in the right-binarized tree."""
    return (_distance_line(tree_of(sentence), distances_from_tree) for sentence in sentences)


def write_path_lengths(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words of each tree as a JSON line, with the number of edges between neighbors as distances."""
    return (_distance_line(tree_of(sentence), path_lengths) for sentence in sentences)


def _distance_line(tree: Tree, measure: Callable[[Tree], list[int]]) -> str:
    tree = tree.without_traces()  # a line has no tags, so an empty element would become a word
    return json_text({"words": tree.words, "distances": measure(tree)})


def write_conllu(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Each sentence in CoNLL-U, without sentences that have no words.

    The heads of trees follow the head ``rules``, and their relations have names if these are `RULES`.
    """
    writer = ConlluWriter()
    for sentence in sentences:
        if sentence.tree is None and not sentence.words:
            continue
        if sentence.tree is None and not sentence.heads and sentence.annotation and sentence.annotation.rows:
            yield writer(sentence, ())  # words with glosses, or columns without heads
            continue
        if not sentence.heads:
            sentence = with_relations(sentence.with_tree(tree_of(sentence)), rules)
        if sentence.heads:
            yield writer(sentence, sentence.heads, relations=sentence.relations)


def tree_of(sentence: Sentence) -> Tree:
    """The tree of a sentence. Raises TreebankError if it has none."""
    if sentence.tree is None:
        problem = "this sentence has no tree; it can be written as text, and as conllu if it has heads"
        raise TreebankError(*sentence.location, problem)
    return sentence.tree


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
        if annotation is None or not annotation.rows or len(words) != len(sentence.words):
            return self._plain(sentence, words, heads, notes, relations)
        comments = self._comments(annotation)
        if annotation.comment("text") is None:
            comments.append(f"# text = {annotation.text()}")
        written = [row[7] for row in annotation.rows if row[0].isdecimal()]  # `sentence` may have other relations
        has_new_relations = bool(relations) and [relation or "_" for relation in relations] != written
        is_new = self._predicted or has_new_relations or tuple(sentence.heads) != tuple(heads)
        relations = relations or [_relation(head) for head in heads]
        rows = _with_heads(annotation.rows, heads, relations, notes) if is_new else annotation.rows
        return "\n".join([*comments, *map("\t".join, rows)]) + "\n"

    def _comments(self, annotation: Annotation | None) -> list[str]:
        """The comments of a sentence, with a ``sent_id``."""
        name = annotation.comment("sent_id") if annotation else None
        if name and name.isdecimal():
            self._count = max(self._count, int(name))  # so that no sentence without an id gets this one
        comments = list(annotation.comments) if annotation else []
        return comments if name is not None else [*comments, f"# sent_id = {self._count}"]

    def _plain(
        self,
        sentence: Sentence,
        words: Sequence[str],
        heads: Sequence[int],
        notes: Sequence[str],
        relations: Sequence[str],
    ) -> str:
        forms = [word.replace(BLANK, " ") for word in words]
        surface, annotation = (
            (sentence.surface, sentence.annotation) if len(words) == len(sentence.words) else (None, None)
        )
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
        return "\n".join([*self._comments(annotation), f"# text = {text}", *rows]) + "\n"


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
    result = []
    for row in rows:
        if row[0].isdecimal():
            head, relation, note = next(words)
            result.append((*row[:6], str(head + 1), relation or "_", "_", _with_note(row[9], note)))
        elif "." not in row[0]:
            result.append(row)
    return result


def _with_note(misc: str, note: str) -> str:
    """The column MISC with one more entry, which replaces an entry of the same name."""
    if not note:
        return misc
    name = note.partition("=")[0] + "="
    return "|".join([entry for entry in misc.split("|") if entry != "_" and not entry.startswith(name)] + [note])
