"""Constituency trees, stored flat: the words, and the brackets over them in pre-order.

A flat tree needs no recursion (10,000 words deep is fine), costs the garbage collector little, and
hands its spans to a scorer for nothing. Words count from 0 and spans are half-open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any

from treebank.core import brackets
from treebank.core.brackets import Span

if TYPE_CHECKING:
    import nltk

TRACE = "-NONE-"  # the Penn Treebank's tag of an empty element


def escape(word: str) -> str:
    """``word`` with round brackets written as in the Penn Treebank."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-") if "(" in word or ")" in word else word


@dataclass(frozen=True, slots=True)
class Tree:
    """An n-ary labelled tree over ``words``; immutable.

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
        cls,
        words: Sequence[str],
        spans: Iterable[tuple[int, int]],
        *,
        label: str = "X",
        tag: str = "W",
    ) -> Tree:
        """Tree with one bracket, labelled ``label``, for each different span and for the whole sentence.

        One-word spans are left out unless they are the whole sentence. Raises ValueError if two spans cross.

        >>> print(Tree.from_spans(["the", "cat", "sat"], [(0, 2)]))
        (X (X (W the) (W cat)) (W sat))
        """
        length = len(words)
        wanted = {(start, end) for start, end in spans if end - start > 1}
        if length:
            wanted.add((0, length))
        ordered = sorted(wanted, key=lambda span: (span[0], -span[1]))
        stack: list[int] = []
        for start, end in ordered:
            while stack and stack[-1] <= start:
                stack.pop()
            if start < 0 or end > length or (stack and end > stack[-1]):
                raise ValueError(f"span ({start}, {end}) crosses another span or leaves the sentence")
            stack.append(end)
        return cls(
            tuple(words),
            (tag,) * length,
            tuple(ordered),
            (label,) * len(ordered),
        )

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
        """The same tree; a subtree that holds nothing but one string is that word's tag."""
        words: list[str] = []
        tags: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        labels: list[str] = []
        todo: list[object] = [tree]
        while todo:
            node = todo.pop()
            if isinstance(node, int):
                ends[node] = len(words)
            elif isinstance(node, str):
                words.append(node)
                tags.append("")
            elif len(node) == 1 and isinstance(node[0], str):  # type: ignore[arg-type,index]
                words.append(node[0])  # type: ignore[index]
                tags.append(str(node.label()))  # type: ignore[attr-defined]
            else:
                todo.append(len(starts))
                starts.append(len(words))
                ends.append(-1)
                labels.append(str(node.label()))  # type: ignore[attr-defined]
                todo.extend(reversed(node))  # type: ignore[call-overload]
        return assemble(words, tags, starts, ends, labels)

    def to_nltk(self) -> nltk.Tree:
        """The same tree as an ``nltk.Tree``; a word with a tag becomes a pre-terminal."""
        from nltk import Tree as NltkTree

        root = NltkTree("", [])
        stack: list[tuple[int, NltkTree]] = [(len(self.words), root)]
        k = 0
        for i, (word, tag) in enumerate(zip(self.words, self.tags, strict=True)):
            while stack[-1][0] <= i:
                stack.pop()
            while k < len(self.spans) and self.spans[k][0] == i:
                node = NltkTree(self.labels[k], [])
                stack[-1][1].append(node)
                stack.append((self.spans[k][1], node))
                k += 1
            stack[-1][1].append(NltkTree(tag, [word]) if tag else word)
        return root[0] if len(root) == 1 and isinstance(root[0], NltkTree) else root

    def __len__(self) -> int:
        return len(self.words)

    def __str__(self) -> str:
        """One line: ``(X (W The) (X (W old) (W man)))``; "" for no words."""
        words = tuple(map(escape, self.words)) if "(" in (text := "".join(self.words)) or ")" in text else self.words
        if all(self.tags):
            leaves = [f"({tag} {word})" for word, tag in zip(words, self.tags, strict=True)]
        else:
            leaves = [f"({tag} {word})" if tag else word for word, tag in zip(words, self.tags, strict=True)]
        for (start, end), label in zip(reversed(self.spans), reversed(self.labels), strict=True):
            leaves[start] = f"({label} {leaves[start]}"
            leaves[end - 1] += ")"
        return " ".join(leaves)

    def keep(self, mask: Sequence[bool]) -> Tree:
        """The tree of the words whose ``mask`` is true; a bracket left without words vanishes."""
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
        seen: set[Span] = set()
        kept = []
        for k, span in enumerate(self.spans):
            length = span[1] - span[0]
            if span not in seen and (length > 1 or length == len(self.words)):
                seen.add(span)
                kept.append(k)
        return Tree(
            self.words,
            self.tags,
            tuple(self.spans[k] for k in kept),
            tuple(self.labels[k] for k in kept),
        )

    def without_labels(self) -> Tree:
        """The tree with ``X`` for every phrase and ``W`` for every word, as `parse` writes it."""
        return Tree(self.words, ("W",) * len(self), self.spans, ("X",) * len(self.spans))

    def with_words(self, words: Sequence[str]) -> Tree:
        """The same brackets over other words, one for one."""
        if len(words) != len(self.words):
            raise ValueError(f"{len(words)} words for a tree of {len(self.words)}")
        return Tree(tuple(words), self.tags, self.spans, self.labels)


def assemble(words: list[str], tags: list[str], starts: list[int], ends: list[int], labels: list[str]) -> Tree:
    """Tree from brackets in pre-order; those without words are left out."""
    if any(start == end for start, end in zip(starts, ends, strict=True)):
        full = [k for k in range(len(starts)) if starts[k] < ends[k]]
        starts, ends = [starts[k] for k in full], [ends[k] for k in full]
        labels = [labels[k] for k in full]
    return Tree(tuple(words), tuple(tags), tuple(zip(starts, ends, strict=True)), tuple(labels))
