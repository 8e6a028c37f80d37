"""Tests of parsers: sentences that a model refuses, calls, and their description."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from induce.data.vocabulary import Vocabulary
from induce.layers import products
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.parsing.parser import MAX_WORDS, TextCheck, block_of
from induce.parsing.writer import Job
from induce.storage.builtin import GRAMMAR
from tests.support import tiny
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import as_sentence
from treebank.io.read import DEFAULT_INPUT

LONG = " ".join(["dog"] * 40)
TEXT = ["the dog saw a cat", "a man ran", LONG, "the cat ran", LONG, "a dog saw a man"]


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> ModelParser:
    """A CCM that reads at most 30 words."""
    folder = tmp_path_factory.mktemp("run")
    tiny.train(tiny.settings("ccm", "train.epochs=1"), folder)
    loaded = load_parser(folder, device="cpu")
    loaded.model.max_length = 30
    return loaded


def test_refused_sentence_is_located_and_the_output_before_it_is_kept(parser: ModelParser, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    lines = Job(parser, "brackets", DEFAULT_INPUT).lines([str(path)])
    assert len([next(lines), next(lines)]) == 2
    with pytest.raises(TreebankError, match=r"text\.txt:3: 40 words are too many"):
        next(lines)


def test_refused_sentences_are_skipped(parser: ModelParser, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    errors: list[TreebankError] = []
    lines = list(Job(parser, "brackets", DEFAULT_INPUT, on_bad=errors.append).lines([str(path)]))
    assert [error.line for error in errors] == [3, 5]
    expected = [str(next(parser.parse([sentence]))) if sentence != LONG else "" for sentence in TEXT]
    assert lines == expected


def test_parser_is_callable_and_described(parser: ModelParser) -> None:
    assert list(map(str, parser(["a man ran"]))) == list(map(str, parser.parse(["a man ran"])))
    assert repr(parser).startswith("<ModelParser model:ccm|checkpoint:")
    with pytest.raises(SynparseError, match="too many"):
        list(parser(LONG))


@pytest.mark.parametrize("sentences", [42, [42], [None], [["the", 3]], [[["the"]]]])
def test_values_that_are_not_sentences_are_refused(parser: ModelParser, sentences: Any) -> None:
    with pytest.raises(TypeError, match=r"is a string or a list of words, not|give a list of sentences, not"):
        list(parser(sentences))


@pytest.mark.parametrize("word", ["", " ", "the new", "cat\n", "a\tb"])
def test_words_that_files_could_not_contain_are_refused(parser: ModelParser, word: str) -> None:
    with pytest.raises(SynparseError, match="is empty or contains white space"):
        list(parser([["the", word]]))


def test_strings_are_split_as_lines_of_text_are() -> None:
    assert as_sentence(" 10\u00a0000\tcats sat\n").words == ("10\u00a0000", "cats", "sat")


def test_block_of_a_sentence_is_that_of_a_whole_text() -> None:
    blocks = [block_of(number, 2, 100) for number in (0, 1, 2, 17, 18, 117, 118, 218)]
    assert blocks == [(0, 2), (0, 2), (2, 16), (2, 16), (18, 100), (18, 100), (118, 100), (218, 100)]
    assert block_of(70, 16, 512) == (16, 128)


SENTENCE = ["the", "dog", "sees", "a", "cat"]


def test_library_is_chosen_once_and_only_for_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    choices, used = list[int](), list[str]()

    def choose(compute: Callable[[], object], min_multiplications: int) -> str:
        compute()
        choices.append(min_multiplications)
        return products.ONEDNN

    multiplying = products.multiplying
    monkeypatch.setattr(products, "choose_library", choose)
    monkeypatch.setattr(products, "multiplying", lambda name: used.append(name) or multiplying(name))
    trees = {}
    for count in (3, 600, 900):  # sentences; each parser has its own first block
        parser = load_parser(GRAMMAR, device="cpu")
        trees[count] = list(parser.parse([SENTENCE] * count))
    assert len(choices) == 2
    assert used[0] == products.MKL  # three sentences
    assert products.ONEDNN in used
    assert {str(tree) for part in trees.values() for tree in part} == {str(trees[3][0])}


ENGLISH = Vocabulary(["<eos>", "<unk>", "the", "dog", "saw", "a", "cat", "and", "ran", "."])


def problem(*lines: str, vocabulary: Vocabulary = ENGLISH, token: str = "word") -> str:
    check = TextCheck(vocabulary, token)
    for line in lines:
        check.add(line.split(), line.split())
    return check.problem()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["the dog saw a cat ."], ""),
        (["the mat"], ""),
        (["Kedi köpeği gördü ve sonra eve gitti çünkü çok yorgundu ."], "91% of the words are unknown to the model"),
        (["Kadın uzun yolu buldu ."], "80% of the words are unknown to the model"),
        (["ذهب الولد إلى المدرسة"], "most letters are Arabic, a script that is not in the vocabulary"),
        (["他在北京工作然后回家了"], "most letters are Chinese,"),
        (["他在北京工作然后回家了"], "the text is not split into words, which --tokenizer does"),
        (["他 在 北京 工作"], "in the vocabulary of the model"),
        (["the dog saw a mat.", "a cat ran.", "and the dog ran."], "punctuation is not separated from words"),
    ],
)
def test_text_that_does_not_fit_is_reported(lines: list[str], expected: str) -> None:
    report = problem(*lines)
    assert expected in report
    assert bool(report) == bool(expected)


def test_a_vocabulary_of_characters_and_of_another_script() -> None:
    assert problem("他 在 北京 工作", vocabulary=Vocabulary(["<eos>", "<unk>", "在", "他", "北京", "工作"])) == ""
    spelling = Vocabulary(["<eos>", "<unk>", "a"])
    assert "of the characters are" in problem("x y z " * 9, vocabulary=spelling, token="character")


def test_check_ends_after_the_first_problem_and_after_many_words() -> None:
    for line in ("mat " * 20, "dog " * (MAX_WORDS + 1)):
        check = TextCheck(ENGLISH, "word")
        check.add(line.split(), line.split())
        assert bool(check.problem()) == ("mat" in line)
        assert check.finished
