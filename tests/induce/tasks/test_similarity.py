"""Rated pairs of sentences: files, correlations, fine-tuning with and without a frozen parser."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from induce.data.batches import pad
from induce.models.base import make_model
from induce.registry import models_of
from induce.settings.presets import resolve
from induce.tasks.examples import RatedBatch
from induce.tasks.similarity.models import PairModel, cosines
from induce.tasks.similarity.pairs import RatedPair, RatedPairs, Similarity, load_pairs
from induce.tasks.similarity.rating_correlation import word_overlaps
from tests.support.reference import SHARED
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError, TreebankError

STS = "main-news\theadlines\t2015\t12\t4.0\tA dog barks.\tThe dog isn't quiet.\tmore\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tjudgment\n1\tA dog runs\tA cat runs\t3\tNEUTRAL\n"


def tiny(name: str, *more: str) -> PairModel:
    """An untrained model over twelve words."""
    sizes = [setting for setting in SETTINGS.get(name, ["model.hidden_size=16"]) if setting.startswith("model.")]
    torch.manual_seed(3)
    model = make_model(resolve(purpose="similarity", model=name, settings=[*sizes, *more]), 12)
    return model


def batch() -> RatedBatch:
    """Three pairs of different lengths."""
    tokens, lengths = pad([[2, 3, 4], [5], [6, 7], [2, 3], [8, 9, 10, 11], [6, 7]])
    return RatedBatch(tokens, lengths, torch.tensor([0.8, 0.1, 1.0]))


def test_formats_of_files_are_read(tmp_path: Path) -> None:
    for name, text in (("sts.csv", STS), ("sick.txt", SICK), ("own.tsv", "2.5\tone\ttwo\n\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("sts.csv", "sick.txt", "own.tsv")]
    pairs = Similarity().read(paths)
    assert [pair.rating for pair in pairs] == [0.8, 0.5, 0.5]
    assert pairs[0] == RatedPair("A dog barks.", "The dog isn't quiet.", 0.8, "main-news")
    assert (pairs[1].first, pairs[1].second) == ("A dog runs", "A cat runs")


def test_sets_of_two_files_are_read_without_unrated_pairs(tmp_path: Path) -> None:
    (tmp_path / "STS.input.news.txt").write_text('A dog.\tA cat.\na\tb\turl\turl\n"one\ttwo\n', encoding="utf-8")
    gold = tmp_path / "STS.gs.news.txt"
    gold.write_text("4.0\n\n2.5\n", encoding="utf-8")
    expected = [RatedPair("A dog.", "A cat.", 0.8), RatedPair('"one', "two", 0.5)]
    assert Similarity().read([str(tmp_path)]) == Similarity().read([str(tmp_path / "STS.input.news.txt")]) == expected
    gold.write_text("4.0\n\n", encoding="utf-8")
    with pytest.raises(SynparseError, match=r"input\.news\.txt: has another number of lines than .*gs\.news\.txt"):
        Similarity().read([str(tmp_path)])
    gold.unlink()
    with pytest.raises(SynparseError, match=r"the ratings are missing; put STS\.gs\.news\.txt next to it"):
        Similarity().read([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("one\ttwo\n", "1: expected a rating and two sentences between tabs"),
        ("x\tone\ttwo\n", "'x' is not a number"),
        ("5.5\tone\ttwo\n", "the rating 5.5 is not between 0 and 5"),
        ("nan\tone\ttwo\n", "the rating nan is not between"),
        (SICK + "2\tA\tB\t0.5\tX\n", "3: the rating 0.5 is not between 1 and 5"),
        ("1\t \ttwo\n", "one of the two sentences is empty"),
    ],
)
def test_malformed_line_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "bad.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(TreebankError, match=r"bad\.tsv") as error:
        Similarity().read([str(tmp_path / "bad.tsv")])
    assert problem in str(error.value)


def test_published_files_are_read() -> None:
    folder = SHARED / "data" / "sts"
    if not folder.exists():
        pytest.skip("the files of STS and SICK are not here")
    counts = {"sick/SICK_trial.txt": 500, "stsb_open_subset/sts-dev.csv": 1000}
    for name, count in counts.items():
        assert len(Similarity().read([str(folder / name)])) == count, name


def test_bag_of_words_counts_shared_words() -> None:
    pairs = [RatedPair("A dog, a cat.", "a cat", 1), RatedPair("one", "two", 0), RatedPair("!", "two", 0)]
    assert word_overlaps(pairs) == pytest.approx([3 / math.sqrt(6 * 2), 0, 0])


@pytest.mark.parametrize("name", list(models_of("similarity")))
def test_similarity_does_not_depend_on_padding_order_and_parts(name: str) -> None:
    model, pairs = tiny(name).eval(), batch()
    with torch.no_grad():
        joint = cosines(model.sentence_vectors(pairs))
        for k, part in enumerate(pairs.parts(3)):
            torch.testing.assert_close(cosines(model.sentence_vectors(part))[0], joint[k], atol=1e-5, rtol=1e-5)
        errors = (joint - pairs.targets) ** 2
        assert float(model.loss(pairs).nll) == pytest.approx(float(errors.mean()), rel=1e-5)
    assert float(joint[2]) == pytest.approx(1)  # the same words
    assert float(joint[0]) < 1 - 1e-3


@pytest.mark.parametrize("name", ["udgn", "structformer"])
def test_frozen_parser_keeps_its_trees(name: str) -> None:
    for frozen in ("none", "parser"):
        model, pairs = tiny(name, f"model.frozen={frozen}").eval(), batch()
        before = model.encoder.head_distribution(*_input(model, pairs)).detach().clone()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            model.loss(pairs).objective.backward()
            optimizer.step()
        after = model.encoder.head_distribution(*_input(model, pairs))
        assert torch.equal(before, after) == (frozen == "parser")
        learned = [key for key, value in model.encoder.named_parameters() if value.grad is not None]
        assert any(key.startswith("layers.") for key in learned)
        assert any(key.startswith("parser.") for key in learned) == (frozen == "none")


def _input(model: PairModel, pairs: RatedBatch) -> tuple[object, ...]:
    """The arguments of the masked language model for heads."""
    if hasattr(model.encoder, "parse"):
        return (model.encoder.parse(pairs.tokens, pairs.lengths),)
    return pairs.tokens, pairs.lengths


def test_transformer_has_no_parser_to_freeze() -> None:
    with pytest.raises(SynparseError, match="this model has no parser"):
        tiny("transformer", "model.frozen=parser")


def test_vocabulary_and_development_pairs(tmp_path: Path) -> None:
    config = resolve(purpose="similarity", settings=["data.minimum_count=1"])
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{k % 6}\tThe dog saw {k}\t...\n" for k in range(10)), encoding="utf-8")
    training, development = load_pairs(config, [str(path)], [])
    assert (len(training.pairs), len(development.pairs)) == (9, 1)
    vocabulary = training.vocabulary(100, 1)
    encoded = training.encode(vocabulary)
    assert [vocabulary.words[k] for k in encoded.pairs[0].first] == ["the", "dog", "saw", "0"]
    assert list(encoded.pairs[0].second) == [1]  # nothing but punctuation
    with pytest.raises(SynparseError, match="name their files"):
        load_pairs(config, [], [])
    assert RatedPairs(training.pairs[:1], replace(config.data, normalization="cased")).cut[0][0][0] == "The"
