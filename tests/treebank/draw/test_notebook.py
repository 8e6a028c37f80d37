"""Display of trees and sentences in notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import synparse
from tests.treebank.draw.examples import GOLD, HEADS, OTHER_HEADS, PREDICTED, RELATIONS
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.draw.notebook import register_display

SVG = "{http://www.w3.org/2000/svg}"


def words_in(svg: str) -> list[str | None]:
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [text.text for text in texts if (text.get("class") or "").startswith("word")]


def test_shell_displays_trees_and_sentences() -> None:
    formatters: dict[type, Callable[[object], str]] = {}
    shell = SimpleNamespace(
        display_formatter=SimpleNamespace(
            formatters={"image/svg+xml": SimpleNamespace(for_type=formatters.__setitem__)}
        )
    )
    register_display(shell)
    assert words_in(formatters[Tree](GOLD)) == list(GOLD.words)
    svg = formatters[Sentence](Sentence(GOLD.words, heads=HEADS, relations=RELATIONS))
    assert words_in(svg) == list(GOLD.words)
    assert "nsubj" in svg


def test_latex_of_a_tree_and_of_heads() -> None:
    latex = synparse.draw(GOLD).to_latex()
    assert latex.startswith("\\begin{forest}")
    assert latex.count("[") == latex.count("]")
    assert "\\depedge" in synparse.draw(Sentence(GOLD.words, heads=HEADS)).to_latex()


def test_strings_and_nltk_trees_are_drawn() -> None:
    for value in (str(GOLD), GOLD.to_nltk(), [GOLD.to_nltk()]):
        assert words_in(synparse.draw(value).to_svg()) == list(GOLD.words)
    assert "cat" in str(synparse.draw("The cat sat ."))  # parsed by the default model


WORDS = ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        *(42, [None], "(S (NP", {"a": 1}, (GOLD, 3), (1, 2), Sentence(("a", "b"), heads=(1, 7))),
        *((WORDS, heads) for heads in ([1], [], [1, 5], [-2, 0])),
        ([1, 2], [1, -1]),
    ],
)
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(SynparseError, match="cannot draw"):
        synparse.draw(value)


def test_each_type_is_drawn() -> None:
    for value in (GOLD, Sentence(GOLD.words, heads=HEADS), (GOLD.words, HEADS), (" ".join(GOLD.words), HEADS)):
        drawing = synparse.draw(value)
        assert words_in(drawing.to_svg()) == list(GOLD.words)
        assert "telescope" in str(drawing)


def test_tuples_of_trees_and_heads_with_cycles_are_drawn() -> None:
    assert len(synparse.draw((GOLD, GOLD)).pictures) == 2
    assert "▼" in str(synparse.draw((WORDS, [1, 0])))  # as decoded by argmax


def test_systems_and_gold_have_the_same_number_of_sentences() -> None:
    two = [GOLD, GOLD]
    for others, gold, name in (([[GOLD]], [], "system 2"), ([], [GOLD], "gold"), ([two], [*two, GOLD], "gold")):
        with pytest.raises(SynparseError, match=f"{name}: number of sentences"):
            synparse.draw(two, *others, gold=gold)


def test_beside_each_other_and_beside_gold(tmp_path: Path) -> None:
    drawing = synparse.draw([PREDICTED], [PREDICTED], gold=[GOLD])
    assert drawing._repr_html_().count("3 of 6 gold brackets") >= 2
    assert drawing.to_latex().count("\\begin{forest}") == 3
    drawing.save(tmp_path / "a.html")
    assert "in gold only" in (tmp_path / "a.html").read_text(encoding="utf-8")
    heads = synparse.draw((GOLD.words, OTHER_HEADS), gold=[(GOLD.words, HEADS)])
    assert "7 of 9 gold arcs" in heads.to_svg()


def test_the_words_of_gold_must_be_the_same() -> None:
    with pytest.raises(SynparseError, match="not the sentence that gold has here"):
        synparse.draw(Tree.from_spans(["a", "b"], []), gold=[GOLD])


def test_gold_must_have_the_same_structure() -> None:
    with pytest.raises(SynparseError, match="predicted: heads cannot be compared with gold trees; convert"):
        synparse.draw((GOLD.words, HEADS), gold=[GOLD])
    with pytest.raises(SynparseError, match="system 1, system 2: trees cannot be compared with gold heads"):
        synparse.draw(GOLD, [PREDICTED], gold=(GOLD.words, HEADS))
    assert "in gold only" in synparse.draw((GOLD.words, HEADS), [PREDICTED], gold=[GOLD]).to_svg()


def test_dictionary_names_the_systems() -> None:
    drawing = synparse.draw({"ours": [PREDICTED], "theirs": [PREDICTED]}, gold=[GOLD])
    assert [analysis.name for analysis in drawing.pictures[0].analyses] == ["ours", "theirs"]
