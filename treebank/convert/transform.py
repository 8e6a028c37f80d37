"""Transformations of trees: binarization, and removal of traces, punctuation, function tags, labels and unary chains.

A step takes a tree and returns a tree, so steps compose: ``binarize(strip_functions(tree.without_traces()), "left")``.
`Transformation` combines the steps that a user names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

from treebank.base.arguments import ignore
from treebank.core.dependency import delete
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tags import bare_label, tags_are_penn, word_mask
from treebank.core.tree import TRACE, Span, Tree

Direction = Literal["left", "right"]
Notify = Callable[[str], None]

ADDED = "@"  # before the label of a bracket that binarization adds
STRIPPED = ("traces", "functions", "punctuation", "labels", "unary")
NOT_PENN = "the tags are not those of the Penn Treebank, so words are tokens with a letter or a digit"


def binarize(tree: Tree, direction: Direction) -> Tree:
    """The tree with brackets of at most two children: ``(A b c d)`` is ``(A b (@A c d))``, or ``(A (@A b c) d)``.

    Brackets with one child stay. Without the brackets whose label begins with ``@``, it is the original tree.
    """
    starts_of = [*(start for start, _ in tree.spans), *range(len(tree))]  # of each bracket and word
    child_starts = [[starts_of[child] for child in children] for children in tree.children()[:-1]]
    added: list[tuple[Span, str]] = []
    for (start, end), label, starts in zip(tree.spans, tree.labels, child_starts, strict=True):
        if direction == "right":
            added += [((inner, end), ADDED + label) for inner in starts[1:-1]]
        else:
            added += [((start, inner), ADDED + label) for inner in starts[2:]]
    if not added:
        return tree
    return Tree.from_brackets(tree.words, tree.tags, [*zip(tree.spans, tree.labels, strict=True), *added])


def strip_functions(tree: Tree) -> Tree:
    """The tree without function tags and indices of phrases, ``NP`` instead of ``NP-SBJ-1`` and ``NP=2``."""
    return replace(tree, labels=tuple(bare_label(label) for label in tree.labels))


def leaves(sentence: Sentence) -> Tree:
    """The tree of a sentence, or its words and tags without brackets if it has no tree."""
    if sentence.tree is not None:
        return sentence.tree
    return Tree(sentence.words, sentence.tags or ("",) * len(sentence.words), (), ())


def words_of(sentence: Sentence, notify: Notify) -> list[bool]:
    """Whether each leaf is a word: by tags of the Penn Treebank, by universal tags, or by its characters.

    These are the rules of the default conventions of scores, decided for each sentence. ``notify`` is called
    with a message if the characters decide.
    """
    tree = leaves(sentence)
    if tags_are_penn(tree.words, tree.tags):
        return word_mask("words+aux" if sentence.tree is None else "words", tree.words, tree.tags)
    if sentence.tree is None and len(sentence.universal_tags) == len(sentence.words):
        return word_mask("upos", sentence.words, sentence.tags, sentence.universal_tags)
    notify(NOT_PENN)
    return word_mask("letters", tree.words, tree.tags)


@dataclass(frozen=True, slots=True)
class Transformation:
    """The changes to each sentence.

    Sentences of more than ``max_length`` words, counted as in scoring, are left out. ``strip`` contains names in
    `STRIPPED`: traces; punctuation (all tokens that scoring does not count as words, except traces); functions (tags
    and indices of phrases); unary (repeated brackets around the same words); labels (X and W instead of labels and
    tags). In a sentence without a tree, words are deleted, and a word whose head is deleted depends on the nearest
    remaining ancestor. Without one, it becomes a root, so a sentence can have several roots, as in scoring.
    """

    strip: tuple[str, ...] = ()
    binarize: Direction | None = None
    max_length: int | None = None

    def __call__(self, sentences: Iterable[Sentence], notify: Notify = ignore) -> Iterator[Sentence]:
        """The transformed sentences, streamed.

        ``notify`` is called once with a message if the tags do not distinguish words from punctuation.
        """
        needs_words = self.max_length is not None or "punctuation" in self.strip
        messages: set[str] = set()

        def notify_once(message: str) -> None:
            if message not in messages:
                messages.add(message)
                notify(message)

        for sentence in sentences:
            are_words = words_of(sentence, notify_once) if needs_words else [True] * len(leaves(sentence))
            if self.max_length is None or 0 < sum(are_words) <= self.max_length:
                yield self.transform(sentence, are_words)

    def transform(self, sentence: Sentence, are_words: Sequence[bool]) -> Sentence:
        """The transformed sentence. ``are_words`` says for each leaf whether it is a word."""
        original = leaves(sentence)
        keep = [
            "traces" not in self.strip if tag == TRACE else is_word or "punctuation" not in self.strip
            for is_word, tag in zip(are_words, original.tags, strict=True)
        ]
        if sentence.tree is None:
            return sentence if all(keep) else _delete_words(sentence, keep)
        tree = original.keep(keep)
        if "functions" in self.strip:
            tree = strip_functions(tree)
        if "unary" in self.strip:
            tree = tree.collapse_unary()
        if self.binarize:
            tree = binarize(tree, self.binarize)
        return sentence.with_tree(tree.without_labels() if "labels" in self.strip else tree)


def _delete_words(sentence: Sentence, keep: Sequence[bool]) -> Sentence:
    """The sentence without a tree and without the words for which ``keep`` is false."""

    def select(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(value for value, is_kept in zip(values, keep, strict=True) if is_kept) if values else ()

    heads = delete(sentence.heads, keep) if sentence.heads else ()
    relations = select(sentence.relations)
    if heads and relations:
        pairs = zip(heads, compress(sentence.heads, keep), relations, strict=True)
        relations = tuple("root" if head == ROOT != old else relation for head, old, relation in pairs)
    return replace(
        sentence,
        words=select(sentence.words),
        tags=select(sentence.tags),
        universal_tags=select(sentence.universal_tags),
        heads=heads,
        relations=relations,
        surface=None,
        annotation=sentence.annotation and sentence.annotation.keep(keep, heads, relations),
    )
