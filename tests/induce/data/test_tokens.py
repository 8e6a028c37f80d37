"""Characters (`data.token=character`) and word classes (`data.token=class`) as tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from induce.data.corpus import CorpusBuilder
from induce.data.vocabulary import SPACE, Vocabulary, bits, characters
from induce.data.word_classes import class_vocabulary
from induce.parsing.load import load_parser
from induce.registry import MODELS, model_class
from induce.settings.presets import resolve
from induce.settings.run import DataConfig, RunConfig
from induce.storage.checkpoint import Check
from induce.training.events import Event
from induce.training.loop import Trainer
from induce.training.prepare import choose_vocabulary
from tests.support.tiny import corpora, make_trainer, settings
from treebank.base.errors import SynparseError
from treebank.base.metadata import finite

LETTERS = ("data.token=character", "train.epochs=2", "optimizer.learning_rate=0.01")

SUPERVISED = sorted(name for name, entry in MODELS.items() if entry.learns_trees or entry.needs_teacher)


def trainer(config: RunConfig, run: Path, **options: Any) -> Trainer:
    """A trainer on few sentences, because a sentence has many characters."""
    return make_trainer(config, *corpora(config, 30), run, device="cpu", **options)


def train(config: RunConfig, run: Path) -> list[Event]:
    """All events of a run."""
    return list(trainer(config, run).train())


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, list[Event]]]:
    """Folder and events of a run of a model, which all tests share."""
    folder = tmp_path_factory.mktemp("learned")

    @cache
    def run(name: str) -> tuple[Path, list[Event]]:
        return folder / name, train(settings(name, *LETTERS), folder / name)

    return run


def test_characters_of_a_sentence() -> None:
    assert characters(["a", "dog", "."]) == ("a", SPACE, "d", "o", "g", SPACE, ".")
    assert characters([]) == ()
    assert characters(["e\u0301", "\U0001f469\u200d\U0001f680"]) == (
        *("e", "\u0301", SPACE),
        *("\U0001f469", "\u200d", "\U0001f680"),
    )


def test_white_space_and_the_space_symbol_are_spaces() -> None:
    assert characters(["a\u00a0b", "\u2028", SPACE]) == ("a", SPACE, "b", *(SPACE,) * 4)
    assert not any(character.isspace() for character in characters(map(chr, range(0x3001))))


def test_bits_per_character() -> None:
    assert bits(torch.log(torch.tensor(8.0)).item(), "character") == pytest.approx(3)
    assert bits(1.0, "word") is None


@pytest.mark.parametrize("name", SUPERVISED)
def test_supervised_model_refuses_characters(name: str) -> None:
    with pytest.raises(SynparseError, match=f"data.token=character: '{name}' learns from .*, which are over words"):
        resolve(model=name, settings=["data.token=character"])


def test_corpus_of_characters() -> None:
    config = settings("prpn", *LETTERS, "data.normalization=raw")
    text = corpora(config, 4)[0]
    assert list(text.counts)[:5] == ["T", "h", "e", SPACE, "o"]
    assert text.words == len(text.ids) - text.sentences == sum(text.counts.values())


def test_rare_characters_are_unknown(tmp_path: Path) -> None:
    config = settings("prpn", *LETTERS)
    counts = corpora(config, 40)[0].word_counts()
    frequent = [character for character, count in counts.items() if count >= 40 and character != "<eos>"]
    few = trainer(settings("prpn", *LETTERS, "data.minimum_count=40"), tmp_path / "run")
    assert set(few.run.vocabulary.words) == {"<eos>", "<unk>", *frequent}
    few = trainer(settings("prpn", *LETTERS, "data.vocabulary_size=5"), tmp_path / "run")
    assert few.run.vocabulary.words == (
        "<eos>",
        "<unk>",
        SPACE,
        *sorted("et", key=lambda character: (-counts[character], character)),
    )
    assert next(few.train()).unknown_share > 0.3


@pytest.mark.parametrize("name", sorted(set(MODELS).difference(SUPERVISED)))
def test_every_model_learns_from_characters(name: str, learned: Callable[[str], tuple[Path, list[Event]]]) -> None:
    run, events = learned(name)
    started, finished = events[0], events[-1]
    checks = [event for event in events if isinstance(event, Check)]
    assert started.token == "character"
    if len(checks) > 1:  # a model without gradients is scored once
        assert checks[-1].development_loss < checks[0].development_loss
    per_character = None if settings(name).loader_name == "masked" else bits(checks[-1].development_loss, "character")
    assert checks[-1].development_bits == per_character == finished.best_bits  # None for masked characters
    logged = [json.loads(line) for line in (run / "log.jsonl").open()]
    assert [line["development_bits"] for line in logged if line["event"] == "check"] == [
        finite(check.development_bits) for check in checks
    ]


@pytest.mark.parametrize("name", sorted(name for name in MODELS if model_class(name).gives and name not in SUPERVISED))
def test_structures_are_over_characters(name: str, learned: Callable[[str], tuple[Path, list[Event]]]) -> None:
    parser = load_parser(learned(name)[0])
    spellings = [reading.words for reading in parser.predict([["The", "dog", "!", "12"], ["..."], []])]
    article = "The" if settings(name).data.normalization == "cased" else "the"
    assert spellings == [(*article, SPACE, *"dog", SPACE, "0"), (), ()]  # after normalization
    for reading in parser.predict([["The", "dog"], ["a"]]):
        assert list(reading.indices) == list(range(len(reading.words)))


def test_short_text_is_measured_in_characters(tmp_path: Path) -> None:
    config = settings("prpn", *LETTERS)
    builder = CorpusBuilder()
    builder.add(tuple("dog"))
    short = builder.build()
    with pytest.raises(SynparseError, match="3 characters to learn from"):
        make_trainer(config, short, short, tmp_path / "run", device="cpu")


def test_vocabulary_of_classes() -> None:
    """Each word has the index of its class, which is that of its shape and ending for rare words."""
    text = corpora(settings("onlstm", "data.token=class"), 60)[0]
    data = DataConfig(token="class", classes=5, minimum_count=2)
    words = class_vocabulary(text, classes=5, size=data.vocabulary_size, minimum_count=2)
    assert len(words) <= 7
    assert words.names[2:] == tuple(f"<class:{number}>" for number in range(len(words) - 2))
    assert Vocabulary("\n".join(words.words).split("\n")).words == words.words
    plain = text.encode(text.vocabulary(data.vocabulary_size, data.minimum_count, "shape"))
    known = plain.vocabulary.words
    ids = words.encode(known[2:])
    assert min(ids) >= 2
    assert set(ids) == set(range(2, len(words)))
    assert words.encode(["Zzyqing"]) == words.encode(["<unk:C>"])
    shares = np.bincount(text.encode(words).ids, minlength=len(words))[2:]
    assert (np.diff(shares) <= 0).all()
    encoded = text.encode(words)
    assert choose_vocabulary(text, data).words == words.words
    assert choose_vocabulary(text, data) is choose_vocabulary(text, data)  # not computed again for the next seed
    assert encoded.ids[encoded.offsets[1] - 1] == 0
    with pytest.raises(ValueError, match="occurs twice"):
        Vocabulary(["<eos>", "<unk>", "<class:0>\ta\tb", "<class:1>\tb"])


def test_model_of_classes_parses_words(tmp_path: Path) -> None:
    """The trees are over words, and words of the same class have the same scores."""
    config = settings("onlstm", "data.token=class", "data.classes=4", "train.epochs=1")
    events = train(config, tmp_path)
    assert events[0].vocabulary <= 6
    parser = load_parser(tmp_path, device="cpu")
    vocabulary = parser.checkpoint.vocabulary
    numbers = {word: vocabulary.id(word) for entry in vocabulary.words[2:] for word in entry.split("\t")[1:]}
    first, *same = [word for word, number in numbers.items() if number == 2 and not word.startswith("<")]
    assert parser.token == "word"
    others = [word for word, number in numbers.items() if number != 2][:3]
    readings = list(parser.predict([[word, *others] for word in (first, *same)]))
    assert len(same) > 0
    assert {tuple(reading.row) for reading in readings} == {tuple(readings[0].row)}
    assert next(iter(parser.parse([[first, *others]]))).words == (first, *others)
    with pytest.raises(SynparseError, match=r"leave data\.vocabulary out"):
        settings("onlstm", "data.token=class", "data.vocabulary=words.txt")
