"""Decoders of heads, and constituents from heads: against all trees, networkx, and the published program."""

from __future__ import annotations

import time
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from induce.decoding.chart import mbr_splits
from induce.decoding.heads import (
    REVERSED_ARC_WEIGHT,
    Split,
    argmax,
    best_in_tree,
    branching,
    chu_liu_edmonds,
    eisner,
    heads_in_tree,
    heads_to_tree,
    maximum_projective_tree,
    maximum_tree,
    mbr_arcs,
    mbr_heads,
    phrases,
)
from induce.decoding.specification import decoder, decoder_together
from induce.parsing.load import load_parser
from induce.registry import DECODERS
from tests.support.dependency_trees import is_projective, projective_trees
from tests.support.reference import fixtures, load
from tests.support.tiny import settings, train
from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads, is_tree
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree
from treebank.evaluate.align import HeadView
from treebank.evaluate.conventions import AttachmentConvention
from treebank.evaluate.uas import count_directed, count_undirected

PER_KIND = 60  # matrices of each kind and size that are compared with all trees


@cache
def all_trees(count: int, projective: bool) -> np.ndarray:
    """All one-rooted trees over ``count`` words, one row of heads per tree."""
    if projective:
        return np.array(projective_trees(count))
    every = product(range(ROOT, count), repeat=count)
    return np.array([heads for heads in every if heads.count(ROOT) == 1 and is_tree(heads)])


@pytest.mark.parametrize("count", range(1, 7))
def test_enumeration_contains_all_trees(count: int) -> None:
    """Numbers by Cayley's formula times the choice of a root, and by sequence A006013 of the OEIS if projective."""
    assert len(all_trees(count, False)) == count ** (count - 1)
    assert len(all_trees(count, True)) == [1, 2, 7, 30, 143, 728][count - 1]


def objective(heads: Any, scores: np.ndarray, roots: np.ndarray) -> Any:
    """Sum of the scores of the arcs and of the root, for one tree or for rows of trees."""
    board = np.concatenate([scores, roots[:, None]], axis=1)  # ROOT = -1 is its last column
    return board[np.arange(len(scores)), np.asarray(heads)].sum(-1)


def matrices(kind: str, count: int, draw: np.random.Generator) -> np.ndarray:
    """Random matrix of scores. Its diagonal must not matter."""
    shape = (count, count)
    if kind == "normal":
        return draw.normal(size=shape)
    if kind == "probabilities":
        return np.log(draw.dirichlet(np.full(count, 0.3), size=count) + 1e-9)
    if kind == "ties":
        return draw.integers(0, 3, size=shape).astype(float)
    if kind == "forbidden":
        return np.where(draw.random(shape) < 0.5, -np.inf, draw.normal(size=shape))
    if kind == "forbidden ties":
        return np.where(draw.random(shape) < 0.7, -np.inf, draw.integers(-1, 2, size=shape).astype(float))
    if kind == "far apart":
        return draw.choice([0.0, -1e-6, -20.0, -1e6], size=shape)
    if kind == "all equal":
        return np.full(shape, draw.choice([0.0, -3.7, 1e6]))
    assert kind == "all forbidden"
    return np.full(shape, -np.inf)


KINDS = ("normal", "probabilities", "ties", "forbidden", "forbidden ties", "far apart", "all equal", "all forbidden")


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_tree_has_a_larger_sum(kind: str, rooted: bool, projective: bool) -> None:
    decode = maximum_projective_tree if projective else maximum_tree
    draw = np.random.default_rng(3)
    for count in range(1, 7):
        trees = all_trees(count, projective)
        for _ in range(PER_KIND):
            scores = matrices(kind, count, draw)
            roots = matrices(kind, count, draw)[0] if rooted else np.zeros(count)
            heads = decode(scores, roots if rooted else None)
            assert heads.count(ROOT) == 1
            assert is_tree(heads)
            assert is_projective(heads) or not projective
            best, result = objective(trees, scores, roots).max(), objective(heads, scores, roots)
            assert result == best or result == pytest.approx(best, rel=1e-12, abs=1e-12), (scores, roots, heads)


