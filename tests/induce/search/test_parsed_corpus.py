"""A corpus is lazy, can be read again, sliced and searched, and parses plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

import synparse
from induce.search.parsed_corpus import Corpus
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.tree import Tree

TREES = [f"(S (NP (DT the) (NN cat{i})) (VP (VBD ran)))" for i in range(6)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.trees"
    file.write_text("\n".join(TREES) + "\n", encoding="utf-8")
    return file


def names(corpus: Corpus) -> list[str]:
    return [sentence.words[1] for sentence in corpus]


def test_slices_and_repeated_reading(path: Path) -> None:
    corpus = Corpus(path)
    assert names(corpus) == names(corpus) == [f"cat{i}" for i in range(6)]
    assert len(corpus) == 6
    assert names(corpus[2:5]) == ["cat2", "cat3", "cat4"]
    assert names(corpus[1:][::2]) == ["cat1", "cat3", "cat5"]
    assert names(corpus[-2:]) == ["cat4", "cat5"]
    assert len(corpus[:3][1:]) == 2
    assert corpus[-1].words[1] == "cat5"
    assert corpus[2:][0].location.line == 3
    with pytest.raises(IndexError, match="no sentence 6: the corpus has 6"):
        corpus[6]
    with pytest.raises(ValueError, match="step of a slice is -1"):
        corpus[::-1]


def test_reading_is_lazy(path: Path) -> None:
    path.write_text(TREES[0] + "\n" + TREES[1] + "\n(S (NP\n", encoding="utf-8")
    corpus = Corpus(path)
    assert names(corpus[:2]) == ["cat0", "cat1"]
    assert len(list(corpus.search("NP", limit=1))) == 1
    with pytest.raises(SynparseError, match="never closed"):
        len(corpus)


def test_sources(path: Path) -> None:
    trees = [Tree.from_text(TREES[0]), Tree.from_text(TREES[1]).to_nltk(), TREES[2]]
    assert names(Corpus(trees)) == ["cat0", "cat1", "cat2"]
    assert names(Corpus([path, TREES[0]]))[-2:] == ["cat5", "cat0"]
    assert len(synparse.Corpus("sample")) == 1000
    with pytest.raises(SynparseError, match="no such file"):
        list(Corpus("nowhere.trees"))


def test_plain_text_is_parsed(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("the old man saw a dog .\n\nit ran .\n", encoding="utf-8")
    with pytest.raises(SynparseError, match="plain text without trees"):
        list(Corpus(text))
    corpus = Corpus(text, model="english")
    parser = synparse.load("english")
    sentences = list(corpus)
    assert [sentence.tree for sentence in sentences] == list(parser.parse(["the old man saw a dog .", "", "it ran ."]))
    assert [sentence.location.line for sentence in sentences] == [1, 2, 3]
    assert 0 < sentences[0].confidence < 1
    assert [sentence.tree for sentence in corpus] == [sentence.tree for sentence in sentences]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sfm", "\\ref 1\n\\tx makan nasi\n\\mb ma- kan nasi\n"),
        ("a.xml", '<?xml version="1.0"?>\n<TEXT><S><FORM>makan nasi</FORM></S></TEXT>\n'),
        ("a.conllu", "".join(f"{i}\t{word}" + "\t_" * 8 + "\n" for i, word in enumerate(["makan", "nasi"], 1)) + "\n"),
        ("a.jsonl", '{"words": ["makan", "nasi"]}\n'),
    ],
)
def test_files_without_trees_and_heads_are_parsed(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    [sentence] = Corpus(tmp_path / name, model="english")
    assert str(sentence.tree) == "(X (W makan) (W nasi))"
    [sentence] = Corpus(tmp_path / name, model="english-heads")
    assert len(sentence.heads) == 2


def test_search_and_phrases(path: Path) -> None:
    [match] = synparse.search("NN < cat3", path)
    assert (match.phrases, match.sentence.location.line) == ([("cat3",)], 4)
    sample = synparse.search("NP", Corpus(path)[1:], sample=2, seed=3)
    assert len({match.sentence.words for match in sample}) == 2
    table = synparse.phrases(path, against=TREES, min_length=1, pattern="VP")
    assert [(row.words, row.label, row.log_likelihood) for row in table] == [("ran", "VP", 0)]
    assert [frequency.count for frequency in table.rows[0].frequencies] == [6, 6]


def test_a_broken_file_among_others_is_left_out(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "b.trees.gz"
    broken.write_bytes(b"\x1f\x8b\x08 not compressed")
    errors: list[TreebankError] = []
    assert sum(1 for _ in Corpus([broken, path], on_bad=errors.append)) == len(TREES)
    assert [error.path for error in errors] == [str(broken)]
    for sources in ([broken, path], [broken]):
        with pytest.raises(TreebankError, match="compressed file"):
            list(Corpus(sources, on_bad=errors.append if len(sources) == 1 else None))
