"""Plain text, tokenised or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebank.io.text import read_raw, read_text, split_words


def write(folder: Path, text: str) -> str:
    path = folder / "input.txt"
    path.write_bytes(text.encode())
    return str(path)


def test_each_line_is_one_sentence(tmp_path: Path) -> None:
    sentences = list(read_text(write(tmp_path, "\ufeffThe  cat\tsleeps .\r\n\n \t \nYes")))
    assert [sentence.words for sentence in sentences] == [("The", "cat", "sleeps", "."), (), (), ("Yes",)]
    assert [sentence.location.line for sentence in sentences] == [1, 2, 3, 4]


def test_only_spaces_and_tabs_separate_words() -> None:
    line = "a\u00a0b c\u2028d\u3000e\tf\x0bg\x0ch\x1ci\x85j\rk l"
    assert split_words(line) == ("a\u00a0b", "c\u2028d\u3000e", "f\x0bg\x0ch\x1ci\x85j\rk", "l")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
def test_only_spaces_and_tabs_split_random_lines(line: str) -> None:
    assert list(split_words(line)) == [word for word in line.replace("\t", " ").split(" ") if word]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")), min_size=1))
def test_as_many_sentences_as_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = write(tmp_path_factory.mktemp("text"), "".join(line + "\n" for line in lines))
    assert len(list(read_text(path))) == len(lines)


def test_raw_text(tmp_path: Path) -> None:
    sentences = list(read_raw(write(tmp_path, "It rained. We stayed in.\n\nYes.\n")))
    texts = [" ".join(sentence.words) for sentence in sentences]
    assert texts == ["It rained .", "We stayed in .", "", "Yes ."]
    assert [sentence.location.line for sentence in sentences] == [1, 1, 2, 3]


RAW = "\ufeffIt rained. We\r\nstayed in.\r\n \r\n\nYes,\n  no!\n"


def test_paragraphs_join_broken_lines(tmp_path: Path) -> None:
    sentences = list(read_raw(write(tmp_path, RAW), paragraphs=True))
    texts = [" ".join(sentence.words) for sentence in sentences]
    assert texts == ["It rained .", "We stayed in .", "", "", "Yes , no !"]
    assert [sentence.location.line for sentence in sentences] == [1, 1, 3, 4, 5]


@pytest.mark.parametrize("paragraphs", [False, True])
def test_offsets_lead_back_to_the_file(tmp_path: Path, paragraphs: bool) -> None:
    sentences = list(read_raw(write(tmp_path, RAW), paragraphs=paragraphs))
    for sentence in filter(lambda sentence: sentence.words, sentences):
        assert sentence.surface is not None
        assert tuple(RAW[start:end] for start, end in sentence.surface.offsets()) == sentence.words
    surfaces = [sentence.surface for sentence in sentences if sentence.surface]
    assert surfaces[0].text == "It rained."
    assert surfaces[0].spaced() == [True, False, True]


def test_carriage_return_inside_a_line_is_kept(tmp_path: Path) -> None:
    assert [sentence.words for sentence in read_text(write(tmp_path, "a\rb c\nd\r\n"))] == [("a\rb", "c"), ("d",)]
