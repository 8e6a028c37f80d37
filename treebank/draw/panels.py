"""A picture as one scene: a panel per analysis, side by side if they fit, and a legend of a comparison and bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from treebank.core.word_check import plain
from treebank.draw.arc_layout import Arc, arcs_of, draw_arcs
from treebank.draw.arc_layout import make_room as make_room_for_arcs
from treebank.draw.measure import em_width, runs_right_to_left
from treebank.draw.picture import GOLD, Marked, Picture
from treebank.draw.scene import Box, Ink, Scene, Stroke, Text
from treebank.draw.tree_layout import (
    BARE_TAGS,
    SIZE,
    SMALL,
    Branches,
    draw_tree,
    label_halves,
    make_room,
    middles,
    visible,
    word_widths,
)

BAR, ROW = 44.0, 15.0  # height of the strip of bars, and of a row of shades
MAX_WIDTH = 14.0  # pixels of a bar

ROW_TEXT = 11.0  # pixels, of the words next to rows of shades
MARGIN, BETWEEN = 14.0, 36.0  # around a picture, and between two panels
WIDEST = 940.0  # of panels side by side, which fit a window of 1,000 pixels; wider ones are put below each other


def scene_of(picture: Picture) -> Scene:
    """The picture with a title and a description in words."""
    marked = picture.marked()
    alike = len({entry.analysis.words for entry in marked}) == 1
    shared = _widths(marked) if alike else []
    panels = [_panel(entry, shared or _widths([entry]), titled=len(marked) > 1 or bool(entry.note)) for entry in marked]
    scene = Scene()
    if picture.title:
        scene.items.append(Text(MARGIN, MARGIN + SMALL, picture.title, Ink.FAINT, SMALL, "start", kind="note"))
        scene.width = MARGIN + em_width(picture.title) * SMALL
        scene.height = MARGIN + SMALL + 6
    _put_panels(scene, panels)
    if picture.translation:
        scene.height += SMALL + 4
        text = f"‘{plain([picture.translation])[0]}’"
        scene.items.append(Text(MARGIN, scene.height, text, Ink.FAINT, SMALL, "start", kind="translation"))
        scene.width = max(scene.width, MARGIN + em_width(text) * SMALL)
        scene.height += 4
    if picture.legend:
        left, top = MARGIN, scene.height + 14 + SMALL
        for ink, text in picture.legend.items():  # with a sample of its line
            scene.items.append(Stroke(((left, top - 4), (left + 30, top - 4)), ink, 2.0))
            text_ink = Ink.FAINT if ink == Ink.BAR else ink  # bars are too light for letters
            scene.items.append(Text(left + 36, top, text, text_ink, SMALL, "start", kind="legend"))
            left += 36 + em_width(text) * SMALL + 22
        scene.width, scene.height = max(scene.width, left), top + SMALL / 2
    scene.width += MARGIN
    scene.height += MARGIN
    scene.title = picture.title or " ".join(picture.words)
    scene.description = plain(["; ".join(entry.in_words for entry in marked)])[0]
    return scene


def _put_panels(scene: Scene, panels: Sequence[Scene]) -> None:
    """Add the panels at the bottom, in one row if it is not too wide."""
    top = scene.height + 8
    if sum(panel.width for panel in panels) + BETWEEN * (len(panels) - 1) <= WIDEST:
        left, lowest = MARGIN, max((panel.height for panel in panels), default=0.0)
        for panel in panels:
            scene.put(panel, left, top + lowest - panel.height)
            left += panel.width + BETWEEN
        return
    for panel in panels:
        scene.put(panel, MARGIN, top)
        top += panel.height + BETWEEN / 2


def _widths(marked: Sequence[Marked]) -> list[float]:
    """Width of each word in all panels, so that the words are aligned."""
    widths = [0.0] * len(marked[0].analysis.words)
    for entry in marked:
        needed = word_widths(entry.analysis.words, entry.analysis.tags, entry.analysis.below)
        widths = [max(pair) for pair in zip(widths, needed, strict=True)]
    for entry in marked:
        if entry.analysis.tree is not None:
            branches = Branches(entry.analysis.tree)
            make_room(branches, widths, label_halves(branches))
        if entry.analysis.heads:
            make_room_for_arcs([*_arcs(entry), *_missed(entry)], widths)
    return widths


def _arcs(marked: Marked) -> list[Arc]:
    return arcs_of(marked.analysis.heads, marked.arcs, marked.analysis.relations)


def _missed(marked: Marked) -> list[Arc]:
    return arcs_of(marked.missed, [Ink.MISSED] * len(marked.analysis.words))


def _panel(marked: Marked, widths: Sequence[float], *, titled: bool) -> Scene:
    """The picture of one analysis: tree or arcs, words, numbers. It is mirrored if the words run from right to left."""
    analysis = marked.analysis
    if not analysis.words:
        return Scene(60, SIZE * 2, [Text(0, SIZE, "(no words)", Ink.FAINT, SMALL, "start", kind="note")])
    tags = [visible(tag, BARE_TAGS) for tag in analysis.tags or ("",) * len(analysis.words)]
    branches = Branches(analysis.tree) if analysis.tree is not None else None
    arcs, missed = _arcs(marked), _missed(marked)
    positions, width = middles(widths), sum(widths)
    lefts = [0.0, *accumulate(widths)][:-1]
    scene = Scene(width)
    if branches:
        bars = bool(analysis.distances)
        scene.put(draw_tree(branches, positions, width, marked.brackets, 10 + bars * (BAR + 6)), 0, 0)
        if bars:
            scene.put(draw_distances(analysis.distances, lefts, width), 0, scene.height - BAR - 2)
        arcs, missed = [], arcs or missed
    elif arcs:
        scene.put(draw_arcs(arcs, positions, width), 0, 0)
    rows = [(tags, SMALL, "tag", Ink.FAINT)] * any(tags) + [(analysis.words, SIZE, "word", Ink.PLAIN)]
    below = [(texts, SMALL, "gloss", Ink.FAINT) for texts in analysis.below]
    for texts, size, kind, ink in [*(rows if branches else reversed(rows)), *below]:
        baseline = scene.height + size * 1.1
        pairs = zip(texts, positions, strict=True)
        scene.items += [Text(x, baseline, text, ink, size, kind=kind) for text, x in pairs if text]
        scene.height += size * 1.45
    if missed:
        scene.put(draw_arcs(missed, positions, width, below=True), 0, scene.height)
    if analysis.distances and not branches:
        scene.put(draw_distances(analysis.distances, lefts, width), 0, scene.height + 6)
    if analysis.probabilities:
        scene.put(draw_probabilities(analysis.probabilities, analysis.words, lefts, width), 0, scene.height + 8)
    if runs_right_to_left(analysis.words):
        scene = scene.mirrored()
    if not titled:
        return scene
    title = " — ".join(filter(None, [analysis.name if analysis.name != GOLD else "gold", marked.note]))
    panel = Scene(em_width(title) * SMALL * 1.1, SMALL + 10)
    panel.items.append(Text(0, SMALL, title, Ink.PLAIN, SMALL, "start", bold=True, kind="title"))
    panel.put(scene, 0, panel.height)
    return panel


def draw_distances(values: Sequence[float], lefts: Sequence[float], width: float) -> Scene:
    """A bar in the gap before each word but the first. The sentence is first split at the highest bar.

    ``lefts`` are the left edges of the words. The smallest distance has the shortest bar; NaN has none.
    """
    scene = Scene(width, BAR)
    scene.items.append(Stroke(((0.0, BAR), (width, BAR)), Ink.FAINT, 0.6))
    for share, left in list(zip(shares(values), lefts, strict=True))[1:]:
        if share is not None:
            height = 4 + share * (BAR - 8)
            scene.items.append(Box(left - MAX_WIDTH / 2, BAR - height, MAX_WIDTH, height, Ink.BAR))
    return scene


def shares(values: Sequence[float]) -> list[float | None]:
    """Each distance, scaled from the smallest (0) to the largest (1), or None for NaN."""
    known = [value for value in values[1:] if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return [
        None if not math.isfinite(value) else (value - low) / (high - low) if high > low else 0.5 for value in values
    ]


def draw_probabilities(
    rows: Sequence[Sequence[float]], words: Sequence[str], lefts: Sequence[float], width: float
) -> Scene:
    """A row of shades for each word, one under each of its possible heads. Darker shades are more probable.

    The diagonal has the probability that the word is the root. The maximum of a row has a frame. A word that the model
    did not receive has none.
    """
    names = max((em_width(word) for word in words), default=0.0) * ROW_TEXT
    scene = Scene(width + 8 + names, ROW * len(rows) + 4)
    edges = [*lefts, width]
    for i, row in enumerate(rows):
        best = max(range(len(row)), key=lambda j: _finite(row[j]), default=-1)
        for j, value in enumerate(row):
            share = min(max(_finite(value), 0.0), 1.0)
            left, right = edges[j] + 1, edges[j + 1] - 1
            framed = j == best and share > 0
            if share >= 0.005 or framed:
                y = ROW * i + 1
                scene.items.append(Box(left, y, right - left, ROW - 2, Ink.SHADE, round(share, 3), framed=framed))
        scene.items.append(Text(width + 8, ROW * i + ROW_TEXT, words[i], Ink.FAINT, ROW_TEXT, "start", kind="row"))
    return scene


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