@pytest.mark.parametrize("projective", [False, True])
def test_the_first_root_wins_on_ties(projective: bool) -> None:
    decode = maximum_projective_tree if projective else maximum_tree
    draw = np.random.default_rng(4)
    for _ in range(200):
        count = int(draw.integers(2, 6))
        scores = draw.choice([0.1, 0.25, 0.7], size=(count, count))  # sums of these are rounded
        trees = all_trees(count, projective)
        totals = objective(trees, scores, np.zeros(count))
        tied = trees[totals >= totals.max() - 1e-9]
        first = min(list(heads).index(ROOT) for heads in tied.tolist())
        assert decode(scores).index(ROOT) == first


@pytest.mark.parametrize("projective", [False, True])
def test_tree_has_as_few_forbidden_arcs_as_possible(projective: bool) -> None:
    decode = maximum_projective_tree if projective else maximum_tree
    draw = np.random.default_rng(5)
    for _ in range(200):
        count = int(draw.integers(2, 6))
        scores = matrices("forbidden ties", count, draw)
        trees = all_trees(count, projective)
        fewest = objective(trees, np.isinf(scores).astype(float), np.zeros(count)).min()
        heads = decode(scores)
        assert objective(heads, np.isinf(scores).astype(float), np.zeros(count)) == fewest


def test_sums_equal_those_of_networkx() -> None:
    """Compare up to 15 words. Costly arcs from the source force networkx to choose a single root."""
    networkx = pytest.importorskip("networkx", reason="networkx, the oracle of this test, is not installed")
    draw = np.random.default_rng(6)
    for count in range(2, 16):
        for kind in ("normal", "probabilities", "ties"):
            scores, roots = matrices(kind, count, draw), matrices(kind, count, draw)[0]
            far = 1e4
            arcs = [(j, i, scores[i, j]) for i in range(count) for j in range(count) if i != j]
            graph = networkx.DiGraph()
            graph.add_weighted_edges_from(arcs + [(ROOT, i, roots[i] - far) for i in range(count)])
            tree = networkx.maximum_spanning_arborescence(graph)
            heads = {i: j for j, i in tree.edges}
            best = objective([heads[i] for i in range(count)], scores, roots)
            assert objective(maximum_tree(scores, roots), scores, roots) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(("decode", "count"), [(maximum_tree, 2000), (maximum_projective_tree, 400)])
@pytest.mark.parametrize("kind", ["normal", "ties", "all equal", "one circle"])
def test_long_sentences_take_quadratic_or_cubic_time(decode: Any, count: int, kind: str) -> None:
    if kind == "one circle":
        scores = np.full((count, count), -1.0)
        scores[np.arange(count), (np.arange(count) + 1) % count] = 0.0
    else:
        scores = matrices(kind, count, np.random.default_rng(7))
    began = time.perf_counter()
    heads = decode(scores)
    assert time.perf_counter() - began < 60  # once for each root would take half an hour
    assert is_tree(heads)
    if decode is maximum_projective_tree:
        assert is_projective(heads)
    if kind == "one circle":
        assert heads == (ROOT, *range(2, count), 0)


def test_any_word_is_the_root_at_no_cost_unless_its_probability_counts() -> None:
    """By default the diagonal is ignored, as in the released programs of UDGN and StructFormer."""
    probability = [[0.9, 0.5], [0.4, 0.1]]
    for decode in (chu_liu_edmonds, eisner):
        assert decode(probability) == decode(probability, root="free") == (1, ROOT)
        assert decode(probability, root="counted") == (ROOT, 0)
        assert decode([[0.0, 0.5], [0.4, 0.0]]) == (1, ROOT)


def test_heads_of_argmax_may_contain_cycles() -> None:
    assert argmax([[0.0, 1.0], [1.0, 0.0]]) == (1, 0)
    assert argmax([[0.5, 0.5], [0.2, 0.8]]) == (ROOT, ROOT)
    assert argmax([[0.2, 0.4, 0.4], [0.0, 0.0, 0.0], [0.4, 0.4, 0.2]]) == (1, 0, 0)


