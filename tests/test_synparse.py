"""Arguments of the Python interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import synparse

TREE = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))"
TINY = ["train.epochs=1", "model.hidden_size=8", "model.embedding_size=8"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a text and a treebank."""
    monkeypatch.chdir(tmp_path)
    Path("mine.ptb").write_text(TREE + "\n", encoding="utf-8")
    Path("text.txt").write_text("the cat sat on the mat\n" * 30, encoding="utf-8")
    return tmp_path


def test_a_string_is_a_list_of_one_element() -> None:
    for source in ("mine.ptb", synparse.Corpus("mine.ptb")):
        for labels in ("NP", ["NP"]):
            assert [row.words for row in synparse.phrases(source, labels=labels, min_count=1)] == ["the cat"]
    [score] = synparse.evaluate("mine.ptb", "right", conventions="km").scores
    assert "km" in str(score)
    assert len(synparse.evaluate("mine.ptb", "right", by="length").tables()) > 1
    page = synparse.report("english", gold=Path("mine.ptb"), baselines="right", conventions="km")
    assert "--baseline right" in page
    assert "text.txt" in synparse.report("english", text=Path("text.txt"))
    assert synparse.combine("english", "vote").output == "trees"


def test_paths_are_texts_and_presets() -> None:
    Path("mine.toml").write_text('extends = "onlstm-small"\n', encoding="utf-8")
    trainer = synparse.trainer(
        Path("text.txt"), dev=Path("text.txt"), run="one", preset=Path("mine.toml"), settings=TINY
    )
    assert trainer.run.config.train.epochs == 1
    assert trainer.run.config.preset == "mine.toml"
    assert synparse.trainer([Path("text.txt")], run="two", settings="train.epochs=3").run.config.train.epochs == 3


@pytest.mark.parametrize("text", [[], ()])
def test_empty_text_is_refused(text: list[str]) -> None:
    with pytest.raises(synparse.SynparseError, match="text is empty; give paths or sentences"):
        synparse.trainer(text)
    assert not Path("synparse-model").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: synparse.search("NP", "mine.ptb", limit=-1), "limit cannot be -1; give a whole number from 0"),
        (lambda: synparse.search("NP", "mine.ptb", sample=-1), "sample cannot be -1"),
        (lambda: synparse.search("NP", "mine.ptb", context=-1), "context cannot be -1"),
        (lambda: synparse.phrases("mine.ptb", limit=-1), "limit cannot be -1"),
        (lambda: synparse.phrases("mine.ptb", min_length=0), "min_length cannot be 0"),
        (lambda: synparse.phrases("mine.ptb", min_count="2"), "min_count cannot be '2'"),
        (lambda: synparse.phrases("mine.ptb", min_length=3, max_length=2), "no phrase has 3 to 2 words"),
        (lambda: synparse.evaluate("mine.ptb", "right", max_length="10"), "max_length cannot be '10'"),
        (lambda: synparse.report("english", gold="mine.ptb", max_length=0), "max_length cannot be 0"),
        (lambda: list(synparse.search("NP", "(S (NP")), "cannot read this: this tree is never closed"),
        (lambda: list(synparse.Corpus([None])), "cannot read this: expected a Tree"),
        (lambda: list(synparse.Corpus(3)), "cannot read this: expected a Tree"),
        (lambda: synparse.load("english").parse_k_best(["a cat"], 0), "k cannot be 0; give a whole number from 1"),
        (lambda: synparse.load("english", layer="two"), "english: layer cannot be 'two'"),
        (lambda: synparse.load("english", layer=1.5), "english: layer cannot be 1.5"),
        (lambda: synparse.load("english", decoder=3), "there is no decoder '3'"),
    ],
)
def test_values_of_options_are_checked(call: Callable[[], object], message: str) -> None:
    with pytest.raises(synparse.SynparseError, match=message):
        call()


def test_several_files_are_read() -> None:
    for paths in ("mine.ptb", Path("mine.ptb"), ["mine.ptb", Path("mine.ptb")]):
        assert next(synparse.read(paths)).words == ("the", "cat", "sat")
    assert len(list(synparse.read([Path("mine.ptb"), "text.txt"]))) == 31


def test_words_with_spaces_are_not_trained_on() -> None:
    with pytest.raises(synparse.SynparseError, match="'the new' of a sentence is empty or contains white space"):
        synparse.trainer([["the new", "cat"]] * 30, settings=TINY)
    assert not Path("synparse-model").exists()
