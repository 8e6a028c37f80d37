"""Learning distances from trees: what is compared with what, which sentences have trees, and every variant learns."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from induce.data.corpus import gold_distances, read_corpora
from induce.models.base import gold_distances as gold_of
from induce.models.base import next_words
from induce.models.language.next_word_model import rank, ranking_loss
from induce.parsing.load import load_parser
from induce.settings.presets import resolve
from induce.settings.run import DataConfig
from induce.storage import checkpoint
from induce.storage.checkpoint import RunFacts, TreesFacts
from induce.training.prepare import load_data, prepare_text, supervised
from induce.training.request import RunRequest
from tests.support.tiny import make_trainer, sentences, settings, stop_after, train, trainer, with_trees
from treebank.base.errors import SynparseError
from treebank.core.tree import Tree

NAN = float("nan")
QUICK = ("optimizer.learning_rate=0.03", "loader.segment_length=12", "loader.batch_size=4", "train.epochs=7")


@pytest.mark.parametrize("ranking", ["sentence", "column", "batch"])
def test_rank_compares_the_pairs_that_it_says(ranking: str) -> None:
    torch.manual_seed(0)
    steps, batch = 9, 4
    tokens = torch.randint(0, 3, (steps, batch))  # 0 ends a sentence
    gold = torch.randint(1, 5, (steps, batch)).float()
    gold[tokens == 0] = NAN
    gold[:4, 1] = NAN
    distances = torch.rand(steps, batch)
    ends = (tokens == 0).cumsum(0)
    positions = list(itertools.product(range(steps), range(batch)))
    total, count = 0.0, 0
    for (t, b), (u, c) in itertools.permutations(positions, 2):
        same = {"batch": t == u, "column": b == c, "sentence": b == c and ends[t, b] == ends[u, c]}
        if same[ranking] and gold[t, b] > gold[u, c]:
            total += max(0.0, 1 - float(distances[t, b] - distances[u, c]))
            count += 1
    assert count > 5
    assert float(rank(distances, gold, tokens, ranking, 1.0)) == pytest.approx(total / count, rel=1e-5)


def test_ranking_loss_without_any_pair_is_zero() -> None:
    assert float(ranking_loss(torch.rand(2, 3), torch.full((2, 3), NAN))) == 0.0
    assert float(ranking_loss(torch.rand(2, 3), torch.ones(2, 3))) == 0.0


def test_gold_distances_are_between_the_words_that_the_recipe_keeps() -> None:
    tree = Tree.from_text("(S (NP-SBJ (-NONE- *)) (NP (DT the) (NN cat)) (, ,) (VP (VBD sat) (NP (NN here))) (. .))")
    assert gold_distances(tree, (0, 1, 3, 4)) == [4, 2, 3, 2]  # over: the cat | sat here


def test_gold_beside_the_stream() -> None:
    """NaN at sentence ends and beside plain sentences. The first word of a sentence has the largest value of all."""
    text = [*sentences(3), *with_trees(sentences(3, seed=5))]
    corpus, _ = read_corpora(text, "raw", with_trees=True)
    gold = corpus.encode(corpus.vocabulary(100, 1)).distances
    largest = max(gold_distances(item.tree, range(len(item.words)))[0] for item in text if item.tree)
    at = 0
    for item in text:
        row = gold[at : at + len(item.words) + 1].tolist()
        assert math.isnan(row[-1])
        if item.tree is None:
            assert all(map(math.isnan, row))
        else:
            assert row[:-1] == [largest, *gold_distances(item.tree, range(len(item.words)))[1:]]
        at += len(item.words) + 1
    assert at == len(gold)
    assert not read_corpora(text, "raw")[0].has_trees


@pytest.mark.parametrize("reading", ["stream", "sentences"])
def test_pieces_carry_the_gold_of_their_words(reading: str) -> None:
    """Every tree of the text comes by once, each distance beside its word."""
    changes = [f"loader.name={reading}", "loader.batch_size=4"]
    if reading == "stream":
        changes.append("loader.vary_segments=false")
    config = settings("prpn-syd", *changes)
    corpus, _ = read_corpora([*with_trees(sentences(24)), *sentences(16)], "raw", with_trees=True)
    trained = make_trainer(config, corpus, corpus, Path("unused"), device="cpu")
    gold = torch.from_numpy(trained.run.corpus.distances)
    stream = trained.run.corpus.ids.tolist()
    expected = {(token, float(value)) for token, value in zip(stream, gold, strict=True) if not math.isnan(value)}
    result = set()
    values = 0
    for step in trained.run.loader.steps(trained.run.rng, 0):
        distances, tokens = gold_of(step.batch), next_words(step.batch).tokens
        stored = ~distances.isnan()
        assert not (stored & (tokens == 0)).any()
        result |= set(zip(tokens[stored].tolist(), distances[stored].tolist(), strict=True))
        values += int(stored.sum())
    assert result <= expected
    assert values >= 0.9 * float((~gold.isnan()).sum())


def test_a_share_of_the_trees_evenly_spread() -> None:
    text = with_trees(sentences(100))
    for share in (0.0, 0.25, 0.5, 1.0):
        result = [item.tree is not None for item in supervised(text, DataConfig(tree_share=share))]
        assert sum(result) == 100 * share
        assert abs(sum(result[:40]) - 40 * share) <= 1


def test_a_share_of_the_text_evenly_spread() -> None:
    text = [item.words for item in sentences(100)]
    settings = ("data.development_share=0",)
    for share in (0.01, 0.25, 0.5, 1.0):
        requested = RunRequest(
            run="", text=text, preset="npcfg-small", settings=(*settings, f"data.text_share={share}")
        )
        corpus = load_data(requested).encode()
        assert len(corpus) == 100 * share
        assert corpus.lengths.sum() == sum(len(words) - 1 for words in text[round(1 / share) - 1 :: round(1 / share)])
    whole, half = (
        load_data(RunRequest(run="", preset="npcfg-small", settings=(f"data.text_share={share}",))).training
        for share in (1.0, 0.5)
    )  # of the built-in sample
    assert len(half.offsets) == len(whole.offsets) // 2 + 1


def test_a_corpus_on_disk_is_learned_from_whole(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(" ".join(item.words) + "\n" for item in sentences(30)), encoding="utf-8")
    prepare_text([str(text)], str(tmp_path / "prepared"), preset="onlstm-small")
    requested = RunRequest(run="", text=(str(tmp_path / "prepared"),), preset="onlstm-small")
    assert load_data(requested).training.words
    with pytest.raises(SynparseError, match=r"learned from whole, without data.text_share"):
        load_data(replace(requested, settings=("data.text_share=0.5",)))


def test_random_trees_are_over_the_same_words_and_not_the_gold_ones() -> None:
    text = with_trees(sentences(100))
    result = list(supervised(text, DataConfig(trees="random")))
    assert [item.words for item in result] == [item.words for item in text]
    assert all(item.tree is not None and len(item.tree.spans) == len(item.words) - 1 for item in result)
    assert len({item.tree.spans for item in result if item.tree}) > 20
    assert result == list(supervised(text, DataConfig(trees="random")))


def scored(run: Path, distances: str = "syd") -> float:
    """The share of toy sentences whose gold brackets are all in the tree of the model."""
    gold = with_trees(sentences(60, seed=9))
    trees = load_parser(run, distances=distances).parse(gold)
    return sum(
        item.tree is not None and set(item.tree.spans[1:]) <= set(tree.spans)
        for item, tree in zip(gold, trees, strict=True)
    ) / len(gold)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("onlstm-syd", ("model.ranking=batch", *QUICK)),
        ("onlstm-syd", ("model.supervised_head=hidden", *QUICK)),
        ("onlstm-syd", ("model.supervised_head=shared", *QUICK)),
        ("prpn-syd", ("optimizer.learning_rate=0.1", "train.epochs=6")),
    ],
    ids=["batch", "hidden", "shared", "prpn"],
)
def test_trees_are_learned_next_to_those_of_the_language_model(
    model: str, changes: tuple[str, ...], tmp_path: Path
) -> None:
    train(settings(model, *changes), tmp_path)
    assert scored(tmp_path) > 0.9
    sets = [next(load_parser(tmp_path, distances=name).predict([["the", "dog"]])) for name in ("syd", "lm")]
    is_shared = "model.supervised_head=shared" in changes  # one set of trees for both
    assert (sets[0] == sets[1]) == is_shared
    assert not is_shared or scored(tmp_path) == scored(tmp_path, "lm")


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(SynparseError, match="there is no trees 'silver'"):
        resolve(model="onlstm-syd", settings=["data.trees=silver"])
    with pytest.raises(SynparseError, match=r"data.tree_share = 1.5 must lie between 0 and 1"):
        resolve(model="onlstm-syd", settings=["data.tree_share=1.5"])


def test_models_and_texts_must_fit(tmp_path: Path) -> None:
    plain, _ = read_corpora(sentences(), "words")
    trees, _ = read_corpora(with_trees(sentences()), "words", with_trees=True)
    with pytest.raises(SynparseError, match="'onlstm-syd' learns from trees, and the training text has none"):
        make_trainer(settings("onlstm-syd"), plain, plain, tmp_path, device="cpu")
    with pytest.raises(SynparseError, match="'onlstm' learns no trees"):
        make_trainer(settings("onlstm"), trees, plain, tmp_path, device="cpu")


def test_other_trees_are_another_text(tmp_path: Path) -> None:
    """A run is not resumed with the same words and other trees."""
    config = settings("onlstm-syd")
    list(trainer(config, tmp_path).train(stop=stop_after(3)))
    text = [replace(item, tree=Tree.from_spans(item.words, [])) for item in sentences()]
    share = config.data.development_share
    corpora = read_corpora(text, "words", development_share=share, with_trees=True)
    with pytest.raises(SynparseError, match="the training text is not the one that this run began with"):
        make_trainer(config, *corpora, tmp_path, device="cpu", resume=True)


def test_random_trees_are_said_to_be_random(tmp_path: Path) -> None:
    facts = RunFacts(trees=TreesFacts(name="toy", note="a part", kind="random", sentences=200))
    list(trainer(settings("onlstm-syd", "train.epochs=1"), tmp_path, facts=facts).train())
    assert checkpoint.read(tmp_path / "model.safetensors").facts.trees == facts.trees
    assert load_parser(tmp_path).learned_from == "random trees: toy (a part)"