@pytest.mark.parametrize("name", fixtures("dep_decode"))
def test_heads_and_scores_equal_those_of_the_published_program(name: str) -> None:
    fixture = load(name)
    arrays = fixture.arrays
    convention = AttachmentConvention("pairs", "all", "kept", "set")
    assert len(arrays["head"]) == fixture.sizes["cases"] > 0
    assert arrays["length"].max() == fixture.sizes["longest"]
    scores = []
    for k, length in enumerate(arrays["length"].tolist()):
        matrix = arrays["head"][k, :length, :length]
        gold = _rooted(arrays["gold"][k, :length].tolist())
        view = HeadView.of(Sentence(("w",) * length), gold, convention)
        for mode, decode in (("argmax", argmax), ("tree", chu_liu_edmonds)):
            heads = decode(matrix)
            assert heads == _rooted(arrays[f"{mode}/heads"][k, :length].tolist()), (k, mode)
            assert count_directed(heads, view) == arrays[f"{mode}/directed"][k]
            assert count_undirected(heads, view, "set") == arrays[f"{mode}/undirected"][k]
        scores.append(objective(chu_liu_edmonds(matrix), np.log(matrix + 1e-9), np.zeros(length)))
    fixture.check("tree/score", np.array(scores))


def _rooted(heads: list[int]) -> Heads:
    """Heads in which a word that is its own head becomes a root."""
    return tuple(ROOT if head == i else head for i, head in enumerate(heads))


