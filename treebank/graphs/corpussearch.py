"""The format of the Penn historical corpora (CorpusSearch), and of Switchboard, whose marks are alike.

A tree is ``( (IP-MAT …) (ID TEXT,.1))``. Nodes such as ID, CODE and METADATA contain no words. An empty element is a
leaf such as ``*T*-1``, ``*pro*`` or ``0`` under its phrase label. Leaves may carry lemmas, in one of three ways:
``word-lemma``, ``word@l=lemma``, or the deep format ``(TAG (ORTHO word) (META (LEMMA lemma)))``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treebank.base.arguments import ignore
from treebank.core.brackets import without_outer_brackets
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.bracketed import read_trees
from treebank.io.checks import DamageSigns, UntaggedWords
from treebank.io.content import CORPUSSEARCH_MARKS
from treebank.io.lines import OnBad, look_ahead
from treebank.io.source import AnyPath, Source

MIN_LEMMA_SHARE = 0.5  # of the leaves that contain an inner hyphen, above which the hyphen separates a lemma
_WORD_OF_DEEP_FORMAT = "ORTHO"
_ATTRIBUTE = re.compile(r"@[a-z]+=")  # of word@rl=LEXICON@l=lemma
_NUMERALS = (
    "NUM",
    "CD",
)  # tags under which 0 is a number (Keyaki); elsewhere it is an empty complementizer or operator


def read_corpussearch(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file, without nodes that contain no words, and without lemmas.

    Whether hyphens separate lemmas is decided from the first trees of the file together. ``notify`` is called at the
    end with repeated ids and with words outside of leaves. Raises TreebankError for malformed brackets; with
    ``on_bad``, the error is reported to it and the tree is skipped.
    """
    name = Source.of(path).path
    signs, untagged = DamageSigns(name, notify), UntaggedWords(name, notify)
    has_lemmas = False

    def inspect(trees: Iterable[tuple[Tree, int]]) -> None:
        nonlocal has_lemmas
        leaves = [
            word for tree, _ in trees for word, is_mark in zip(tree.words, _marks(tree), strict=True) if not is_mark
        ]
        has_lemmas = sum("-" in word[1:-1] for word in leaves) > MIN_LEMMA_SHARE * len(leaves)

    def read(on_bad: OnBad | None) -> Iterator[tuple[Tree, int]]:
        return read_trees(path, on_bad=on_bad)

    for raw, line in look_ahead(read, inspect, on_bad):
        for word, tag in zip(raw.words, raw.tags, strict=True):
            if tag == "ID":
                signs.add_id(word, line)
        if (tree := penn_tree(raw, has_lemmas=has_lemmas)).words:
            untagged.add(tree, line)
            plain = tree.without_traces()
            yield Sentence(plain.words, plain.tags, tree, location=Location(name, line))
    signs.report()
    untagged.report()


def penn_tree(tree: Tree, *, has_lemmas: bool) -> Tree:
    """A tree in Penn style: without marks and lemmas, and with empty elements under the tag ``-NONE-``."""
    tree = _without_ortho(tree.keep([not is_mark for is_mark in _marks(tree)]))
    tree = Tree(*without_outer_brackets(tree.words, tree.tags, tree.spans, tree.labels))
    is_empty = [
        word.startswith("*") or (word == "0" and tag not in _NUMERALS)
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    words = [
        word if empty else _without_annotation(word, has_lemmas=has_lemmas)
        for word, empty in zip(tree.words, is_empty, strict=True)
    ]
    return with_empty_elements(tree.with_words(words), is_empty)


def _marks(tree: Tree) -> list[bool]:
    """For each leaf, whether it is not a word, because of its tag or of a bracket around it."""
    is_mark = [tag in CORPUSSEARCH_MARKS for tag in tree.tags]
    if not CORPUSSEARCH_MARKS.isdisjoint(tree.labels):
        for (start, end), label in zip(tree.spans, tree.labels, strict=True):
            if label in CORPUSSEARCH_MARKS:
                is_mark[start:end] = [True] * (end - start)
    return is_mark


def _without_ortho(tree: Tree) -> Tree:
    """The tree in which a word of the deep format has the label of the bracket around it as tag."""
    if _WORD_OF_DEEP_FORMAT not in tree.tags:
        return tree
    innermost = {span: k for k, span in enumerate(tree.spans)}
    tags, removed = [*tree.tags], set()
    for i, tag in enumerate(tags):
        k = innermost.get((i, i + 1))
        if tag == _WORD_OF_DEEP_FORMAT and k is not None:
            tags[i] = tree.labels[k]
            removed.add(k)
    brackets = [pair for k, pair in enumerate(zip(tree.spans, tree.labels, strict=True)) if k not in removed]
    return Tree.from_brackets(tree.words, tags, brackets)


def with_empty_elements(tree: Tree, is_empty: Sequence[bool]) -> Tree:
    """The tree in which an empty element ``(C 0)`` is a phrase over a leaf, ``(C (-NONE- 0))``."""
    empty = [i for i, value in enumerate(is_empty) if value and tree.tags[i] != TRACE]
    if not empty:
        return tree
    tags = [*tree.tags]
    brackets = list(zip(tree.spans, tree.labels, strict=True))
    for i in empty:
        brackets += [((i, i + 1), tags[i])] if tags[i] else []
        tags[i] = TRACE
    return Tree.from_brackets(tree.words, tags, brackets)


def _without_annotation(leaf: str, *, has_lemmas: bool) -> str:
    word = _ATTRIBUTE.split(leaf, maxsplit=1)[0] or leaf
    return without_lemma(word) if has_lemmas else word


def without_lemma(leaf: str) -> str:
    """The word of a ``word-lemma`` leaf. A leaf without an inner hyphen is returned unchanged.

    The middle hyphen separates word and lemma (``e-mail-e-mail``). For an even number of hyphens it is the first one if
    the leaf starts with punctuation, else the last one.
    """
    hyphens = [i for i in range(1, len(leaf) - 1) if leaf[i] == "-"]
    if not hyphens:
        return leaf
    if len(hyphens) % 2:
        return leaf[: hyphens[len(hyphens) // 2]]
    return leaf[: hyphens[-1] if leaf[0].isalnum() else hyphens[0]]
