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
    scores = synparse.evaluate("mine.ptb", "right", baselines="left").scores
    assert [score.info.name for score in scores] == ["right", "left"]
    scores = synparse.evaluate("mine.ptb", "right", predicted="mine.ptb").scores
    assert {score.info.name: score.value for score in scores}["mine.ptb"] == pytest.approx(100)
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
        (lambda: synparse.evaluate("mine.ptb", {"r": "right"}), "baseline 'right' has its own name in tables"),
        (
            lambda: synparse.evaluate("mine.ptb", {"A": ["english"]}, {"A": ["english-grammar"]}),
            "two systems are called 'A'; give them different names",
        ),
        (lambda: list(synparse.search("NP", "(S (NP")), "cannot read this: this tree is never closed"),
        (lambda: list(synparse.Corpus([None])), "cannot read this: expected a Tree"),
        (lambda: list(synparse.Corpus(3)), "cannot read this: expected a Tree"),
        (lambda: synparse.load("english").parse_k_best(["a cat"], 0), "k cannot be 0; give a whole number from 1"),
        (lambda: synparse.load("english", layer="two"), "english: layer cannot be 'two'"),
        (lambda: synparse.load("english", layer=1.5), "english: layer cannot be 1.5"),
        (lambda: synparse.load("english", decoder=3), "there is no decoder '3'"),
        (lambda: synparse.load(3), "run cannot be 3; give a string or path"),
        (
            lambda: synparse.train("text.txt", max_minutes="1"),
            "max_minutes cannot be '1'; give a number of minutes above",
        ),
        (lambda: synparse.train("text.txt", max_minutes=0), "max_minutes cannot be 0"),
        (lambda: synparse.train(3), "text cannot be 3; give a string or path, or a list of them"),
        (lambda: synparse.train("text.txt", run=None), "run cannot be None"),
        (lambda: synparse.train("text.txt", model=3), "model cannot be 3"),
        (lambda: synparse.train("text.txt", settings=[3]), "settings cannot be 3"),
        (lambda: synparse.train("text.txt", heads="contnt"), "no style 'contnt'; did you mean 'content'"),
        (lambda: synparse.train("text.txt", heads="content", model="dmv"), "heads trains several models; for one, use"),
        (lambda: synparse.train("text.txt", branching="up"), "no branching 'up'"),
        (lambda: synparse.train("text.txt", tokenizer="no"), "no tokenization 'no'"),
        (lambda: synparse.trainer("text.txt", tokenizer=3), "tokenizer cannot be 3; give a string"),
        (lambda: synparse.train("text.txt", heads=3), "heads cannot be 3; give a string"),
        (lambda: synparse.combine("english", 3), "run cannot be 3"),
        (lambda: synparse.combine([3], "vote"), "members cannot be 3"),
        (lambda: synparse.combine("english", "vote", threshold="x"), "threshold cannot be 'x'; give a share from 0"),
        (lambda: synparse.combine("english", "vote", threshold=1), "threshold cannot be 1"),
        (lambda: synparse.combine("english", "vote", decoder=3), "decoder cannot be 3"),
        (lambda: synparse.evaluate("mine.ptb", "right", conventions=3), "conventions cannot be 3"),
        (lambda: synparse.evaluate("mine.ptb", "random", seed="1"), "seed cannot be '1'"),
        (lambda: synparse.report(["english", "english"]), r"runs cannot be \['english', 'english'\]; give a string"),
        (lambda: synparse.report("english", gold=3), "gold cannot be 3; give a path, the name of a treebank"),
        (lambda: synparse.report("english", pictures="3"), "pictures cannot be '3'"),
        (lambda: synparse.browse("mine.ptb", title=3), "title cannot be 3"),
        (lambda: list(synparse.read(3)), "path cannot be 3"),
        (lambda: synparse.search(3, "mine.ptb"), "pattern cannot be 3; give a string"),
        (lambda: synparse.phrases("mine.ptb", pattern=3), "pattern cannot be 3"),
        (
            lambda: list(synparse.search("W", "text.txt", model=3)),
            "model cannot be 3; give a string or path, or a parser",
        ),
    ],
)
def test_values_of_options_are_checked(call: Callable[[], object], message: str) -> None:
    with pytest.raises(synparse.SynparseError, match=message):
        call()


def test_heads_direction_and_tokenizer_are_chosen() -> None:
    heads = synparse.train("text.txt", run="heads", heads="content", branching="left", max_minutes=0.1)
    words, predicted = next(heads.parse_heads("the cat sat"))
    assert (words, predicted.count(-1)) == (("the", "cat", "sat"), 1)
    assert synparse.train(run="heads", resume=True).output == "heads"
    parser = synparse.train("text.txt", run="one", model="segment-edges", branching="left", tokenizer="unicode")
    assert parser.tokenization == "unicode"
    assert parser.checkpoint.config.parse.branching == "left"


@pytest.mark.parametrize("options", [{}, {"model": "onlstm", "settings": TINY}])
def test_folder_is_free_after_an_exception(options: dict[str, object]) -> None:
    def stop(event: object) -> None:
        raise KeyError(event)

    with pytest.raises(KeyError) as caught:  # its traceback refers to the training
        synparse.train("text.txt", run="run", max_minutes=0.1, show=stop, **options)
    assert synparse.train("text.txt", run="run", max_minutes=0.1, overwrite=True, **options).output == "trees"
    del caught


def test_several_files_are_read() -> None:
    for paths in ("mine.ptb", Path("mine.ptb"), ["mine.ptb", Path("mine.ptb")]):
        assert next(synparse.read(paths)).words == ("the", "cat", "sat")
    assert len(list(synparse.read([Path("mine.ptb"), "text.txt"]))) == 31


def test_words_with_spaces_are_not_trained_on() -> None:
    with pytest.raises(synparse.SynparseError, match="'the new' of a sentence is empty or contains white space"):
        synparse.trainer([["the new", "cat"]] * 30, settings=TINY)
    assert not Path("synparse-model").exists()


def test_trees_are_made_from_brackets() -> None:
    assert synparse.Tree.from_text("(S (NP (DT the) (NN cat)) (VBD sat))").spans == ((0, 3), (0, 2))


def test_each_of_several_families_is_scored() -> None:
    families = {"A": ["english"]}, {"B": ["english-grammar", "english"]}
    names = [row["System"] for row in synparse.evaluate("mine.ptb", *families).tables()[0].records()]
    assert names == ["A english", "B english-grammar", "B english"]


def test_one_sentence_is_parsed() -> None:
    sentence = next(synparse.read("mine.ptb"))
    assert [tree.words for tree in synparse.load("english").parse(sentence)] == [("the", "cat", "sat")]
