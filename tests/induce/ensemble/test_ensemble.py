"""Votes compared with all trees, members of every type, and messages about members without a vote."""

from __future__ import annotations

import errno
import json
import os
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from induce.decoding.chart import mbr, mbr_nary, mbr_splits
from induce.decoding.heads import heads_in_tree
from induce.ensemble import ensemble as ensembles
from induce.ensemble.combine import combine
from induce.ensemble.ensemble import Ensemble
from induce.ensemble.ensemble_description import EnsembleDescription, digest_of
from induce.ensemble.voters import head_votes, span_votes
from induce.parsing.load import load_parser
from induce.parsing.parser import PredictOptions
from induce.storage.outputs import RunLock
from tests.support import tiny
from tests.support.calls import sealed_json
from tests.support.model_files import MODEL, rewrite
from treebank.base.errors import SynparseError, UsageError
from treebank.core.baselines import random_uniform
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree

Spans = list[tuple[int, int]]


def nested(spans: tuple[tuple[int, int], ...]) -> bool:
    """Whether no two spans cross."""
    return not any(a < c < b < d or c < a < d < b for (a, b), (c, d) in combinations(spans, 2))


def all_nary_trees(count: int) -> list[Spans]:
    """All trees of any arity over the words, as brackets including the full-sentence span."""
    inner = [span for span in combinations(range(count + 1), 2) if 1 < span[1] - span[0] < count]
    chosen = (spans for size in range(count - 1) for spans in combinations(inner, size) if nested(spans))
    return [[(0, count), *spans] for spans in chosen]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_no_tree_of_any_arity_has_more_votes_above_the_threshold(count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(count, count + 1))
    best = max(sum(scores[span] for span in tree) for tree in all_nary_trees(count))
    assert sum(scores[span] for span in mbr_nary(scores)) == pytest.approx(best)


def write_trees(path: Path, texts: list[str]) -> str:
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(path)


A, B, C = "((a b) (c d))", "(a (b (c d)))", "((a (b c)) d)"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_voted_tree_shares_most_brackets_with_the_members(seed: int) -> None:
    import random

    draw, words = random.Random(seed), [f"w{i}" for i in range(6)]
    members = [Tree.from_spans(words, random_uniform(Tree.from_spans(words, ()), draw)) for _ in range(3)]
    weights = [draw.choice([1, 2, 3]) for _ in members]
    total = sum(weight * span_votes(tree, range(6)) for weight, tree in zip(weights, members, strict=True))
    result = mbr(total)

    def shared(spans: Spans) -> int:
        return sum(w * len(set(tree.spans) & set(spans)) for w, tree in zip(weights, members, strict=True))

    every = [tree for tree in all_nary_trees(6) if len(tree) == 5]
    assert len(every) == 42  # binary trees over six words
    assert shared(result) == max(map(shared, every))


def test_files_vote_by_weight_whatever_their_order(tmp_path: Path) -> None:
    other = "((x y) z)"
    first = write_trees(tmp_path / "one.txt", [A, other])
    second = write_trees(tmp_path / "two.txt", [other, B])
    both = [
        str(tree) for tree in combine([first, f"{second}@weight=2"], str(tmp_path / "v")).parse(["a b c d", "x y z"])
    ]
    assert both == ["(X (W a) (X (W b) (X (W c) (W d))))", "(X (X (W x) (W y)) (W z))"]
    again = load_parser(tmp_path / "v")
    assert isinstance(again, Ensemble)
    assert [str(tree) for tree in again.parse(["x y z", "a b c d"])] == both[::-1]


def test_punctuation_is_ignored_in_votes_and_restored(tmp_path: Path) -> None:
    first = write_trees(tmp_path / "one.txt", ["(a (b ,) (c d) .)"])
    second = write_trees(tmp_path / "two.txt", [A])
    made = combine([first, second], str(tmp_path / "v"))
    (reading,) = made.predict(["a b , c d ."])
    assert list(reading.indices) == [0, 1, 3, 4]
    (tree,) = made.parse(["a b , c d ."])
    assert tree.words == ("a", "b", ",", "c", "d", ".")
    assert tree.keep([True, True, False, True, True, False]).collapse_unary().spans == ((0, 4), (0, 2), (2, 4))


