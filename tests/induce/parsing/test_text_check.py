"""Reports about texts that do not fit the vocabulary of a model."""

from __future__ import annotations

import pytest

from induce.data.vocabulary import Vocabulary
from induce.parsing.text_check import MAX_WORDS, TextCheck

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
