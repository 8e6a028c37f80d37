"""Agreement, frequent constituents and heads, and sharpness of several models on the same sentences."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from induce.analysis.agreement import agreement
from induce.parsing.load import load_parser
from induce.reporting.parsed import Compared, Parsed, frequent_constituents, frequent_heads, in_context
from induce.reporting.sections import distinct
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis

WORDS = ("the", "cat", "saw", "a", "dog", ".")


def model(run: str, *spans: tuple[int, int], heads: tuple[int, ...] = ()) -> Parsed:
    """A model with these brackets, or these heads, of the only sentence."""
    parser: Any = SimpleNamespace(output="heads" if heads else "trees")
    tree = None if heads else Tree.from_spans(WORDS, list(spans))
    return Parsed(run, run, parser, [Analysis(run, WORDS, tree=tree, heads=heads)])


def sentence(gold: str = "") -> Sentence:
    return Sentence(WORDS, tree=Tree.from_text(gold) if gold else None, location=Location("x", 1))


def test_agreement_of_trees_is_the_f1_of_counted_brackets() -> None:
    first = model("a", (0, 6), (0, 2), (2, 5), (3, 5))
    second = model("b", (0, 5), (0, 2), (3, 5))  # (0, 5) is the full-sentence span without the full stop
    compared = Compared([sentence()], [first, second])
    assert compared.agreement(first, second) == pytest.approx(100 * 2 * 2 / (3 + 2))
    assert compared.agreement_by_sentence() == [pytest.approx(80.0)]


def test_trees_are_not_compared_with_heads() -> None:
    tree, heads = model("a", (0, 2)), model("b", heads=(1, 2, -1, 4, 2, 2))
    other = model("c", heads=(1, 2, -1, 4, 3, 2))
    compared = Compared([sentence()], [tree, heads, other])
    assert compared.pairs() == [(heads, other)]
    assert compared.agreement(heads, other) == pytest.approx(80.0)  # four of five words, without the full stop


def test_frequent_constituents_are_counted_in_text_and_gold() -> None:
    parsed = model("a", (0, 2), (2, 4))
    gold = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .))"
    rows = list(frequent_constituents(Compared([sentence(gold)], [parsed]), parsed))
    assert rows == [("the cat", 1, 1, 1, "[the cat] saw a dog"), ("saw a", 1, 1, 0, "the cat [saw a] dog")]
    assert next(frequent_constituents(Compared([sentence()], [parsed]), parsed)).gold is None


def test_frequent_heads_include_the_root() -> None:
    parsed = model("a", heads=(1, 2, -1, 4, 2, 2))
    rows = list(frequent_heads(Compared([sentence()], [parsed]), parsed))
    assert ("the ← cat", 1, None, None, "[the cat] saw a dog .") in rows
    assert ("saw ← (root)", 1, None, None, "the cat [saw] a dog .") in rows
    assert len(rows) == 5


def test_context_of_an_example_is_limited() -> None:
    assert in_context([*"abcdefghijkl"], 5, 7) == "… b c d e [f g] h i j k …"


def test_agreement_equals_that_of_the_analysis(tmp_path: Path) -> None:
    """Mean over sentences, without sentences of fewer than three counted words."""
    trees = {
        "a": [
            "(X (X (W the) (W cat)) (X (W saw) (X (W a) (W dog))) (W .))",
            "(X (X (W he) (W ran)) (X (W off) (W .)))",
            "(X (W Go) (W !))",
        ],
        "b": [
            "(X (W the) (X (X (W cat) (W saw)) (X (W a) (W dog))) (W .))",
            "(X (X (W he) (X (W ran) (W off))) (W .))",
            "(X (W Go) (W !))",
        ],
    }
    for name, lines in trees.items():
        (tmp_path / f"{name}.ptb").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = [Sentence(WORDS), Sentence(("he", "ran", "off", ".")), Sentence(("Go", "!"))]
    (pair,) = agreement(
        [str(tmp_path / f"{name}.ptb") for name in trees], lambda rule: text, load=lambda run: None
    ).pairs
    models = []
    for name, lines in trees.items():
        parser: Any = SimpleNamespace(output="trees")
        models.append(Parsed(name, name, parser, [Analysis(name, (), tree=Tree.from_text(line)) for line in lines]))
    compared = Compared(text, models)
    assert compared.agreement(*models) == pytest.approx(pair.value)
    assert compared.agreement_by_sentence()[2] is None


def test_repeated_sentence_is_drawn_once() -> None:
    twice = [Sentence(words, location=Location("x", line)) for line, words in enumerate((WORDS, WORDS, WORDS[1:]))]
    assert distinct(Compared(twice, []), [1, 0, 2]) == [1, 2]


def test_confidences_are_those_of_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = load_parser("english")
    monkeypatch.setattr(parser, "confidence", ((0.0, 0.0), (1.0, 0.5)))  # the map of a calibrated model
    parsed = Parsed.of(parser, [sentence()], name="a", run="a")
    assert parsed.confidences == [tree.confidences for tree in parser.parse_confident([WORDS])]
    assert max(value for value in parsed.confidences[0] if value is not None) <= 0.5
