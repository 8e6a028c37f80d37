"""Evaluation by a plan of names: gold is read once, and every choice is in the signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from treebank.base.errors import SynparseError, UsageError
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree
from treebank.corpora.catalog import digest
from treebank.evaluate.evaluate import Evaluation, EvaluationPlan, evaluate
from treebank.evaluate.systems import SystemInfo, parser_system

TREES = [
    "(S (NP (DT the) (JJ old) (NN man)) (VP (VBZ sleeps)) (. .))",
    "(S (NP (PRP it)) (VP (VBD cost) (NP (CD 5) (NNS dollars))))",
    "(S (NP (NP (DT a) (NN cat)) (PP (IN on) (NP (DT a) (NN mat)))) (VP (VBZ sits) (ADVP (RB there))))",
]


def treebank() -> Treebank:
    trees = [Tree.from_text(text) for text in TREES]
    return Treebank("toy", [Sentence(tree.words, tree.tags, tree) for tree in trees])


class Flat:
    """A parser that records its inputs."""

    output, token, learned_from = "trees", "word", ""

    def __init__(self, name: str = "flat", output: str = "trees") -> None:
        self.name, self.output = name, output
        self.inputs: list[list[Sentence]] = []

    def parse(self, sentences: Iterable[Any]) -> Iterator[Tree]:
        self.inputs.append(list(sentences))
        return (Tree.from_spans(sentence.words, ()) for sentence in self.inputs[-1])

    def parse_heads(self, sentences: Iterable[Any]) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
        self.inputs.append(list(sentences))
        return ((sentence.words, tuple(range(-1, len(sentence.words) - 1))) for sentence in self.inputs[-1])


def values(evaluation: Evaluation) -> dict[tuple[str, str, str], float]:
    return {(score.system, score.metric, score.convention.name): score.value for score in evaluation.scores}


def test_seed_zero_is_a_seed_of_its_own() -> None:
    plans = [EvaluationPlan(gold=treebank(), baselines=["random"], seed=seed) for seed in range(6)]
    reports = [evaluate(plan).scores[0] for plan in plans]
    assert [f"|seed:{seed}|" in report.signature for seed, report in enumerate(reports)] == [True] * 6
    assert [report.info.seed for report in reports] == [0, 1, 2, 3, 4, 5]
    trees = [[tuple(spans) for spans in report.predicted] for report in reports]
    assert trees[0] != trees[1]


def test_a_parser_is_asked_once_whatever_the_conventions() -> None:
    parser = Flat()
    plan = EvaluationPlan(gold=treebank(), baselines=["left"], conventions=["on-lstm", "km", "evalb"])
    info = SystemInfo("flat", None, "runs/flat", "gold trees: toy", "model:flat|decoder:none")
    scores = evaluate(plan, [parser_system(parser, info)]).scores
    assert [len(sentences) for sentences in parser.inputs] == [3]
    assert [score.system for score in scores] == ["flat", "left"] * 3
    assert "|model:flat|decoder:none|trained with gold trees: toy|" in scores[0].signature
    assert scores[0].to_json()["parser"] == {"model": "flat", "decoder": "none"}
    assert scores[0].to_json()["trained_with"] == "gold trees: toy"


def test_only_what_is_short_enough_is_parsed() -> None:
    parser = Flat()
    evaluation = evaluate(EvaluationPlan(gold=treebank(), max_length=4), [parser_system(parser)])
    assert [len(sentence.words) for sentence in parser.inputs[0]] == [5, 4]
    assert len(evaluation.scored) == 2
    assert evaluation.to_json()["gold"]["sentences"] == 2


@pytest.mark.parametrize(
    ("first", "other", "baseline"), [("km,len:5-", "on-lstm", "left"), ("udgn", "all-tokens", "next")]
)
def test_digest_of_a_score_is_that_of_its_own_sentences(first: str, other: str, baseline: str) -> None:
    gold = treebank()
    gold.sentences.append(Sentence((".", "."), (".", "."), Tree.from_text("(X (. .) (. .))")))  # no counted words
    alone, joint = (
        evaluate(EvaluationPlan(gold=gold, baselines=[baseline], conventions=conventions))
        for conventions in ([first], [other, first])
    )
    assert joint.scores[-1].signature == alone.scores[-1].signature
    assert joint.sha256 == joint.scores[0].sha256 == digest(joint.scored)
    assert joint.scores[0].sha256 != joint.scores[-1].sha256 == alone.sha256


@pytest.mark.parametrize(
    ("conventions", "ends"),
    [
        (["km", "kim-corpus"], [""]),
        (["km", "on-lstm", "km,len:5-", "evalb"], [" (km, on-lstm)", " (avg:corpus,root:keep,len:5-)", " (evalb)"]),
    ],
)
def test_conventions_of_the_same_words_share_tables_by_label(conventions: list[str], ends: list[str]) -> None:
    evaluation = evaluate(EvaluationPlan(gold=treebank(), baselines=["left"], conventions=conventions))
    title = "Recall of constituents by label, in percent"
    assert [table.title for table in evaluation.tables()[1:]] == [title + end for end in ends]


def test_comparison_requires_two_systems_of_one_type() -> None:
    systems = [parser_system(Flat("t")), parser_system(Flat("h", "heads"))]
    with pytest.raises(SynparseError, match="nothing to compare: one system has trees and one has heads; name"):
        evaluate(EvaluationPlan(gold=treebank(), compare=True), systems)
    with pytest.raises(SynparseError, match="nothing to compare; name a second system of the same type"):
        evaluate(EvaluationPlan(gold=treebank(), compare=True), systems[1:])
    evaluation = evaluate(EvaluationPlan(gold=treebank(), baselines=["next"], compare=True), systems)
    assert {comparison.second for comparison in evaluation.comparisons} == {"next"}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"conventions": ["on-lstn"]}, "no convention 'on-lstn'; did you mean 'on-lstm'"),
        ({"conventions": ["km,root:kep"]}, "root is drop or keep or node"),
        ({"conventions": ["len:2"]}, "'len:2' in a convention: write len:2-10, or len:2- without"),
        ({"conventions": ["udgn,len:1-2"]}, "for heads, only --max-length can change a convention"),
        ({"baselines": ["lef"]}, "no baseline 'lef'; did you mean 'left'"),
        ({"head_rules": "colins"}, "no head rules 'colins'; did you mean 'collins'"),
    ],
)
def test_names_are_checked_before_anything_is_read(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        EvaluationPlan(gold="no/such/file", **plan)


def test_what_no_convention_scores() -> None:
    heads = Treebank("heads", [Sentence(("a", "b"), ("DT", "NN"), heads=(1, -1))])
    with pytest.raises(
        SynparseError,
        match="heads: gold has heads, but no trees to score those of left against; the baselines of heads are",
    ):
        evaluate(EvaluationPlan(gold=heads, baselines=["left"]))
    with pytest.raises(SynparseError, match="no trees to score those of flat against; name a --decoder of heads"):
        evaluate(EvaluationPlan(gold=heads), [parser_system(Flat())])
    with pytest.raises(SynparseError, match="flat gives trees, not heads; name a --convention for trees too"):
        evaluate(EvaluationPlan(gold=treebank(), conventions=["udgn"]), [parser_system(Flat())])
    with pytest.raises(SynparseError, match="nothing to score has trees: name a file or a --baseline"):
        evaluate(EvaluationPlan(gold=treebank()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baselines": ["left"], "head_rules": "collins"}, "--head-rules and conventions of heads require a system"),
        ({"baselines": ["left"], "conventions": ["all-tokens", "on-lstm"]}, "conventions of heads require a system"),
        ({"baselines": ["left"], "conventions": ["km"], "head_rules": "collins"}, "require a system with heads; add a"),
        ({"baselines": ["next"], "conventions": ["udgn", "km"]}, "conventions of trees require a system with trees"),
    ],
)
def test_conventions_and_rules_without_a_system_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(EvaluationPlan(gold=treebank(), **options))
