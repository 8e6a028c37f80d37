"""Frequent words at the edges of sentences, and the decoder that a run gets by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from induce.data.corpus import EncodedCorpus, read_corpora
from induce.data.vocabulary_choice import choose_vocabulary
from induce.decoding import branching_direction as edges
from induce.decoding.branching_direction import Edges, edges_of
from induce.parsing.load import load_parser
from induce.parsing.parser import own_decoder
from induce.registry import BY_BRANCHING, fitting_decoder
from induce.settings import resolve
from induce.storage import checkpoint as store
from induce.structures import Distances, HeadDistribution
from induce.training.events import Finished
from tests.support.tiny import settings, train, trainer
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence


def corpus(lines: list[str], *more: str) -> EncodedCorpus:
    read, _ = read_corpora((Sentence(tuple(line.split())) for line in lines), "words")
    return read.encode(choose_vocabulary(read, settings("onlstm", *more).data))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words are frequent."""
    monkeypatch.setattr(edges, "FREQUENT", 2)


HEADS_FIRST = ["of red house a", "of blue tree b", "in old town c .", "in new town of", "x y"]


def test_shares_of_sentences_that_begin_and_end_with_frequent_words() -> None:
    found = edges_of(corpus(HEADS_FIRST))  # of, in or town; of two words nothing is told, and the full stop is none
    assert found == Edges(100.0, 25.0, 4)
    mirrored = edges_of(corpus([" ".join(reversed(line.removesuffix(" .").split())) for line in HEADS_FIRST]))
    assert mirrored == Edges(25.0, 100.0, 4)
    assert (found.decoder, mirrored.decoder) == ("biased", "unbiased")
    assert str(found) == (
        "decoder biased: the text branches to the right (100% of its sentences begin with one of its 2 most frequent "
        "words, 25% end with one)"
    )
    assert "does not clearly branch" in str(mirrored)


def test_what_is_nearly_even_is_no_side() -> None:
    assert Edges(39.9, 30.0, 9).decoder == "unbiased"
    assert Edges(40.0, 30.0, 9).decoder == "biased"
    assert [Edges(first, 30.0, 9).side for first in (40.0, 39.9, 20.1, 20.0)] == ["right", "", "", "left"]


def test_words_that_are_not_told_apart_are_not_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"the {letter}p {letter}q" for letter in "bcdefghij"]
    for how in ("one", "shape"):
        assert edges_of(corpus(lines, "data.minimum_count=2", f"data.unknown={how}")) == Edges(100.0, 0.0, 9)
    monkeypatch.setattr(edges, "LOOKED_AT", 3)
    assert edges_of(corpus(lines)).sentences == 3
    assert edges_of(corpus(["a b", "c d"])) == Edges(0.0, 0.0, 0)


def test_a_run_keeps_them_and_its_parser_goes_by_them(tmp_path: Path) -> None:
    config = settings("onlstm", "train.epochs=1")
    assert config.parse.decoder == BY_BRANCHING
    finished = train(config, tmp_path)[-1]
    assert isinstance(finished, Finished)
    checkpoint = store.read(tmp_path / "best")
    kept = Edges.in_facts(checkpoint.facts)
    assert kept == edges_of(trainer(config, tmp_path / "other").corpus)
    parser = load_parser(tmp_path, device="cpu")
    assert kept is not None
    assert parser.decoder == kept.decoder == finished.decoder
    assert f"decoder:{kept.decoder}|" in parser.decoded
    assert finished.branching == str(kept)
    for first, last, decoder in ((60.0, 10.0, "biased"), (10.0, 60.0, "unbiased")):
        facts = {**checkpoint.facts, **Edges(first, last, 5).fact()}
        assert own_decoder(replace(checkpoint, facts=facts)) == decoder
    with pytest.raises(SynparseError, match="'edges' is missing"):
        own_decoder(replace(checkpoint, facts={}))


def test_a_decoder_that_was_asked_for_stays(tmp_path: Path) -> None:
    asked = trainer(settings("onlstm", "parse.decoder=biased"), tmp_path)
    assert edges.FACT not in asked.facts
    finished = asked._finished("epochs")
    assert (finished.decoder, finished.branching) == ("biased", "")


def test_it_is_for_models_of_distances_that_read_text() -> None:
    assert fitting_decoder("onlstm", (Distances,), BY_BRANCHING) == "unbiased"
    with pytest.raises(SynparseError, match="decoder 'by-branching' needs distances"):
        fitting_decoder("udgn", (HeadDistribution,), BY_BRANCHING)
    with pytest.raises(SynparseError, match="goes by plain text, and task 'listops' has none"):
        resolve(task="listops", settings=[f"parse.decoder={BY_BRANCHING}"])
