"""Shared, missed and extra brackets and arcs, and the contrast of their colors."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.treebank.draw.examples import GOLD, HEADS, OTHER_HEADS, PREDICTED, compared, compared_heads
from treebank.core.tree import Tree
from treebank.draw.panels import draw_probabilities, scene_of
from treebank.draw.picture import WITH_DISTANCES, WITH_EACH_OTHER, WITH_GOLD, Analysis, Picture
from treebank.draw.scene import DARK, DASHES, LIGHT, Box, Ink
from treebank.draw.svg import svg
from treebank.draw.terminal import plain

COMPARED = (Ink.SHARED, Ink.MISSED, Ink.EXTRA)
# what each deficiency leaves of red, green and blue light (Machado, Oliveira and Fernandes 2009, severity 1)
VISION = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def light(color: str) -> np.ndarray:
    """Red, green and blue light of ``#rrggbb``, from 0 to 1."""
    values = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(color: str, vision: str) -> np.ndarray:
    """CIE L*a*b* coordinates of a color as perceived with ``vision``."""
    perceived = np.clip(np.array(VISION[vision]) @ light(color), 0, 1)
    x, y, z = (XYZ @ perceived) / np.array([0.9505, 1.0, 1.089])
    fx, fy, fz = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def contrast(color: str, paper: str) -> float:
    """The ratio of brightness that the guidelines for accessible pages ask to be 4.5 for text."""
    bright, dark = sorted((float(XYZ[1] @ light(color)), float(XYZ[1] @ light(paper))), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("inks", [LIGHT, DARK], ids=["light", "dark"])
def test_colors_differ_for_every_color_vision(inks: dict[Ink, str], vision: str) -> None:
    for first, second in itertools.combinations(COMPARED, 2):
        distance = np.linalg.norm(lab(inks[first], vision) - lab(inks[second], vision))
        assert distance > 20, (first, second, distance)


def test_without_any_colour_the_lines_differ() -> None:
    assert len({DASHES.get(ink) for ink in COMPARED}) == 3


@pytest.mark.parametrize(("inks", "paper"), [(LIGHT, "#ffffff"), (DARK, "#161616")], ids=["light", "dark"])
def test_text_is_readable_in_every_ink_it_has(inks: dict[Ink, str], paper: str) -> None:
    for ink in (*COMPARED, Ink.PLAIN, Ink.FAINT):
        assert contrast(inks[ink], paper) >= 4.5, ink


def test_brackets_of_trees() -> None:
    gold, first, _ = compared().marked()
    by_span = dict(zip(PREDICTED.spans, first.brackets, strict=True))
    assert by_span == {
        (0, 10): Ink.FAINT,
        (0, 3): Ink.SHARED,
        (0, 2): Ink.EXTRA,
        (3, 9): Ink.SHARED,
        (4, 8): Ink.EXTRA,
        (4, 6): Ink.SHARED,
    }
    assert first.note == "3 of 6 gold brackets, 2 extra"
    alone = Picture("", compared().analyses[:1], compared().gold).marked()[0]
    missed = [span for span, ink in zip(GOLD.spans, alone.brackets, strict=True) if ink == Ink.MISSED]
    assert missed == [(4, 9), (6, 9), (7, 9)]
    assert gold.analysis.name == "gold"


def test_punctuation_makes_no_difference() -> None:
    words = ("He", "ran", ",", "fast", ".")
    gold = Tree.from_spans(words, [(0, 4), (1, 4)])
    predicted = Tree.from_spans(words, [(1, 5), (1, 3)])
    _, marked = Picture("", (Analysis.of_tree(predicted, "a"),), Analysis.of_tree(gold, "gold")).marked()
    assert dict(zip(predicted.spans, marked.brackets, strict=True)) == {
        (0, 5): Ink.FAINT,
        (1, 5): Ink.SHARED,
        (1, 3): Ink.FAINT,
    }


def test_arcs_of_heads() -> None:
    (marked,) = compared_heads().marked()
    inks = [Ink.SHARED] * 10
    inks[6] = inks[8] = Ink.EXTRA
    inks[9] = Ink.FAINT  # punctuation
    assert list(marked.arcs) == inks
    assert marked.missed == {6: 8, 8: 5}
    assert marked.note == "7 of 9 gold arcs"


def test_a_word_that_the_model_did_not_read_has_no_shade_and_no_frame() -> None:
    rows = [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    boxes = [item for item in draw_probabilities(rows, ["a", "b", "."], [0, 20, 40], 60).items if isinstance(item, Box)]
    assert [box.framed for box in boxes] == [False, True, True, False]


def test_legend_requires_a_comparison_or_bars() -> None:
    bars = Picture("", (replace(Analysis.of_tree(GOLD, "a"), distances=tuple(range(len(GOLD)))),))
    for picture, has_legend in ((bars, True), (compared(), False)):
        assert (WITH_DISTANCES[Ink.BAR] in svg(scene_of(picture))) == has_legend
        assert (WITH_DISTANCES[Ink.BAR] in plain(picture, 120)) == has_legend
    heads = Picture("", compared_heads().analyses, compared().gold)
    for picture, has_legend in ((compared(), True), (compared_heads(), True), (heads, False)):
        assert (WITH_GOLD[Ink.EXTRA] in svg(scene_of(picture))) == has_legend
        assert (WITH_GOLD[Ink.EXTRA] in plain(picture, 80)) == has_legend


def test_differences_of_analyses_without_gold_are_marked() -> None:
    trees = Picture("", (Analysis.of_tree(GOLD, "a"), Analysis.of_tree(PREDICTED, "b")))
    for marked, other in zip(trees.marked(), (PREDICTED, GOLD), strict=True):
        spans = {span for span in marked.analysis.tree.spans if span not in {*other.spans, (0, 10), (0, 9)}}
        extra = {
            span for span, ink in zip(marked.analysis.tree.spans, marked.brackets, strict=True) if ink == Ink.EXTRA
        }
        assert extra == spans
    heads = Picture("", tuple(Analysis(str(i), GOLD.words, heads=each) for i, each in enumerate((HEADS, OTHER_HEADS))))
    differing = [index for index, ink in enumerate(heads.marked()[0].arcs) if ink == Ink.EXTRA]
    assert differing == [index for index in range(10) if HEADS[index] != OTHER_HEADS[index]]
    for picture, has_legend in ((trees, True), (heads, True), (Picture("", trees.analyses[:1]), False)):
        assert (WITH_EACH_OTHER[Ink.EXTRA] in svg(scene_of(picture))) == has_legend
        assert (WITH_EACH_OTHER[Ink.EXTRA] in plain(picture, 80)) == has_legend
