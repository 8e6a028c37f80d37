"""What notebooks show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import synparse
from tests.treebank.draw.examples import GOLD, HEADS, OTHER_HEADS, PREDICTED, RELATIONS
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

SVG = "{http://www.w3.org/2000/svg}"


def words_in(svg: str) -> list[str | None]:
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [text.text for text in texts if (text.get("class") or "").startswith("word")]


def test_a_tree_shows_itself() -> None:
    assert words_in(GOLD._repr_svg_()) == list(GOLD.words)
    assert GOLD.to_latex().startswith("\\begin{forest}")
    assert GOLD.to_latex().count("[") == GOLD.to_latex().count("]")


def test_a_sentence_shows_its_heads() -> None:
    shown = Sentence(GOLD.words, heads=HEADS, relations=RELATIONS)._repr_svg_()
    assert words_in(shown) == list(GOLD.words)
    assert "nsubj" in shown


def test_one_of_each() -> None:
    for one in (GOLD, Sentence(GOLD.words, heads=HEADS), (GOLD.words, HEADS)):
        drawing = synparse.draw(one)
        assert words_in(drawing.to_svg()) == list(GOLD.words)
        assert "telescope" in str(drawing)


def test_beside_each_other_and_beside_gold(tmp_path: Path) -> None:
    drawing = synparse.draw([PREDICTED], [PREDICTED], gold=[GOLD])
    assert drawing._repr_html_().count("3 of 6 gold brackets") >= 2
    assert drawing.to_latex().count("\\begin{forest}") == 3
    drawing.save(str(tmp_path / "a.html"))
    assert "in gold only" in (tmp_path / "a.html").read_text(encoding="utf-8")
    heads = synparse.draw((GOLD.words, OTHER_HEADS), gold=[(GOLD.words, HEADS)])
    assert "7 of 9 gold arcs" in heads.to_svg()


def test_the_words_of_gold_must_be_the_same() -> None:
    with pytest.raises(SynparseError, match="not the sentence that gold has here"):
        synparse.draw(Tree.from_spans(["a", "b"], []), gold=[GOLD])
