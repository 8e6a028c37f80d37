"""Where things stand in a picture: nothing overlaps and nothing is outside, measured in a real browser."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.support.browser import measured, needs_fonts, outside, overlaps, struck
from tests.treebank.draw.examples import GOLD, HEADS, RELATIONS, SCRIPTS, compared, compared_heads, random_tree
from treebank.core.tree import Tree
from treebank.draw.layout import scene_of
from treebank.draw.picture import Analysis, Picture
from treebank.draw.scene import Text
from treebank.draw.svg import svg


def pictures() -> list[Picture]:
    """Trees and heads in every script, with labels and without, deep ones, long ones, and comparisons."""
    found = [compared(), compared_heads()]
    found.append(Picture("heads", (Analysis("", GOLD.words, GOLD.tags, heads=HEADS, relations=RELATIONS),)))
    for seed, (name, text) in enumerate(SCRIPTS.items()):
        words = tuple(text.split())
        found.append(Picture(name, (Analysis.of_tree(random_tree(words, seed, labelled=seed % 2 == 0)),)))
        chain = tuple(range(-1, len(words) - 1))
        relations = ("root", *(f"relation-{i}" for i in range(1, len(words))))
        found.append(Picture(name, (Analysis("", words, heads=chain, relations=relations),)))
        star = (-1, *(0 for _ in words[1:]))
        found.append(Picture(name, (Analysis("", words, heads=star, relations=relations),)))
    chance = Random(1)
    long = tuple("".join(chance.choices("iMwl汉ب", k=chance.randint(1, 12))) for _ in range(200))
    found.append(Picture("200 words", (Analysis.of_tree(random_tree(long, 5, labelled=True)),)))
    deep = Tree.from_spans(long, [(i, 200) for i in range(200)])
    distances = tuple(chance.random() for _ in long)
    found.append(Picture("200 deep", (Analysis("", long, tree=deep, distances=distances),)))
    return found


@needs_fonts
def test_no_texts_overlap_no_line_strikes_one_and_all_is_inside(tmp_path: Path) -> None:
    drawn = pictures()
    markup = "".join(svg(scene_of(picture), name=f"p{number}") for number, picture in enumerate(drawn))
    found = measured(markup, tmp_path)
    assert len(found) == len(drawn)
    for picture, one in zip(drawn, found, strict=True):
        assert len(one["texts"]) >= len(picture.words)
        assert overlaps(one["texts"]) == [], picture.title
        assert struck(one["texts"], one["lines"]) == [], picture.title
        assert outside(one["texts"], one["frame"]) == [], picture.title


@needs_fonts
def test_the_look_above_sees_what_is_wrong(tmp_path: Path) -> None:
    wrong = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50">'
        '<text class="word" x="10" y="20">one</text><text class="word" x="20" y="22">two</text>'
        '<text class="word" x="90" y="20">outside</text><path d="M0 15L60 15"/></svg>'
    )
    (found,) = measured(wrong, tmp_path)
    assert overlaps(found["texts"]) == [("one", "two")]
    assert set(struck(found["texts"], found["lines"])) == {"one", "two"}
    assert outside(found["texts"], found["frame"]) == ["outside"]


def words_of(picture: Picture) -> list[str]:
    """The words as they stand in the picture, from left to right."""
    scene = scene_of(picture)
    texts = [item for item in scene.items if isinstance(item, Text) and item.kind == "word"]
    return [item.text for item in sorted(texts, key=lambda item: item.x)]


def test_words_stand_in_the_order_of_their_script() -> None:
    for name, text in SCRIPTS.items():
        words = text.split()
        shown = words_of(Picture("", (Analysis.of_tree(random_tree(tuple(words), 1)),)))
        assert shown == (words[::-1] if name in ("Arabic", "Hebrew") else words), name


def test_panels_of_one_picture_have_their_words_under_each_other() -> None:
    scene = scene_of(
        Picture("", (Analysis.of_tree(GOLD, "a"), Analysis.of_tree(GOLD, "b"), Analysis.of_tree(GOLD, "c")))
    )
    places = [round(item.x, 3) for item in scene.items if isinstance(item, Text) and item.text == "telescope"]
    assert len(places) == 3
    assert len(set(places)) == 1


def test_ten_thousand_words_deep() -> None:
    words = tuple(map(str, range(10_000)))
    deep = Tree.from_spans(words, [(i, 10_000) for i in range(10_000)])
    scene = scene_of(Picture("", (Analysis.of_tree(deep),)))
    assert sum(isinstance(item, Text) and item.kind == "word" for item in scene.items) == 10_000
    assert scene.height < 10_000 * 10
