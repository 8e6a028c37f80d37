"""Heads as flat arcs over the words with round corners, each above the arcs within it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treebank.core.sentence import ROOT
from treebank.draw.measure import em_width
from treebank.draw.scene import Ink, Point, Scene, Stroke, Text

SMALL = 11.0  # pixels, size of relations
LABELLED_STEP, BARE_STEP = 20.0, 13.0  # pixels from one arc to the next above it
APART = 5.0  # pixels between the ends of two arcs at one word
RADIUS = 7.0


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc from ``head`` (or ``ROOT``) to ``word``."""

    head: int
    word: int
    ink: Ink = Ink.PLAIN
    relation: str = ""

    @property
    def left(self) -> int:
        return min(self.head, self.word)

    @property
    def right(self) -> int:
        return max(self.head, self.word)


def arcs_of(heads: Sequence[int] | Mapping[int, int], inks: Sequence[Ink], relations: Sequence[str] = ()) -> list[Arc]:
    """An arc for each word with its ink and relation. A word that heads itself counts as a root."""
    pairs = heads.items() if isinstance(heads, Mapping) else enumerate(heads)
    return [
        Arc(ROOT if head == word else head, word, inks[word], relations[word] if relations else "")
        for word, head in pairs
    ]


def levels_of(arcs: Sequence[Arc], count: int) -> list[int]:
    """The level of each arc, from 1, above all shorter arcs that share a gap with it. Roots are on top."""
    heights = [0] * max(count, 1)  # of the highest arc over the gap after each word
    levels = [0] * len(arcs)
    for index in sorted(range(len(arcs)), key=lambda index: (arcs[index].right - arcs[index].left, arcs[index].left)):
        arc = arcs[index]
        if arc.head != ROOT:
            levels[index] = 1 + max(heights[arc.left : arc.right])
            heights[arc.left : arc.right] = [levels[index]] * (arc.right - arc.left)
    top = max(levels, default=0) + 1
    return [level or top for level in levels]


def make_room(arcs: Sequence[Arc], widths: list[float]) -> None:
    """Widen words so that all ends of arcs fit above them, and each relation above its arc."""
    ends_at = Counter(word for arc in arcs for word in {arc.word, arc.head} - {ROOT})
    for word, count in ends_at.items():
        widths[word] = max(widths[word], APART * (2 + count) * 1.2)
    ends = _slots(arcs)
    for arc in sorted(arcs, key=lambda arc: arc.right - arc.left):
        needed = em_width(arc.relation) * SMALL + 14 + 2 * APART
        if arc.head == ROOT:
            widths[arc.word] = max(widths[arc.word], needed)
            continue
        between = sum(widths[arc.left + 1 : arc.right]) + (widths[arc.left] + widths[arc.right]) / 2
        missing = needed - (between - ends[arc][0] + ends[arc][1]) if arc.relation else 0.0
        if missing > 0:
            widths[arc.left] += missing
            widths[arc.right] += missing


def draw_arcs(arcs: Sequence[Arc], words: Sequence[float], width: float, *, below: bool = False) -> Scene:
    """The arcs above (or ``below``) words with middles at ``words``, with arrows at the dependents."""
    levels, ends = levels_of(arcs, len(words)), _slots(arcs)
    step = LABELLED_STEP if any(arc.relation for arc in arcs) else BARE_STEP
    height = (max(levels, default=0) + 0.5) * step + 10
    scene = Scene(width, height)

    def put(points: Sequence[Point], ink: Ink, *, filled: bool = False) -> None:
        """Add a line whose y are distances from the words."""
        placed = tuple((x, y if below else height - y) for x, y in points)
        scene.items.append(Stroke(placed, ink, radius=0.0 if filled else RADIUS, filled=filled))

    for arc, level in zip(arcs, levels, strict=True):
        top = level * step
        if arc.head == ROOT:
            left = right = tip = words[arc.word]
            put(((tip, top + 6), (tip, 1.0)), arc.ink)
        else:
            left, right = words[arc.left] + ends[arc][0], words[arc.right] + ends[arc][1]
            tip = left if arc.word == arc.left else right
            corners = ((left, 1.0), (left, top), (right, top), (right, 1.0))
            put(corners[::-1] if arc.word == arc.left else corners, arc.ink)
        put(((tip, 0.0), (tip - 3.2, 7.5), (tip + 3.2, 7.5)), arc.ink, filled=True)
        if arc.relation and arc.head == ROOT:  # next to the arrow
            y = top - 2 + SMALL if below else height - top + 2
            scene.items.append(Text(tip + 4, y, arc.relation, arc.ink, SMALL, "start", kind="relation"))
        elif arc.relation:
            y = top + 1 + SMALL if below else height - top - 3
            scene.items.append(Text((left + right) / 2, y, arc.relation, arc.ink, SMALL, kind="relation"))
    return scene


def _slots(arcs: Sequence[Arc]) -> dict[Arc, tuple[float, float]]:
    """Horizontal distances of the two ends of each arc from the middles of its words.

    The arcs of a word to one side start at its middle, the longest first.
    """
    rightward, leftward = Counter[int](), Counter[int]()
    slots = {}
    for arc in sorted(arcs, key=lambda arc: arc.left - arc.right):
        if arc.head != ROOT:
            rightward[arc.left] += 1
            leftward[arc.right] += 1
            slots[arc] = APART * rightward[arc.left], -APART * leftward[arc.right]
    return slots
