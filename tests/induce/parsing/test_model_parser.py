"""Tests of parsing in worker processes with a model in NumPy: same lines, errors and messages as in one process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from induce.parsing.load import load_parser
from induce.parsing.model_parser import ArrayParser, ModelParser
from induce.parsing.parser import MAX_WORDS, PredictOptions
from induce.parsing.writer import Job, TreeOptions
from induce.workers.pool import openblas
from treebank.base.errors import TreebankError
from treebank.core.sentence import Sentence
from treebank.corpora.sample import sample_treebank
from treebank.io.read import DEFAULT_INPUT

BLOCK = 32  # sentences
LINES = [" ".join(sentence.words) for sentence in sample_treebank("train").sentences[: 16 + 6 * BLOCK + 3]]


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores and small blocks."""
    monkeypatch.setattr("induce.workers.pool.cores", lambda: 2)
    monkeypatch.setattr(ArrayParser, "largest_block", BLOCK)


@pytest.fixture
def parser() -> ModelParser:
    """The built-in model."""
    loaded = load_parser("english", device="cpu")
    assert isinstance(loaded, ArrayParser)
    return loaded


def lines_of(parser: ModelParser, path: Path, form: str = "brackets", **options: Any) -> list[str]:
    return list(Job(parser, form, DEFAULT_INPUT, **options).lines([str(path)]))


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("\n".join([*lines, ""]).encode("latin-1"))
    return path


@pytest.mark.parametrize(("form", "options"), [("brackets", {}), ("jsonl", {}), ("brackets", {"marked": True})])
def test_lines_do_not_depend_on_the_number_of_cores(
    form: str, options: dict[str, Any], two_cores: None, parser: ModelParser, tmp_path: Path, monkeypatch: Any
) -> None:
    path = write(tmp_path / "text.txt", LINES)
    parallel = lines_of(parser, path, form, options=TreeOptions(**options))
    monkeypatch.setattr("induce.workers.pool.cores", lambda: 1)
    assert parallel == lines_of(parser, path, form, options=TreeOptions(**options))
    assert len(parallel) == len(LINES)


def test_large_text_is_divided_and_a_small_one_is_not(
    two_cores: None, parser: ModelParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []

    def children_of(lines: list[str]) -> int:
        trees = parser.parse(iter(lines))
        return max(len(multiprocessing.active_children()) for _ in trees)

    for lines in (LINES[:1], LINES[: 16 + BLOCK], LINES):
        counts.append(children_of(lines))
    assert counts == [0, 0, 2]
    assert not multiprocessing.active_children()


def test_workers_end_with_the_iterator(two_cores: None, parser: ModelParser) -> None:
    trees = parser.parse(iter(LINES))
    assert [next(trees) for _ in range(16 + BLOCK + 1)]
    assert multiprocessing.active_children()
    trees.close()
    assert not multiprocessing.active_children()


def test_malformed_lines_are_empty_lines_in_their_positions(
    two_cores: None, parser: ModelParser, tmp_path: Path
) -> None:
    bad = [20, 90, 150]  # not UTF-8
    path = write(tmp_path / "text.txt", ["caf\xe9 noir" if index in bad else line for index, line in enumerate(LINES)])
    errors: list[TreebankError] = []
    lines = lines_of(parser, path, on_bad=errors.append)
    assert [error.line - 1 for error in errors] == bad
    assert [index for index, line in enumerate(lines) if not line] == bad


@pytest.mark.parametrize("index", [60, 110, 178])
def test_error_in_the_text_is_raised_after_the_sentences_before_it(
    index: int, two_cores: None, parser: ModelParser, tmp_path: Path
) -> None:
    path = write(tmp_path / "text.txt", [*LINES[:index], "caf\xe9 noir", *LINES[index:]])
    lines = Job(parser, "brackets", DEFAULT_INPUT).lines([str(path)])
    assert all(next(lines) for _ in range(index))
    with pytest.raises(TreebankError, match=rf"text\.txt:{index + 1}: invalid UTF-8"):
        next(lines)


def test_refused_sentence_is_reported_by_the_parent(
    two_cores: None, parser: ModelParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser.model, "max_length", 50, raising=False)
    path = write(tmp_path / "text.txt", [*LINES[:100], "dog " * 60, *LINES[100:]])
    errors: list[TreebankError] = []
    lines = lines_of(parser, path, on_bad=errors.append)
    assert [error.line for error in errors] == [101]
    assert [index for index, line in enumerate(lines) if not line] == [100]
    with pytest.raises(TreebankError, match=r"text\.txt:101: 60 words are too many"):
        lines_of(parser, path)


def test_messages_about_the_text_are_given_once(two_cores: None, parser: ModelParser) -> None:
    messages: list[str] = []
    foreign = [Sentence(("дом", "стоит", "там"))] * (MAX_WORDS // 3)
    text = iter([*map(sentence_of, LINES[: 16 + BLOCK]), *foreign])
    trees = list(parser.parse(text, PredictOptions(report=messages.append)))
    assert len(trees) == 16 + BLOCK + len(foreign)
    assert len(messages) == 1
    assert messages[0].startswith("most letters are Cyrillic")


def sentence_of(line: str) -> Sentence:
    return Sentence(tuple(line.split()))


def test_sentences_are_read_no_further_than_standard_input_has_arrived(
    two_cores: None, parser: ModelParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences that have arrived are parsed before the program waits for more."""
    arrived = 16 + 5 * BLOCK

    def read() -> Iterator[str]:
        for index, line in enumerate(LINES):
            monkeypatch.setattr("treebank.io.source.STANDARD_INPUT.is_idle", lambda index=index: index == arrived - 1)
            assert index < arrived or len(trees) >= arrived
            yield line

    trees: list[Any] = []
    for tree in parser.parse(read()):
        trees.append(tree)
    assert len(trees) == len(LINES)


def test_matrices_are_multiplied_in_one_thread(parser: ModelParser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with its own number of threads gets it back."""
    library = openblas()
    if library is None:
        pytest.skip("this NumPy does not use the OpenBLAS of its wheel")
    before, inside = library.threads(), []
    computed = ArrayParser.structure_of
    monkeypatch.setattr(
        ArrayParser, "structure_of", lambda *args: (inside.append(library.threads()), computed(*args))[1]
    )
    library.set_threads(2)
    try:
        list(parser([LINES[0]]))
        assert (inside, library.threads()) == ([1], 2)
    finally:
        library.set_threads(before)
