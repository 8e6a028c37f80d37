"""A tree as a scene: brackets above the words, each level one step higher, words in one row.

An edge is diagonal for one level and vertical from there to its word, so that edges cross neither each other nor a
label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treebank.core.tree import Tree
from treebank.draw.measure import em_width
from treebank.draw.scene import Ink, Scene, Stroke, Text

BARE_LABELS = frozenset({"", "X", "·"})  # of brackets that have no name
BARE_TAGS = frozenset({"", "W"})  # of words that have no tag
TOP = -1  # the parent of a node without a bracket around it
SIZE, SMALL = 16.0, 12.0  # pixels: size of words, and of labels, tags and notes
GAP = 14.0  # between two words
LABELLED_STEP, BARE_STEP = 38.0, 24.0  # from one level to the next
DEEP = 40  # levels; more are drawn closer together
MAX_FAN, MAX_SLOPE = 5, 10  # children, and width of an edge over its height, beyond which edges have right angles
ROUNDS = 30  # of making room for labels; each at least halves the missing width


@dataclass(frozen=True)
class Branches:
    """The brackets and words of ``tree``, numbered: bracket k is k, word i is ``len(tree.spans) + i``."""

    tree: Tree

    @cached_property
    def parents(self) -> list[int]:
        """The bracket around each bracket, then around each word, or ``TOP`` without one."""
        parents = [TOP] * (len(self.tree.spans) + len(self.tree))
        for k, below in enumerate(self.children):
            for node in below:
                parents[node] = k
        return parents

    @cached_property
    def children(self) -> list[list[int]]:
        """The brackets and words directly below each bracket, from left to right."""
        return self.tree.children()[:-1]

    @cached_property
    def depths(self) -> list[int]:
        """Number of brackets around each bracket."""
        depths: list[int] = []
        for parent in self.parents[: len(self.tree.spans)]:
            depths.append(0 if parent == TOP else depths[parent] + 1)
        return depths

    @cached_property
    def levels(self) -> int:
        """Maximum number of nested brackets."""
        return max(self.depths, default=-1) + 1

    @cached_property
    def labelled(self) -> bool:
        """Whether any bracket has a label."""
        return any(label not in BARE_LABELS for label in self.tree.labels)

    def start(self, node: int) -> int:
        """The first word of a bracket, or the word itself."""
        count = len(self.tree.spans)
        return node - count if node >= count else self.tree.spans[node][0]

    def middles(self, words: Sequence[float]) -> list[float]:
        """Horizontal position of each bracket, given those of the words: midway between its outermost children."""
        count = len(self.tree.spans)
        positions = [0.0] * count + list(words)
        for k in reversed(range(count)):  # children come after their parents
            children = self.children[k]
            positions[k] = (positions[children[0]] + positions[children[-1]]) / 2
        return positions[:count]


def visible(name: str, bare: frozenset[str]) -> str:
    """``name``, or "" if it is one of the ``bare`` names."""
    return "" if name in bare else name


def word_widths(words: Sequence[str], tags: Sequence[str], below: Sequence[Sequence[str]] = ()) -> list[float]:
    """Width of each word with its tag and the texts ``below`` in pixels, including the gap to the next one."""
    small = [[visible(tag, BARE_TAGS) for tag in tags or ("",) * len(words)], *below]
    return [
        max(em_width(word) * SIZE, *(em_width(text) * SMALL for text in texts)) + GAP
        for word, *texts in zip(words, *small, strict=True)
    ]


def middles(widths: Sequence[float]) -> list[float]:
    """The middle of each word, given the widths of all."""
    positions, left = [], 0.0
    for width in widths:
        positions.append(left + width / 2)
        left += width
    return positions


def label_halves(branches: Branches) -> list[float]:
    """Half of the width of each bracket's label in pixels."""
    return [em_width(visible(label, BARE_LABELS)) * SMALL / 2 + 3 for label in branches.tree.labels]


def make_room(branches: Branches, widths: list[float], halves: Sequence[float]) -> None:
    """Widen the outermost words of every bracket whose label, twice ``halves`` wide, is wider than its words."""
    if not branches.labelled:
        return
    for _ in range(ROUNDS):
        words = middles(widths)
        positions = branches.middles(words)
        wider = dict[int, float]()
        for (start, end), position, half in zip(branches.tree.spans, positions, halves, strict=True):
            left = half - (position - words[start] + widths[start] / 2)
            right = half - (words[end - 1] + widths[end - 1] / 2 - position)
            for word, missing in ((start, left), (end - 1, right)):
                if missing > 0.01:
                    wider[word] = max(wider.get(word, 0.0), missing)
        for word, missing in wider.items():
            widths[word] += missing * 1.5
        if not wider:
            return


def draw_tree(branches: Branches, words: Sequence[float], width: float, inks: Sequence[Ink], below: float) -> Scene:
    """The brackets over words with middles at ``words``. Edges end ``below`` pixels under the lowest bracket."""
    tree = branches.tree
    step = LABELLED_STEP if branches.labelled else BARE_STEP
    if branches.levels > DEEP:
        step = max(step * DEEP / branches.levels, 22.0 if branches.labelled else 7.0)
    size = SMALL if branches.labelled else 0.0
    bottom = branches.levels * step + below
    scene = Scene(width, bottom)
    positions, depths = branches.middles(words), branches.depths
    for k, hanging in enumerate(branches.children):
        top, level = depths[k] * step + size + 5, (depths[k] + 1) * step + (1.0 if size else 5.0)
        columns = [
            words[child - len(tree.spans)] if child >= len(tree.spans) else positions[child] for child in hanging
        ]
        widest = max(abs(x - positions[k]) for x in columns)
        is_flat = len(hanging) > MAX_FAN and widest > MAX_SLOPE * (level - top)
        middle = (top + level) / 2
        for child, x in zip(hanging, columns, strict=True):
            # nearly horizontal edges of many children would merge, so they share a beam
            points = [(positions[k], top), *([(positions[k], middle), (x, middle)] * is_flat), (x, level)]
            if child >= len(tree.spans):
                points.append((x, bottom))
            scene.items.append(Stroke(tuple(points), inks[k]))
    for word, parent in enumerate(branches.parents[len(tree.spans) :]):
        if parent == TOP:  # a word outside of all brackets
            scene.items.append(Stroke(((words[word], bottom - below / 2), (words[word], bottom)), Ink.FAINT))
    for k, label in enumerate(tree.labels):
        if name := visible(label, BARE_LABELS):
            ink = Ink.PLAIN if inks[k] == Ink.FAINT else inks[k]
            scene.items.append(Text(positions[k], depths[k] * step + SMALL, name, ink, SMALL))
        else:
            x, y = positions[k], depths[k] * step + size + 5  # a small diamond
            diamond = ((x - 2.6, y), (x, y - 2.6), (x + 2.6, y), (x, y + 2.6))
            scene.items.append(Stroke(diamond, inks[k], filled=True))
    return scene