@pytest.mark.parametrize(
    "name", [name for name, entry in DECODERS.items() if entry.batch_location and entry.gives == "heads"]
)
def test_batch_gives_the_same_trees_as_single_sentences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode more sentences than fit one batch, of several lengths, with and without ties."""
    monkeypatch.setattr("induce.decoding.heads.MAX_TABLE_NUMBERS", 200)
    draw = np.random.default_rng(8)
    rows: list[Any] = [[], [[1.0]]]
    for count in draw.permutation(np.repeat(range(1, 9), 6)).tolist():
        rows.append(draw.dirichlet(np.full(count, 0.3), size=count) if draw.random() < 0.7 else np.ones((count, count)))
    assert decoder_together(name)(rows) == [decoder(name)(row) for row in rows]
    assert decoder_together("argmax")(rows) == list(map(argmax, rows))
    with pytest.raises(SynparseError, match="not a probability"):
        decoder_together(name)([[[1.0]], [[0.1, -0.5], [0.2, 0.3]]])


def test_mbr_heads_maximizes_the_expected_number_of_heads() -> None:
    draw = np.random.default_rng(8)
    for count in range(1, 6):
        for _ in range(20):
            heads = draw.dirichlet(np.full(count, 0.5), size=count)
            expected = [
                sum(row[i if h == ROOT else h] for i, (row, h) in enumerate(zip(heads, tree, strict=True)))
                for tree in (*all_trees(count, True).tolist(), mbr_heads(heads))
            ]
            assert expected[-1] == pytest.approx(max(expected))


def test_mbr_arcs_maximizes_probabilities_plus_half_of_the_reversed_arcs() -> None:
    """No projective tree has a larger sum, and `mbr_arcs` may differ from `mbr_heads`."""
    draw = np.random.default_rng(9)
    for count in range(1, 6):
        for _ in range(20):
            heads = draw.dirichlet(np.full(count, 0.4), size=count)

            def worth(tree: Any, heads: np.ndarray = heads) -> float:
                total = 0.0
                for word, head in enumerate(tree):
                    total += 1.5 * heads[word, word] if head == ROOT else heads[word, head] + heads[head, word] / 2
                return total

            assert worth(mbr_arcs(heads)) == pytest.approx(max(map(worth, all_trees(count, True))))
    unsure = [
        [0.0, 0.46, 0.54],
        [0.45, 0.0, 0.55],
        [0.0, 0.0, 1.0],
    ]  # words 0 and 1 are connected, but either may be the head
    assert (mbr_heads(unsure), mbr_arcs(unsure)) == ((2, 2, ROOT), (1, 2, ROOT))


@pytest.mark.parametrize(("model", "expected"), [("udgn", "chu-liu-edmonds"), ("dmv", "chu-liu-edmonds:root=counted")])
def test_models_that_estimate_the_root_count_it_by_default(model: str, expected: str, tmp_path: Path) -> None:
    train(settings(model, "train.epochs=1"), tmp_path / "run")
    parser = load_parser(tmp_path / "run", device="cpu", decoder="chu-liu-edmonds")
    assert parser.decoder == expected
    assert f"decoder:{expected}" in parser.decoded
    free = load_parser(tmp_path / "run", device="cpu", decoder="chu-liu-edmonds:root=free")
    assert "decoder:chu-liu-edmonds:root=free" in free.decoded


def plain(heads: tuple[int, ...]) -> set[tuple[int, int]]:
    """Spans by the definition: the range of each word with dependents and the words below it."""
    spans = set()
    for top in range(len(heads)):
        below = []
        for word in range(len(heads)):
            at = word
            while at not in (top, ROOT):
                at = heads[at]
            if at == top:
                below.append(word)
        assert below == list(range(below[0], below[-1] + 1))
        if len(below) > 1:
            spans.add((below[0], below[-1] + 1))
    return spans


@pytest.mark.parametrize("count", range(6))
def test_phrases_of_all_projective_trees(count: int) -> None:
    for heads in projective_trees(count):
        spans = phrases(heads)
        assert len(spans) == len(set(spans))
        assert set(spans) == plain(heads)


@pytest.mark.parametrize("seed", range(10))
def test_tree_of_a_matrix_follows_its_best_projective_heads(seed: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = draw.random((8, 8))
    spans = heads_to_tree(matrix)
    assert set(spans) == plain(eisner(matrix))
    assert (0, 8) in spans
    assert len(Tree.from_spans([f"w{i}" for i in range(8)], spans).spans) == len(spans)


def test_phrases_of_a_long_chain() -> None:
    chain = (*range(1, 20_000), ROOT)
    assert set(phrases(chain)) == {(0, end) for end in range(2, 20_001)}


def all_in_tree(count: int, splits: list[Split]) -> list[list[int]]:
    """All dependency trees that agree with the splits: each choice of the head of two joined phrases."""
    trees = []
    for choices in product([True, False], repeat=len(splits)):
        heads = list(range(count))
        head_of = {(i, i + 1): i for i in range(count)}
        for (start, middle, end), left in zip(reversed(splits), choices, strict=True):
            first, second = head_of[start, middle], head_of[middle, end]
            upper, lower = (first, second) if left else (second, first)
            heads[lower] = head_of[start, end] = upper
        trees.append(heads)
    return trees


def total(gains: np.ndarray, heads: list[int]) -> float:
    return float(sum(gains[i, head] for i, head in enumerate(heads)))


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("shape", ["right", "left", "any"])
def test_best_in_tree_returns_the_best_of_all_trees(count: int, shape: str) -> None:
    draw = np.random.default_rng(count)
    gains = draw.random((count, count))
    votes = draw.random((count, count + 1))
    splits = mbr_splits(votes) if shape == "any" else branching(count, right=shape == "right")
    heads = best_in_tree(gains, splits)
    trees = all_in_tree(count, splits)
    assert heads in trees
    assert total(gains, heads) == pytest.approx(max(total(gains, tree) for tree in trees))


def test_arc_gains_from_its_reversed_arc_and_a_root_does_not() -> None:
    heads = np.array([[0.2, 0.8, 0.0], [0.3, 0.1, 0.6], [0.0, 0.5, 0.5]])
    splits = branching(3, right=True)
    votes = heads_in_tree(heads, splits)
    gains = heads + REVERSED_ARC_WEIGHT * heads.T * (1 - np.eye(3))
    above = best_in_tree(gains, splits)
    assert above == [1, 1, 1]
    np.testing.assert_allclose(votes, [[0.0, 0.7, 0.0], [0.3, 1.0, 0.6], [0.0, 0.4, 0.0]])


@pytest.mark.parametrize("seed", range(5))
def test_arc_and_reversed_arc_share_one_vote(seed: int) -> None:
    """The reversed arc keeps its probability."""
    heads = np.random.default_rng(seed).dirichlet(np.ones(7), size=7)
    splits = branching(7, right=True)
    votes = heads_in_tree(heads, splits)
    above = best_in_tree(heads + REVERSED_ARC_WEIGHT * heads.T * (1 - np.eye(7)), splits)
    for word, head in enumerate(above):
        if word == head:
            assert votes[word, word] == 1
        else:
            assert votes[head, word] == heads[head, word]
            assert votes[word, head] == 1 - heads[head, word]
    assert votes.sum() == pytest.approx(7)
    assert np.count_nonzero(votes) == 2 * 7 - 1