def test_threshold_flattens_trees(tmp_path: Path) -> None:
    files = [write_trees(tmp_path / f"{k}.txt", [text]) for k, text in enumerate([A, B, C])]
    made = combine(files, str(tmp_path / "v"), threshold=0.5)
    assert made.decoder == "mbr-nary"
    assert [str(tree) for tree in made.parse(["a b c d"])] == ["(X (W a) (W b) (X (W c) (W d)))"]
    binary = load_parser(tmp_path / "v", decoder="mbr")
    assert len(next(iter(binary.parse(["a b c d"]))).spans) == 3


def test_priors_of_the_votes_change_the_tree_and_can_be_switched_off(tmp_path: Path) -> None:
    left = write_trees(tmp_path / "left.txt", ["(((a b) c) d)"]) + "@weight=1.1"
    right = write_trees(tmp_path / "right.txt", ["(a ((b c) d))"])
    made = combine([left, right], str(tmp_path / "v"), priors="initial-spans:2+none")
    assert made.description.priors == ("initial-spans:2",)
    assert [str(tree) for tree in made.parse(["a b c d"])] == ["(X (W a) (X (X (W b) (W c)) (W d)))"]
    (reading,) = made.predict(["a b c d"])
    assert reading.row[0, 3] == pytest.approx(1.1 / 2.1)  # the votes themselves
    plain = load_parser(tmp_path / "v", priors="none")
    assert [str(tree) for tree in plain.parse(["a b c d"])] == ["(X (X (X (W a) (W b)) (W c)) (W d))"]
    with pytest.raises(UsageError, match="prior 'segment-edges:1' needs the counts"):
        combine([left, right], str(tmp_path / "w"), priors="segment-edges:1")


def test_marks_that_join_words_for_a_member_join_them_in_the_vote(tmp_path: Path) -> None:
    other = write_trees(tmp_path / "other.txt", ["((the wild) - ((type mice) run))"])
    made = combine(["english", f"{other}@weight=3"], str(tmp_path / "v"), priors="joining-marks:9")
    (tree,) = made.parse(["the wild - type mice run"])
    assert (1, 4) in tree.spans


def test_members_without_a_vote_are_reported(tmp_path: Path) -> None:
    first, second = write_trees(tmp_path / "one.txt", [A]), write_trees(tmp_path / "two.txt", ["((x y) z)"])
    made, messages = combine([first, second], str(tmp_path / "v")), list[str]()
    trees = [
        str(tree)
        for tree in made.parse(["a b c d", "x y z", "never seen before"], PredictOptions(report=messages.append))
    ]
    assert trees[:2] == ["(X (X (W a) (W b)) (X (W c) (W d)))", "(X (X (W x) (W y)) (W z))"]
    assert sorted(messages) == sorted(
        [
            f"{first} has no votes for 2 of 3 sentences",
            f"{second} has no votes for 2 of 3 sentences",
            "no member has votes for 1 of 3 sentences",
        ]
    )


def test_baselines_vote_and_gold_does_not(tmp_path: Path) -> None:
    made = combine(["baseline:right"], str(tmp_path / "v"))
    assert [str(tree) for tree in made.parse(["a b c", "", "a"])] == ["(X (W a) (X (W b) (W c)))", "", "(X (W a))"]
    with pytest.raises(SynparseError, match="uses gold trees"):
        combine(["baseline:oracle"], str(tmp_path / "w"))
    names = "balanced, balanced-williams, left, next, previous, random, random-uniform, right"
    with pytest.raises(SynparseError, match=f"no baseline 'foo'; known: {names}$"):
        combine(["baseline:foo"], str(tmp_path / "w"))


def test_heads_of_files_vote(tmp_path: Path) -> None:
    lines = "1\ta\t_\t_\t_\t_\t{}\t_\t_\t_\n2\tb\t_\t_\t_\t_\t{}\t_\t_\t_\n3\tc\t_\t_\t_\t_\t{}\t_\t_\t_\n\n"
    files = []
    for name, heads in (("one", (2, 0, 2)), ("two", (2, 0, 1)), ("three", (0, 1, 1))):
        (tmp_path / f"{name}.conllu").write_text(lines.format(*heads), encoding="utf-8")
        files.append(str(tmp_path / f"{name}.conllu"))
    made = combine(files, str(tmp_path / "v"))
    assert (made.output, made.decoder) == ("heads", "mbr-heads")
    messages = list[str]()
    known, _ = made.parse_heads(["a b c", "d e"], PredictOptions(report=messages.append))
    assert tuple(known[1]) == (1, ROOT, 1)
    assert "no member has votes for 1 of 2 sentences" in messages
    with pytest.raises(SynparseError, match="cannot vote together"):
        combine([files[0], write_trees(tmp_path / "t.txt", [A])], str(tmp_path / "w"))


