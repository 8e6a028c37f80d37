"""What the files of the Penn historical corpora (CorpusSearch format) hold besides trees.

There a tree is ``( (IP-MAT …) (ID TEXT,.1))``. Leaves may be ``word-lemma``; an empty element is a leaf such as
``*T*-1``, ``*pro*`` or ``0`` under its phrase label; CODE and METADATA nodes are not words.
"""

from __future__ import annotations

import re

from treebank.core.tree import TRACE, Tree

_FORMAT = re.compile(r"\(ID\s[^()]*\)\s*\)\s*\Z|\A\s*\(\s*\((?:CODE|METADATA)\s")
_OUTSIDE = re.compile(r"\((?:ID|CODE)\s[^()]*\)|\(METADATA(?:[^()]|\([^()]*\))*\)")
# 0 is a number where the tag says so (Keyaki), else an empty complementiser or operator
_EMPTY = re.compile(r"\(([^\s()]+)\s+(\*[^\s()]*|(?<!NUM )(?<!CD )0)\s*\)")


class CorpusSearch:
    """The state of one file: whether its leaves carry lemmas, judged by all leaves so far."""

    def __init__(self) -> None:
        self.leaves = self.hyphened = 0

    def matches(self, text: str) -> bool:
        """Whether a block of text is in this format."""
        return _FORMAT.search(text) is not None

    def plain(self, text: str) -> str:
        """The same trees as ordinary brackets: no ID, CODE, METADATA; empty elements under the tag ``-NONE-``."""
        return _EMPTY.sub(rf"(\1 ({TRACE} \2))", _OUTSIDE.sub("", text))

    def unlemmatised(self, tree: Tree) -> Tree:
        """``tree`` without lemmas, if most leaves of the file so far look like ``word-lemma``."""
        leaves = [word for word, tag in zip(tree.words, tree.tags, strict=True) if tag != TRACE]
        self.leaves += len(leaves)
        self.hyphened += sum("-" in word[1:-1] for word in leaves)
        if 2 * self.hyphened <= self.leaves:
            return tree
        pairs = zip(tree.words, tree.tags, strict=True)
        return tree.with_words([word if tag == TRACE else without_lemma(word) for word, tag in pairs])


def without_lemma(leaf: str) -> str:
    """The word of a ``word-lemma`` leaf; a leaf without a hyphen inside as it is.

    Of several hyphens the middle one divides (``e-mail-e-mail``); if there is no middle, the first
    after punctuation, else the last.
    """
    places = [i for i in range(1, len(leaf) - 1) if leaf[i] == "-"]
    if not places:
        return leaf
    if len(places) % 2:
        return leaf[: places[len(places) // 2]]
    return leaf[: places[-1] if leaf[0].isalnum() else places[0]]
