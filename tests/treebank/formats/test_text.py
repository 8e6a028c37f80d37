"""Plain text, tokenised or not, and the sentence splitter."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebank.formats.splitter import split_sentences
from treebank.formats.text import read_raw, read_text, split_words, tokenize


def write(folder: Path, text: str) -> str:
    path = folder / "input.txt"
    path.write_bytes(text.encode())
    return str(path)


def test_one_sentence_a_line(tmp_path: Path) -> None:
    sentences = list(read_text(write(tmp_path, "\ufeffThe  cat\tsleeps .\r\n\n \t \nYes")))
    assert [sentence.words for sentence in sentences] == [("The", "cat", "sleeps", "."), (), (), ("Yes",)]
    assert [sentence.place.line for sentence in sentences] == [1, 2, 3, 4]


def test_only_spaces_and_tabs_separate_words() -> None:
    line = "a\u00a0b c\u2028d\u3000e\tf\x0bg\x0ch\x1ci\x85j\rk l"
    assert split_words(line) == ("a\u00a0b", "c\u2028d\u3000e", "f\x0bg\x0ch\x1ci\x85j\rk", "l")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
def test_words_are_what_stands_between_blanks(line: str) -> None:
    assert list(split_words(line)) == [word for word in line.replace("\t", " ").split(" ") if word]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")), min_size=1))
def test_as_many_sentences_as_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = write(tmp_path_factory.mktemp("text"), "".join(line + "\n" for line in lines))
    assert len(list(read_text(path))) == len(lines)


SPLITS = [
    "It rained. | We stayed in.",
    "Mr. Smith met Dr. J. R. Jones at 5 p.m. in Washington.",
    "He left the U.S. in 1999. | She came back.",
    "He left the U.S. | The others stayed.",
    "Pi is 3.14 or so. | Really? | Yes! | Wow!!",
    '"Stop!" he said. | "I will not." | She ran.',
    "(It was late.) | They slept.",
    "Wait... | What was that? | Well … maybe.",
    "See Fig. 3 and pp. 12-14 of vol. 2, no. 5.",
    "Acme Inc. Chairman Lee spoke. | Acme Inc. | The end.",
    "so did I. | Then we left.",
    "1. Introduction is short.",
    "We saw e.g. Paris, i.e. France, etc. and so on.",
    "今日は雨。|明日は晴れ！|本当？",
    "彼は「雨だ。」|と言った。",
    "One line without a stop",
    "Visit www.example.org now. | Write to a.b@c.de today.",
]


@pytest.mark.parametrize("marked", SPLITS)
def test_sentence_splitter(marked: str) -> None:
    sentences = [part.strip() for part in marked.split("|")]
    assert split_sentences(marked.replace(" | ", " ").replace("|", "")) == sentences


@given(st.text())
def test_the_splitter_loses_nothing(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_blank_is_no_sentence() -> None:
    assert split_sentences(" \t") == []


def test_a_long_line_of_names_takes_linear_time() -> None:
    began = time.perf_counter()
    assert len(split_sentences("Dr. Xu " * 20_000)) == 1
    assert time.perf_counter() - began < 20  # quadratic time would need minutes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"I can\'t," she said.', '" I ca n\'t , " she said .'),
        ("It cost $3.50 (or so).", "It cost $ 3.50 ( or so ) ."),
        ("``Old'' and \"new\" quotes", "`` Old '' and \" new \" quotes"),
    ],
)
def test_tokenizer_keeps_the_spelling(text: str, words: str) -> None:
    assert tokenize(text) == tuple(words.split())


@given(st.text(st.sampled_from("ab\"'`,. ()$-…"), max_size=30))
def test_tokens_are_pieces_of_the_text(text: str) -> None:
    assert "".join(tokenize(text)) == "".join(text.split())


def test_raw_text(tmp_path: Path) -> None:
    sentences = list(read_raw(write(tmp_path, "It rained. We stayed in.\n\nYes.\n")))
    assert [sentence.words for sentence in sentences] == [
        ("It", "rained", "."),
        ("We", "stayed", "in", "."),
        (),
        ("Yes", "."),
    ]
    assert [sentence.place.line for sentence in sentences] == [1, 1, 2, 3]
