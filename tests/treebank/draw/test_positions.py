"""Positions in pictures: nothing overlaps and nothing is outside, measured in a real browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from tests.support.browser import measured, needs_fonts, outside, overlaps, struck
from tests.support.nested_trees import ROOTS, Node, flat
from tests.treebank.draw.examples import GOLD, HEADS, RELATIONS, SCRIPTS, compared, compared_heads, random_tree
from treebank.core.tree import Tree
from treebank.core.word_check import plain
from treebank.draw.panels import scene_of
from treebank.draw.picture import Analysis, Picture
from treebank.draw.scene import Stroke, Text
from treebank.draw.svg import svg


def pictures() -> list[Picture]:
    """Trees and heads in every script, with labels and without, deep ones, long ones, and comparisons."""
    drawn = [compared(), compared_heads()]
    drawn.append(Picture("heads", (Analysis("", GOLD.words, GOLD.tags, heads=HEADS, relations=RELATIONS),)))
    for seed, (name, text) in enumerate(SCRIPTS.items()):
        words = tuple(text.split())
        drawn.append(Picture(name, (Analysis.of_tree(random_tree(words, seed, labelled=seed % 2 == 0)),)))
        chain = tuple(range(-1, len(words) - 1))
        relations = ("root", *(f"relation-{i}" for i in range(1, len(words))))
        drawn.append(Picture(name, (Analysis("", words, heads=chain, relations=relations),)))
        star = (-1, *(0 for _ in words[1:]))
        drawn.append(Picture(name, (Analysis("", words, heads=star, relations=relations),)))
    chance = Random(1)
    long = tuple("".join(chance.choices("iMwl汉ب", k=chance.randint(1, 12))) for _ in range(100))
    drawn.append(Picture("100 words", (Analysis.of_tree(random_tree(long, 5, labelled=True)),)))
    deep = Tree.from_spans(long, [(i, 100) for i in range(100)])
    distances = tuple(chance.random() for _ in long)
    drawn.append(Picture("100 deep", (Analysis("", long, tree=deep, distances=distances),)))
    return drawn


WRONG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50">'
    '<text class="word" x="10" y="20">one</text><text class="word" x="20" y="22">two</text>'
    '<text class="word" x="90" y="20">outside</text><path d="M0 15L60 15"/></svg>'
)


@needs_fonts
def test_texts_neither_overlap_nor_leave_the_picture(tmp_path: Path) -> None:
    """A last picture, in which they do, shows that this is detected."""
    drawn = pictures()
    markup = "".join(svg(scene_of(picture), name=f"p{number}") for number, picture in enumerate(drawn))
    *measurements, wrong = measured(markup + WRONG, tmp_path)
    for picture, boxes in zip(drawn, measurements, strict=True):
        assert len(boxes["texts"]) >= len(picture.words)
        assert overlaps(boxes["texts"]) == [], picture.title
        assert struck(boxes["texts"], boxes["lines"]) == [], picture.title
        assert outside(boxes["texts"], boxes["frame"]) == [], picture.title
    assert overlaps(wrong["texts"]) == [("one", "two")]
    assert set(struck(wrong["texts"], wrong["lines"])) == {"one", "two"}
    assert outside(wrong["texts"], wrong["frame"]) == ["outside"]


def words_of(picture: Picture) -> list[str]:
    """The words of the picture from left to right."""
    scene = scene_of(picture)
    texts = [item for item in scene.items if isinstance(item, Text) and item.kind == "word"]
    return [item.text for item in sorted(texts, key=lambda item: item.x)]


def test_words_are_in_the_order_of_their_script() -> None:
    for name, text in SCRIPTS.items():
        words = text.split()
        order = words_of(Picture("", (Analysis.of_tree(random_tree(tuple(words), 1)),)))
        assert order == (words[::-1] if name in ("Arabic", "Hebrew") else words), name


def test_panels_of_one_picture_have_their_words_under_each_other() -> None:
    scene = scene_of(
        Picture("", (Analysis.of_tree(GOLD, "a"), Analysis.of_tree(GOLD, "b"), Analysis.of_tree(GOLD, "c")))
    )
    positions = [round(item.x, 3) for item in scene.items if isinstance(item, Text) and item.text == "telescope"]
    assert len(positions) == 3
    assert len(set(positions)) == 1


def test_ten_thousand_words_deep() -> None:
    words = tuple(map(str, range(10_000)))
    deep = Tree.from_spans(words, [(i, 10_000) for i in range(10_000)])
    scene = scene_of(Picture("", (Analysis.of_tree(deep),)))
    assert sum(isinstance(item, Text) and item.kind == "word" for item in scene.items) == 10_000
    assert scene.height < 10_000 * 10


def test_edges_of_a_wide_bracket_have_right_angles() -> None:
    for count, is_flat in ((4, False), (40, True)):
        tree = Tree.from_spans([f"word{i}" for i in range(count)], [(0, count)], label="S")
        edges = [item for item in scene_of(Picture("", (Analysis.of_tree(tree),))).items if isinstance(item, Stroke)]
        steps = [pair for edge in edges if not edge.filled for pair in pairwise(edge.points)]
        assert all(x == other_x or y == other_y for (x, y), (other_x, other_y) in steps) == is_flat


@given(ROOTS)
def test_labels_are_between_the_outermost_parts_and_below_their_parents(root: Node) -> None:
    tree = flat(root).without_traces()
    if not tree.words:
        return
    items = scene_of(Picture("", (Analysis.of_tree(tree),))).items
    texts = [item for item in items if isinstance(item, Text)]
    words = [item for item in texts if item.kind == "word"]
    assert [item.text for item in words] == plain(tree.words)
    assert all(left.x < right.x for left, right in pairwise(words))

    def middle(start: int, end: int, k: int) -> float:
        """Position of bracket k, from the words and brackets directly in it."""
        inner = [j for j in range(k + 1, len(tree.spans)) if start <= tree.spans[j][0] and tree.spans[j][1] <= end]
        ends = [words[start].x, words[end - 1].x]
        for side, word in ((0, start), (1, end - 1)):
            outermost = next((j for j in inner if tree.spans[j][0] <= word < tree.spans[j][1]), None)
            if outermost is not None:
                ends[side] = middle(*tree.spans[outermost], outermost)
        return sum(ends) / 2

    labels = [item for item in texts if item.kind == "label"]
    expected = [(label, middle(*span, k)) for k, (span, label) in enumerate(zip(tree.spans, tree.labels, strict=True))]
    visible = [(label, x) for label, x in expected if label not in ("", "X")]
    assert [item.text for item in labels] == [label for label, _ in visible]
    assert [item.x - 14 for item in labels] == pytest.approx([x - 14 for _, x in visible])
