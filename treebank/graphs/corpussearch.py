"""The additions of the Penn historical corpora (CorpusSearch format) to Penn brackets.

A tree is ``( (IP-MAT …) (ID TEXT,.1))``. Leaves may be ``word-lemma``. An empty element is a leaf such as ``*T*-1``,
``*pro*`` or ``0`` under its phrase label. CODE and METADATA nodes are not words.
"""

from __future__ import annotations

import re

from treebank.core.tree import TRACE, Tree
from treebank.io.damage import DamageSigns

_FORMAT = re.compile(r"\(ID\s[^()]*\)\s*\)\s*\Z|\A\s*\(\s*\((?:CODE|METADATA)\s")
_ID = re.compile(r"\(ID\s+([^()]*)\)")
_OUTSIDE = re.compile(r"\((?:ID|CODE)\s[^()]*\)|\(METADATA(?:[^()]|\([^()]*\))*\)")
# 0 is a number if its tag is NUM or CD (Keyaki), else an empty complementizer or operator
_EMPTY = re.compile(r"\(([^\s()]+)\s+(\*[^\s()]*|(?<!NUM )(?<!CD )0)\s*\)")


class CorpusSearch:
    """The reader's state for one file: whether leaves carry lemmas, judged by all leaves so far, and the ids."""

    def __init__(self, signs: DamageSigns) -> None:
        self.leaves = self.hyphenated = 0
        self._signs = signs

    def matches(self, text: str) -> bool:
        """Whether a block of text is in this format."""
        return _FORMAT.search(text) is not None

    def add_ids(self, text: str, line: int) -> None:
        """Count ids in a block of text, which begins in ``line``, that occurred before."""
        for match in _ID.finditer(text):
            self._signs.add_id(match[1], line + text.count("\n", 0, match.start()))

    def plain(self, text: str) -> str:
        """The trees as Penn brackets: without ID, CODE, METADATA, and with empty elements under the tag ``-NONE-``."""
        return _EMPTY.sub(rf"(\1 ({TRACE} \2))", _OUTSIDE.sub("", text))

    def without_lemmas(self, tree: Tree) -> Tree:
        """``tree`` without lemmas, if most leaves of the file so far look like ``word-lemma``."""
        leaves = [word for word, tag in zip(tree.words, tree.tags, strict=True) if tag != TRACE]
        self.leaves += len(leaves)
        self.hyphenated += sum("-" in word[1:-1] for word in leaves)
        if 2 * self.hyphenated <= self.leaves:
            return tree
        pairs = zip(tree.words, tree.tags, strict=True)
        return tree.with_words([word if tag == TRACE else without_lemma(word) for word, tag in pairs])


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
