"""Frequent words at the edges of sentences, and the default decoder that follows from them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.vocabulary_choice import choose_vocabulary
from induce.decoding import branching_direction as edges
from induce.decoding.branching_direction import Edges, edges_of
from induce.parsing.load import load_parser
from induce.parsing.parser import default_decoder
from induce.registry import fitting_decoder
from induce.storage import checkpoint as store
from induce.storage.facts import RunFacts
from induce.structures import Distances, HeadDistribution
from induce.training.events import Finished
from tests.support.tiny import settings, train, trainer
from treebank.core.sentence import Sentence


def corpus(lines: list[str], *more: str) -> EncodedCorpus:
    read, _ = read_corpora((Sentence(tuple(line.split())) for line in lines), "words")
    return read.encode(choose_vocabulary(read, settings("onlstm", *more).data))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words are frequent."""
    monkeypatch.setattr(edges, "FREQUENT_WORDS", 2)


HEADS_FIRST = ["of red house a", "of blue tree b", "in old town c .", "in new town of", "x y"]


def test_edges_are_shares_of_sentences_that_begin_and_end_with_frequent_words() -> None:
    result = edges_of(corpus(HEADS_FIRST))  # frequent: of, in; two-word sentences and the full stop do not count
    assert result == Edges(100.0, 25.0, 4)
    mirrored = edges_of(corpus([" ".join(reversed(line.removesuffix(" .").split())) for line in HEADS_FIRST]))
    assert mirrored == Edges(25.0, 100.0, 4)
    assert str(result) == (
        "the text probably branches to the right: 100% of its sentences begin with one of its 2 most frequent words, "
        "25% end with one (strength 0.98)"
    )
    assert "branches to the left" in str(mirrored)
    assert "does not clearly branch to one side" in str(Edges(21.0, 21.0, 9))


def test_direction_is_clear_from_ten_points_of_difference() -> None:
    results = [Edges(first, 30.0, 4000).branching for first in (40.0, 39.9, 20.1, 20.0)]
    assert [(result.direction, result.is_clear) for result in results] == [
        ("right", True),
        ("right", False),
        ("left", False),
        ("left", True),
    ]
    assert [result.branches_right for result in results] == [True, False, False, False]


def test_strength_follows_the_evidence() -> None:
    seven_points = Edges(28.0, 21.0, 2000)
    assert seven_points.error == pytest.approx(1.355, abs=1e-3)
    assert seven_points.strength == pytest.approx(1 - math.exp(-(7 - 2 * 1.355) / edges.EVIDENCE_SCALE), abs=1e-3)
    strengths = [Edges(21 + points, 21.0, 2000).strength for points in range(0, 60)]
    assert strengths == sorted(strengths)
    assert strengths[0] == 0.0
    assert strengths[-1] > 0.99
    assert max(after - before for before, after in pairwise(strengths)) < 0.12  # continuous


def test_strength_is_symmetric_and_zero_without_evidence() -> None:
    left, right = Edges(21.0, 28.0, 2000), Edges(28.0, 21.0, 2000)
    assert (left.branching.direction, left.strength) == ("left", right.strength)
    assert Edges(25.0, 25.0, 2000).branching == edges.UNKNOWN_BRANCHING
    assert Edges(28.0, 21.0, 100).branching == edges.UNKNOWN_BRANCHING  # within the sampling error
    assert Edges(0.0, 0.0, 0).strength == 0


def test_direction_can_be_set_instead_of_estimated() -> None:
    assert edges.assumed_branching("left", Edges(60.0, 10.0, 9)) == edges.Branching("left", 1.0, is_clear=True)
    assert edges.assumed_branching("text", Edges(60.0, 10.0, 4000)).direction == "right"
    assert edges.assumed_branching("text", None) == edges.UNKNOWN_BRANCHING


def test_unknown_words_are_not_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"the {letter}p {letter}q" for letter in "bcdefghij"]
    for symbols in ("one", "shape"):
        assert edges_of(corpus(lines, "data.minimum_count=2", f"data.unknown={symbols}")) == Edges(100.0, 0.0, 9)
    monkeypatch.setattr(edges, "MAX_SENTENCES", 3)
    assert edges_of(corpus(lines)).sentences == 3
    assert edges_of(corpus(["a b", "c d"])) == Edges(0.0, 0.0, 0)


def test_model_stores_edges_that_determine_its_decoder(tmp_path: Path) -> None:
    config = settings("onlstm", "train.epochs=1")
    assert config.parse.decoder == ""
    finished = train(config, tmp_path)[-1]
    assert isinstance(finished, Finished)
    checkpoint = store.read(tmp_path / "best")
    stored = checkpoint.facts.edges
    assert stored == edges_of(trainer(config, tmp_path / "other").run.corpus)
    parser = load_parser(tmp_path, device="cpu")
    assert parser.decoder == finished.decoder == default_decoder(checkpoint)
    assert f"decoder:{parser.decoder}|" in parser.decoded
    assert finished.branching == f"decoder {parser.decoder}: {stored}"
    for first, last, decoder in ((60.0, 10.0, "biased"), (10.0, 60.0, "unbiased")):
        facts = replace(checkpoint.facts, edges=Edges(first, last, 4000))
        assert default_decoder(replace(checkpoint, facts=facts)) == decoder
    assert default_decoder(replace(checkpoint, facts=RunFacts())) == "unbiased"


def test_decoder_from_the_settings_ignores_the_edges(tmp_path: Path) -> None:
    finished = trainer(settings("onlstm", "parse.decoder=biased"), tmp_path)._finished("epochs")
    assert (finished.decoder, finished.branching) == ("biased", "")


def test_direction_decides_the_default_decoder_of_distances_only() -> None:
    assert fitting_decoder("onlstm", (Distances,), branches_right=True) == "biased"
    assert fitting_decoder("onlstm", (Distances,)) == "unbiased"
    assert fitting_decoder("udgn", (HeadDistribution,), branches_right=True) == "chu-liu-edmonds"
