"""Branching direction of a text, with its uncertainty, and the default decoder that follows from it."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from induce.data.corpus import TextInMemory, read_corpora
from induce.data.prepared import PreparedCorpus, prepare
from induce.decoding import branching_direction as module
from induce.decoding.branching_direction import (
    Direction,
    assumed_probability,
    estimate_direction,
    is_clear,
    right_probability,
)
from induce.decoding.specification import fitting_decoder
from induce.parsing.load import load_parser
from induce.parsing.model_parser import default_decoder
from induce.storage import checkpoint as store
from induce.storage.checkpoint import RunFacts
from induce.structures import Distances, HeadDistribution
from tests.support.reference import SHARED
from tests.support.tiny import settings, train, trainer
from treebank.core.sentence import Sentence
from treebank.io.read import read_sentences

TREEBANKS = SHARED / "data" / "const_other"
NOUNS = [f"{stem}{ending}" for stem in ("bal", "kor", "mit", "sul", "tev", "rad") for ending in ("", "os", "ima", "ek")]
LETTERS = "abcdefghijklmnoprstuvz"


def corpus(sentences: list[list[str]]) -> TextInMemory:
    return read_corpora((Sentence(tuple(words)) for words in sentences), "words")[0]


def estimate(sentences: list[list[str]]) -> Direction:
    return estimate_direction(corpus(sentences))


def head_initial(count: int, share: float = 1.0) -> list[list[str]]:
    """Sentences with a function word before each noun, or after each noun in 1 - ``share`` of them."""
    rng = random.Random(0)
    sentences = []
    for _ in range(count):
        order = 1 if rng.random() < share else -1
        phrases = [[rng.choice(("da", "di", "du")), rng.choice(NOUNS) + rng.choice("abcdefgh")] for _ in range(3)]
        words = [word for phrase in phrases for word in phrase[::order]]
        sentences.append([*words[:3], ",", *words[3:]] if rng.random() < 0.5 else words)
    return sentences


@pytest.fixture(autouse=True)
def three_frequent_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREQUENT_WORDS", 3)


def test_probability_is_continuous_monotone_and_symmetric() -> None:
    values = [right_probability(points / 4, 2.0) for points in range(-400, 401)]
    assert values == sorted(values)
    assert max(after - before for before, after in pairwise(values)) < 0.01
    assert values == pytest.approx([1 - value for value in values[::-1]])
    assert right_probability(20.0, 5.0) > right_probability(20.0, 30.0) > 0.5
    z = -11.1 / math.hypot(0.9, 15)
    assert right_probability(-11.1, 0.9) == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2)


def test_text_with_initial_function_words_branches_to_the_right() -> None:
    sentences = head_initial(400)
    right, left = estimate(sentences), estimate([words[::-1] for words in sentences])
    assert (right.frequent_words, right.right_probability, right.sentences) == (100.0, 1.0, 400)
    assert left.right_probability == 0.0
    assert left.frequent_words == -right.frequent_words
    assert left.word_classes == pytest.approx(-right.word_classes)
    assert left.segment_growth == pytest.approx(-right.segment_growth)


def test_evidence_is_reported_in_one_line_with_a_warning_if_it_is_weak() -> None:
    strong = Direction(-49.4, -0.66, 0.24, 0.0001, 1391)
    assert strong.lines() == ["branching direction: left with probability 1.00, estimated from 1,391 sentences"]
    assert strong.evidence() == "evidence: frequent words -49.4 points, word classes -0.66 nats, segment growth +0.24"
    assert [is_clear(value) for value in (0.25, 0.26, 0.5, 0.74, 0.75)] == [True, False, False, False, True]
    weak = Direction(7.0, 0.0, 0.0, 0.68, 2000)
    assert weak.lines()[0].startswith("branching direction: right with probability 0.68, estimated")
    assert weak.lines()[1].startswith("warning: the text gives weak evidence for a branching direction")


def test_mixed_order_is_weak_evidence_and_small_samples_are_less_certain() -> None:
    assert not is_clear(estimate(head_initial(2000, share=0.5)).right_probability)
    large, small = (estimate(head_initial(count, share=0.7)[:count]) for count in (2000, 60))
    same_points = Direction(small.frequent_words, small.word_classes, small.segment_growth, 0.0, 0)
    points = module._points(same_points.frequent_words, same_points.word_classes, same_points.segment_growth)
    assert 0.5 < small.right_probability < right_probability(points, 0.0)
    assert is_clear(large.right_probability)


@pytest.mark.parametrize(
    "sentences",
    [
        *([], [["word"]], [["word"]] * 50, [["a", "b"]] * 50, [[]] * 3, head_initial(15), [[","], ["."]]),
        *([["猫が魚を食べた" * 500]], [NOUNS * 1000]),  # one long sentence without spaces or ends
    ],
    ids=["none", "word", "words", "pairs", "empty", "few", "punctuation", "spaceless", "long"],
)
def test_text_without_trees_to_choose_from_gives_no_evidence(sentences: list[list[str]]) -> None:
    assert estimate(sentences).right_probability == 0.5


def test_text_without_punctuation_is_estimated_from_its_words() -> None:
    direction = estimate([[word for word in words if word != ","] for words in head_initial(400)])
    assert (direction.segment_growth, direction.right_probability) == (0.0, 1.0)


def test_identical_sentences_have_no_sampling_error() -> None:
    direction = estimate([["da", "bal", "kor", "mit", "sul"]] * 40)
    assert not math.isnan(direction.right_probability)


def test_final_classes_count_although_no_word_is_frequent() -> None:
    """Verb-final sentences end with few suffixes, as in Turkish."""
    rng = random.Random(1)

    def word(ending: str) -> str:
        return "".join(rng.choices(LETTERS, k=5)) + ending

    sentences = [[*(word("".join(rng.choices(LETTERS, k=2))) for _ in range(4)), word("iyor")] for _ in range(800)]
    direction = estimate(sentences)
    assert direction.word_classes < -0.5
    assert direction.right_probability < 0.5


def test_unknown_words_are_not_frequent() -> None:
    rare = [["the", f"{first}{second}pq", f"{second}{first}ro"] for first in LETTERS for second in LETTERS]
    assert estimate(rare).frequent_words == 100.0


def test_only_the_first_sentences_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SENTENCES", 100)
    sentences = head_initial(100)
    assert estimate([*sentences, *[["zu", "zu", "zu"]] * 50]) == estimate(sentences)


def test_corpus_on_disk_has_the_direction_of_the_corpus_in_memory(tmp_path: Path) -> None:
    sentences = head_initial(400, share=0.6)
    prepare((Sentence(tuple(words)) for words in sentences), str(tmp_path / "corpus"))
    assert estimate_direction(PreparedCorpus.read(str(tmp_path / "corpus")).split(0.0)[0]) == estimate(sentences)


@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="the treebanks are not available")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("keyaki", Direction(-49.3606, -0.6621, 0.2434, 0.0, 391)),
        ("icepahc", Direction(29.4925, 0.2891, 0.0519, 0.9816, 729)),
    ],
)
def test_direction_of_treebanks_is_the_measured_one(
    monkeypatch: pytest.MonkeyPatch, name: str, expected: Direction
) -> None:
    monkeypatch.setattr(module, "FREQUENT_WORDS", 50)
    sentences = read_sentences(TREEBANKS / name, on_bad=lambda error: None)
    assert estimate([list(sentence.words) for sentence in sentences if len(sentence.words) > 2]) == expected


def test_direction_can_be_set_instead_of_estimated() -> None:
    direction = Direction(0.0, 0.0, 0.0, 0.9, 9)
    assert [assumed_probability(setting, direction) for setting in ("right", "left", "text")] == [1.0, 0.0, 0.9]
    assert assumed_probability("text", None) == 0.5


def test_model_stores_the_direction_that_determines_its_decoder(tmp_path: Path) -> None:
    config = settings("onlstm", "train.epochs=1")
    assert config.parse.decoder == ""
    finished = train(config, tmp_path)[-1]
    checkpoint = store.read(tmp_path / "model.safetensors")
    direction = checkpoint.facts.direction
    assert direction == estimate_direction(trainer(config, tmp_path / "other").run.training) == finished.direction
    parser = load_parser(tmp_path, device="cpu")
    assert parser.decoder == finished.decoder == default_decoder(checkpoint)
    assert f"decoder:{parser.decoder}|" in parser.decoded
    for probability, decoder in ((0.8, "biased"), (0.7, "unbiased"), (0.1, "unbiased")):
        facts = replace(checkpoint.facts, direction=Direction(0.0, 0.0, 0.0, probability, 4000))
        assert default_decoder(replace(checkpoint, facts=facts)) == decoder
    assert default_decoder(replace(checkpoint, facts=RunFacts())) == "unbiased"


def test_direction_is_not_reported_if_it_is_set(tmp_path: Path) -> None:
    finished = trainer(settings("onlstm", "parse.branching=right"), tmp_path)._finished("epochs")
    assert (finished.decoder, finished.direction) == ("biased", None)


def test_direction_decides_the_default_decoder_of_distances_only() -> None:
    assert fitting_decoder("onlstm", (Distances,), branches_right=True) == "biased"
    assert fitting_decoder("onlstm", (Distances,)) == "unbiased"
    assert fitting_decoder("udgn", (HeadDistribution,), branches_right=True) == "chu-liu-edmonds"
