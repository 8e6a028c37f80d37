"""Predictions in all forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.tree import Tree
from treebank.io.bracketed import parse_bare, read_trees
from treebank.io.predictions import PredictedTree, gives_heads, read_prediction_heads, read_prediction_trees

ROOT = Path(__file__).resolve().parents[3]
BRACKETS = ROOT / "tests/data/brackets"
INVALID = ROOT / "tests/data/invalid"
OPEN = "this tree is never closed"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(a (b c))", "(X (W a) (X (W b) (W c)))"),
        ("((a b) c)", "(X (X (W a) (W b)) (W c))"),
        ("((a) ((b c)))", "(X (W a) (X (W b) (W c)))"),
        ("Yes", "(X (W Yes))"),
        ("(Yes)", "(X (W Yes))"),
        ("", ""),
    ],
)
def test_bare_trees(text: str, tree: str) -> None:
    assert str(parse_bare(text)) == tree


@pytest.mark.parametrize("text", ["(a b", "a)", "(a b) (c d)", "a b", "(a b) c"])
def test_bare_trees_must_be_one_whole_tree(text: str) -> None:
    with pytest.raises(ValueError, match=r"never closed|too many|more than one|outside"):
        parse_bare(text)


def test_predictions_one_a_line(tmp_path: Path) -> None:
    text = "# made by parser 1.0\n(X (W a) (W b))\n\n(a (b c))\r\nYes\n#\n(A a) (B b)\n"
    predictions = list(read_prediction_trees(write(tmp_path, text)))
    assert [item.line for item in predictions] == [2, 3, 4, 5, 6, 7, 7]
    assert predictions[0].labelled == Tree.from_text("(X (W a) (W b))")
    assert predictions[1].labelled is not None
    assert not predictions[1].labelled.words
    assert not predictions[1].bare.words
    assert predictions[2].bare.words == ("a", "b", "c")
    assert predictions[3].labelled is None
    assert predictions[3].bare.words == ("Yes",)
    assert predictions[4].bare.words == ("#",)
    assert predictions[5].bare.words == ("A", "a")
    assert predictions[6].text == "(B b)"


@pytest.mark.parametrize(
    "text",
    [
        "(a (b c))",
        "(b c)",
        "( (S (D the) (N dog)))",
        "(S () (D the))",
        "(S ( (D the)) (N a))",
        "(S the (N a))",
        "(a (b (c)))",
    ],
)
def test_both_readings_follow_from_the_text(tmp_path: Path, text: str) -> None:
    prediction = next(read_prediction_trees(write(tmp_path, f"{text}\n(X (W a) (W b))\n")))
    assert prediction.bare == parse_bare(text)


def test_predictions_over_several_lines() -> None:
    path = str(BRACKETS / "penn.mrg")
    assert [(item.labelled, item.line) for item in read_prediction_trees(path)] == list(read_trees(path))


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("prediction_broken.txt", 3, OPEN),
        ("prediction_words.txt", 2, "several words without brackets; a tree was expected: 'the whole sentence'"),
        ("too_many_one_line.mrg", 1, "a ')' too many"),
        ("never_closed_one_line.mrg", 2, OPEN),
    ],
)
def test_prediction_errors(name: str, line: int, message: str) -> None:
    with pytest.raises(TreebankError) as caught:
        list(read_prediction_trees(str(INVALID / name)))
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)


JSON_LINES = """\
{"words": ["a", "b", "c"], "spans": [[1, 3], [0, 3], [0, 1]]}

{"spans": [[0, 2]], "length": 3}
{"spans": []}
"""


def test_predictions_as_spans(tmp_path: Path) -> None:
    first, second, third, fourth = read_prediction_trees(write(tmp_path, JSON_LINES, "spans.jsonl"))
    assert str(first.labelled) == "(X (W a) (X (W b) (W c)))"
    assert second.labelled is not None
    assert not second.labelled.words
    assert (third.line, third.labelled) == (3, None)
    assert str(third.over(("x", "y", "z"))) == "(X (X (W x) (W y)) (W z))"
    assert str(fourth.over(("x", "y"))) == "(X (W x) (W y))"
    with pytest.raises(SynparseError, match=r"spans\.jsonl:3: the length is 3, but the gold sentence has 2 words"):
        third.over(("x", "y"))
    with pytest.raises(SynparseError, match=r"a\.jsonl:1: span \(1, 3\) crosses another span"):
        PredictedTree("a.jsonl", 1, "", None, ((0, 2), (1, 3))).over(("x", "y", "z"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"spans": [[0, 2]', "not a line of JSON"),
        ('{"words": ["a"]}', 'expected an object with "spans" (pairs of numbers) or "distances" (numbers)'),
        ('{"spans": [[2, 1]]}', "a span is [2, 1]; the first number must be less than the second"),
        ('{"words": ["a"], "length": 2, "spans": []}', '"length" is not the number of words'),
    ],
)
def test_bad_spans(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, '{"spans": []}\n' + line + "\n", "spans.jsonl")
    with pytest.raises(TreebankError) as caught:
        list(read_prediction_trees(path))
    assert str(caught.value).startswith(f"{path}:2: {message}")


CONLLU = "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n2\ton\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"


@pytest.mark.parametrize("name", ["heads.txt", "heads", "heads.conllu"])
def test_heads_are_detected_by_content(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, CONLLU, name)
    assert gives_heads(path)
    assert [prediction.heads for prediction in read_prediction_heads(path)] == [(-1, 0)]
    with pytest.raises(TreebankError, match="trees were expected, but this file is conllu"):
        list(read_prediction_trees(path))


def test_heads_in_json_lines_are_read_without_empty_sentences(tmp_path: Path) -> None:
    lines = '{"words": [], "arcs": []}\n{"words": ["Go", "on"], "arcs": [-1, 0], "line": 2}\n\n'
    path = write(tmp_path, lines, "heads.jsonl")
    assert gives_heads(path)
    (prediction,) = read_prediction_heads(path)
    assert (prediction.words, prediction.heads, prediction.line) == (("Go", "on"), (-1, 0), 2)


def test_json_line_without_arcs_among_heads_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, '{"words": ["a"], "arcs": [-1]}\n{"words": ["a"]}\n', "heads.jsonl")
    with pytest.raises(TreebankError, match=r':2: this sentence has no heads \(no "arcs"\)'):
        read_prediction_heads(path)


def test_distances_in_json_lines_are_read_like_spans(tmp_path: Path) -> None:
    lines = '{"words": ["a", "b", "c"], "distances": [9, 2, 1]}\n{"distances": [9, 1, 2]}\n'
    with_words, without_words = read_prediction_trees(write(tmp_path, lines, "trees.txt"))
    assert not gives_heads(str(tmp_path / "trees.txt"))
    assert str(with_words.labelled) == "(X (W a) (X (W b) (W c)))"
    assert str(without_words.over(("x", "y", "z"))) == "(X (X (W x) (W y)) (W z))"


def test_sinica_predictions_are_read(tmp_path: Path) -> None:
    (prediction,) = read_prediction_trees(write(tmp_path, "#1:1.[0] NP(Head:Neu:一)#。\n", "trees"))
    assert str(prediction.labelled) == "(NP (Neu 一))"


def test_trees_are_not_read_as_heads(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match="heads were expected, but this file is brackets"):
        read_prediction_heads(write(tmp_path, "(S (A a) (B b))\n"))