def test_trees_vote_for_the_best_heads_in_them(runs: Path, tmp_path: Path) -> None:
    """Compute the votes by hand: those of the head parser, and the best heads in the tree of the other members."""
    members = [f"{runs}/udgn@weight=2", f"{runs}/onlstm", "baseline:right@weight=3"]
    made = combine(members, str(tmp_path / "v"), heads=True)
    heads, trees = load_parser(runs / "udgn"), combine(members[1:], str(tmp_path / "trees"))
    assert (made.output, made.decoder) == ("heads", f"{heads.decoder}:root=counted")
    checked = 0
    for reading, member, tree in zip(*(parser.predict(TEXT[:40]) for parser in (made, heads, trees)), strict=True):
        assert list(reading.indices) == list(member.indices) == list(tree.indices)
        if len(member.indices) > 2:
            alone = member.row / member.row.sum(1, keepdims=True)
            agreeing = heads_in_tree(alone, mbr_splits(tree.row))
            np.testing.assert_allclose(reading.row, alone / 3 + agreeing * 2 / 3, atol=1e-6)
            checked += 1
    assert checked > 20
    again = load_parser(tmp_path / "v")
    assert list(again.parse_heads(TEXT[:40])) == list(made.parse_heads(TEXT[:40]))


def test_trees_do_not_vote_if_no_member_has_heads_for_the_sentence(tmp_path: Path) -> None:
    line = "1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
    (tmp_path / "one.conllu").write_text(line, encoding="utf-8")
    made = combine([str(tmp_path / "one.conllu"), "baseline:right"], str(tmp_path / "v"), heads=True)
    known, unknown = made.predict(["a b", "c d"])
    assert np.asarray(known.row).tolist() == [[0, 1], [0, 1]]
    assert not np.any(unknown.row)
    with pytest.raises(SynparseError, match="none of these members gives heads"):
        combine(["baseline:right"], str(tmp_path / "w"), heads=True)


