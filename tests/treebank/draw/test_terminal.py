"""Pictures made of characters."""

from __future__ import annotations

from random import Random

import pytest
from rich.cells import cell_len

from tests.treebank.draw.examples import GOLD, HEADS, PREDICTED, SCRIPTS, compared, compared_heads, random_tree
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis, Picture
from treebank.draw.terminal import LEFT_TO_RIGHT_MARK, plain


def picture(tree: Tree, **numbers: object) -> Picture:
    return Picture("", (Analysis("", tree.words, tree.tags, tree, **numbers),))  # type: ignore[arg-type]


def test_a_tree_without_labels() -> None:
    assert plain(picture(PREDICTED), 80).splitlines() == [
        "      ┌────────────────┬───────────────┐",
        "   ┌──┴──┐   ┌────────┬┴─────────┐     │",
        " ┌─┴─┐   │   │   ┌────┴┬───┐     │     │",
        " │   │   │   │  ┌┴─┐   │   │     │     │",
        "The old man saw a dog with a telescope .",
    ]


def test_labels_stand_over_their_children() -> None:
    assert plain(picture(Tree.from_text("(S (NP (DT a) (N b)) (VP (V c)))")), 80).splitlines() == [
        "   S",
        " ┌─┴──┐",
        " NP   VP",
        "┌┴─┐  │",
        "DT N  V",
        "a  b  c",
    ]


def test_a_tree_that_is_too_wide_lies_on_its_side() -> None:
    assert plain(picture(GOLD), 36).splitlines() == [
        "─S┬─NP┬─────────────The DT",
        "  │   ├─────────────old JJ",
        "  │   └─────────────man NN",
        "  ├─VP┬─────────────saw VBD",
        "  │   └─NP┬─NP┬─────a DT",
        "  │       │   └─────dog NN",
        "  │       └─PP┬─────with IN",
        "  │           └─NP┬─a DT",
        "  │               └─telescope NN",
        "  └─────────────────. .",
    ]


def test_in_a_window_that_is_narrower_still_it_has_no_labels() -> None:
    lines = plain(picture(GOLD), 25).splitlines()
    assert lines[0] == "─┬─┬───────The DT"
    assert lines[-2:] == [" │       └─telescope NN", " └─────────. ."]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("width", [200, 60, 30])
def test_nothing_is_wider_than_the_window(script: str, width: int) -> None:
    words = tuple(SCRIPTS[script].split())
    for labelled in (False, True):
        text = plain(picture(random_tree(words, 2, labelled=labelled)), width)
        drawn = text.splitlines()
        assert drawn[0].startswith("(too wide") or all(cell_len(line) <= width for line in drawn), text
        for word in words:
            assert word in text


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_word_hangs_from_its_line(script: str) -> None:
    words = tuple(SCRIPTS[script].split())
    lines = plain(picture(random_tree(words, 4)), 300).splitlines()
    row, above = lines[-1], lines[-2]
    at = 0
    for piece in row.split(" "):
        bare = piece.replace(LEFT_TO_RIGHT_MARK, "")
        if bare:
            assert any(mark in "│┌┐┬" for mark in above[at : at + cell_len(bare)]), (script, bare)
        at += cell_len(bare) + 1


def test_right_to_left() -> None:
    words = tuple(SCRIPTS["Hebrew"].split())
    row = plain(picture(random_tree(words, 1)), 300).splitlines()[-1]
    assert row.replace(LEFT_TO_RIGHT_MARK, "").split() == list(words[::-1])
    assert row.count(LEFT_TO_RIGHT_MARK) == 2 * (len(words) - 1)


def test_arcs_reach_their_words() -> None:
    arcs = Picture("", (Analysis("", GOLD.words, heads=HEADS),))
    lines = plain(arcs, 120).splitlines()
    assert lines[-1].split() == list(GOLD.words)
    assert lines[-2].count("▼") == len(HEADS)
    assert sum(line.count("┌") for line in lines) == sum(line.count("┐") for line in lines) == len(HEADS) - 1


def test_heads_in_a_narrow_window_are_a_table() -> None:
    lines = plain(compared_heads(), 38).splitlines()
    assert " 7 with       × 4 saw (gold 9)" in lines
    assert " 4 saw        ● root" in lines


def test_signs_tell_gold_and_prediction_apart_without_colour() -> None:
    text = plain(compared(), 120)
    assert text.splitlines()[-1].split("   ")[:3] == ["● in gold and predicted", "○ in gold only", "× predicted only"]
    assert "prpn — 3 of 6 gold brackets, 2 extra" in text
    part = text.split("prpn")[1].split("random")[0]
    assert part.count("●") == 3
    assert part.count("×") == 2


def test_distances_are_in_the_gaps() -> None:
    chance = Random(3)
    values = tuple(chance.random() for _ in GOLD.words)
    last = plain(picture(PREDICTED, distances=values), 120).splitlines()[-2]  # above the legend
    marks = [mark for mark in last if mark != " "]
    assert len(marks) == len(values) - 1
    highest = max(range(1, len(values)), key=values.__getitem__)
    assert marks[highest - 1] == "█"


def test_deep_tree_is_written_in_brackets() -> None:
    words = tuple(f"w{i}" for i in range(5000))
    deep = Tree.from_spans(words, [(i, 5000) for i in range(5000)])
    lines = plain(picture(deep), 80).splitlines()
    assert lines == ["(too wide to draw in 80 columns)", str(deep)]


def test_escape_sequences_in_words_and_labels_are_spelled_out() -> None:
    tree = Tree(("\x1b[31mthe", "cat"), ("DT", "N\x1bN"), ((0, 2),), ("N\x07P",))
    for analysis in (Analysis.of_tree(tree), Analysis("a\x1bb", tree.words, heads=(1, -1))):
        text = plain(Picture("t\x1b", (analysis,)), 80)
        assert not {"\x1b", "\x07"} & set(text)
        assert "\\x1b[31mthe" in text


def test_heads_of_a_long_sentence_are_a_table() -> None:
    words = tuple(f"w{i}" for i in range(300))
    text = plain(Picture("", (Analysis("", words, heads=tuple(range(-1, 299))),)), 10_000)
    assert len(text.splitlines()) == len(words)
