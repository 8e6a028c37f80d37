"""Constituency trees, stored flat: the words, and the brackets over them in pre-order.

A flat tree needs no recursion (10,000 words deep is fine), and
has its spans ready for scoring. Words count from 0 and spans are half-open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from treebank.core import brackets
from treebank.core.brackets import Span

if TYPE_CHECKING:
    import nltk

_SPACE = re.compile("[ \t\r\n]+")  # ends words in files
TRACE = "-NONE-"  # the Penn Treebank's tag of an empty element


class _End(NamedTuple):
    """The end of a bracket: its first word and its label."""

    start: int
    label: str


def escape(text: str) -> str:
    """A word, tag or label with round brackets written as in the Penn Treebank."""
    return text.replace("(", "-LRB-").replace(")", "-RRB-") if "(" in text or ")" in text else text


def _escaped(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(escape, texts)) if "(" in (joined := "".join(texts)) or ")" in joined else texts


def pre_order(span: Span) -> tuple[int, int]:
    """Key that sorts the spans of a tree into pre-order."""
    return span[0], -span[1]


@dataclass(frozen=True, slots=True)
class Tree:
    """An immutable n-ary labeled tree over ``words``.

    ``tags[i]`` is the pre-terminal label of word i ("" where there is none). ``spans[k]`` and ``labels[k]`` are the
    k-th bracket in pre-order, pre-terminals not included: a parent comes before its children, a left sibling (with
    all that it holds) before a right one. Every bracket covers at least one word.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...]
    labels: tuple[str, ...]

    @classmethod
    def from_spans(
        cls, words: Sequence[str], spans: Iterable[tuple[int, int]], *, label: str = "X", tag: str = "W"
    ) -> Tree:
        """Tree with one bracket, labelled ``label``, for each different span and for the whole sentence.

        One-word spans are left out unless they are the whole sentence. Raises ValueError if two spans cross.

        >>> print(Tree.from_spans(["the", "cat", "sat"], [(0, 2)]))
        (X (X (W the) (W cat)) (W sat))
        """
        length = len(words)
        long_spans = {(start, end) for start, end in spans if end - start > 1}
        if length:
            long_spans.add((0, length))
        ordered = sorted(sorted(long_spans, key=itemgetter(1), reverse=True), key=itemgetter(0))
        stack: list[int] = []
        for start, end in ordered:
            while stack and stack[-1] <= start:
                stack.pop()
            if start < 0 or end > length or (stack and end > stack[-1]):
                raise ValueError(f"span ({start}, {end}) crosses another span or leaves the sentence")
            stack.append(end)
        return cls(tuple(words), (tag,) * length, tuple(ordered), (label,) * len(ordered))

    @classmethod
    def from_brackets(cls, words: Iterable[str], tags: Iterable[str], brackets: Iterable[tuple[Span, str]]) -> Tree:
        """Tree from spans with labels. Of several labels on one span, the first is that of the outermost bracket."""
        ordered = sorted(brackets, key=lambda bracket: pre_order(bracket[0]))
        return cls(tuple(words), tuple(tags), tuple(span for span, _ in ordered), tuple(label for _, label in ordered))

    @classmethod
    def from_text(cls, text: str) -> Tree:
        """Tree of one labelled bracketing, ``(S (NP (DT the) (NN man)) (VP (VBZ sleeps)))``.

        Raises ValueError if ``text`` does not hold exactly one balanced tree.

        >>> tree = Tree.from_text("(S (NP (DT the) (NN man)) (VP (VBZ sleeps)))")
        >>> tree.words, tree.labels
        (('the', 'man', 'sleeps'), ('S', 'NP', 'VP'))
        >>> tree.spans
        ((0, 3), (0, 2), (2, 3))
        """
        trees = list(brackets.parse(text))
        if len(trees) != 1:
            raise ValueError(f"found {len(trees)} trees where one was expected")
        return cls(*trees[0])

    @classmethod
    def of(cls, value: Any) -> Tree:
        """The tree of a `Tree`, an nltk tree, or a string in brackets. Raises TypeError for any other value."""
        if isinstance(value, Tree):
            return value
        if isinstance(value, str):
            return cls.from_text(value)
        if hasattr(value, "label") and hasattr(value, "leaves"):
            return cls.from_nltk(value)
        raise TypeError(f"expected a Tree, an nltk tree or a string in brackets, not {type(value).__name__}: {value!r}")

    @classmethod
    def from_nltk(cls, tree: nltk.Tree) -> Tree:
        """The tree of an nltk tree. The label of a subtree that contains only a string is the tag of that word.

        Leaves may also be pairs of a word and its tag. A space in a word becomes U+00A0. Raises TypeError for others.
        """
        words: list[str] = []
        tags: list[str] = []
        brackets: list[tuple[Span, str]] = []  # inner ones first
        todo: list[Any] = [tree]
        while todo:
            node: Any = todo.pop()
            if isinstance(node, _End):
                brackets += [((node.start, len(words)), node.label)] * (node.start < len(words))
                continue
            tag = ""
            if hasattr(node, "label") and len(node) == 1 and isinstance(node[0], str):
                node, tag = node[0], str(node.label())
            elif isinstance(node, tuple) and len(node) == 2:
                node, tag = node[0], str(node[1] or "")
            if isinstance(node, str):
                words.append(_SPACE.sub("\u00a0", node))
                tags.append(tag)
            elif hasattr(node, "label"):
                todo += [_End(len(words), str(node.label())), *reversed(node)]
            else:
                raise TypeError(f"a leaf of this nltk tree is {node!r}, not a string")
        return cls.from_brackets(words, tags, reversed(brackets))

    def to_nltk(self) -> nltk.Tree:
        """The tree as an ``nltk.Tree``. A word with a tag becomes a pre-terminal."""
        from nltk import Tree as NltkTree

        leaves = [NltkTree(tag, [word]) if tag else word for word, tag in zip(self.words, self.tags, strict=True)]
        nodes = [*(NltkTree(label, []) for label in self.labels), *leaves]
        *children, tops = self.children()
        for node, below in zip(nodes, children, strict=False):
            node.extend(nodes[child] for child in below)
        root = [nodes[top] for top in tops]
        return root[0] if len(root) == 1 and isinstance(root[0], NltkTree) else NltkTree("", root)

    def children(self) -> list[list[int]]:
        """The children of each bracket, from left to right, and as last list the nodes without a parent.

        Bracket k is node k, word i is node ``len(spans) + i``.

        >>> Tree.from_text("(S (NP a cat) sleeps)").children()
        [[1, 4], [2, 3], [0]]
        """
        count = len(self.spans)
        children: list[list[int]] = [[] for _ in range(count + 1)]
        open_brackets, k = [count], 0
        for word in range(len(self.words)):
            while open_brackets[-1] < count and self.spans[open_brackets[-1]][1] <= word:
                open_brackets.pop()
            while k < count and self.spans[k][0] == word:
                children[open_brackets[-1]].append(k)
                open_brackets.append(k)
                k += 1
            children[open_brackets[-1]].append(count + word)
        return children

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        """One line: ``(X (W The) (X (W old) (W man)))``, or "" without words."""
        words, tags, labels = _escaped(self.words), _escaped(self.tags), _escaped(self.labels)
        if all(tags):
            leaves = [f"({tag} {word})" for word, tag in zip(words, tags, strict=True)]
        else:
            leaves = [f"({tag} {word})" if tag else word for word, tag in zip(words, tags, strict=True)]
        for (start, end), label in zip(reversed(self.spans), reversed(labels), strict=True):
            leaves[start] = f"({label} {leaves[start]}"
            leaves[end - 1] += ")"
        return " ".join(leaves)

    def keep(self, mask: Sequence[bool]) -> Tree:
        """The tree of the words whose ``mask`` is true. A bracket without such words is left out."""
        if len(mask) != len(self.words):
            raise ValueError(f"a mask of {len(mask)} for a tree of {len(self.words)} words")
        if all(mask):
            return self
        before = list(accumulate(map(bool, mask), initial=0))
        moved = [(before[start], before[end]) for start, end in self.spans]
        full = [start < end for start, end in moved]
        return Tree(
            tuple(compress(self.words, mask)),
            tuple(compress(self.tags, mask)),
            tuple(compress(moved, full)),
            tuple(compress(self.labels, full)),
        )

    def without_traces(self) -> Tree:
        """The tree of the words that a reader sees: empty elements (tag ``-NONE-``) deleted."""
        return self.keep([tag != TRACE for tag in self.tags]) if TRACE in self.tags else self

    def collapse_unary(self) -> Tree:
        """The tree with one bracket per span (the topmost) and none over a single word, the whole sentence excepted."""
        covered: set[Span] = set()
        topmost = []
        for k, span in enumerate(self.spans):
            length = span[1] - span[0]
            if span not in covered and (length > 1 or length == len(self.words)):
                covered.add(span)
                topmost.append(k)
        return Tree(
            self.words, self.tags, tuple(self.spans[k] for k in topmost), tuple(self.labels[k] for k in topmost)
        )

    def without_labels(self) -> Tree:
        """The tree with ``X`` for every phrase and ``W`` for every word, as `parse` writes it.

        Empty elements keep their tag, without which they would be words.
        """
        tags = tuple(TRACE if tag == TRACE else "W" for tag in self.tags)
        return Tree(self.words, tags, self.spans, ("X",) * len(self.spans))

    def with_words(self, words: Sequence[str]) -> Tree:
        """The brackets of this tree over other words, one for one."""
        if len(words) != len(self.words):
            raise ValueError(f"{len(words)} words for a tree of {len(self.words)}")
        return Tree(tuple(words), self.tags, self.spans, self.labels)