def test_head_votes_skip_ignored_words() -> None:
    assert head_votes((1, ROOT, 1, 2), [0, 1, 3]).tolist() == [[0, 1, 0], [0, 1, 0], [0, 1, 0]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny models of different types."""
    folder = tmp_path_factory.mktemp("runs")
    for model in ("onlstm", "udgn"):
        tiny.train(tiny.settings(model, "train.epochs=1"), folder / model)
    return folder


TEXT = [sentence.words for sentence in tiny.sentences(300, seed=5)]


def test_members_with_layers_and_types_agree_for_any_number_of_workers(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = [f"{runs}/onlstm@layer=1,decoder=unbiased", f"{runs}/onlstm@layer=2", f"{runs}/udgn"]
    messages: list[str] = []
    made = combine([*layers, "baseline:right"], str(tmp_path / "v"), report=messages.append)
    assert made.description.members[2].decoder == "heads-to-tree"
    assert len(messages) == 1
    monkeypatch.setattr(ensembles, "worker_count", lambda device: 1)
    alone = list(map(str, made.parse(TEXT)))
    monkeypatch.setattr(ensembles, "worker_count", lambda device: 2)
    assert list(map(str, made.parse(TEXT))) == alone
    again = load_parser(tmp_path / "v")
    assert list(map(str, again.parse(TEXT))) == alone
    single = combine([layers[0]], str(tmp_path / "single"))
    member = load_parser(runs / "onlstm", layer=1, decoder="unbiased")
    assert list(map(str, single.parse(TEXT[:50]))) == list(map(str, member.parse(TEXT[:50])))


def test_ensemble_in_a_file_can_be_moved_and_a_changed_member_is_an_error(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "onlstm", tmp_path / "own")
    file, moved = tmp_path / "here.safetensors", tmp_path / "there.safetensors"
    members = [str(tmp_path / "own"), "baseline:right"]
    combine(members, str(tmp_path / "beside"))
    combine(members, str(file))
    combine([str(tmp_path / "beside")], str(tmp_path / "copy.safetensors"))
    combine([str(tmp_path / "beside"), "baseline:left"], str(tmp_path / "nested.safetensors"))
    expected = list(map(str, load_parser(tmp_path / "beside").parse(TEXT[:20])))
    nested = list(map(str, load_parser(tmp_path / "nested.safetensors").parse(TEXT[:20])))
    rewrite(tmp_path / "own" / MODEL, content=lambda content: {**content, "torch": "0"})
    with pytest.raises(SynparseError, match="has changed since"):
        load_parser(tmp_path / "beside")
    shutil.rmtree(tmp_path / "own")
    with pytest.raises(SynparseError, match=r"beside: its member .*own is missing; copy it, too, or combine again"):
        load_parser(tmp_path / "beside")
    shutil.rmtree(tmp_path / "beside")
    file.rename(moved)
    for path in (moved, tmp_path / "copy.safetensors"):
        assert list(map(str, load_parser(path).parse(TEXT[:20]))) == expected
    assert list(map(str, load_parser(tmp_path / "nested.safetensors").parse(TEXT[:20]))) == nested


@pytest.mark.parametrize("name", ["new", "new.safetensors"])
def test_failed_writing_leaves_the_earlier_ensemble_or_nothing(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target = tmp_path / name

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for expected in ([], [name]):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                combine([f"{runs / 'onlstm'}@weight=2"], str(target), overwrite=True)
        assert os.listdir(tmp_path) == expected
        combine([str(runs / "onlstm")], str(target), overwrite=True)
        assert load_parser(target).description.members[0].weight == 1.0


def test_ensemble_folder_is_locked_while_it_is_written(runs: Path, tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "both", "program")
    with pytest.raises(SynparseError, match="another program is writing to this folder"):
        combine([str(runs / "onlstm")], str(tmp_path / "both"))
    lock.release()
    combine([str(runs / "onlstm")], str(tmp_path / "both"))
    assert os.listdir(tmp_path / "both") == ["ensemble.json"]


@pytest.mark.parametrize("name", ["e", "e.safetensors"])
def test_ensemble_cannot_be_its_own_member(runs: Path, tmp_path: Path, name: str) -> None:
    target = str(tmp_path / name)
    combine([str(runs / "onlstm")], target)
    before = digest_of(target)
    for members in ([target, "baseline:left"], [target]):
        with pytest.raises(SynparseError, match="this member would be overwritten; name another output"):
            combine(members, target, overwrite=True)
    assert digest_of(target) == before


@pytest.mark.parametrize("member", ["../1-x", "1-x/..", "/1-x", "x", "1-", "1-a/../../b"])
def test_file_of_an_ensemble_writes_nowhere_else(tmp_path: Path, member: str) -> None:
    (tmp_path / "trees").write_text("(a b)\n")
    combine([str(tmp_path / "trees")], str(tmp_path / "e.safetensors"))
    description = EnsembleDescription.read(tmp_path / "e.safetensors")
    description.write_file(tmp_path / "e.safetensors", {member: tmp_path / "trees"})
    with pytest.raises(SynparseError, match=r"e\.safetensors: .*; combine it again"):
        load_parser(tmp_path / "e.safetensors")


def test_damaged_description_is_an_error(tmp_path: Path) -> None:
    """Try flipped bits, and invalid values with a matching digest."""
    combine(["baseline:right@weight=2"], str(tmp_path / "v"))
    path = tmp_path / "v" / "ensemble.json"
    data = path.read_bytes()
    content = json.loads(data)
    flipped = [bytes([*data[:at], data[at] ^ 1 << at % 8, *data[at + 1 :]]) for at in range(0, len(data), 3)]
    changes: list[dict[str, Any]] = [
        *({"members": value} for value in ([], [3], [{"path": "baseline:right", "weight": -1}], [{"weight": 2}], 7)),
        *({"threshold": value} for value in (-0.5, 7, "x", None)),
        *({"output": "spans"}, {"decoder": "none"}, {"normalization": 3}, {"sums": "no"}, {"format": 9}),
    ]
    for damaged in (b"", b"[]", *flipped, *(sealed_json({**content, **change}) for change in changes)):
        path.write_bytes(damaged)
        try:
            same = json.loads(damaged) == content
        except ValueError:
            same = False
        if not same:
            with pytest.raises(SynparseError, match=r"ensemble\.json"):
                load_parser(tmp_path / "v")
