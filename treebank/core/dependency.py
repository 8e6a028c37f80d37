"""Heads: properties of dependency trees, deletion of words, and structures restored over deleted words. No recursion.

``heads[i]`` is the index of word i's head, ``ROOT`` for a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree

Heads = tuple[int, ...]


def is_tree(heads: Sequence[int]) -> bool:
    """Whether there is exactly one root and every word leads up to it.

    >>> is_tree([1, ROOT, 1]), is_tree([1, 0, ROOT])
    (True, False)
    """
    n = len(heads)
    if heads.count(ROOT) != 1 or not all(ROOT <= head < n for head in heads):
        return False
    visited = [0] * n  # the first walk that visited each word
    for walk in range(1, n + 1):
        i = walk - 1
        while i != ROOT and not visited[i]:
            visited[i] = walk
            i = heads[i]
        if i != ROOT and visited[i] == walk:
            return False
    return True


def delete(heads: Sequence[int], mask: Sequence[bool]) -> Heads:
    """The heads of the words whose ``mask`` is true: the nearest ancestor of each among these words, or ``ROOT``.

    A word whose ancestors lead to no such word, or back to itself, is a root.
    """
    above: dict[int, int] = {}  # of each deleted word the nearest ancestor that is left
    for i in range(len(heads)):
        path = []
        while i != ROOT and not mask[i] and i not in above:
            above[i] = ROOT  # if the path comes back here
            path.append(i)
            i = heads[i]
        for passed in path:
            above[passed] = above.get(i, i)
    new = {ROOT: ROOT} | {i: index for index, i in enumerate(compress(range(len(mask)), mask))}
    left = [(i, above.get(heads[i], heads[i])) for i in new if i != ROOT]
    return tuple(ROOT if head == i else new[head] for i, head in left)


def phrases(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Span of each word with dependents together with all words below it, for arcs that do not cross."""
    return [(start, end) for start, end, _ in _words_below(heads) if end - start > 1]


def phrase_tree(sentence: Sentence) -> Tree | None:
    """The tree with a bracket around each head and all words below it.

    None if there is no such bracket, and if one would contain other words, because arcs cross or are a circle.
    """
    below = _words_below(sentence.heads)
    spans = [(start, end) for start, end, _ in below if end - start > 1]
    is_whole = all(end - start == count for start, end, count in below)
    return Tree.from_spans(sentence.words, spans) if spans and is_whole else None


def _words_below(heads: Sequence[int]) -> list[tuple[int, int, int]]:
    """The first and the last word below each word and itself, as a span, and their number: 0 for words in a circle.

    Words are visited from the leaves up, and each passes what is below it to its head. Linear time.
    """
    starts, ends, counts = list(range(len(heads))), [i + 1 for i in range(len(heads))], [1] * len(heads)
    waiting = [0] * len(heads)  # dependents that have not been visited yet
    for head in heads:
        if head != ROOT:
            waiting[head] += 1
    ready = [word for word, count in enumerate(waiting) if not count]
    while ready:
        word = ready.pop()
        head = heads[word]
        if head == ROOT:
            continue
        starts[head], ends[head] = min(starts[head], starts[word]), max(ends[head], ends[word])
        counts[head] += counts[word]
        waiting[head] -= 1
        if not waiting[head]:
            ready.append(head)
    return [
        (start, end, 0 if left else count)
        for start, end, count, left in zip(starts, ends, counts, waiting, strict=True)
    ]


# --- structures over some words of a sentence, extended to all of its words


def restore(tree: Tree, words: Sequence[str], indices: Sequence[int], *, tag: str = "W") -> Tree:
    """The tree over all ``words``, given the ``tree`` over the words at ``indices``.

    A dropped word becomes a child of the lowest phrase that covers the kept words on both sides of it; before the
    first kept word or after the last, of the outermost bracket over the whole sentence. Deleting the dropped words
    gives the brackets of ``tree`` again. With no kept words the result is one flat bracket; with no words, no tree.
    """
    if len(tree) != len(indices):
        raise ValueError(f"a tree of {len(tree)} words for {len(indices)} kept ones")
    if not indices:
        return Tree.from_spans(words, (), tag=tag)
    if len(indices) == len(words):
        return tree.with_words(words)
    tags = [tag] * len(words)
    for i, tree_tag in zip(indices, tree.tags, strict=True):
        tags[i] = tree_tag
    # A phrase reaches from its first kept word to its last, hence over exactly what was dropped between them.
    spans = [(indices[start], indices[end - 1] + 1) for start, end in tree.spans]
    if spans and tree.spans[0] == (0, len(indices)):
        spans[0] = (0, len(words))
    return Tree(tuple(words), tuple(tags), tuple(spans), tree.labels)


def restore_heads(heads: Sequence[int], indices: Sequence[int], count: int) -> Heads:
    """The heads of ``count`` words, given the ``heads`` of the words at ``indices``.

    The head of a dropped word is the lowest kept word whose subtree contains the kept words on both sides of the
    dropped one; before the first kept word and after the last, it is the root. Thus no new arc crosses another one. If
    the heads do not form a tree, the head is the kept word before the dropped one, else the one after it. If no word is
    kept, the first word is the root.
    """
    if len(heads) != len(indices):
        raise ValueError(f"heads of {len(heads)} words for {len(indices)} kept ones")
    if not indices:
        return (ROOT, *([0] * (count - 1)))[:count]
    restored = [ROOT] * count
    for word, head in zip(indices, heads, strict=True):
        restored[word] = ROOT if head == ROOT else indices[head]
    depths = _depths(heads) if len(indices) < count and is_tree(heads) else []
    for left, start, end in zip(range(-1, len(indices)), [-1, *indices], [*indices, count], strict=True):
        if end - start > 1:
            head = _between(heads, left, depths) if depths else max(left, 0)
            restored[start + 1 : end] = [indices[head]] * (end - start - 1)
    return tuple(restored)


def _depths(heads: Sequence[int]) -> list[int]:
    """The depth of each word of a tree, which is 1 for the root."""
    depths = [0] * len(heads)
    for word in range(len(heads)):
        path = []
        while word != ROOT and not depths[word]:
            path.append(word)
            word = heads[word]
        above = 0 if word == ROOT else depths[word]
        for depth, passed in enumerate(reversed(path), above + 1):
            depths[passed] = depth
    return depths


def _between(heads: Sequence[int], left: int, depths: Sequence[int]) -> int:
    """The lowest word whose subtree contains the word ``left`` and the next word, or the root at an edge."""
    if not 0 <= left < len(heads) - 1:
        return heads.index(ROOT)
    first, second = left, left + 1
    while first != second:
        if depths[first] >= depths[second]:
            first = heads[first]
        else:
            second = heads[second]
    return first
